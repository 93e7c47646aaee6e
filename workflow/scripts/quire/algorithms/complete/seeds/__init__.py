"""Complete search by seeds: exact pieces are looked up in the index, and what lies around them is verified.

A read is cut into k + 1 pieces. Of an alignment with at most k differences at least one piece has none (the pigeonhole
principle), so every alignment lies around an exact occurrence of a piece, and at most k diagonals away from that
occurrence's. The steps:

1. **Pieces** (`cpu_pieces`). The intervals of all pieces of some reads, both strands, are looked up side by side. A
   piece whose end alone has few rows is not searched further: a few candidates too many cost less.
2. **Candidates** (`cpu_candidates`). Rows become diagonals. One that an earlier piece of the read finds as well is left
   to that piece.
3. **Windows** (`cpu_windows`). The 2k + 1 diagonals around a candidate are solved with the furthest reaching rows of
   Landau and Vishkin (1989), on bit masks of the bases that differ, one candidate in each lane of vectors. The answer
   is the distance of the end on each diagonal, the smallest that an alignment within the window has.
4. **Merging** (`cpu_merging`). An end that several windows hold has the smallest of their distances, which is the true
   one: an alignment with that distance lies within the window of its exact piece.

A strand of a read with more than `MOST_ROWS` rows goes another way (`cpu_frequent`): its candidates are bits over parts
of the axis, so that memory does not grow with their number.
"""

MOST_ROWS = 1 << 16
PART_BASES = 1 << 28
