"""BAM, as the SAM specification lays it down (SAMv1.pdf, section 4).

`layout` says how records are stored, `encode` turns flat arrays into records and blocks, `writer` writes them to a
file with its header, `decode` turns records into columns, and `regions` finds those of a region in an indexed file.
"""
