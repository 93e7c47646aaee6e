"""Complete search as a stage: FASTQ to a BAM with every place of the reads with at most k differences, and to counts.

What a hit is, is said in `quire.algorithms.complete`. Reads come in batches; a batch is searched, its hits are counted
and chosen (`selection`), and become records (`records`) and lines of a table (`counts`). Where a batch has very many
hits, its reads become records as soon as their hits are there; a single read with so many is searched again
(`streaming`).
"""
