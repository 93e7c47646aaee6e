"""What was counted on the way, read for the report: the reads of a sample, its depth, its variants.

Nothing is counted here: a sample's counts.json comes with its alignments, variants.json with the VCF.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quire.device.backend import VCF_KEY
from quire.errors import QuireError

COUNTS_VERSION = 1  # of counts.json, as quire.finish writes it
KNOWN_SITES_VERSION = 1  # of known_sites.json, as quire.finish writes it
VARIANTS_VERSION = 1  # of variants.json, as quire.rescore writes it
_MAPPING_QUALITIES = 256
_OF_VARIANTS = ("substitutions", "indel_lengths", "depth", "genotype_quality", "allele_depths")
_AS_COUNTED = ("cycles", "adapters", "gc_bias", "contigs", "sex_chromosomes", "libraries")


@dataclass(frozen=True)
class AlignmentCounts:
    """Counts over one file.

    Attributes:
        counts: `samtools flagstat` by name, of reads that passed quality control and of those that did not, summed.
        insert_sizes: int64[sizes], number of pairs, both mates on one contig, by insert size, over the main bulk of
            `samtools stats`.
        mapping_qualities: int64[256], primary reads by MAPQ, without duplicates.
        mismatches_per_base: mismatches and gaps (NM) over aligned bases.
        read_length: mean bases of a primary read.
        cycles, adapters, gc_bias, contigs, sex_chromosomes, libraries: as counts.json has them.
    """

    counts: dict[str, int]
    insert_sizes: np.ndarray
    mapping_qualities: np.ndarray
    mismatches_per_base: float
    read_length: float
    cycles: dict[str, Any]
    adapters: dict[str, list[int]]
    gc_bias: dict[str, Any]
    contigs: dict[str, list[Any]]
    sex_chromosomes: dict[str, float | None]
    libraries: list[dict[str, Any]]


@dataclass(frozen=True)
class Depth:
    """Depth of coverage over the target, without duplicates, secondary and failed reads (`samtools depth`).

    Attributes:
        histogram: int64[depths], positions by depth; what is deeper than the last possible depth counts there.
        bases: sum of the depth over all positions.
        profile: float64[bins], mean depth along the regions laid end to end.
    """

    histogram: np.ndarray
    bases: int
    profile: np.ndarray

    @property
    def positions(self) -> int:
        """Positions looked at."""
        return int(self.histogram.sum())

    @property
    def mean(self) -> float:
        """Mean depth of a position."""
        return self.bases / max(1, self.positions)

    @property
    def median(self) -> int:
        """Median depth of a position."""
        return median_of_histogram(self.histogram)

    def breadth(self, depth: int) -> float:
        """Share of positions that are at least as deep."""
        return float(self.histogram[depth:].sum()) / max(1, self.positions)


@dataclass(frozen=True)
class VariantCounts:
    """What one sample carries, over the records that pass the filters.

    Attributes:
        counts: by the names of variants.json.
        qualities: int64[2, bins], carried records by QUAL; rows are SNVs and others.
        quality_edges: float64[bins + 1].
        substitutions, indel_lengths, depth, genotype_quality, allele_depths: as variants.json has them.
    """

    counts: dict[str, int]
    qualities: np.ndarray
    quality_edges: np.ndarray
    substitutions: dict[str, int]
    indel_lengths: list[list[int]]
    depth: list[int]
    genotype_quality: list[int]
    allele_depths: dict[str, list[list[int]]]

    @property
    def transition_ratio(self) -> float | None:
        """Transitions over transversions, or None without transversions."""
        return self.counts["transitions"] / self.counts["transversions"] if self.counts["transversions"] else None

    @property
    def heterozygous_ratio(self) -> float | None:
        """Heterozygous over homozygous genotypes, or None without homozygous ones."""
        return self.counts["heterozygous"] / self.counts["homozygous"] if self.counts["homozygous"] else None


@dataclass(frozen=True)
class CountedSample:
    """What counts.json says that the report shows.

    Attributes:
        target: the target's `bed` (empty: all islands of the reference) and its number of `positions`.
        alignments, depth: see there.
        low_coverage: the target's regions of low depth, as counts.json and target.json have them.
    """

    target: dict[str, Any]
    alignments: AlignmentCounts
    depth: Depth
    low_coverage: dict[str, Any]


def read_sample_counts(path: str | Path, target: str | Path | None = None) -> CountedSample:
    """Read a sample's counts.json.

    Args:
        path: of the file.
        target: the sample's target.json, whose depth is that of the target; None takes the depth over the islands.

    Raises:
        QuireError: it is missing, or no such file of this version.
    """
    content = _read(path, COUNTS_VERSION)
    try:
        passed, failed = content["flagstat"]["passed"], content["flagstat"]["failed"]
        alignments = AlignmentCounts(
            {name: passed[name] + failed[name] for name in passed},
            _insert_sizes(content["insert_size"]),
            _padded(content["mapping_quality"], _MAPPING_QUALITIES),
            float(content["stats"]["error rate"]),
            content["stats"]["total length"] / max(1, content["stats"]["sequences"]),
            **{key: content[key] for key in _AS_COUNTED},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _is_none(path, error) from None
    where, depth, low = _depth(path if target is None else target)
    return CountedSample(where, alignments, depth, low)


def _depth(path: str | Path) -> tuple[dict[str, Any], Depth, dict[str, Any]]:
    """The target, the depth over it and its regions of low depth, from counts.json or target.json."""
    content = _read(path, COUNTS_VERSION)
    try:
        depth = content["depth"]
        histogram = np.array(depth["histogram"], np.int64)
        profile = _profile(depth["profile"], int(depth["profile_bin"]), int(content["target"]["positions"]))
        return dict(content["target"]), Depth(histogram, int(depth["bases"]), profile), dict(content["low_coverage"])
    except (KeyError, TypeError, ValueError) as error:
        raise _is_none(path, error) from None


@dataclass(frozen=True)
class CalledVariants:
    """What variants.json says.

    Attributes:
        samples: by name, in the order of the VCF.
        backend: `name` and `reason` of what called them, or None where the VCF does not say.
        pairs: how alike each two samples are, by name.
    """

    samples: dict[str, VariantCounts]
    backend: dict[str, str] | None
    pairs: dict[str, list[int]]


def read_variants(path: str | Path) -> CalledVariants:
    """Read variants.json.

    Raises:
        QuireError: it is missing, or no such file of this version.
    """
    content = _read(path, VARIANTS_VERSION)
    try:
        edges = np.array(content["quality_edges"])
        samples = {
            name: VariantCounts(
                dict(sample["counts"]),
                np.array([sample["qualities"]["snvs"], sample["qualities"]["others"]], np.int64),
                edges,
                **{key: sample[key] for key in _OF_VARIANTS},
            )
            for name, sample in content["samples"].items()
        }
        said, pairs = content["header"].get(VCF_KEY), dict(content["pairs"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _is_none(path, error) from None
    name, _, reason = (said or "").partition(": ")
    return CalledVariants(samples, {"name": name, "reason": reason} if said else None, pairs)


def median_of_histogram(histogram: np.ndarray) -> int:
    """The lower median of values counted in a histogram; 0 where it is empty."""
    cumulated = np.cumsum(histogram)
    return int(np.searchsorted(cumulated, (cumulated[-1] + 1) // 2)) if histogram.any() else 0


def read_known_sites(path: str | Path) -> tuple[list[list[int]], int]:
    """The cells of known_sites.json (bin of frequency, reads of both alleles, sites), and the number of bins.

    Raises:
        QuireError: it is missing, or no such file of this version.
    """
    content = _read(path, KNOWN_SITES_VERSION)
    try:
        return [[int(value) for value in cell] for cell in content["cells"]], int(content["frequency_bins"])
    except (KeyError, TypeError, ValueError) as error:
        raise _is_none(path, error) from None


def _insert_sizes(sizes: Mapping[str, Any]) -> np.ndarray:
    """Pairs by size over the main bulk; size 0 is that of mates that lie the same way at one place."""
    bulk = int(sizes["main_bulk"])
    pairs = sum(_padded(sizes[orientation], bulk) for orientation in ("inward", "outward", "other"))
    histogram = np.asarray(pairs, np.int64)
    histogram[:1] = 0
    return histogram


def _profile(sums: list[int], size: int, positions: int) -> np.ndarray:
    """Mean depth of bins of `size` positions, of which the last may be smaller."""
    sizes = np.full(len(sums), size)
    sizes[-1:] = positions - size * (len(sums) - 1)
    means: np.ndarray = np.array(sums, np.float64) / sizes
    return means


def _padded(values: list[int], size: int) -> np.ndarray:
    """The first `size` numbers, zeros behind those that there are."""
    padded = np.zeros(size, np.int64)
    padded[: len(values)] = values[:size]
    return padded


def _read(path: str | Path, version: int) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(Path(path).read_text())
        if content["format_version"] != version:
            raise ValueError(f"format version {content['format_version']}")
        return content
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _is_none(path, error) from None


def _is_none(path: str | Path, error: Exception) -> QuireError:
    return QuireError(f"{path}: holds no counts of this version ({error!r}); delete it and run the workflow again.")
