"""From ends to hits, and from hits to CIGARs: the path of the package's text, for each end by itself.

The path back from an end stays within k diagonals of it, so that the furthest reaching rows of Landau and Vishkin
(1989) on these diagonals know H wherever the path needs it: H[i][j] <= v where v differences reach row i or further on
the diagonal j - i. Bases that are equal are passed over in words.

The begin of an end's alignment is all that is needed to tell which ends are hits; only hits that are reported are
aligned once more for their CIGARs.
"""
