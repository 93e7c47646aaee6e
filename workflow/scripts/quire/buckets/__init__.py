"""A unit's records, grouped by genome position: mapping writes these buckets, and finishing sorts them.

The genome, its contigs end to end, is cut into buckets of equal width. A record belongs to the bucket that holds its
position. Other buckets whose records may share a fragment with it (`quire.finish.marking`) get a copy that is compared
but not written, so that each bucket can be marked, sorted and compressed independently. The last bucket holds the
records without a position. `cpu` distributes a batch's records, `packing` compresses them, and `file` stores them.
"""
