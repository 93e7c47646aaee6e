"""Complete search, from FASTQ to a BAM of every place with at most k differences and a table of counts.

`quire.algorithms.complete` defines hits. Reads are searched batch by batch (`search`, `finders`). The ends of a batch
are cut into shares of whole reads, and a single read with too many of them is searched again (`streaming`). Hits are
counted and chosen (`selection`), and become records and lines of the table (`records`).
"""
