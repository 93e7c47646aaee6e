"""What was given up so that hard regions stay bounded, counted over the active regions of some intervals.

Reads that are thinned stand in the ledger of reads (`quire.rescore.reads.filters`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from quire.io.bed import Interval

ACTIVE, NOT_ASSEMBLED, TOO_MANY_HAPLOTYPES = "active", "not_assembled", "too_many_haplotypes"
"""Active regions; of these, those that no graph served, whose variants are not seen; and those of whose haplotypes only
the likeliest were kept."""


STEPS = frozenset(("graph", "assembled"))
"""That a `RegionCounter` listens to."""


class RegionCounter:
    """Counts regions as they are assembled; listens to `quire.rescore.trace`.

    Each region is counted once, by the piece that holds its start.

    Attributes:
        counts: by the names above.
    """

    def __init__(self, intervals: Sequence[Interval]) -> None:
        """Count what starts in some intervals."""
        self.counts: Counter[str] = Counter({ACTIVE: 0, NOT_ASSEMBLED: 0, TOO_MANY_HAPLOTYPES: 0})
        self._intervals = intervals
        self._seen: set[tuple[str, int]] = set()
        self._served: set[int] = set()
        self._cut: set[int] = set()

    def hear(self, step: str, facts: Mapping[str, Any]) -> None:
        """A graph was built for a region, or a batch of regions is through."""
        if step == "graph":
            if facts["succeeded"]:
                self._served.add(facts["region"])
            if not facts["complete"]:
                self._cut.add(facts["region"])
        elif step == "assembled":
            plain = facts["plain"].served.tolist()
            for region, (start, _) in enumerate(facts["spans"].tolist()):
                self._count(facts["contig"], start, plain[region] or region in self._served, region in self._cut)
            self._served.clear()
            self._cut.clear()

    def _count(self, contig: str, start: int, served: bool, cut: bool) -> None:
        mine = any(name == contig and low <= start < high for name, low, high in self._intervals)
        # Where the ploidy changes within a region, it is assembled for both.
        if mine and (contig, start) not in self._seen:
            self._seen.add((contig, start))
            self.counts[ACTIVE] += 1
            self.counts[NOT_ASSEMBLED] += not served
            self.counts[TOO_MANY_HAPLOTYPES] += cut


def sentence(counts: Mapping[str, int]) -> str:
    """The counts in words, for the log."""
    return (
        f"{counts[ACTIVE]} active regions; {counts[NOT_ASSEMBLED]} could not be assembled, and of "
        f"{counts[TOO_MANY_HAPLOTYPES]} only the likeliest haplotypes were kept"
    )
