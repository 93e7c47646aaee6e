"""Division of reads into pieces: no alignment is missed, and pieces are exact where these are rare."""

import numpy as np
import pytest
from quire.algorithms.complete import shortest_read
from quire.algorithms.complete.pieces import cut, lay_pieces, pieces_of
from quire.algorithms.complete.windows import DIAGONALS, FIRST_SHIFT

CHROMOSOME = 60_000_000
MOST_DIFFERENCES = 5


@pytest.mark.parametrize("differences", range(6))
def test_pieces_leave_no_alignment_out(differences) -> None:
    """For any distribution of k differences, some piece has at most its limit; the pieces cover the read."""
    for length in (shortest_read(differences), 36, 101):
        for count in range(1, differences + 2):
            pieces = cut(length, differences, count)
            assert [0, *(piece.end for piece in pieces)] == [*(piece.begin for piece in pieces), length]
            assert sum(piece.limit + 1 for piece in pieces) == differences + 1
            assert all(piece.end - piece.begin > piece.limit for piece in pieces)


def test_a_word_holds_a_window() -> None:
    assert 2 * MOST_DIFFERENCES + 1 <= DIAGONALS - 2 * MOST_DIFFERENCES
    assert DIAGONALS <= 1 << FIRST_SHIFT


def test_exact_pieces_are_given_up_where_they_occur_too_often() -> None:
    """Short reads, or many differences, make exact pieces too frequent, as measured on a chromosome."""
    lengths = (20, 23, 36, 47, 100, 150)
    searches = [(n, k) for n in lengths for k in range(6) if any(piece.limit for piece in pieces_of(n, k, CHROMOSOME))]
    walked = {length: [k for n, k in searches if n == length] for length in lengths}
    assert walked == {20: [2, 3, 4, 5], 23: [2, 3, 4, 5], 36: [3, 4, 5], 47: [4, 5], 100: [], 150: []}


def test_reads_of_any_length_are_judged() -> None:
    """From 512 bases on, a float cannot hold the number of words of a length."""
    for k in range(6):
        for length in range(shortest_read(k), 1025, 7):
            assert sum(piece.limit + 1 for piece in pieces_of(length, k, CHROMOSOME)) == k + 1


def test_pieces_of_reads_of_several_lengths() -> None:
    """Each strand of each read has the pieces of its length, sorted by oriented read within a limit."""
    lengths = np.array([36, 100, 36, 20])
    found: dict[int, list[tuple[int, int, int]]] = {}
    for pieces in lay_pieces(np.concatenate([[0], np.cumsum(lengths)]), CHROMOSOME, 3):
        assert (np.diff(pieces.oriented) >= 0).all()
        for oriented, begin, end in zip(pieces.oriented, pieces.begin, pieces.end, strict=True):
            found.setdefault(int(oriented), []).append((int(begin), int(end), pieces.limit))
    for read, length in enumerate(lengths.tolist()):
        wanted = sorted(map(tuple, pieces_of(length, 3, CHROMOSOME)))
        assert sorted(found[2 * read]) == sorted(found[2 * read + 1]) == wanted
