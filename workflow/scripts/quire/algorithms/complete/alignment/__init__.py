"""Hits of ends, and CIGARs of hits: the path that `quire.algorithms.complete` defines, for each end separately.

The path back from an end stays within k diagonals of it. The furthest reaching rows of Landau and Vishkin (1989) on
these diagonals give H wherever the path needs it: H[i][j] <= v where v differences reach row i or a later one on the
diagonal j - i. Equal bases are skipped a word at a time.

The begin of its alignment decides whether an end is a hit. Only hits that are reported are aligned again, for their
CIGARs.
"""
