"""Complete search, from FASTQ to a BAM of every place with at most k differences and a table of counts.

`quire.algorithms.complete` defines hits. Reads are searched batch by batch. The hits of a batch are counted and chosen
(`selection`), and become records (`records`) and lines of the table (`counts`). In a batch with more hits than are held
at once, reads become records as soon as their hits are complete, and a single read with too many hits is searched
again (`streaming`).
"""
