"""The tally of a unit: numbers of reads by outcome, and of active regions that were not assembled completely."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.io.bed import Interval
from quire.ledger import require_balance
from quire.rescore.assembly import RegionAssembly
from quire.rescore.reads.filters_cpu import FILTERS

ACTIVE, NOT_ASSEMBLED, TOO_MANY_HAPLOTYPES = "active", "not_assembled", "too_many_haplotypes"
"""Active regions; regions without a usable graph, whose variants are missed; and regions of which only the most likely
haplotypes were kept."""


class Tally:
    """Counts of reads (int64[filters] by sample, in the order of FILTERS) and of active regions by the names above."""

    def __init__(self, samples: Iterable[str], intervals: Sequence[Interval] = ()) -> None:
        """Start at zero; only regions that start in the intervals are counted."""
        self.reads: dict[str, NDArray[np.int64]] = {name: np.zeros(len(FILTERS), np.int64) for name in samples}
        self.regions: Counter[str] = Counter({ACTIVE: 0, NOT_ASSEMBLED: 0, TOO_MANY_HAPLOTYPES: 0})
        self._intervals = intervals
        self._counted: set[tuple[str, int]] = set()

    def count_region(self, contig: str, start: int, assembly: RegionAssembly) -> None:
        """Count an assembled region once; where the ploidy changes within it, it is assembled for both ploidies."""
        inside = any(name == contig and low <= start < high for name, low, high in self._intervals)
        if inside and (contig, start) not in self._counted:
            self._counted.add((contig, start))
            self.regions[ACTIVE] += 1
            self.regions[NOT_ASSEMBLED] += not any(graph.serves for graph in assembly.graphs)
            self.regions[TOO_MANY_HAPLOTYPES] += not all(graph.complete for graph in assembly.graphs)

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally of the same samples."""
        for name, counts in other.reads.items():
            self.reads[name] += counts
        self.regions.update(other.regions)

    def reads_by_name(self) -> dict[str, dict[str, int]]:
        """Return the reads of each sample by the names of FILTERS, with the total first; they must balance."""
        found = {}
        for name, counts in self.reads.items():
            by_filter = dict(zip(FILTERS, counts.tolist(), strict=True))
            total = {"reads": int(counts.sum())}
            require_balance("rescore", name, total, by_filter)
            found[name] = total | by_filter
        return found


def sentence(regions: Mapping[str, int]) -> str:
    """Return the counts of active regions in words, for the log."""
    return (
        f"{regions[ACTIVE]} active regions; {regions[NOT_ASSEMBLED]} could not be assembled, and of "
        f"{regions[TOO_MANY_HAPLOTYPES]} only the likeliest haplotypes were kept"
    )
