"""The numbers that SAM and BAM give to things: bits of FLAG, operations of CIGAR (SAM specification, 1.4 and 4.2.2).

This is the only definition. They are plain integers, so that kernels of the CPU take them as constants, and kernels of
a card as macros.
"""

FLAG_PAIRED = 0x1
FLAG_PROPER_PAIR = 0x2
FLAG_UNMAPPED = 0x4
FLAG_MATE_UNMAPPED = 0x8
FLAG_REVERSE = 0x10
FLAG_MATE_REVERSE = 0x20
FLAG_FIRST_OF_PAIR = 0x40
FLAG_SECOND_OF_PAIR = 0x80
FLAG_SECONDARY = 0x100
FLAG_FAILED_QUALITY_CHECK = 0x200
FLAG_DUPLICATE = 0x400
FLAG_SUPPLEMENTARY = 0x800

CIGAR_MATCH = 0  # an alignment match: the bases may be equal or not
CIGAR_INSERTION = 1
CIGAR_DELETION = 2
CIGAR_SKIP = 3
CIGAR_SOFT_CLIP = 4
CIGAR_HARD_CLIP = 5
CIGAR_PADDING = 6
CIGAR_EQUAL = 7
CIGAR_DIFFERENT = 8
CIGAR_LETTERS = "MIDNSHP=X"

# An element of a CIGAR is `length << CIGAR_SHIFT | operation`, 32 bits.
CIGAR_SHIFT = 4
CIGAR_MASK = 15

# Sets of operations: bit i stands for operation i.
CONSUMES_READ = sum(
    1 << operation for operation in (CIGAR_MATCH, CIGAR_INSERTION, CIGAR_SOFT_CLIP, CIGAR_EQUAL, CIGAR_DIFFERENT)
)
CONSUMES_REFERENCE = sum(
    1 << operation for operation in (CIGAR_MATCH, CIGAR_DELETION, CIGAR_SKIP, CIGAR_EQUAL, CIGAR_DIFFERENT)
)

UNAVAILABLE_MAPPING_QUALITY = 255
UNAVAILABLE_QUALITY = 255  # of a base
