"""Hits of a batch are cut into pieces of whole reads, of which none holds more than it should."""

import itertools

import numpy as np
import pytest
from quire.algorithms.complete import Ends, Hits
from quire.complete.selection import join
from quire.complete.streaming import WholeReads, shares_of_reads, whole_reads


def hits_of(reads: list[int]) -> Hits:
    """Hits of these reads, in order, that can be told apart by where they begin."""
    count = len(reads)
    zeros = np.zeros(count, np.uint8)
    begins = np.arange(count, dtype=np.int64)
    return Hits(np.array(reads, np.int64), zeros, begins, begins + 9, zeros)


def cut(hits: Hits, bounds: list[int]) -> list[Hits]:
    """Parts that end at these places."""
    ends = [*sorted(bounds), len(hits.read)]
    return [Hits._make(column[a:b] for column in hits) for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("seed", range(40))
def test_pieces_are_whole_reads(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, most = int(rng.integers(1, 12)), int(rng.integers(1, 15))
    of_read = rng.integers(0, 3 * most, count) * (rng.random(count) < 0.7)
    reads = np.repeat(np.arange(count), of_read).tolist()
    hits = hits_of(reads)
    parts = cut(hits, rng.integers(0, len(reads) + 1, int(rng.integers(0, 9))).tolist())
    pieces = list(whole_reads(iter(parts), count, most))
    assert [read for piece in pieces for read in range(piece.first, piece.last)] == list(range(count))
    for piece in pieces:
        mine = (hits.read >= piece.first) & (hits.read < piece.last)
        if piece.hits is None:
            assert piece.last == piece.first + 1
            assert mine.sum() > most
        else:
            np.testing.assert_array_equal(piece.hits.begin, hits.begin[mine])
            assert len(piece.hits.read) <= most + max(map(len, (part.read for part in parts)))


def test_a_piece_comes_before_what_follows_it_is_asked_for() -> None:
    """So that its records are made, and its hits let go, before more are found."""
    given = []

    def parts():
        for part in cut(hits_of([0, 0, 1, 1, 1, 2]), [2, 4]):
            given.append(len(part.read))
            yield part

    pieces = whole_reads(parts(), 3, 3)
    first = next(pieces)
    assert (first.first, first.last) == (0, 1)
    assert given == [2, 2]
    assert [(piece.first, piece.last) for piece in pieces] == [(1, 2), (2, 3)]


def test_no_hits() -> None:
    assert list(whole_reads([], 0, 3)) == []
    (piece,) = whole_reads([hits_of([])], 2, 3)
    assert piece[:2] == WholeReads(0, 2, None)[:2]
    assert len(join([piece.hits]).read) == 0


@pytest.mark.parametrize("seed", range(60))
def test_shares_are_whole_reads(seed: int) -> None:
    """Whatever the parts: all reads once and in order, none with more ends than are held, and all ends of each."""
    rng = np.random.default_rng(seed)
    count, most, of_share = int(rng.integers(1, 12)), int(rng.integers(1, 15)), int(rng.integers(1, 6))
    of_read = rng.integers(0, 3 * most, count) * (rng.random(count) < 0.7)
    read = np.repeat(np.arange(count), of_read)
    zeros = np.zeros(len(read), np.uint8)
    ends = Ends(read, zeros, np.arange(len(read)), zeros)
    bounds = [0, *sorted(rng.integers(0, len(read) + 1, int(rng.integers(0, 9))).tolist()), len(read)]
    parts = [Ends._make(column[a:b] for column in ends) for a, b in itertools.pairwise(bounds)]
    shares = list(shares_of_reads(iter(parts), count, of_share, most))
    assert [read for share in shares for read in range(share.first, share.last)] == list(range(count))
    for share in shares:
        mine = (read >= share.first) & (read < share.last)
        assert share.last - share.first <= of_share
        if share.ends is None:
            assert share.last == share.first + 1
            assert mine.sum() > most
        else:
            assert len(share.ends.end) <= most
            np.testing.assert_array_equal(share.ends.end, ends.end[mine])
            np.testing.assert_array_equal(share.ends.read + share.first, read[mine])


def test_a_share_comes_before_what_follows_it_is_asked_for() -> None:
    given = []

    def parts():
        for reads in ([0, 0, 1], [1, 1, 2], [3]):
            given.append(len(reads))
            zeros = np.zeros(len(reads), np.uint8)
            yield Ends(np.array(reads), zeros, np.arange(len(reads)), zeros)

    shares = shares_of_reads(parts(), 5, 1, 9)
    assert (next(shares).last, given) == (1, [3])
    assert [(share.first, share.last) for share in shares] == [(1, 2), (2, 3), (3, 4), (4, 5)]
