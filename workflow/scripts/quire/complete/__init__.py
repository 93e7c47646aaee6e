"""Complete search, from FASTQ to a BAM of every place with at most k differences and a table of counts.

`quire.algorithms.complete` defines hits, and ends, the positions where hits may end. The ends of each batch of reads
are found (`search`, `finders`) and cut into shares of whole reads; a read with too many ends to hold is searched again,
a few hits at a time (`streaming`). Hits are counted and chosen (`selection`), and become records and lines of the table
(`records`).
"""
