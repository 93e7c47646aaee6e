"""Hits on alternate contigs lifted over to where these lie on other contigs, and mapping qualities of groups of places.

The rules are those of bwakit's bwa-postalt.js (r985), with its default options. They look at each reported alignment of
a read by itself, together with its *rivals*: the alignments that compete with it for the same part of the read (by
score, wherever they lie) and score more than 4/5 of it; none, if none of more than five lies on an alternate contig.
Where neither it nor a rival lies on an alternate contig nothing happens, nor to what is clipped hard.

1. Each of them is lifted over by every alignment of its contig (`quire.reference.lifts`) that it overlaps. It is not
   where its first base lies in a clip there. The first of these lifts takes the place of its own.
2. They are put in groups of overlapping places, on either strand.
3. If there are others in the alignment's group, its quality is 6 times its group's best score less the best one of all
   other groups, at most 60, and 60 where there is no other group; 0, if another group is the best. One on a contig with
   lifts keeps its quality if that is greater, any other one if that is smaller. The tag om holds what it was.
4. Of an alignment that was lifted over once or not at all, alignments of the same read that were reported before it
   learn: those that overlap its lifted place on the same strand have its quality if that is smaller than theirs (than
   om, if they have it and it is not 0); of the others, those that an overlapping one on an alternate contig beats (the
   tag pa) have 0, and in om what they had.
5. Rivals in the alignment's group that lie on a contig with lifts are added, as supplementary records with its quality.
   They have no tag SA and stand in none.
6. The tag lt names where a reported or added alignment was lifted over to: contig,start,end,strand; for each. As
   bwa-postalt writes them, start and end are one less than those of BED; the end is one less than the first place of
   the contig's alignment where the hit ends in a clip.

Ties of the best group go to the one that lies first, by the contigs' order in the FASTA (bwa-postalt: by name).
What bwa-postalt counts from NM is the alignments' score here: they differ by Ns of the read.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class LiftedOver(NamedTuple):
    """What lifting over says of the m rows of a `Reported`.

    Attributes:
        original_quality: int32[m], mapping quality before it was computed anew; -1 where it was not.
        texts: uint8, flat, and text_offsets: int64[m + 1]: where each was lifted over to, as in the tag lt.
        added: uint8[m], 1 for rows that no selection names.
    """

    original_quality: NDArray[np.int32]
    texts: NDArray[np.uint8]
    text_offsets: NDArray[np.int64]
    added: NDArray[np.uint8]


NOT_LIFTED_OVER = LiftedOver(
    np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.uint8)
)  # of no row, for references without lifts
