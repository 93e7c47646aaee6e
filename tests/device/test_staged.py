"""Check staged pieces: all arrive, also returned ones, and a full card is reported when a piece is used."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from quire.device import staged as module
from quire.device.card import OutOfDeviceMemory
from quire.device.staged import Staged, staged_pieces

from tests.emulator.emulated_card import EmulatedCard

DATA = np.arange(1000, dtype=np.int32).reshape(500, 2)


def arrays_of(piece: tuple[int, int]) -> list[np.ndarray]:
    """Return a piece's rows and their number."""
    first, end = piece
    return [np.ascontiguousarray(DATA[first:end]), np.array([end - first], np.uint8)]


def check(card, staged: Staged[tuple[int, int]]) -> None:
    """Check that the arrays of a piece are on the card."""
    rows, count = (card.download(array) for array in staged.arrays())
    first, end = staged.piece
    np.testing.assert_array_equal(rows, DATA[first:end])
    assert count.tolist() == [end - first]


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_arrive_in_order(card, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BYTES_PER_COPY", 60)
    pieces = [(first, first + 1 + first % 50) for first in range(0, 440, 20)]
    with ThreadPoolExecutor(threads) as pool:
        seen = []
        for staged in staged_pieces(card, pool, pieces[::-1], arrays_of):
            check(card, staged)
            seen.append(staged.piece)
    assert seen == pieces


def test_no_pieces_and_empty_ones(card) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert list(staged_pieces(card, pool, [], arrays_of)) == []
        for staged in staged_pieces(card, pool, [(3, 3)], arrays_of):
            check(card, staged)


@pytest.mark.parametrize("failing", range(1, 9))
def test_a_piece_without_room_is_put_back_in_halves(failing: int) -> None:
    card = EmulatedCard()
    card.fail_allocation(failing)
    waiting, done = [(100, 200), (0, 100)], []
    with ThreadPoolExecutor(2) as pool:
        for staged in staged_pieces(card, pool, waiting, arrays_of):
            first, end = staged.piece
            try:
                staged.arrays()
                card.empty(3, np.int64)
            except OutOfDeviceMemory:
                waiting += [((first + end) // 2, end), (first, (first + end) // 2)]
                continue
            check(card, staged)
            done.append(staged.piece)
    covered = [row for first, end in sorted(done) for row in range(first, end)]
    assert covered == list(range(200))


def test_staging_memory_is_kept_until_it_has_been_copied(card) -> None:
    """The host does not wait for the card between pieces, so a slow card copies a piece after the host has moved on."""
    pieces = [(first, first + 20) for first in range(0, 200, 20)]
    with ThreadPoolExecutor(1) as pool:
        kept = [staged.arrays()[0] + 1 for staged in staged_pieces(card, pool, pieces[::-1], arrays_of)]
    for (first, end), rows in zip(pieces, kept, strict=True):
        np.testing.assert_array_equal(card.download(rows), DATA[first:end] + 1)
