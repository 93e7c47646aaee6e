"""BAM files (SAM specification, SAMv1.pdf, section 4).

`layout` defines the stored form of records. `encode` turns flat arrays into records and blocks, and `writer` writes
these to a file. `decode` turns records into columns. `stream` reads a whole file, `reader` and `regions` read the
records of a region, and `reads` gives the reads of a file as sequenced.
"""
