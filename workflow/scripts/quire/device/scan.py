"""Offsets from counts, and the places of items other than 0, on a card: one or two launches each, whatever the size.

Array functions of CuPy need four or five launches for offsets, and one copy to read their last element. Mapping calls
these functions three dozen times per batch. `card` is a `quire.device.card.Card`.
"""

from typing import Any, NamedTuple

import numpy as np

SOURCE = "quire/device/scan.cu"
MOST_PARTS = 1024  # of a row; each block adds up the sums of the parts before its own
THREADS = 256
ITEMS = 8  # of a thread in a round
_ROUND = THREADS * ITEMS
_SHARED_BYTES = 8 * THREADS // 32
_DEFINES = {size: {"ITEM_BYTES": size, "ITEMS": ITEMS, "THREADS": THREADS} for size in (1, 4, 8)}
KERNELS = [(SOURCE, defines) for defines in _DEFINES.values()]


class _Rows(NamedTuple):
    """The struct Rows of scan.cu."""

    items: Any
    length: int
    part: int
    places: int
    sums: Any


def offsets(card: Any, counts: Any) -> tuple[Any, Any]:
    """Return offsets and sums of rows of counts; see `Card.offsets_and_totals`."""
    rows = 1 if counts.ndim == 1 else counts.shape[0]
    return _scan(card, "write_offsets", counts, card.empty((*counts.shape[:-1], counts.shape[-1] + 1), np.int64), rows)


def places(card: Any, items: Any) -> tuple[Any, Any]:
    """Return the indices of items other than 0 (int64[n], of which only the first are defined), and their number."""
    return _scan(card, "write_places", items, card.empty(len(items), np.int64), 1)


def _scan(card: Any, entry: str, items: Any, result: Any, rows: int) -> tuple[Any, Any]:
    length = items.shape[-1]
    part = _ROUND * max(1, -(-length // (_ROUND * MOST_PARTS)))
    parts = max(1, -(-length // part))
    totals = card.numbers(rows)
    given = _Rows(items, length, part, int(entry == "write_places"), card.empty(rows * parts, np.int64))
    defines = _DEFINES[items.dtype.itemsize]
    if parts > 1:
        card.kernel(SOURCE, "sum_parts", **defines)((parts, rows), THREADS, given, shared_bytes=_SHARED_BYTES)
    write = card.kernel(SOURCE, entry, **defines)
    write((parts, rows), THREADS, given, result, totals.memory, shared_bytes=_SHARED_BYTES)
    return result, totals
