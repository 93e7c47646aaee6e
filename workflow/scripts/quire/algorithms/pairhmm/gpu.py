"""PairHMM on a card: upload of tasks and reads, scoring, and download of log10 likelihoods.

Tasks are scored in float32, and in float64 if that underflows or overflows, as on the CPU (model.py). items_gpu.py does
the scoring.

The tasks of a *piece* are uploaded first and planned together, because the host has to wait for numbers that a plan
computes on the card. Their reads follow in *slices*: while the card scores one slice, the host copies the next to
staging memory and uploads it, and the answers of the previous one are downloaded. Each piece has one second pass, in
float64.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.pairhmm.items_gpu import (
    FLOAT32,
    FLOAT64,
    LONGEST_ITEM,
    SHAPES,
    CardBatch,
    CardHaplotypes,
    CardSequences,
    plan,
    score_items,
    score_launches,
    sums_of,
    upload_shared,
)
from quire.algorithms.pairhmm.model import FLOAT32_FLOOR, LOG10_OF_SCALE, log10_of_lengths
from quire.device.card import Card, CardArray, OutOfDeviceMemory, bytes_of
from quire.device.staged import staged_pieces
from quire.simd.powers_of_ten import LOGARITHM_DEFINES, LOGARITHM_NUMBERS

SOURCE = "quire/algorithms/pairhmm/logarithms.cu"
KERNELS = [(SOURCE, {**LOGARITHM_DEFINES, "DOUBLE": int(dtype == FLOAT64)}) for dtype in SHAPES]
MOST_BYTES = 4 << 30
"""Limit for the reads, streams and tables of one piece; larger pieces would not use the card better."""
_BYTES_PER_TASK = 128  # keys, orders, offsets, sums, answers and sorting's buffers, without the stream's letters
TASKS_PER_SLICE = 1 << 20
MOST_COPYING = 8
"""Host threads that copy. With 16 instead of 8, a call of 54 G cells took 42 ms instead of 37 with an H200."""
_ANSWERS_PER_COPY = 1 << 18  # copied at a time by a host thread


def log10_likelihoods(card: Card, batch: PairHmmBatch, threads: int = 1) -> np.ndarray:
    """Return log10 of P(read | haplotype) for every task of the batch, bit for bit as `cpu.log10_likelihoods`.

    At most MOST_COPYING `threads` of the host copy to and from staging memory while the card computes.

    Raises:
        OutOfDeviceMemory: the batch's haplotypes or a single task do not fit.
        ValueError: gap continuation qualities for each base, which the kernels for cards do not support.
    """
    if batch.gap_continuation_qualities is not None:
        raise ValueError("PairHMM on a card supports one gap continuation quality per batch only; use the CPU")
    answers = np.empty(len(batch.tasks), np.float64)
    copies: list[Future[None]] = []
    second: list[tuple[np.ndarray, np.ndarray]] = []

    def bring_back(piece: ScoredPiece, number: int) -> None:
        on_card = piece.log10_likelihoods(number)
        download = card.download_ahead([on_card], card.staging(bytes_of([on_card])))
        first, last = piece.tasks_of(number), number == len(piece.piece.ends) - 1
        target = answers[piece.piece.first + first.start : piece.piece.first + first.stop]

        def copy(begin: int, end: int, _keep: CardArray = on_card) -> None:
            download.wait()
            target[begin:end] = download.arrays[0][begin:end]

        # The last answers of a piece are copied by all threads, which have nothing else to do.
        step = _ANSWERS_PER_COPY if last else len(target)
        copies.extend(pool.submit(copy, begin, begin + step) for begin in range(0, len(target), step))

    with ThreadPoolExecutor(min(threads, MOST_COPYING)) as pool:
        _score(card, batch, pool, bring_back, lambda piece: second.append(piece.second_look()))
        for copied in copies:
            copied.result()
    for places, values in second:
        answers[places] = values
    return answers


class Logarithms(NamedTuple):
    """Constants of log10.cuh and log10 of haplotype lengths, on the card (logarithms.cu)."""

    numbers: CardArray
    of_lengths: CardArray


class Answers(NamedTuple):
    """Answers on the card.

    Attributes:
        log10: float64[t], log10 likelihoods.
        unsure: uint8[t], 0 if the sum in float32 is valid, 1 if it is too small, 2 if it overflowed or is NaN.
    """

    log10: CardArray
    unsure: CardArray


def upload_logarithms(card: Card, batch: PairHmmBatch) -> Logarithms:
    """Upload the constants of log10.cuh, and logarithms of all lengths up to the longest haplotype's."""
    longest = int(np.diff(batch.haplotype_offsets).max(initial=0))
    return Logarithms(card.upload(LOGARITHM_NUMBERS), card.upload(log10_of_lengths(longest)))


