"""PairHMM on a card: chunks of tasks with their reads go up, and logarithms of likelihoods come back.

Float32 first; what that cannot hold is computed again in float64, as on the CPU (model.py). The scoring itself is
items_gpu.py's.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from quire.algorithms.pairhmm.batch import PairHmmBatch
from quire.algorithms.pairhmm.items_gpu import (
    FLOAT32,
    FLOAT64,
    SHAPES,
    CardBatch,
    CardSequences,
    sums_of,
    upload_shared,
)
from quire.algorithms.pairhmm.model import FLOAT32_FLOOR, LOG10_OF_SCALE, log10_of_lengths
from quire.device.card import Card, CardArray, OutOfDeviceMemory, bytes_of
from quire.device.staged import Staged, staged_pieces
from quire.simd.powers_of_ten import LOGARITHM_DEFINES, LOGARITHM_NUMBERS

SOURCE = "quire/algorithms/pairhmm/logarithms.cu"
KERNELS = [(SOURCE, {**LOGARITHM_DEFINES, "DOUBLE": int(dtype == FLOAT64)}) for dtype in SHAPES]
MOST_BYTES = 2 << 30
"""Most that the streams and tables of one chunk of tasks take of the card; more would not fill it better."""
_BYTES_PER_TASK = 128  # keys, orders, offsets, sums and answers, with what sorting takes, besides the stream's letters
TASKS_PER_CHUNK = 1 << 20
"""Tasks that are computed together where there are more: what comes next is copied and goes up meanwhile."""
_SAMPLED = 64  # one task of so many tells whether reads stand together
_Answer = TypeVar("_Answer")


def log10_likelihoods(card: Card, batch: PairHmmBatch, threads: int = 1) -> np.ndarray:
    """Log10 of P(read | haplotype) for every task of the batch, bit for bit as `quire.algorithms.pairhmm` gives it.

    Args:
        card: where it is computed.
        batch: of the host. It goes through fastest where the tasks of a read stand together, and those of a region.
        threads: of the host, which copy to and from the card's staging memory while the card computes.

    Returns:
        float64[t] in the order of batch.tasks.

    Raises:
        OutOfDeviceMemory: no room for the batch's haplotypes, or for a single task.
        ValueError: gap continuation qualities of each base, which the kernels for cards do not know.
    """
    if batch.gap_continuation_qualities is not None:
        raise ValueError("PairHMM on a card takes one gap continuation quality for a batch; the CPU takes many")
    answers = np.empty(len(batch.tasks), np.float64)
    tables = upload_logarithms(card, batch)

    def bring_back(chunk: "ScoredChunk") -> Future[None]:
        on_card = chunk.log10_likelihoods(tables)
        download = card.download_ahead([on_card], card.staging(bytes_of([on_card])))
        target = answers[chunk.first : chunk.first + len(on_card)]

        def copy(_keep: CardArray = on_card) -> None:
            download.wait()
            target[...] = download.arrays[0]

        return pool.submit(copy)

    with ThreadPoolExecutor(threads) as pool:
        for copied in list(_chunks(card, batch, pool, bring_back)):
            copied.result()
    return answers


def last_row_sums(card: Card, batch: PairHmmBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scaled sums of M + I over the last row.

    Returns:
        float32[t]; int64[n], the tasks whose float32 is too small or overflown; and float64[n] of these.

    Raises:
        OutOfDeviceMemory: as `log10_likelihoods`.
    """
    with ThreadPoolExecutor(1) as pool:
        chunks = sorted(_chunks(card, batch, pool, ScoredChunk.sums), key=lambda found: found.first)
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


class Logarithms(NamedTuple):
    """What logarithms are taken with, on the card (logarithms.cu)."""

    numbers: CardArray
    of_lengths: CardArray


def upload_logarithms(card: Card, batch: PairHmmBatch) -> Logarithms:
    """The numbers of log10.cuh, and logarithms of all lengths up to the longest haplotype's."""
    longest = int(np.diff(batch.haplotype_offsets).max(initial=0))
    return Logarithms(card.upload(LOGARITHM_NUMBERS), card.upload(log10_of_lengths(longest)))


class _Range(NamedTuple):
    """Tasks of a chunk."""

    first: int
    end: int


