"""Ends of reads that are not of the sample: adapters that a short insert lets both mates read into, and runs of G.

Such bases are not mapped and stay in the record as soft clips: nothing is trimmed away. What an engine maps are reads
that end earlier (`PairBatch.untrimmed` holds the whole ones), so that the records are the same on a CPU and on a card.

The rules are fastp's (Chen et al. 2018, doi:10.1093/bioinformatics/bty560):

- *Poly-G.* Machines with two colours read no signal as G. From the 3' end, bases count as the run while at most one in
  eight of them and at most five in all are no G; it is a run from ten bases on, and is cut at its first G.
- *Read-through.* The first mate and the reverse complement of the second are laid over each other. An overlap has 30
  bases or more, and of its first 50 at most 5 differ. Those in which the second mate begins within the first are
  tried first, from the left, then those in which it begins before. The first that agrees says how long the insert
  is, from the first base of the one to the first of the other, and what either mate has beyond is adapter, provided
  that the overlap is longer than a third of the first mate. (fastp looks at the latter half alone, which is the same
  for mates of one length: `python -m bench.read_ends` compares.)
"""

from dataclasses import dataclass, field

import numpy as np

SHORTEST_OVERLAP, COMPARED, MOST_DIFFERENCES = 30, 50, 5
SHORTEST_POLY_G, MOST_OTHER, BASES_PER_OTHER = 10, 5, 8
G = 2  # its code


@dataclass(frozen=True)
class Clipping:
    """Which ends of reads are clipped.

    Attributes:
        adapters: read-through into adapters, of pairs.
        poly_g: runs of G at 3' ends.
    """

    adapters: bool = False
    poly_g: bool = False


NO_CLIPPING = Clipping()


@dataclass
class ClippedCounts:
    """Reads, and their bases, that were clipped so far, for the ledger."""

    clipping: Clipping
    counts: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        kinds = [
            kind for kind, wanted in (("adapter", self.clipping.adapters), ("poly_g", self.clipping.poly_g)) if wanted
        ]
        self.counts = {f"{kind}_clipped_{what}": 0 for kind in kinds for what in ("reads", "bases")}

    def add(self, kind: str, lengths: np.ndarray, kept: np.ndarray) -> None:
        """Count reads of these lengths (int64[n]) of which so many bases (int64[n]) are kept."""
        self.counts[f"{kind}_clipped_reads"] += int((kept < lengths).sum())
        self.counts[f"{kind}_clipped_bases"] += int((lengths - kept).sum())
