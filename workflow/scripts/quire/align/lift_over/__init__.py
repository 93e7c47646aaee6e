"""Lift-over of hits on alternate contigs, and mapping qualities of groups of overlapping places.

The rules are those of bwakit's bwa-postalt.js (r985) with default options. They treat each reported alignment of a read
together with its *rivals*: the alignments anywhere that compete with it by score for the same part of the read, and
score more than 4/5 of its score. If there are more than five and none lies on an alternate contig, it has no
rivals. Nothing changes if neither the alignment nor a rival lies on an alternate contig, or if the alignment is
hard-clipped.

1. The alignment and its rivals are lifted over by each alignment of their contig (`quire.reference.alternate`) that
   they overlap, unless it clips their first base. The place from the first of these lifts replaces their place.
2. They are grouped by overlapping places, on either strand.
3. If the group of the alignment has other members, its quality is 6 times the difference between the best score of the
   group and the best score of all other groups, at most 60; it is 60 without other groups, and 0 if another group is
   best. On a contig with lifts the alignment keeps its former quality if that is higher; on other contigs, if that is
   lower. The tag om contains the former quality.
4. An alignment that was lifted over at most once affects the read's alignments that were reported before it. Those that
   overlap its lifted place on the same strand get its quality if it is lower than theirs (than om, if that is present
   and not 0). If an overlapping alignment on an alternate contig beats one of the others (tag pa), that one gets
   quality 0, and its former quality in om.
5. Rivals in the alignment's group on contigs with lifts are added as supplementary records with the alignment's
   quality. They have no tag SA and are not listed in one.
6. The tag lt lists the places to which an alignment was lifted over (contig,start,end,strand;). As in bwa-postalt,
   start and end are one less than those of BED; if the hit ends in a clip, the end is one less than the first place of
   the contig's alignment.

Of groups with equal scores the first on the reference is best, in the order of the contigs in the FASTA (bwa-postalt:
by name). Where bwa-postalt computes scores from NM, Quire uses the alignments' scores; they differ by Ns of the
read.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class LiftedOver(NamedTuple):
    """Results of lifting over the m rows of a `Reported`.

    Attributes:
        original_quality: int32[m], former mapping quality; -1 if it was not recomputed.
        texts: uint8[], values of the tag lt, concatenated.
        text_offsets: int64[m + 1], their offsets.
        added: uint8[m], 1 for rows that are not part of the selection.
    """

    original_quality: NDArray[np.int32]
    texts: NDArray[np.uint8]
    text_offsets: NDArray[np.int64]
    added: NDArray[np.uint8]


NOT_LIFTED_OVER = LiftedOver(
    np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.uint8)
)  # for references without lifts