class ScoredChunk(NamedTuple):
    """Some tasks, whose first is `first`, with their reads on the card."""

    card: Card
    batch: CardBatch
    first: int
    tasks: CardArray

    def sums(self) -> _Sums:
        """Sums in float32, and in float64 where these do not do."""
        sums = sums_of(self.card, self.batch, self.tasks, FLOAT32)
        xp: Any = self.card.xp
        again = xp.flatnonzero(~((sums >= FLOAT32_FLOOR) & (sums < np.inf)))
        exact = sums_of(self.card, self.batch, self.tasks[again], FLOAT64)
        download = self.card.download
        return _Sums(self.first, download(sums), download(again) + self.first, download(exact))

    def log10_likelihoods(self, logarithms: Logarithms) -> CardArray:
        """float64 on the card."""
        card, count = self.card, len(self.tasks)
        answers, unsure = card.empty(count, np.float64), card.empty(count, np.uint8)
        sums = sums_of(card, self.batch, self.tasks, FLOAT32)
        self.take_logarithms(sums, card.empty(0, np.int64), logarithms, unsure, answers)
        again = card.xp.flatnonzero(unsure)
        if len(again):
            sums = sums_of(card, self.batch, self.tasks[again], FLOAT64)
            self.take_logarithms(sums, again, logarithms, unsure, answers)
        return answers

    def take_logarithms(
        self, sums: CardArray, places: CardArray, logarithms: Logarithms, unsure: CardArray, answers: CardArray
    ) -> None:
        """Write answers from sums, in float64 for the tasks at `places`; in float32 of all, and which are unsure."""
        dtype = np.dtype(sums.dtype)
        kernel = self.card.kernel(SOURCE, "take_logarithms", **LOGARITHM_DEFINES, DOUBLE=int(dtype == FLOAT64))
        kernel.for_each(
            len(sums), sums, places, len(sums), self.tasks, self.batch.haplotypes, logarithms, LOG10_OF_SCALE[dtype],
            dtype.type(FLOAT32_FLOOR), unsure, answers,
        )  # fmt: skip


def _chunks(
    card: Card, batch: PairHmmBatch, pool: Executor, compute: Callable[[ScoredChunk], _Answer]
) -> Iterator[_Answer]:
    """What `compute` gives for chunks of all tasks, in no particular order; it may raise OutOfDeviceMemory."""
    size, count = _tasks_per_chunk(card, batch), len(batch.tasks)
    waiting = [_Range(first, min(first + size, count)) for first in range(0, count, size)][::-1]
    shared = upload_shared(card, batch)
    for staged in staged_pieces(card, pool, waiting, lambda piece: _arrays_of(batch, piece)):
        try:
            yield compute(_on_card(card, batch, shared, staged))
        except OutOfDeviceMemory:
            first, end = staged.piece
            if end - first == 1:
                raise
            middle = (first + end) // 2
            waiting += [_Range(middle, end), _Range(first, middle)]


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


def _reads_of(batch: PairHmmBatch, piece: _Range) -> tuple[int, int]:
    """The first and the last read of some tasks."""
    reads = batch.tasks[piece.first : piece.end, 0]
    return int(reads.min()), int(reads.max())


def _arrays_of(batch: PairHmmBatch, piece: _Range) -> list[np.ndarray]:
    """Some tasks, and the reads from their first to their last one."""
    lowest, highest = _reads_of(batch, piece)
    offsets = batch.read_offsets[lowest : highest + 2].astype(np.int64)
    reads = (batch.read_bases, batch.base_qualities, batch.insertion_qualities, batch.deletion_qualities)
    arrays = [np.ascontiguousarray(array[offsets[0] : offsets[-1]], np.uint8) for array in reads]
    tasks = np.ascontiguousarray(batch.tasks[piece.first : piece.end], np.int32)
    return [*arrays, offsets - offsets[0], tasks]


def _on_card(card: Card, batch: PairHmmBatch, shared: CardBatch, staged: Staged[_Range]) -> ScoredChunk:
    *reads, tasks = staged.arrays()
    tasks[:, 0] = tasks[:, 0] - _reads_of(batch, staged.piece)[0]
    return ScoredChunk(card, shared._replace(reads=CardSequences(*reads)), staged.piece.first, tasks)