def take_logarithms(
    card: Card,
    batch: CardBatch,
    tasks: CardArray,
    sums: CardArray,
    places: CardArray,
    logarithms: Logarithms,
    found: Answers,
) -> None:
    """Write the answers of the tasks at `places` from their sums; from sums in float32 also `found.unsure`."""
    dtype = np.dtype(sums.dtype)
    kernel = card.kernel(SOURCE, "take_logarithms", **LOGARITHM_DEFINES, DOUBLE=int(dtype == FLOAT64))
    kernel.for_each(
        len(sums), sums, places, len(sums), tasks, batch.haplotypes, logarithms, LOG10_OF_SCALE[dtype],
        dtype.type(FLOAT32_FLOOR), found.unsure, found.log10,
    )  # fmt: skip


class _Piece(NamedTuple):
    """Tasks that are planned together.

    Attributes:
        first: its first task.
        ends: end of each slice's tasks.
        reads: first and last read of each slice's tasks.
    """

    first: int
    ends: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]

    @property
    def all_reads(self) -> tuple[int, int]:
        """First and last read."""
        return min(first for first, _ in self.reads), max(last for _, last in self.reads)


class _Load(NamedTuple):
    """One upload: a piece's tasks (part 0), the reads of one of its slices, or without a piece the haplotypes."""

    piece: _Piece | None
    part: int = 0


class ScoredPiece:
    """A planned piece on the card; its slices are scored one by one as their reads arrive."""

    def __init__(
        self,
        card: Card,
        batch: CardBatch,
        logarithms: Logarithms,
        piece: _Piece,
        host: PairHmmBatch,
        arrays: list[CardArray],
    ) -> None:
        """Plan the piece; `batch` has the haplotypes, `arrays` is the result of `_arrays_of` on the card."""
        self.card, self.logarithms, self.piece, self._host = card, logarithms, piece, host
        lowest, highest = piece.all_reads
        self._first_base = int(host.read_offsets[lowest])
        offsets, self.tasks = arrays[0] - self._first_base, arrays[1]
        self.tasks[:, 0] = self.tasks[:, 0] - lowest
        bases, count = int(host.read_offsets[highest + 1]) - self._first_base, len(self.tasks)
        read_arrays = [card.empty(bases, np.uint8) for _ in CardSequences._fields[:-1]]
        self.batch = batch._replace(reads=CardSequences._make([*read_arrays, offsets]))
        ends = tuple(end - piece.first for end in piece.ends)
        self.planned = plan(card, self.batch, self.tasks, FLOAT32, LONGEST_ITEM, SHAPES[FLOAT32], ends)
        self._sums = card.empty(count, FLOAT32)
        self._unsure, self._answers = card.empty(count, np.uint8), card.empty(count, np.float64)

    def tasks_of(self, number: int) -> slice:
        """Return the tasks of a slice, counted from the piece's first; the plan's order gives them the same places."""
        begin = self.piece.ends[number - 1] if number else self.piece.first
        return slice(begin - self.piece.first, self.piece.ends[number] - self.piece.first)

    def take_reads(self, number: int, arrays: list[CardArray]) -> None:
        """Copy the reads of a slice into the piece's arrays."""
        assert self.batch.reads is not None
        begin = int(self._host.read_offsets[self.piece.reads[number][0]]) - self._first_base
        for array, target in zip(arrays, self.batch.reads[:4], strict=True):
            target[begin : begin + len(array)] = array

    def log10_likelihoods(self, number: int) -> CardArray:
        """Score a slice whose reads have arrived; return its answers (float64); `second_look` replaces some."""
        launches = (launch for launch in self.planned.launches if launch.slice == number)
        score_launches(self.card, self.batch, self.planned, launches, self._sums)
        tasks = self.tasks_of(number)
        self._take_logarithms(self._sums[tasks], self.planned.order[tasks], self._answers)
        return self._answers[tasks]

    def second_look(self) -> tuple[np.ndarray, np.ndarray]:
        """Recompute the tasks that underflowed or overflowed; return them (int64[n]) and their log10 likelihoods."""
        card, xp = self.card, self.card.xp
        looked_at = again = xp.flatnonzero(self._unsure)
        answers = card.empty(len(self.tasks) if len(again) else 0, np.float64)
        if len(again):
            overflown = xp.flatnonzero(self._unsure > 1)
            if len(overflown):
                sums = score_items(card, self.batch, self.tasks[overflown], FLOAT32, 1)
                self._take_logarithms(sums, overflown, answers)
                again = xp.flatnonzero(self._unsure)
            self._take_logarithms(sums_of(card, self.batch, self.tasks[again], FLOAT64), again, answers)
        return card.download(looked_at) + self.piece.first, card.download(answers[looked_at])

    def _take_logarithms(self, sums: CardArray, places: CardArray, answers: CardArray) -> None:
        take_logarithms(
            self.card, self.batch, self.tasks, sums, places, self.logarithms, Answers(answers, self._unsure)
        )


