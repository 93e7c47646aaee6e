"""PairHMM on a card: chunks of tasks with their reads go up, and sums come back, while the host takes logarithms.

Float32 first; what that cannot hold is computed again in float64, as on the CPU (model.py). The scoring itself is
items_gpu.py's.
"""

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from quire.algorithms.pairhmm.batch import PairHmmBatch
from quire.algorithms.pairhmm.items_gpu import FLOAT32, FLOAT64, CardBatch, CardSequences, sums_of, upload_shared
from quire.algorithms.pairhmm.model import FLOAT32_FLOOR, SCALE_EXPONENT, log10_of_sums
from quire.device.card import Card, OutOfDeviceMemory, bytes_of, places_in

MOST_BYTES = 2 << 30
"""Most that the streams and tables of one chunk of tasks take of the card; more would not fill it better."""
_BYTES_PER_TASK = 128  # keys, orders, offsets and sums, with what sorting takes, besides the letters of the stream
TASKS_PER_CHUNK = 1 << 21
"""Tasks that are computed together where there are more: the host copies and takes logarithms beside the card."""
_SAMPLED = 64  # one task of so many tells whether reads stand together
_TASKS_PER_PIECE, _ITEMS_PER_COPY = 1 << 16, 1 << 22  # that a thread of the host has to do at a time


def log10_likelihoods(card: Card, batch: PairHmmBatch, threads: int = 1) -> np.ndarray:
    """Log10 of P(read | haplotype) for every task of the batch, bit for bit as `quire.algorithms.pairhmm` gives it.

    Args:
        card: where it is computed.
        batch: of the host. It goes through fastest where the tasks of a read stand together, and those of a region.
        threads: of the host, which copy to the card's staging memory and take logarithms while the card computes.

    Returns:
        float64[t] in the order of batch.tasks.

    Raises:
        OutOfDeviceMemory: no room for the batch's haplotypes, or for a single task.
        ValueError: gap continuation qualities of each base, which the kernels for cards do not know.
    """
    if batch.gap_continuation_qualities is not None:
        raise ValueError(
            "PairHMM on a card takes one gap continuation quality for a batch; let the CPU answer this one"
        )
    lengths, haplotypes = np.diff(batch.haplotype_offsets), batch.tasks[:, 1]
    answers = np.empty(len(batch.tasks), np.float64)

    def take_logarithms(first: int, sums: np.ndarray) -> None:
        piece = slice(first, first + len(sums))
        answers[piece] = log10_of_sums(sums, SCALE_EXPONENT[FLOAT32], lengths[haplotypes[piece]])

    with ThreadPoolExecutor(threads) as pool:
        started, in_float64 = [], []
        for found in _sums_by_chunk(card, batch, pool):
            for begin in range(0, len(found.sums), _TASKS_PER_PIECE):
                piece = found.sums[begin : begin + _TASKS_PER_PIECE]
                started.append(pool.submit(take_logarithms, found.first + begin, piece))
            in_float64.append(found)
        for future in started:
            future.result()
    for found in in_float64:
        again = found.again
        answers[again] = log10_of_sums(found.exact, SCALE_EXPONENT[FLOAT64], lengths[haplotypes[again]])
    return answers


