"""Check downloads that overlap with kernels: the data that a thread finds after waiting."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from quire.device.card import Card, bytes_of

from tests.emulator.emulated_card import EmulatedCard, KernelFault

ARRAYS = [
    np.arange(5, dtype=np.uint8),
    np.empty(0, np.int64),
    np.arange(60, dtype=np.int64).reshape(20, 3),
    np.full(1 << 20, 7, np.uint32),
    np.arange(3, dtype=np.int32),
]


def test_every_thread_that_waited_finds_all(card: Card) -> None:
    on_card = [card.upload(array) for array in ARRAYS]
    for array in on_card:
        array += 1
    buffer = card.staging(bytes_of(on_card))
    download = card.download_ahead(on_card, buffer)
    on_card[2].sum()  # the card continues meanwhile

    def waited() -> list[np.ndarray]:
        download.wait()
        return [array.copy() for array in download.arrays]

    with ThreadPoolExecutor(4) as pool:
        for found in [pool.submit(waited) for _ in range(4)]:
            for array, wanted in zip(found.result(), ARRAYS, strict=True):
                assert array.dtype == wanted.dtype
                np.testing.assert_array_equal(array, wanted + 1)
    download.wait()
    assert bytes_of(on_card) == 16 + 0 + 480 + (4 << 20) + 16


def test_results_of_one_download_stay_while_the_next_is_under_way(card: Card) -> None:
    """As with batches, arrays of a download are released after the wait, and their memory is reused."""
    leaving = None
    expected, found = [], []
    for number in range(6):
        arrays = [card.full(1 << 18, number, np.int64), card.full(1000 + number, number, np.int32)]
        if leaving is not None:
            leaving[0].wait()
        leaving = card.download_ahead(arrays, card.staging(bytes_of(arrays))), arrays
        found.append(leaving[0])
        expected.append([number, 1000 + number])
    leaving[0].wait()
    for download, (number, length) in zip(found, expected, strict=True):
        large, small = download.arrays
        assert (len(large), len(small)) == (1 << 18, length)
        assert (large == number).all()
        assert (small == number).all()


def test_arrays_that_are_let_go_of_too_early_are_seen() -> None:
    card = EmulatedCard()
    arrays = [card.zeros(3, np.int64)]
    download = card.download_ahead(arrays, card.staging(bytes_of(arrays)))
    del arrays
    with pytest.raises(KernelFault, match="was released while it was copied"):
        download.wait()
