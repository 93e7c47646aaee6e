"""Semi-global alignment on a card: matrices by warp shuffles, four traceback bits per cell, one thread per traceback.

Two tasks share each word of a matrix, with 16 bits each, which hold GATK's scores and up to seven different letters.
Tasks are ordered by the length of their alternates, since each class of lengths has a kernel of its own shape, and by
that of their references, since the lanes of a warp go down the rows together. The package states the rules of
alignment.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.scoring import Scoring
from quire.algorithms.semiglobal import SemiglobalAlignments, SemiglobalBatch
from quire.algorithms.semiglobal.shapes import EXACT_DEFINES, KEPT, SHAPES, WARP, FillShape
from quire.device.card import Card, CardArray, OutOfDeviceMemory
from quire.device.staged import Staged, staged_pieces
from quire.ragged import offsets_from_lengths

SOURCE = "quire/algorithms/semiglobal/semiglobal.cu"
TRACE = "quire/algorithms/semiglobal/trace.cu"
EXACT = "quire/algorithms/semiglobal/exact.cu"
LETTERS = "quire/algorithms/semiglobal/letters.cu"
MOST_BYTES, MOST_BYTES_APART = 2 << 30, 8 << 30
"""Most bytes of the tracebacks of a chunk of tasks: if tasks of the same sequences are adjacent, and if they are apart.

A chunk is uploaded while the one before it is computed. It includes all sequences between those that it needs."""
_SAMPLED = 4096  # tasks per sample that decides whether tasks of the same sequences are adjacent
_BYTES_PER_TASK = 256  # keys, orders, offsets, walks, and the space for sorting
_LETTER_UNIT, _MOST_LETTERS = 8192, 7  # cells.cuh: letters are multiples of the unit, the eighth is for padding
_COUNTING_THREADS = 1 << 18  # enough to fill a card
_CLASS_SHIFT, _STRIPS_SHIFT = 52, 32
_LONGEST = (1 << _STRIPS_SHIFT) - 1
KERNELS = [
    (LETTERS, {}),
    (EXACT, EXACT_DEFINES),
    *((SOURCE, shape.fill_defines()) for shape in SHAPES),
    *((TRACE, shape.trace_defines()) for shape in SHAPES),
]


class _Slots(NamedTuple):
    """Slots of a launch's tasks (layout.cuh: Slots)."""

    task: CardArray
    rows_before: CardArray
    strips_before: CardArray
    lines_before: CardArray


class _Walks(NamedTuple):
    """Results of the first walks through the tracebacks (trace.cu: Walks)."""

    end_row: CardArray
    end_column: CardArray
    kept: CardArray


class FillLaunch(NamedTuple):
    """Tasks of one kernel, and the arrays of its results.

    Attributes:
        shape: the shape of the kernel.
        tasks: number of tasks.
        slots: slots of the tasks.
        lines: uint32[], traceback.
        side, side_insertion: uint32[], differences along the last columns, and for strips scores of insertions there.
        bottom: uint32[], differences along the last rows.
    """

    shape: FillShape
    tasks: int
    slots: _Slots
    lines: CardArray
    side: CardArray
    side_insertion: CardArray
    bottom: CardArray


class _Answers(NamedTuple):
    """Answers of a chunk's tasks: offsets, numbers of CIGAR elements, and the elements, concatenated."""

    offsets: NDArray[np.int32]
    counts: NDArray[np.int64]
    cigars: NDArray[np.uint32]


def align(card: Card, batch: SemiglobalBatch, scoring: Scoring, threads: int = 1) -> SemiglobalAlignments:
    """Align the alternates of a batch's tasks to their references, exactly as `quire.algorithms.semiglobal.cpu.align`.

    Tasks of the same region should be adjacent. `threads` of the host copy to staging memory while the card computes.

    Raises:
        OutOfDeviceMemory: too little memory for a single task.
        ValueError: scores that do not fit (`fits_in_pairs`), or more than 7 different letters.
    """
    scoring = Scoring(*map(int, scoring))
    if not fits_in_pairs(scoring):
        raise ValueError(f"semi-global alignment on a card: {scoring} does not fit in 16 bits")
    found: dict[int, _Answers] = {}
    with ThreadPoolExecutor(threads) as pool:
        waiting = _chunks(card, batch, SHAPES)[::-1]
        for staged in staged_pieces(card, pool, waiting, lambda piece: _arrays_of(batch, piece)):
            first, end = staged.piece
            try:
                found[first] = _align_chunk(card, _on_card(batch, staged), scoring)
            except OutOfDeviceMemory:
                if end - first == 1:
                    raise
                middle = (first + end) // 2
                waiting += [(middle, end), (first, middle)]
    parts = [found[first] for first in sorted(found)]
    return SemiglobalAlignments(
        np.concatenate([np.empty(0, np.int32), *(part.offsets for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.cigars for part in parts)]),
        offsets_from_lengths(np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])),
    )