def _score(
    card: Card,
    batch: PairHmmBatch,
    pool: Executor,
    on_slice: Callable[[ScoredPiece, int], None],
    on_piece: Callable[[ScoredPiece], None],
) -> None:
    """Score all tasks: call `on_slice` for each slice of a piece, and `on_piece` after the last."""
    # Both may run out of memory. The piece is then repeated in halves, which are uploaded next.
    waiting = [_Load(None)] if len(batch.tasks) else []
    waiting += [load for piece in _cut(card, batch, pool) for load in _loads(piece)]
    waiting.reverse()
    shared: CardBatch | None = None
    logarithms: Logarithms | None = None
    current: ScoredPiece | None = None
    failed: _Piece | None = None
    for staged in staged_pieces(card, pool, waiting, lambda load: _arrays_of(batch, load)):
        piece, part = staged.piece
        if piece is None:
            shared = upload_shared(card, batch, CardHaplotypes(*staged.arrays()))
            logarithms = upload_logarithms(card, batch)
            continue
        if piece == failed:
            continue
        assert shared is not None
        assert logarithms is not None
        try:
            if part == 0:
                current = ScoredPiece(card, shared, logarithms, piece, batch, staged.arrays())
                continue
            assert current is not None
            current.take_reads(part - 1, staged.arrays())
            on_slice(current, part - 1)
            if part == len(piece.ends):
                on_piece(current)
                current = None
        except OutOfDeviceMemory:
            first, end = piece.first, piece.ends[-1]
            if end - first == 1:
                raise
            current, failed, middle = None, piece, (first + end) // 2
            waiting[:] = [load for load in waiting if load.piece != failed]
            halves = (_piece(batch, first, [middle]), _piece(batch, middle, [end]))
            waiting += [load for half in halves for load in _loads(half)][::-1]


def _loads(piece: _Piece) -> list[_Load]:
    return [_Load(piece, part) for part in range(len(piece.ends) + 1)]


def _cut(card: Card, batch: PairHmmBatch, pool: Executor) -> list[_Piece]:
    """Split the tasks into pieces that fit on the card, assuming the longest haplotypes, and these into slices."""
    count = len(batch.tasks)
    longest = int(np.diff(batch.haplotype_offsets).max(initial=0))
    # Reads are on the card twice: in the piece's arrays and in the buffer in which they arrive.
    per_task = longest + _BYTES_PER_TASK + 8 * int(batch.read_offsets[-1]) // max(1, count)
    most = max(1, min(card.free_bytes() // 2, MOST_BYTES) // per_task)
    size = min(most, TASKS_PER_SLICE)
    ends = [min(begin + size, count) for begin in range(0, count, size)]
    reads = list(pool.map(lambda begin, end: _reads_of(batch, begin, end), [0, *ends], ends))
    if sum(last - first + 1 for first, last in reads) > 2 * len(batch.read_offsets):
        # The tasks of a read are scattered: every slice would need most reads.
        return [_piece(batch, first, [min(first + most, count)]) for first in range(0, count, most)]
    together = max(1, most // size)
    return [
        _Piece(first * size, tuple(ends[first : first + together]), tuple(reads[first : first + together]))
        for first in range(0, len(ends), together)
    ]


def _piece(batch: PairHmmBatch, first: int, ends: list[int]) -> _Piece:
    return _Piece(
        first, tuple(ends), tuple(_reads_of(batch, *span) for span in zip([first, *ends], ends, strict=False))
    )


def _reads_of(batch: PairHmmBatch, begin: int, end: int) -> tuple[int, int]:
    """Return the first and the last read of some tasks."""
    reads = batch.tasks[begin:end, 0]
    return int(reads.min()), int(reads.max())


def _arrays_of(batch: PairHmmBatch, load: _Load) -> list[np.ndarray]:
    """Return the host arrays of an upload: haplotypes, offsets and tasks of a piece, or the reads of a slice."""
    piece, part = load
    if piece is None:
        bases, offsets = batch.haplotype_bases, batch.haplotype_offsets
        return [np.ascontiguousarray(bases, np.uint8), np.ascontiguousarray(offsets, np.int64)]
    if part == 0:
        first, last = piece.all_reads
        offsets = np.ascontiguousarray(batch.read_offsets[first : last + 2], np.int64)
        return [offsets, np.ascontiguousarray(batch.tasks[piece.first : piece.ends[-1]], np.int32)]
    first, last = piece.reads[part - 1]
    begin, end = batch.read_offsets[first], batch.read_offsets[last + 1]
    reads = (batch.read_bases, batch.base_qualities, batch.insertion_qualities, batch.deletion_qualities)
    return [np.ascontiguousarray(array[begin:end], np.uint8) for array in reads]
