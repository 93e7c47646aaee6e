"""Complete search as a stage: FASTQ to a BAM with every place of the reads with at most k differences, and to counts.

What a hit is, is said in `quire.algorithms.complete`. Reads come in batches; a batch is searched, its hits are counted
and chosen (`selection`), and become records (`records`) and lines of a table (`counts`). A batch with very many hits is
searched again, in pieces that fit into memory (`streaming`).
"""
