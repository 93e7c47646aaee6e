"""Ends of reads that are not part of the sample: adapters in both mates of a short insert, and runs of G.

Such bases are not mapped but stay in the record as soft clips. Engines map the shortened reads
(`PairBatch.untrimmed` holds the whole ones), so the records are the same on CPU and card.

The rules are those of fastp (Chen et al. 2018, doi:10.1093/bioinformatics/bty560):

- *Poly-G.* Two-colour machines read a missing signal as G. Counted from the 3' end, a run continues while at most one
  in eight of its bases and at most five in total are not G. A run of ten bases or more is cut at its first G.
- *Read-through.* The first mate and the reverse complement of the second must overlap by at least 30 bases, with at
  most 5 differences in the first 50. Offsets at which the second mate begins within the first are tried first, from the
  left, then offsets at which it begins before the first. The first match determines the insert, from the first base of
  one mate to the first base of the other. Bases of either mate beyond it are adapter if the overlap is longer than a
  third of the first mate. (fastp compares only the second half, which is the same for mates of equal length;
  docs/mapping.md has a comparison of both.)
"""

from dataclasses import dataclass, field

import numpy as np

SHORTEST_OVERLAP, COMPARED, MOST_DIFFERENCES = 30, 50, 5
SHORTEST_POLY_G, MOST_OTHER, BASES_PER_OTHER = 10, 5, 8
G = 2  # code of the base


@dataclass(frozen=True)
class Clipping:
    """The choice of ends of reads to clip: adapters of pairs, and runs of G at 3' ends."""

    adapters: bool = False
    poly_g: bool = False


NO_CLIPPING = Clipping()


@dataclass
class ClippedCounts:
    """Counts of clipped reads and bases for the ledger."""

    clipping: Clipping
    counts: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        kinds = [
            kind for kind, wanted in (("adapter", self.clipping.adapters), ("poly_g", self.clipping.poly_g)) if wanted
        ]
        self.counts = {f"{kind}_clipped_{what}": 0 for kind in kinds for what in ("reads", "bases")}

    def add(self, kind: str, lengths: np.ndarray, kept: np.ndarray) -> None:
        """Count clipped reads, given their lengths (int64[n]) and the bases that remain, `kept` (int64[n])."""
        self.counts[f"{kind}_clipped_reads"] += int((kept < lengths).sum())
        self.counts[f"{kind}_clipped_bases"] += int((lengths - kept).sum())
