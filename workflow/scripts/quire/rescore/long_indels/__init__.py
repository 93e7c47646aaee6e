"""Indels too long for active regions and their graphs: 50 to 1,000 bases, found by the reads that end at them.

A read that reaches over an end of such an indel is aligned up to there and clipped behind. As in Pindel (Ye et al.
2009, doi:10.1093/bioinformatics/btp394) and in Manta's candidate assembly (Chen et al. 2016,
doi:10.1093/bioinformatics/btv710), clips that agree say where to look:

`breakpoints`  positions at which reads are clipped alike, with the consensus of what was clipped.
`proposals`    where a consensus goes on elsewhere nearby, bases between are deleted or repeated in tandem.
`contigs`      where reads are clipped on both sides of one place, what is inserted is assembled from the clipped reads
               and from reads whose mates lie beside the place, wherever those reads were mapped, or not at all.
`support`      PairHMM likelihoods of the reads that cross an end of the indel, of the two mates together.
`calls`        genotypes and records, by the caller's own model, in order among the other records.

Reads that carry a called indel are cut at its end before active regions are assembled (`without_carried`): what they
bring from behind it would make false variants there. What is proposed depends on the reads around it alone, never on
how the genome is cut into chunks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.rescore.parameters import REGION_PADDING

SHORTEST = 50  # bases that an indel of this road changes the length by, at least
LONGEST = 1000
FLANK = 200  # bases of reference on either side of a breakpoint that haplotypes and reads have at most
CONFLICT = 50  # of proposals that start closer to each other, one is called
# Bases around where an indel may start whose reads decide about it: the far end, room for left-aligning and for
# conflicts, and the reads that cross the ends.
REACH = CONFLICT + LONGEST + 4 * FLANK
# Indels that start up to so far before and behind what a chunk calls have ends, or reads, in its padded regions.
BEFORE = LONGEST + REGION_PADDING + CONFLICT
BEHIND = REGION_PADDING + 2 * FLANK
CHUNK_REACH = max(BEFORE, BEHIND) + REACH


@dataclass(frozen=True, order=True)
class LongIndel:
    """An insertion or deletion, left-aligned, as in VCF.

    Attributes:
        start: 0-based position of the first base of `reference`.
        reference, alternate: codes; both begin with the same base.
    """

    start: int
    reference: bytes
    alternate: bytes

    @property
    def end(self) -> int:
        """Position after the last reference base."""
        return self.start + len(self.reference)

    @property
    def change(self) -> int:
        """By how many bases it makes the sequence longer."""
        return len(self.alternate) - len(self.reference)


def left_aligned(start: int, end: int, inserted: bytes, codes: NDArray[np.uint8], codes_start: int) -> LongIndel | None:
    """The indel that puts `inserted` in place of [start, end), trimmed and as far left as it goes (Tan et al. 2015).

    Args:
        start, end: 0-based, half-open.
        inserted: codes.
        codes: uint8 codes of the reference, from position `codes_start` on.

    Returns:
        None where it reaches the first of the codes, where nothing is left, or where there is an N in it.
    """
    text = codes.tobytes()
    at, stop = start - codes_start, end - codes_start
    # Both alleles from the first base that differs on; the base before is put in front of them at the end.
    while at < stop and inserted and text[at] == inserted[0]:
        at, inserted = at + 1, inserted[1:]
    while at < stop and inserted and text[stop - 1] == inserted[-1]:
        stop, inserted = stop - 1, inserted[:-1]
    if at == stop and inserted:
        while at > 0 and text[at - 1] == inserted[-1]:
            inserted = inserted[-1:] + inserted[:-1]
            at, stop = at - 1, stop - 1
    elif not inserted:
        while at > 0 and text[at - 1] == text[stop - 1]:
            at, stop = at - 1, stop - 1
    if at <= 0 or (at == stop and not inserted):
        return None
    reference, alternate = text[at - 1 : stop], text[at - 1 : at] + inserted
    if max(reference + alternate) > 3:
        return None
    return LongIndel(codes_start + at - 1, reference, alternate)
