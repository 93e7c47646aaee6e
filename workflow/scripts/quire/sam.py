"""Constants of SAM and BAM: bits of FLAG and operations of CIGAR (SAM specification, sections 1.4 and 4.2.2).

This is their only definition. They are plain integers, so that CPU kernels take them as constants and GPU kernels as
macros.
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

CIGAR_MATCH = 0  # alignment match: the bases may be equal or differ
CIGAR_INSERTION = 1
CIGAR_DELETION = 2
CIGAR_SKIP = 3
CIGAR_SOFT_CLIP = 4
CIGAR_HARD_CLIP = 5
CIGAR_PADDING = 6
CIGAR_EQUAL = 7
CIGAR_DIFFERENT = 8
CIGAR_LETTERS = "MIDNSHP=X"

# An element of a CIGAR is the 32-bit integer `length << CIGAR_SHIFT | operation`.
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
UNAVAILABLE_QUALITY = 255  # quality of a base
