"""Wider bands: an alignment that is clipped at an insertion or deletion longer than its band is wide is realigned.

A band reaches BAND_MARGIN diagonals beyond those of a candidate's seeds. If a longer gap lies near an end of a read,
and the seeds beyond it are missing or too frequent, that end is clipped, and another copy of a repeat without the gap
may score more. Such a gap is visible without a matrix: the end of the read matches on a diagonal next to the band.

Alignments that score at least SHORTEST_SCORE and have a clip of at least SHORTEST_CLIP bases are examined. Candidates
are the diagonals outside the band, at most LARGEST_GAP from the alignment's diagonal at that end, on which at most
OUTER_DIFFERENCES of the read's outermost OUTER_BASES bases differ from the axis. The value of a diagonal is the score
of the bases that lie on it plus END_BONUS, less the cost of the gap. These bases are the clipped ones, without as many
as an insertion is long, and at least OUTER_BASES. The diagonal of greatest positive value (the lowest of equals) is
chosen if it could bring the alignment to within NEAR_BEST of the best one of its read on the primary assembly. The band
is widened to contain the diagonals of both ends.

Here N of a read counts as A, and N of the axis as its substitute; extension, which distinguishes them, decides.

The result depends on read and axis only. Few reads are realigned (75 in a million of 300 bases of chr20), and nearly
all of them score more.
"""
