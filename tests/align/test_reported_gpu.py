"""Reported alignments on the CPU and on a card, taken from all alignments of a batch, against their definition."""

from itertools import pairwise

import numpy as np
import pytest
from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import MOST_SUPPLEMENTARY
from quire.ragged import offsets_from_lengths

from tests.support.card_builders import Host, download_all, twin, upload_all

COLUMNS = ("strand", "score", "read_begin", "read_end", "axis_begin", "axis_end", "contig", "position")
_ROW = np.dtype("i8,i4,u1,u1,i4,u1,i4,i4,i4,i8,i8,i4,i8,i8,i4,u4,i4,i4")
DTYPES = [_ROW[number] for number in range(len(_ROW))]
LARGE = {np.dtype(np.uint8): 1 << 8, np.dtype(np.int32): 1 << 31, np.dtype(np.int64): 1 << 40}


def random_batch(seed: int, reads: int) -> tuple[Alignments, Selection]:
    """Return random alignments, their operations in any order, and a random choice of them."""
    generator = np.random.default_rng(seed)
    counts = generator.choice([0, 1, 1, 2, 5, 9], reads)
    offsets = offsets_from_lengths(counts)
    total = int(offsets[-1])

    def column(dtype, size=total):
        return generator.integers(0, LARGE[np.dtype(dtype)], size).astype(dtype)

    lengths = generator.choice([1, 1, 1, 3, 20], total).astype(np.int32)
    begins, order = np.empty(total, np.int64), generator.permutation(total)
    begins[order] = offsets_from_lengths(lengths[order])[:-1]
    alignments = Alignments(
        offsets, np.repeat(np.arange(reads, dtype=np.int32), counts), column(np.uint8),
        *(column(np.int32) for _ in range(3)), *(column(np.int64) for _ in range(2)), column(np.int32),
        column(np.int64), begins, lengths, column(np.int64, int(lengths.sum())).astype(np.uint32),
    )  # fmt: skip
    shape = (reads, MOST_SUPPLEMENTARY)
    selection = Selection(
        np.full(reads, -1, np.int64), column(np.uint8, reads), column(np.int32, reads),
        generator.random(reads) < 0.5, np.full(shape, -1, np.int64), column(np.uint8, shape), column(np.int32, shape),
    )  # fmt: skip
    for read in np.flatnonzero(counts):
        chosen = offsets[read] + generator.permutation(counts[read])[: generator.integers(1, MOST_SUPPLEMENTARY + 2)]
        selection.primary[read], selection.supplementary[read, : len(chosen) - 1] = chosen[0], chosen[1:]
    return alignments, selection


def with_alternate(alignments: Alignments, seed: int) -> tuple[Alignments, np.ndarray]:
    """Return the alignments on six contigs, two of them alternate, which come last; and uint8[contigs]."""
    generator = np.random.default_rng(seed)
    alternate = np.array([0, 1, 0, 0, 1, 0], np.uint8)
    contig = generator.integers(0, 6, len(alignments.contig)).astype(np.int32)
    for first, last in pairwise(alignments.offsets):
        contig[first:last] = sorted(contig[first:last], key=lambda number: alternate[number])
    return alignments._replace(contig=contig), alternate


def wanted_rivals(alignments: Alignments, selection: Selection, alternate: np.ndarray) -> list[tuple[list, list]]:
    """Return for each read the indices of its reported rows and of its rivals among its alignments."""
    reads = []
    for read, (first, last) in enumerate(pairwise(alignments.offsets.tolist())):
        reported = [i for i in (selection.primary[read], *selection.supplementary[read]) if i >= 0]
        scores = alignments.score.tolist()
        good = [i for i in range(first, last) if reported and 5 * scores[i] > 4 * min(scores[j] for j in reported)]
        others = [i for i in good if i not in reported] if any(alternate[alignments.contig[i]] for i in good) else []
        reads.append(([i - first for i in reported], [i - first for i in others]))
    return reads


