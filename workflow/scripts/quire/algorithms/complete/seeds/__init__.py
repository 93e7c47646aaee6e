"""Exact pieces of reads, which are looked up in the index.

In an alignment with at most k differences, one of k + 1 pieces has none (the pigeonhole principle), so the alignment
passes through an exact occurrence of that piece. The pieces of many reads, on both strands, are searched side by side;
the search of a piece stops when few rows are left. Each row that the page owns becomes a candidate
(`quire.algorithms.complete.windows`).
"""
