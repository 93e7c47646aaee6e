"""Reference confidence: the kernel against the oracle, the tables, and reads placed through their haplotypes."""

from math import log10

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.ragged import offsets_from_lengths
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads
from quire.rescore.reference_confidence import ReadColumns, reference_confidence
from quire.rescore.reference_confidence.columns_cpu import clipped_columns
from quire.rescore.reference_confidence.model import (
    DELETED,
    base_table,
    indel_table,
    log10_sum,
)
from quire.rescore.reference_confidence.realignment_cpu import best_haplotypes, carried_over, place, start_on_reference
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH

from tests.oracles.reference_confidence import Read, confidence_at, phreds
from tests.support.examples import examples


@st.composite
def piles(draw: st.DrawFn) -> tuple[np.ndarray, list[Read]]:
    """Draw a reference with repeats, and reads of it with mismatches, deleted and inserted bases."""
    unit = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    tail = draw(st.lists(st.integers(0, 4), min_size=0, max_size=40))
    reference = (unit * 20)[: draw(st.integers(10, 60))] + tail
    reads = []
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, len(reference) - 1))
        columns = draw(st.integers(1, len(reference) - start))
        bases = list(reference[start : start + columns])
        before_indel = [0] * columns
        for _ in range(draw(st.integers(0, 4))):
            bases[draw(st.integers(0, columns - 1))] = draw(st.integers(0, 4))
        if columns > 4 and draw(st.booleans()):
            at = draw(st.integers(1, columns - 3))
            bases[at : at + 2] = [DELETED] * 2
            before_indel[at - 1] = 1
        inserted = 0
        if draw(st.booleans()):
            before_indel[draw(st.integers(0, columns - 1))] = 1
            inserted = draw(st.integers(1, 12))
        qualities = [0 if b == DELETED else draw(st.sampled_from([0, 2, 6, 7, 20, 40])) for b in bases]
        length = columns - bases.count(DELETED) + inserted
        reads.append(Read(start, length, bases, qualities, before_indel))
    return np.array(reference, np.uint8), reads


def packed(groups: list[list[Read]]) -> ReadColumns:
    """Return reads of several spans as the kernel takes them."""
    flat = [read for group in groups for read in group]

    def column(name: str) -> np.ndarray:
        return np.array([value for read in flat for value in getattr(read, name)], np.uint8)

    return ReadColumns(
        offsets_from_lengths([len(group) for group in groups]),
        np.array([read.start for read in flat], np.int64),
        np.array([read.query_length for read in flat], np.int64),
        offsets_from_lengths([len(read.bases) for read in flat]),
        column("bases"),
        column("qualities"),
        column("before_indel"),
    )


