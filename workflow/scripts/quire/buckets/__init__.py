"""A unit's records by where they lie on the genome: what mapping leaves behind, and finishing sorts.

The genome, its contigs end to end, is cut into buckets of equal width. A record belongs to the bucket that holds its
position. Buckets whose records may share a fragment with it (`quire.finish.marking`) get a copy, which is looked at and
not written, so that each bucket can be marked, sorted and compressed by itself. Records without a position have a
bucket of their own, the last. `cpu` deals a batch's records out, `packing` makes them small, `file` keeps them.
"""
