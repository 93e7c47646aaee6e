"""Ends of a batch are cut into shares of whole reads, of which none holds more than it should."""

import itertools

import numpy as np
import pytest
from quire.algorithms.complete import Ends
from quire.complete import streaming
from quire.complete.streaming import whole_reads


@pytest.mark.parametrize("seed", range(60))
def test_shares_are_whole_reads(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the parts: all reads once and in order, none with more ends than are held, and all ends of each."""
    rng = np.random.default_rng(seed)
    count, most, of_share = int(rng.integers(1, 12)), int(rng.integers(1, 15)), int(rng.integers(1, 6))
    of_read = rng.integers(0, 3 * most, count) * (rng.random(count) < 0.7)
    read = np.repeat(np.arange(count), of_read)
    zeros = np.zeros(len(read), np.uint8)
    ends = Ends(read, zeros, np.arange(len(read)), zeros)
    bounds = [0, *sorted(rng.integers(0, len(read) + 1, int(rng.integers(0, 9))).tolist()), len(read)]
    parts = [Ends._make(column[a:b] for column in ends) for a, b in itertools.pairwise(bounds)]
    monkeypatch.setattr(streaming, "MOST_ENDS", most)
    shares = list(whole_reads(iter(parts), count, of_share))
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


def test_a_share_comes_before_what_follows_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MOST_ENDS", 9)
    given = []

    def parts():
        for reads in ([0, 0, 1], [1, 1, 2], [3]):
            given.append(len(reads))
            zeros = np.zeros(len(reads), np.uint8)
            yield Ends(np.array(reads), zeros, np.arange(len(reads)), zeros)

    shares = whole_reads(parts(), 5, 1)
    assert (next(shares).last, given) == (1, [3])
    assert [(share.first, share.last) for share in shares] == [(1, 2), (2, 3), (3, 4), (4, 5)]