def rivals_in_words(reported: Reported, alignments: Alignments) -> list[tuple[list, list]]:
    """Return the rivals of the result in the same form; each row must equal the alignment it was taken from."""
    reads = []
    for read, (first, rows, every) in enumerate(zip(reported.first, reported.rows, reported.all_rows, strict=True)):
        rank = reported.rank[first : first + every].tolist()
        places = alignments.offsets[read] + np.array(rank, np.int64)
        for name in COLUMNS:
            assert (getattr(reported, name)[first : first + every] == getattr(alignments, name)[places]).all()
        for row, place in zip(range(first, first + every), places, strict=True):
            begin, taken = alignments.cigar_begin[place], reported.cigar_begin[row]
            length = alignments.cigar_length[place]
            assert reported.cigar_length[row] == length
            assert (reported.cigar[taken : taken + length] == alignments.cigar[begin : begin + length]).all()
        assert not reported.quality[first + rows : first + every].any()
        reads.append((rank[:rows], rank[rows:]))
    assert len(reported.rank) == reported.all_rows.sum()
    return reads


def wanted(alignments: Alignments, selection: Selection) -> list[tuple[bool, list[tuple]]]:
    """Return for each read if its pair is proper, and its rows: quality, second score, columns, operations."""
    reads = []
    for read, primary in enumerate(selection.primary.tolist()):
        chosen = [(primary, selection.quality[read], selection.suboptimal_score[read])] if primary >= 0 else []
        further = (
            column[read].tolist()
            for column in (
                selection.supplementary,
                selection.supplementary_quality,
                selection.supplementary_suboptimal_score,
            )
        )
        chosen += [row for row in zip(*further, strict=True) if row[0] >= 0]
        rows = [
            (int(quality), int(second), *(int(getattr(alignments, name)[i]) for name in COLUMNS),
             *alignments.cigar[alignments.cigar_begin[i] :][: alignments.cigar_length[i]].tolist())
            for i, quality, second in chosen
        ]  # fmt: skip
        reads.append((bool(selection.proper[read]), rows))
    return reads


def in_words(reported: Reported) -> list[tuple[bool, list[tuple]]]:
    """Return the result in the same form; rows and operations are in read order, without gaps."""
    assert reported.first.tolist() == offsets_from_lengths(reported.rows)[:-1].tolist()
    assert len(reported.quality) == reported.rows.sum()
    assert reported.cigar_begin.tolist() == offsets_from_lengths(reported.cigar_length)[:-1].tolist()
    assert len(reported.cigar) == reported.cigar_length.sum()
    rows = [
        (*row, *reported.cigar[begin : begin + length].tolist())
        for *row, begin, length in zip(
            *(getattr(reported, name).tolist() for name in ("quality", "suboptimal_score", *COLUMNS)),
            reported.cigar_begin, reported.cigar_length, strict=True,
        )
    ]  # fmt: skip
    return [
        (bool(proper), rows[first : first + count])
        for proper, first, count in zip(reported.proper, reported.first, reported.rows, strict=True)
    ]


def taken(card, alignments: Alignments, selection: Selection, *alternate: np.ndarray) -> Reported:
    if not isinstance(card, Host):
        selection = selection._replace(proper=selection.proper.astype(np.uint8))
    given = upload_all(card, alignments), upload_all(card, selection), *map(card.upload, alternate)
    found = download_all(card, twin(card, "quire.align.reported", "take_reported")(*given))
    return found._replace(proper=found.proper.view(np.uint8))


@pytest.mark.parametrize("reads", [0, 1, 2, 700])
def test_taken_rows_are_those_chosen(card_or_cpu, reads: int) -> None:
    alignments, selection = random_batch(reads, reads)
    found = taken(card_or_cpu, alignments, selection)
    assert in_words(found) == wanted(alignments, selection)
    assert [column.dtype for column in found] == DTYPES
    if reads > 2:
        assert {len(rows) for _, rows in wanted(alignments, selection)} == set(range(MOST_SUPPLEMENTARY + 2))


def test_rivals_of_reads_on_alternate_contigs(card_or_cpu) -> None:
    alignments, selection = random_batch(9, 500)
    alignments, alternate = with_alternate(alignments, 9)
    expected = wanted_rivals(alignments, selection, alternate)
    assert rivals_in_words(taken(card_or_cpu, alignments, selection, alternate), alignments) == expected
    assert sum(len(others) > 0 for _, others in expected) > 50
    assert sum(len(reported) > 1 and not others for reported, others in expected) > 50


def test_reads_without_any_alignment(card_or_cpu) -> None:
    alignments, nothing = random_batch(1, 0)[0], random_batch(5, 3)[1]
    nothing.primary[:], nothing.supplementary[:] = -1, -1
    assert in_words(taken(card_or_cpu, alignments, nothing)) == [(bool(proper), []) for proper in nothing.proper]