@given(piles(), piles(), st.integers(1, 4), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_kernel_says_what_the_oracle_says(first, second, ploidy: int, data: st.DataObject) -> None:
    reference = np.concatenate([first[0], second[0]])
    shift = len(first[0])
    moved = [Read(r.start + shift, r.query_length, r.bases, r.qualities, r.before_indel) for r in second[1]]
    padded = np.array([[0, shift], [shift, len(reference)]])
    spans = []
    for low, high in padded.tolist():
        start = data.draw(st.integers(low, high - 1))
        spans.append((start, data.draw(st.integers(start + 1, high))))
    answer = reference_confidence(packed([first[1], moved]), np.array(spans), padded, reference, 0, ploidy)
    at = 0
    for (start, end), (low, high), reads in zip(spans, padded.tolist(), (first[1], moved), strict=True):
        for position in range(start, end):
            depth, values = confidence_at(reads, position, reference[low:high].tolist(), low, ploidy)
            assert answer.depth[at] == depth
            assert answer.phreds[at].tolist() == values
            assert values[0] == 0
            at += 1
    assert len(answer.depth) == len(answer.phreds) == at


def test_thirty_good_reads_are_as_sure_as_gatk_says() -> None:
    # Within ten bases of the end of the reads no indel can be ruled out.
    generator = np.random.default_rng(1)
    reference = generator.integers(0, 4, 200).astype(np.uint8)
    read = Read(0, 200, reference.tolist(), [30] * 200, [0] * 200)
    answer = reference_confidence(packed([[read] * 30]), np.array([[0, 200]]), np.array([[0, 200]]), reference, 0, 2)
    assert set(answer.depth.tolist()) == {30}
    assert answer.phreds[100].tolist() == [0, 90, 1043]
    assert answer.phreds[195].tolist() == [0, 0, 0]


@pytest.mark.parametrize("ploidy", [1, 2, 3, 7])
def test_tables_are_near_what_they_stand_for(ploidy: int) -> None:
    table = base_table(ploidy)
    assert table.shape == (256, 2, ploidy + 1)
    for count in range(ploidy + 1):
        error = 10**-2.5
        share = ((1 - error) * (ploidy - count) + error / 3 * count) / ploidy
        assert abs(table[25, 0, count] - log10(ploidy) - log10(share)) < 1e-4
        assert table[25, 1, count] == pytest.approx(table[25, 0, ploidy - count])
    assert indel_table(ploidy)[0].tolist() == [0.0] * (ploidy + 1)
    assert (np.diff(indel_table(ploidy)[40]) < 0).all()


def test_sums_quantise_as_gatk_does() -> None:
    assert log10_sum(-3.0, -3.0) == -3.0 + log10(2)
    assert log10_sum(-1.0, float("-inf")) == -1.0
    assert log10_sum(-1.0, -9.5) == -1.0
    assert log10_sum(0.0, -1.00004) == log10_sum(-1.00004, 0.0) == log10(1 + 10**-1.0)
    assert phreds([-1.25, -1.0, -11.0]) == [3, 0, 100]


def region_reads_of(placed: list[tuple[list[int], list[int]]], usable: list[int]) -> RegionReads:
    """Return one region with reads of these (bases, positions), quality 30."""
    sizes = [len(bases) for bases, _ in placed]
    n = len(placed)
    return RegionReads(
        region_offsets=np.array([0, n]),
        sample=np.zeros(n, np.int32),
        start=np.array([positions[0] for _, positions in placed]),
        end=np.array([positions[-1] + 1 for _, positions in placed]),
        usable=np.array(usable, np.uint8),
        reverse=np.zeros(n, np.uint8),
        mapping_quality=np.full(n, 60, np.uint8),
        before=np.zeros(n, np.int32),
        behind=np.zeros(n, np.int32),
        base_offsets=offsets_from_lengths(sizes),
        bases=np.array([b for bases, _ in placed for b in bases], np.uint8),
        qualities=np.full(sum(sizes), 30, np.uint8),
        positions=np.array([p for _, positions in placed for p in positions], np.int32),
    )


def test_columns_are_cut_to_the_span_and_know_their_indels() -> None:
    deletion = [*range(100, 110), *range(112, 122)]
    insertion = [*range(100, 108), INSERTED, INSERTED, *range(108, 118)]
    reads = region_reads_of(
        [
            ([0] * 20, deletion),
            ([1] * 20, insertion),
            ([2] * 9, list(range(100, 109))),
            ([3] * 20, list(range(100, 120))),
        ],
        [1, 1, 1, 0],
    )
    columns = clipped_columns(reads, np.array([0, 0]), np.array([[90, 130], [103, 117]]))
    assert columns.span_offsets.tolist() == [0, 2, 4]  # the third is too short, and the fourth is not genotyped
    assert columns.start.tolist() == [100, 100, 103, 103]
    assert columns.query_length.tolist() == [20, 20, 12, 16]
    first = slice(0, 22)
    assert columns.bases[first].tolist() == [0] * 10 + [DELETED] * 2 + [0] * 10
    assert np.flatnonzero(columns.before_indel[first]).tolist() == [9]
    assert np.flatnonzero(columns.before_indel[22:40]).tolist() == [7]
    assert columns.qualities[first].tolist() == [30] * 10 + [0] * 2 + [30] * 10


def test_the_best_haplotype_is_the_simplest_of_those_that_explain_a_read_alike() -> None:
    matrix = np.array([[-5.0, -4.9, -9.0], [-5.0, -2.0, -1.95], [-5.0, -4.7, -4.6], [-1.0, -1.0, -1.0]])
    assert best_haplotypes(matrix, np.array([1.0, -1.0, 0.0])).tolist() == [0, 2, 2, 0]


def cigar(text: list[tuple[int, int]]) -> np.ndarray:
    """Return CIGAR elements as in BAM."""
    return np.array([length << 4 | operation for operation, length in text], np.uint32)


def by_base(elements: list[tuple[int, int]]) -> list[int | None]:
    """Return for each base of the query the target's base, None for inserted ones."""
    answer: list[int | None] = []
    at = 0
    for operation, length in elements:
        if operation == CIGAR_DELETION:
            at += length
        else:
            answer += [None] * length if operation == CIGAR_INSERTION else list(range(at, at + length))
            at += length if operation == CIGAR_MATCH else 0
    return answer


@given(st.data())
@settings(max_examples=examples(80), deadline=None)
def test_an_alignment_is_carried_over_base_by_base(data: st.DataObject) -> None:
    middle = st.lists(
        st.tuples(st.sampled_from([CIGAR_INSERTION, CIGAR_DELETION, CIGAR_MATCH]), st.integers(1, 4)), max_size=5
    )

    def alignment() -> list[tuple[int, int]]:
        return [
            (CIGAR_MATCH, data.draw(st.integers(1, 6))),
            *data.draw(middle),
            (CIGAR_MATCH, data.draw(st.integers(1, 6))),
        ]

    haplotype = [(CIGAR_MATCH, 8), *alignment(), (CIGAR_MATCH, 30)]
    read = [*data.draw(st.sampled_from([[], [(4, 2)], [(4, 5)]])), *alignment()]
    offset = data.draw(st.integers(0, 7))
    operations, lengths = carried_over(cigar(read), cigar(haplotype), offset)
    through = by_base(haplotype)
    plain = [(CIGAR_INSERTION if op == 4 else op, length) for op, length in read]
    expected = [None if base is None else through[base + offset] for base in by_base(plain)]
    start = start_on_reference(cigar(haplotype), offset)
    aligned = [base for base in expected if base is not None]
    got = by_base(list(zip(operations.tolist(), lengths.tolist(), strict=True)))
    first = next(base for base in got if base is not None)
    assert [None if base is None else base - first for base in got] == [
        None if base is None else base - aligned[0] for base in expected
    ]
    assert start == offset  # the haplotype begins with eight matches


def test_indels_are_moved_left_and_clipped_ends_are_no_part_of_the_pileup() -> None:
    reference = np.array([0, 1, 2, 3, 0, 0, 0, 0, 1, 2, 3, 1, 2, 0, 3, 3], np.uint8)
    # The read lacks one of the four As; the aligner deleted the last one and clipped two bases.
    query = np.concatenate([reference[1:7], reference[8:14], np.array([1, 1], np.uint8)])
    positions = np.empty(len(query), np.int64)
    place(
        query,
        1,
        cigar([(CIGAR_MATCH, 6), (CIGAR_DELETION, 1), (CIGAR_MATCH, 6), (4, 2)]),
        cigar([(CIGAR_MATCH, 16)]),
        reference,
        500,
        positions,
    )
    assert positions.tolist() == [501, 502, 503, 505, 506, 507, 508, 509, 510, 511, 512, 513, INSERTED, INSERTED]
