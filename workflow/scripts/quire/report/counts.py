"""Readers of the counts that earlier stages wrote: reads, depth and variants of each sample.

A sample's counts.json is written with its alignments, variants.json with the VCF; nothing is counted here. A file that
is missing or of another version raises QuireError.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quire.device.backend import VCF_KEY
from quire.report.ledgers import reading

FORMAT_VERSION = 1  # of counts.json, target.json, known_sites.json and variants.json


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


class CountedSample(NamedTuple):
    """Counts of one sample that the report shows.

    Attributes:
        content: content of counts.json.
        reads: lines of `samtools flagstat` by name; QC-passed and QC-failed reads summed.
        insert_sizes: int64[sizes], number of pairs with both mates on one contig, by insert size, over the main bulk
            of `samtools stats`; without size 0 (mates on one strand at one position).
        target: the target's `bed` (empty: all islands of the reference) and its number of `positions`.
        depth: depth over the target.
        low_coverage: the target's regions of low depth, as in counts.json and target.json.
    """

    content: dict[str, Any]
    reads: dict[str, int]
    insert_sizes: np.ndarray
    target: dict[str, Any]
    depth: Depth
    low_coverage: dict[str, Any]


def read_sample_counts(path: str | Path, target: str | Path | None = None) -> CountedSample:
    """Read a sample's counts.json, with the depth from its target.json if there is a target."""
    content = _read(path)
    passed, failed = content["flagstat"]["passed"], content["flagstat"]["failed"]
    sizes = content["insert_size"]
    insert_sizes = sum(padded(sizes[way], sizes["main_bulk"]) for way in ("inward", "outward", "other"))
    histogram = np.asarray(insert_sizes, np.int64)
    histogram[:1] = 0
    on_target = content if target is None else _read(target)
    return CountedSample(
        content,
        {name: passed[name] + failed[name] for name in passed},
        histogram,
        on_target["target"],
        _depth(on_target["depth"], on_target["target"]["positions"]),
        on_target["low_coverage"],
    )


def _depth(depth: dict[str, Any], positions: int) -> Depth:
    """Return the depth over a target; the last bin of its profile may be smaller than the others."""
    sums, size = np.array(depth["profile"], np.float64), depth["profile_bin"]
    sizes = np.full(len(sums), size)
    sizes[-1:] = positions - size * (len(sums) - 1)
    return Depth(np.array(depth["histogram"], np.int64), depth["bases"], sums / sizes)


class CalledVariants(NamedTuple):
    """Contents of variants.json.

    Attributes:
        samples: counts of each sample over the records that pass the filters, in the order of the VCF.
        quality_edges: edges of the bins of QUAL.
        backend: `name` and `reason` of the backend that called them, or None if the VCF does not name one.
        pairs: for each kind of count, one number per pair of samples (see `quire.report.relatedness.relate`).
        haploid_pairs: the same for pairs of haploid samples (see `quire.report.distances.measure`); empty without them.
        trios: `child`, `father`, `mother`, `sites` and Mendelian `errors` of children of the pedigree.
    """

    samples: dict[str, dict[str, Any]]
    quality_edges: list[float]
    backend: dict[str, str] | None
    pairs: dict[str, list[int]]
    haploid_pairs: dict[str, list[int]]
    trios: list[dict[str, Any]]


def read_variants(path: str | Path) -> CalledVariants:
    """Read variants.json."""
    content = _read(path)
    said = content["header"].get(VCF_KEY)
    name, _, reason = (said or "").partition(": ")
    backend = {"name": name, "reason": reason} if said else None
    samples, edges, pairs, haploid, trios = (
        content[name] for name in ("samples", "quality_edges", "pairs", "haploid_pairs", "trios")
    )
    return CalledVariants(samples, edges, backend, pairs, haploid, trios)


def read_known_sites(path: str | Path) -> tuple[list[list[int]], int]:
    """Read known_sites.json: its cells (frequency bin, reads of both alleles, sites) and the number of bins."""
    content = _read(path)
    return content["cells"], content["frequency_bins"]


def read_copies(path: str | Path) -> dict[str, list[dict[str, Any]]]:
    """Read the plots of copy numbers: the contigs of each sample (`quire.structural.copies_plots`)."""
    with reading(path, "a file of copy numbers") as content:
        return {sample: list(contigs) for sample, contigs in content.items()}


def median_of_histogram(histogram: np.ndarray) -> int:
    """Return the lower median of the values counted in a histogram; 0 if it is empty."""
    cumulated = np.cumsum(histogram)
    return int(np.searchsorted(cumulated, (cumulated[-1] + 1) // 2)) if histogram.any() else 0


def padded(values: list[int], size: int) -> np.ndarray:
    """Return the first `size` numbers (int64[size]), padded with zeros."""
    numbers = np.zeros(size, np.int64)
    numbers[: len(values)] = values[:size]
    return numbers


def _read(path: str | Path) -> dict[str, Any]:
    with reading(path, "a file of counts of this version") as content:
        if content["format_version"] != FORMAT_VERSION:
            raise ValueError
        counts: dict[str, Any] = content
        return counts
