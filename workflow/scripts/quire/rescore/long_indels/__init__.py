"""Indels of 50 to 1,000 bases, too long for the graphs of active regions, found by clipped reads.

A read across an end of such an indel is aligned up to that end and clipped after it. As in Pindel (Ye et al. 2009,
doi:10.1093/bioinformatics/btp394) and in Manta's candidate assembly (Chen et al. 2016,
doi:10.1093/bioinformatics/btv710), clips that agree show where to search:

`breakpoints`  positions at which several reads are clipped, with the consensus of the clipped bases.
`placing`      where the reference continues like clipped bases.
`proposals`    if a consensus continues elsewhere nearby, the bases between are deleted or repeated in tandem.
`contigs`      if reads are clipped on both sides of one position, the inserted bases are assembled from the clipped
               reads and from reads whose mates are nearby, whether those reads were mapped elsewhere or not at all.
`support`      PairHMM likelihoods of the reads that cross an end of the indel, of both mates together.
`calls`        genotypes and records, by the caller's own model, in order among the other records.

All but `calls` and `proposals` is used for structural variants too (`quire.structural`).

Reads that carry a called indel are cut at its end before active regions are assembled (`without_carried`), because
their bases beyond it would cause false variants there. Proposals depend only on the reads nearby, never on how the
genome is cut into chunks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.rescore.parameters import REGION_PADDING

SHORTEST = 50  # least change of length of a long indel
LONGEST = 1000
FLANK = 200  # most bases of haplotypes and reads on either side of a breakpoint
CONFLICT = 50  # only one of the proposals whose starts are at most this far apart is called
# Distance from the start of an indel within which reads matter to its call: it covers the far end, left alignment,
# conflicts, and reads that cross the ends.
REACH = CONFLICT + LONGEST + 4 * FLANK
# An indel that starts at most this far before or after a chunk may have an end, or reads, in its padded regions.
BEFORE = LONGEST + REGION_PADDING + CONFLICT
AFTER = REGION_PADDING + 2 * FLANK
CHUNK_REACH = max(BEFORE, AFTER) + REACH


@dataclass(frozen=True, order=True)
class LongIndel:
    """An insertion or deletion, left-aligned, as in VCF.

    Attributes:
        start: 0-based position of the first base of `reference`.
        reference: codes.
        alternate: codes, beginning with the same base.
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
        """Number of bases that it adds to the sequence; negative for a deletion."""
        return len(self.alternate) - len(self.reference)


def left_aligned(start: int, end: int, inserted: bytes, codes: NDArray[np.uint8], codes_start: int) -> LongIndel | None:
    """Return the indel that replaces [start, end) by `inserted`, trimmed and left-aligned (Tan et al. 2015).

    `codes` are those of the reference from position `codes_start` on. Return None if the indel reaches the first of
    them, if nothing is left, or if it contains an N.
    """
    text = codes.tobytes()
    at, stop = start - codes_start, end - codes_start
    # Trim both alleles to the bases that differ; the base before is prepended at the end.
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
