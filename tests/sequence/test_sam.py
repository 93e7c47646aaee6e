"""Constants of SAM against htslib's in pysam, and CIGAR elements split and built."""

import pysam
import pytest
from quire import sam
from quire.sequence.cigar_cpu import element_of, length_of, operation_of

FLAGS = {
    "PAIRED": pysam.FPAIRED,
    "PROPER_PAIR": pysam.FPROPER_PAIR,
    "UNMAPPED": pysam.FUNMAP,
    "MATE_UNMAPPED": pysam.FMUNMAP,
    "REVERSE": pysam.FREVERSE,
    "MATE_REVERSE": pysam.FMREVERSE,
    "FIRST_OF_PAIR": pysam.FREAD1,
    "SECOND_OF_PAIR": pysam.FREAD2,
    "SECONDARY": pysam.FSECONDARY,
    "FAILED_QUALITY_CHECK": pysam.FQCFAIL,
    "DUPLICATE": pysam.FDUP,
    "SUPPLEMENTARY": pysam.FSUPPLEMENTARY,
}
OPERATIONS = {
    "MATCH": pysam.CMATCH,
    "INSERTION": pysam.CINS,
    "DELETION": pysam.CDEL,
    "SKIP": pysam.CREF_SKIP,
    "SOFT_CLIP": pysam.CSOFT_CLIP,
    "HARD_CLIP": pysam.CHARD_CLIP,
    "PADDING": pysam.CPAD,
    "EQUAL": pysam.CEQUAL,
    "DIFFERENT": pysam.CDIFF,
}


@pytest.mark.parametrize(("prefix", "expected"), [("FLAG_", FLAGS), ("CIGAR_", OPERATIONS)])
def test_numbers_are_those_of_htslib(prefix, expected) -> None:
    others = {"CIGAR_LETTERS", "CIGAR_SHIFT", "CIGAR_MASK"}
    named = {name: value for name, value in vars(sam).items() if name.startswith(prefix) and name not in others}
    assert named == {prefix + name: int(value) for name, value in expected.items()}


@pytest.mark.parametrize("operation", range(9))
def test_operations_consume_what_pysam_counts(operation) -> None:
    record = pysam.AlignedSegment()
    record.cigartuples = [(operation, 7)]
    assert record.cigarstring == f"7{sam.CIGAR_LETTERS[operation]}"
    assert (record.infer_query_length() or 0) == 7 * (sam.CONSUMES_READ >> operation & 1)
    record.reference_start, record.flag = 100, 0
    # htslib takes a span of one base where an alignment covers none.
    assert record.reference_length == (7 if sam.CONSUMES_REFERENCE >> operation & 1 else 1)


@pytest.mark.parametrize("length", [0, 1, 150, (1 << 28) - 1])
@pytest.mark.parametrize("operation", range(9))
def test_elements(length, operation) -> None:
    element = element_of(length, operation)
    assert element == length << 4 | operation
    assert (length_of(element), operation_of(element)) == (length, operation)