def fits_in_pairs(scoring: Scoring) -> bool:
    """Return True if 16 bits hold all numbers that cells.cuh computes with these scores, which have the right signs.

    A mismatch and a gap's first base must score at most a letter's unit less than a match. A cell scores at least a
    mismatch or two opened gaps, and one more gap opens there: at most four units below a match, half of the range.
    """
    least = min(scoring.mismatch, scoring.gap_open)
    signs = scoring.match > 0 > scoring.gap_extend
    return signs and scoring.gap_open <= scoring.gap_extend and 16 * (scoring.match - least) <= _LETTER_UNIT


def code_letters(card: Card, pairs: SemiglobalBatch) -> None:
    """Replace the letters by the codes that the kernels take; ValueError for more than 7 different letters."""
    present = card.zeros(256, np.uint8)
    both = (pairs.references, pairs.alternates)
    for letters in both:
        threads = min(len(letters), _COUNTING_THREADS)
        card.kernel(LETTERS, "note_letters").for_each(threads, letters, len(letters), present)
    known = card.download(present)
    if np.count_nonzero(known) > _MOST_LETTERS:
        raise ValueError(f"semi-global alignment on a card: more than {_MOST_LETTERS} different letters")
    codes = card.upload(((np.cumsum(known, dtype=np.int64) - known) * (_LETTER_UNIT >> 8)).astype(np.uint8))
    for letters in both:
        card.kernel(LETTERS, "code_letters").for_each(len(letters), letters, len(letters), codes)


