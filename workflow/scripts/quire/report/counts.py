"""Readers of the counts that earlier stages wrote: reads, depth and variants of each sample.

A sample's counts.json is written with its alignments, variants.json with the VCF; nothing is counted here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quire.device.backend import VCF_KEY
from quire.errors import QuireError

COUNTS_VERSION = 1  # format version of counts.json, written by quire.finish
KNOWN_SITES_VERSION = 1  # format version of known_sites.json, written by quire.finish
VARIANTS_VERSION = 1  # format version of variants.json, written by quire.rescore
_MAPPING_QUALITIES = 256
_OF_VARIANTS = ("substitutions", "indel_lengths", "depth", "genotype_quality", "allele_depths")
_AS_COUNTED = ("cycles", "adapters", "gc_bias", "contigs", "sex_chromosomes", "libraries")


@dataclass(frozen=True)
class AlignmentCounts:
    """Counts of one alignment file.

    Attributes:
        counts: lines of `samtools flagstat` by name; QC-passed and QC-failed reads summed.
        insert_sizes: int64[sizes], number of pairs with both mates on one contig, by insert size, over the main bulk
            of `samtools stats`.
        mapping_qualities: int64[256], number of primary reads by MAPQ, without duplicates.
        mismatches_per_base: mismatches and gaps (NM) per aligned base.
        read_length: mean length of a primary read in bases.
        cycles, adapters, gc_bias, contigs, sex_chromosomes, libraries: as in counts.json.
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
        histogram: int64[depths], number of positions by depth; the last entry includes all greater depths.
        bases: sum of the depth over all positions.
        profile: float64[bins], mean depth along the concatenated regions.
    """

    histogram: np.ndarray
    bases: int
    profile: np.ndarray

    @property
    def positions(self) -> int:
        """Number of positions in the target."""
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
        """Return the fraction of positions of at least this depth."""
        return float(self.histogram[depth:].sum()) / max(1, self.positions)


@dataclass(frozen=True)
class VariantCounts:
    """Counts of the variants that one sample carries, over the records that pass the filters.

    Attributes:
        counts: named as in variants.json.
        qualities: int64[2, bins], number of carried records by QUAL; row 0 SNVs, row 1 others.
        quality_edges: float64[bins + 1], edges of the QUAL bins.
        substitutions, indel_lengths, depth, genotype_quality, allele_depths: as in variants.json.
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
        """Ratio of transitions to transversions, or None without transversions."""
        return self.counts["transitions"] / self.counts["transversions"] if self.counts["transversions"] else None

    @property
    def heterozygous_ratio(self) -> float | None:
        """Ratio of heterozygous to homozygous genotypes, or None without homozygous ones."""
        return self.counts["heterozygous"] / self.counts["homozygous"] if self.counts["homozygous"] else None


@dataclass(frozen=True)
class CountedSample:
    """Counts of one sample that the report shows.

    Attributes:
        target: the target's `bed` (empty: all islands of the reference) and its number of `positions`.
        alignments: counts of the alignment file.
        depth: depth over the target.
        low_coverage: the target's regions of low depth, as in counts.json and target.json.
    """

    target: dict[str, Any]
    alignments: AlignmentCounts
    depth: Depth
    low_coverage: dict[str, Any]


def read_sample_counts(path: str | Path, target: str | Path | None = None) -> CountedSample:
    """Read a sample's counts.json.

    Args:
        path: path of counts.json.
        target: path of the sample's target.json with the depth over the target; None takes the depth over the islands
            from counts.json.

    Raises:
        QuireError: if a file is missing, or is not such a file of this version.
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
    """Read the target, the depth over it and its regions of low depth, from counts.json or target.json."""
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
    """Contents of variants.json.

    Attributes:
        samples: counts by sample name, in the order of the VCF.
        backend: `name` and `reason` of the backend that called them, or None if the VCF does not name one.
        pairs: for each kind of count, one number per pair of samples (see `quire.report.relatedness.relate`).
    """

    samples: dict[str, VariantCounts]
    backend: dict[str, str] | None
    pairs: dict[str, list[int]]


def read_variants(path: str | Path) -> CalledVariants:
    """Read variants.json.

    Raises:
        QuireError: if the file is missing, or is not a variants.json of this version.
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
    """Return the lower median of the values counted in a histogram; 0 if it is empty."""
    cumulated = np.cumsum(histogram)
    return int(np.searchsorted(cumulated, (cumulated[-1] + 1) // 2)) if histogram.any() else 0


def read_known_sites(path: str | Path) -> tuple[list[list[int]], int]:
    """Read known_sites.json: its cells (frequency bin, reads of both alleles, sites) and the number of bins.

    Raises:
        QuireError: if the file is missing, or is not a known_sites.json of this version.
    """
    content = _read(path, KNOWN_SITES_VERSION)
    try:
        return [[int(value) for value in cell] for cell in content["cells"]], int(content["frequency_bins"])
    except (KeyError, TypeError, ValueError) as error:
        raise _is_none(path, error) from None


def _insert_sizes(sizes: Mapping[str, Any]) -> np.ndarray:
    """Return the number of pairs by size over the main bulk, without size 0 (mates on one strand at one position)."""
    bulk = int(sizes["main_bulk"])
    pairs = sum(_padded(sizes[orientation], bulk) for orientation in ("inward", "outward", "other"))
    histogram = np.asarray(pairs, np.int64)
    histogram[:1] = 0
    return histogram


def _profile(sums: list[int], size: int, positions: int) -> np.ndarray:
    """Return the mean depth of bins of `size` positions; the last bin may be smaller."""
    sizes = np.full(len(sums), size)
    sizes[-1:] = positions - size * (len(sums) - 1)
    means: np.ndarray = np.array(sums, np.float64) / sizes
    return means


def _padded(values: list[int], size: int) -> np.ndarray:
    """Return the first `size` numbers, padded with zeros."""
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
    return QuireError(f"{path}: has no counts of this version ({error!r}); delete it and run the workflow again.")