def last_row_sums(card: Card, batch: PairHmmBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scaled sums of M + I over the last row.

    Returns:
        float32[t]; int64[n], the tasks whose float32 is too small or overflown; and float64[n] of these.

    Raises:
        OutOfDeviceMemory: as `log10_likelihoods`.
    """
    with ThreadPoolExecutor(1) as pool:
        chunks = sorted(_sums_by_chunk(card, batch, pool), key=lambda found: found.first)
    return (
        np.concatenate([np.empty(0, FLOAT32), *(found.sums for found in chunks)]),
        np.concatenate([np.empty(0, np.int64), *(found.again for found in chunks)]),
        np.concatenate([np.empty(0, FLOAT64), *(found.exact for found in chunks)]),
    )


class _Sums(NamedTuple):
    """Of a chunk of tasks, whose first is `first`: sums, and those that are told by float64 instead."""

    first: int
    sums: np.ndarray
    again: np.ndarray
    exact: np.ndarray


class _Staged(NamedTuple):
    """A chunk of tasks with their reads, from `lowest_read` on, on its way into the card's staging memory."""

    first: int
    size: int
    lowest_read: int
    arrays: list[np.ndarray]
    copies: list[Future[None]]


def _sums_by_chunk(card: Card, batch: PairHmmBatch, pool: Executor) -> Iterator[_Sums]:
    """Sums of all tasks, in no particular order; the next chunk is staged while one is computed."""
    size, count = _tasks_per_chunk(card, batch), len(batch.tasks)
    waiting = [(first, min(first + size, count)) for first in range(0, count, size)][::-1]
    staged = _stage(card, batch, *waiting.pop(), pool) if waiting else None
    shared = upload_shared(card, batch)
    while staged is not None:
        now, staged = staged, _stage(card, batch, *waiting.pop(), pool) if waiting else None
        for copy in now.copies:
            copy.result()
        try:
            yield _sums_of_chunk(card, shared, now)
        except OutOfDeviceMemory:
            if now.size == 1:
                raise
            middle, end = now.first + now.size // 2, now.first + now.size
            waiting += [(middle, end), (now.first, middle)]
            staged = staged or _stage(card, batch, *waiting.pop(), pool)


def _tasks_per_chunk(card: Card, batch: PairHmmBatch) -> int:
    """How many tasks there is room for, were all their haplotypes as long as the longest; and no more than pays."""
    longest = int(np.diff(batch.haplotype_offsets).max(initial=0))
    most = min(card.free_bytes() // 2, MOST_BYTES) // (longest + _BYTES_PER_TASK)
    spans = sum(
        int(np.ptp(batch.tasks[first : first + TASKS_PER_CHUNK : _SAMPLED, 0])) + 1
        for first in range(0, len(batch.tasks), TASKS_PER_CHUNK)
    )
    if spans > 2 * len(batch.read_offsets):  # the tasks of a read stand apart: every chunk would take most reads along
        return max(1, most)
    return max(1, min(most, TASKS_PER_CHUNK))


def _stage(card: Card, batch: PairHmmBatch, first: int, end: int, pool: Executor) -> _Staged:
    """Begin to copy some tasks and the reads from their first to their last one into staging memory."""
    tasks = batch.tasks[first:end]
    lowest, highest = int(tasks[:, 0].min()), int(tasks[:, 0].max())
    offsets = batch.read_offsets[lowest : highest + 2].astype(np.int64)
    reads = (batch.read_bases, batch.base_qualities, batch.insertion_qualities, batch.deletion_qualities)
    sources = [np.ascontiguousarray(array[offsets[0] : offsets[-1]], np.uint8) for array in reads]
    sources += [offsets - offsets[0], np.ascontiguousarray(tasks, np.int32)]
    targets = places_in(card.staging(bytes_of(sources)), sources)
    copies = [
        pool.submit(np.copyto, target[begin : begin + _ITEMS_PER_COPY], source[begin : begin + _ITEMS_PER_COPY])
        for source, target in zip(sources, targets, strict=True)
        for begin in range(0, len(source), _ITEMS_PER_COPY)
    ]
    return _Staged(first, end - first, lowest, targets, copies)


def _sums_of_chunk(card: Card, shared: CardBatch, staged: _Staged) -> _Sums:
    *reads, tasks = (card.upload_ahead(array, card.mark()).array() for array in staged.arrays)
    tasks[:, 0] = tasks[:, 0] - staged.lowest_read
    batch = shared._replace(reads=CardSequences(*reads))
    sums = sums_of(card, batch, tasks, FLOAT32)
    xp: Any = card.xp
    again = xp.flatnonzero(~((sums >= FLOAT32_FLOOR) & (sums < np.inf)))
    exact = sums_of(card, batch, tasks[again], FLOAT64)
    return _Sums(staged.first, card.download(sums), card.download(again) + staged.first, card.download(exact))