def _chunks(card: Card, batch: SemiglobalBatch, shapes: tuple[FillShape, ...]) -> list[tuple[int, int]]:
    """Return (first task, last task + 1) of each chunk of tasks that should fit in the card's memory."""
    rows = np.diff(batch.reference_offsets)[batch.tasks[:, 0]]
    columns = np.diff(batch.alternate_offsets)[batch.tasks[:, 1]]
    capacities = np.array([shape.capacity for shape in shapes])
    which = np.minimum(np.searchsorted(capacities, columns), len(shapes) - 1)
    line_bytes = np.array([4 * shape.line_words / shape.slots for shape in shapes])[which]
    strips = -(-columns // capacities[which])
    lanes = np.array([shape.lanes for shape in shapes])[which]
    sizes = strips * ((rows + lanes) * line_bytes + 4 * capacities[which]) + 8 * rows + _BYTES_PER_TASK
    before = np.concatenate([[0], np.cumsum(sizes)])
    spans = sum(
        int(np.ptp(batch.tasks[first : first + _SAMPLED], axis=0).sum()) for first in range(0, len(sizes), _SAMPLED)
    )
    apart = spans > 2 * (len(batch.reference_offsets) + len(batch.alternate_offsets))
    most = min(card.free_bytes() // 2, MOST_BYTES_APART if apart else MOST_BYTES)
    chunks, first = [], 0
    while first < len(sizes):
        end = max(first + 1, int(np.searchsorted(before, before[first] + most, side="right")) - 1)
        chunks.append((first, end))
        first = end
    return chunks


def _spans_of(batch: SemiglobalBatch, piece: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the first and last reference, and the first and last alternate, of some tasks."""
    tasks = batch.tasks[piece[0] : piece[1]]
    return [(int(column.min()), int(column.max())) for column in tasks.T]


def _arrays_of(batch: SemiglobalBatch, piece: tuple[int, int]) -> list[NDArray[Any]]:
    """Return the arrays of a batch of some tasks, with all sequences from their first to their last."""
    arrays: list[NDArray[Any]] = []
    sequences = (batch.references, batch.reference_offsets), (batch.alternates, batch.alternate_offsets)
    for (letters, offsets), (lowest, highest) in zip(sequences, _spans_of(batch, piece), strict=True):
        own = offsets[lowest : highest + 2].astype(np.int64)
        arrays += [np.ascontiguousarray(letters[own[0] : own[-1]], np.uint8), own - own[0]]
    return [*arrays, np.ascontiguousarray(batch.tasks[piece[0] : piece[1]], np.int32)]


def _on_card(batch: SemiglobalBatch, staged: Staged[tuple[int, int]]) -> SemiglobalBatch:
    """Return staged tasks, whose sequences are renumbered as they are on the card."""
    pairs = SemiglobalBatch(*staged.arrays())
    for side, (lowest, _) in enumerate(_spans_of(batch, staged.piece)):
        pairs.tasks[:, side] = pairs.tasks[:, side] - lowest
    return pairs


def _align_chunk(card: Card, pairs: SemiglobalBatch, scoring: Scoring) -> _Answers:
    """Align some tasks, whose letters are overwritten."""
    code_letters(card, pairs)
    exact = find_exact(card, pairs)
    launches = plan(card, pairs, (exact >= 0).astype(np.uint8), SHAPES)
    for launch in launches:
        fill(card, pairs, launch, scoring)
    offsets, counts, cigars = trace(card, pairs, exact, launches, scoring)
    return _Answers(card.download(offsets), card.download(counts), card.download(cigars))


def find_exact(card: Card, pairs: SemiglobalBatch) -> CardArray:
    """Return int32[t], the last exact occurrence of each alternate; -1 if there is none."""
    count = len(pairs.tasks)
    offsets = card.empty(count, np.int32)
    card.kernel(EXACT, "find_exact", **EXACT_DEFINES).for_each(count * WARP, pairs, count, offsets)
    return offsets


def plan(card: Card, pairs: SemiglobalBatch, exact: CardArray, shapes: tuple[FillShape, ...]) -> list[FillLaunch]:
    """Order the tasks to align and allocate memory for their results; return one launch per shape that has tasks.

    `exact` (uint8[t]) is 1 for tasks that need no alignment.
    """
    xp: Any = card.xp
    rows = xp.diff(pairs.reference_offsets)[pairs.tasks[:, 0]]
    columns = xp.diff(pairs.alternate_offsets)[pairs.tasks[:, 1]]
    capacities = card.upload(np.array([shape.capacity for shape in shapes[:-1]], np.int64))
    which = xp.searchsorted(capacities, columns).astype(np.int64)
    strips = xp.where(which == len(shapes) - 1, (columns + (shapes[-1].capacity - 1)) // shapes[-1].capacity, 1)
    keys = (which << _CLASS_SHIFT) | (strips << _STRIPS_SHIFT) | (_LONGEST - rows)  # long tasks first: none ends late
    keys = xp.where(exact != 0, len(shapes) << _CLASS_SHIFT, keys)
    order = xp.argsort(keys)
    bounds = card.upload(np.arange(len(shapes) + 1, dtype=np.int64) << _CLASS_SHIFT)
    before = card.download(xp.searchsorted(keys[order], bounds)).tolist()
    return [
        _launch(card, shape, order[begin:end], rows, strips)
        for shape, begin, end in zip(shapes, before, before[1:], strict=False)
        if begin < end
    ]


def _launch(card: Card, shape: FillShape, tasks: CardArray, rows: CardArray, strips: CardArray) -> FillLaunch:
    xp: Any = card.xp
    count, warps = len(tasks), -(-len(tasks) // shape.slots)
    slots = tasks[xp.minimum(xp.arange(warps * shape.slots), count - 1)]
    warp_rows = rows[slots].reshape(warps, shape.slots).max(axis=1)
    warp_strips = strips[slots].reshape(warps, shape.slots).max(axis=1)
    by_warp = (warp_rows, warp_strips, warp_strips * (warp_rows + (shape.lanes - 1)))
    befores = [card.offsets(counts) for counts in by_warp]
    all_rows, all_strips, all_lines = card.download(xp.stack([before[-1] for before in befores])).tolist()
    side = all_rows * (WARP // shape.lanes)
    return FillLaunch(
        shape,
        count,
        _Slots(slots, *befores),
        card.empty(all_lines * shape.line_words, np.uint32),
        card.empty(side, np.uint32),
        card.empty(side if shape.strips else 0, np.uint32),
        card.empty(all_strips * shape.slots * shape.capacity, np.uint32),
    )


def fill(card: Card, pairs: SemiglobalBatch, launch: FillLaunch, scoring: Scoring) -> None:
    """Compute the matrices of a launch."""
    warps = len(launch.slots.rows_before) - 1
    card.kernel(SOURCE, "fill", **launch.shape.fill_defines())(
        warps, WARP, pairs, launch.slots, scoring, launch.lines, launch.side, launch.side_insertion, launch.bottom
    )


def trace(
    card: Card, pairs: SemiglobalBatch, exact: CardArray, launches: list[FillLaunch], scoring: Scoring
) -> tuple[CardArray, CardArray, CardArray]:
    """Follow the tracebacks of all filled launches; return int32 offsets, int64 CIGAR lengths, and uint32 CIGARs."""
    count = len(pairs.tasks)
    offsets, counts = exact.copy(), card.full(count, 1, np.int64)
    walks = [
        _Walks(card.empty(launch.tasks, np.int32), card.empty(launch.tasks, np.int32),
               card.empty(launch.tasks * KEPT, np.uint32))
        for launch in launches
    ]  # fmt: skip
    for launch, walk in zip(launches, walks, strict=True):
        card.kernel(TRACE, "trace", **launch.shape.trace_defines()).for_each(
            launch.tasks, launch.tasks, pairs, launch.slots, scoring, launch.lines, launch.side, launch.bottom, walk,
            offsets, counts, threads=WARP,
        )  # fmt: skip
    cigar_offsets = card.offsets(counts)
    cigars = card.empty(int(cigar_offsets[-1]), np.uint32)
    card.kernel(EXACT, "write_exact", **EXACT_DEFINES).for_each(count, pairs, count, exact, cigar_offsets, cigars)
    for launch, walk in zip(launches, walks, strict=True):
        card.kernel(TRACE, "write_cigars", **launch.shape.trace_defines()).for_each(
            launch.tasks, launch.tasks, pairs, launch.slots, launch.lines, walk, cigar_offsets, cigars, threads=WARP
        )  # fmt: skip
    return offsets, counts, cigars
