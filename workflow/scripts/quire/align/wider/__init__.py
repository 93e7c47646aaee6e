"""Wider bands: an alignment clipped at an insertion or deletion that is longer than its band is wide is aligned again.

A band reaches BAND_MARGIN diagonals beyond those of a candidate's seeds. Where a longer gap lies near an end of a read,
and the seeds of what lies behind it are missing or too frequent, that end is clipped, and another copy of a repeat,
which has no gap there, may score more. Such a gap can be seen without a matrix: the read's end lies unclipped on a
diagonal beside the band.

An alignment that scores SHORTEST_SCORE or more is looked at where a clip of one or both of its ends has SHORTEST_CLIP
bases or more. Of the diagonals outside the band, and at most LARGEST_GAP away from the one that the alignment has at
that end, those may do on which at most OUTER_DIFFERENCES of the read's outermost OUTER_BASES differ from the axis. What
one is worth are the bases that lie on it (the clipped ones; behind an insertion, those but for as many as it is long,
and OUTER_BASES at least) with the scores of match and mismatch, and END_BONUS, less the cost of the gap. The end's
diagonal is that of the greatest value above 0, the lowest of equals, if it could make the alignment at most NEAR_BEST
worse than the best one of its read on the primary assembly. The band is widened to hold the diagonals of both ends.

Here N of a read is A, and N of the axis what stands in for it; extension, which tells them, has the last word.

All this is a property of read and axis, so that one answer stays one. Few reads are aligned again (75 of a million of
300 bases of chr20), and nearly all of these score more.
"""
