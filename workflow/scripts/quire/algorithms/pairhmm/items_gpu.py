"""PairHMM on a card: tasks are ordered and joined into items, which the kernels of pairhmm.cu score.

Tasks are ordered by the length of their reads, because each class of lengths has a kernel of its own shape. Adjacent
tasks with the same read become one item, whose haplotypes form one stream of columns.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.pairhmm.model import tables
from quire.device.card import Card

FLOAT32: np.dtype[Any] = np.dtype(np.float32)
FLOAT64: np.dtype[Any] = np.dtype(np.float64)
Array = Any  # on the card: CuPy's, or the emulated card's
_WARP, _LETTERS, _PACK_BYTES, _WORD_COLUMNS = 32, 6, 16, 4  # as in pairhmm.cu and batch.cuh


class ReadShape(NamedTuple):
    """Distribution of a read's rows over the lanes of a kernel (macros of pairhmm.cu).

    Attributes:
        lanes: lanes of a warp per read.
        rows: rows of the matrix per lane.
        strips: True if reads may have more than lanes * rows bases, which are then computed in strips of that height.
    """

    lanes: int
    rows: int
    strips: bool = False

    @property
    def capacity(self) -> int:
        """Rows that the lanes hold at a time."""
        return self.lanes * self.rows

    def defines(self, dtype: np.dtype) -> dict[str, int]:
        """Return the macros of the shape's kernel."""
        return {
            "LANES": self.lanes,
            "ROWS": self.rows,
            "DOUBLE": int(dtype == FLOAT64),
            "STRIPS": int(self.strips),
            "BLOCKS": self.blocks(dtype),
        }

    def blocks(self, dtype: np.dtype) -> int:
        """Return the number of blocks, of one warp, per multiprocessor; it determines the registers per thread."""
        if dtype == FLOAT64 or self.strips:
            return 8
        return next(blocks for rows, blocks in _BLOCKS if self.rows <= rows)

    def shared_bytes(self, dtype: np.dtype) -> int:
        """Return the bytes of shared memory of a block: emissions by row and letter, for each lane."""
        packs = -(-self.rows * dtype.itemsize // _PACK_BYTES)
        return packs * _LETTERS * _WARP * _PACK_BYTES


_BLOCKS = ((12, 16), (20, 12), (32, 8))  # most rows, blocks: 128, 168 or 255 registers
# By capacity, the last one for reads of any length. 12 and 16 to 19 rows use the registers best; 76, 152 and 304 rows
# fit the common read lengths.
SHAPES: dict[np.dtype[Any], tuple[ReadShape, ...]] = {
    FLOAT32: (
        *(ReadShape(2, rows) for rows in (12, 18)),
        *(ReadShape(4, rows) for rows in (12, 16, 19)),
        *(ReadShape(8, rows) for rows in (12, 13, 16, 19)),
        *(ReadShape(16, rows) for rows in (12, 14, 16, 19)),
        *(ReadShape(32, rows) for rows in (12, 16, 19)),
        ReadShape(32, 16, strips=True),
    ),
    FLOAT64: (ReadShape(8, 11), ReadShape(16, 11), ReadShape(32, 11), ReadShape(32, 11, strips=True)),
}
SOURCE = "quire/algorithms/pairhmm/pairhmm.cu"
STREAMS = "quire/algorithms/pairhmm/streams.cu"
STREAM_DEFINES = {"CLASS_SHIFT": 40, "WRITERS": 8}
KERNELS = [
    (STREAMS, STREAM_DEFINES),
    *[(SOURCE, shape.defines(dtype)) for dtype, shapes in SHAPES.items() for shape in shapes],
]
_ITEMS_PER_GROUP = 8  # fewest items per resident group of lanes, if there are enough tasks
LONGEST_ITEM = 1 << 12
"""Most words of an item's stream, so that no item ends much later than the others."""
_KEY = 1 << STREAM_DEFINES["CLASS_SHIFT"]


class CardSequences(NamedTuple):
    """Bases, qualities and offsets of `PairHmmBatch` on the card."""

    bases: Array
    base_qualities: Array
    insertion_qualities: Array
    deletion_qualities: Array
    offsets: Array


class CardHaplotypes(NamedTuple):
    """Bases and offsets of haplotypes on the card."""

    bases: Array
    offsets: Array


class CardFactors(NamedTuple):
    """Tables of `model.Tables` on the card."""

    agree: Array
    differ: Array
    opening: Array
    stay: Array


class CardBatch(NamedTuple):
    """A batch on the card; `factors` and `numbers` (continuation and start) are by dtype.

    `reads` holds the reads of some tasks, or None until they arrive.
    """

    reads: CardSequences | None
    haplotypes: CardHaplotypes
    factors: dict[np.dtype, CardFactors]
    numbers: dict[np.dtype, tuple[np.floating, np.floating]]


class _OrderedTasks(NamedTuple):
    """Tasks in the order of scoring (batch.cuh: Tasks)."""

    pairs: Array
    word_offsets: Array


class _Items(NamedTuple):
    """Items of one launch (batch.cuh: Items)."""

    order: Array
    first: Array


class ScoringLaunch(NamedTuple):
    """One launch: items of a slice of the tasks, and begin and end of their words in the stream."""

    slice: int
    shape: ReadShape
    items: _Items
    words_begin: int
    words_end: int


class Plan(NamedTuple):
    """Tasks ready to be scored.

    Attributes:
        order: int64[t] on the card, indices of the given tasks in the order of scoring.
        tasks: in that order.
        stream: uint32[] on the card, columns of all haplotypes (batch.cuh).
        launches: one for each slice and shape that has reads.
    """

    order: Array
    tasks: _OrderedTasks
    stream: Array
    launches: list[ScoringLaunch]


def upload_shared(card: Card, batch: PairHmmBatch, haplotypes: CardHaplotypes) -> CardBatch:
    """Upload the factors, and return them with the haplotypes: what all tasks share."""
    both = {dtype: tables(batch.gap_continuation_quality, dtype) for dtype in SHAPES}
    factors = {
        dtype: CardFactors(*map(card.upload, (table.agree, table.differ, table.opening, table.stay)))
        for dtype, table in both.items()
    }
    numbers = {dtype: (table.continuation, table.start) for dtype, table in both.items()}
    return CardBatch(None, haplotypes, factors, numbers)


def sums_of(card: Card, batch: CardBatch, tasks: Array, dtype: np.dtype) -> Array:
    """Return scaled sums (dtype[t]) of tasks (int32[t, 2]), all on the card.

    Tasks whose sums overflowed are rescored, each as its own item: an overflow spoils the rest of its item.
    """
    sums = score_items(card, batch, tasks, dtype, LONGEST_ITEM)
    overflown = card.xp.flatnonzero(~(sums < np.inf))
    if len(overflown):
        sums[overflown] = score_items(card, batch, tasks[overflown], dtype, 1)
    return sums


def score_items(
    card: Card, batch: CardBatch, tasks: Array, dtype: np.dtype, most_words: int, shapes: tuple[ReadShape, ...] = ()
) -> Array:
    """Return scaled sums (dtype[t]) of tasks (int32[t, 2]) on the card; see `plan`."""
    sums = card.empty(len(tasks), dtype)
    if len(tasks):
        planned = plan(card, batch, tasks, dtype, most_words, shapes or SHAPES[dtype])
        sums[planned.order] = score(card, batch, planned, dtype)
    return sums


def plan(
    card: Card,
    batch: CardBatch,
    tasks: Array,
    dtype: np.dtype,
    most_words: int,
    shapes: tuple[ReadShape, ...],
    ends: tuple[int, ...] = (),
) -> Plan:
    """Order tasks (int32[t, 2], at least one), join them into items and write the items' streams.

    Of the reads only the lengths are used. `most_words` is the approximate limit of an item's stream; 1 makes every
    task an item. `shapes` are ordered by capacity, the last one is for reads of any length. Slices of the tasks, given
    by their `ends`, are launched separately; without any, all tasks are one slice.
    """
    xp: Any = card.xp
    count, slices = len(tasks), max(1, len(ends))
    keys, words = card.empty(count, np.int64), card.empty(count, np.int64)
    limits = card.upload(np.array([shape.capacity for shape in shapes], np.int64))
    slice_ends = card.upload(np.array(ends or (count,), np.int64))
    measure = card.kernel(STREAMS, "measure_tasks", **STREAM_DEFINES)
    measure.for_each(
        count, tasks, count, batch.reads, batch.haplotypes, limits, len(shapes), slice_ends, slices, keys, words
    )
    keys = xp.sort(keys)
    order = keys & (_KEY - 1)
    ordered = _OrderedTasks(xp.take(tasks, order, axis=0), card.offsets(words[order]))
    bounds = card.upload(np.arange(slices * len(shapes) + 1, dtype=np.int64) * _KEY)
    words_before = card.download(ordered.word_offsets[xp.searchsorted(keys, bounds)])
    first = _first_tasks(card, ordered, keys, _item_words(card, shapes, dtype, words_before, most_words))
    items = len(first) - 1
    item_keys = card.empty(items, np.int64)
    card.kernel(STREAMS, "measure_items", **STREAM_DEFINES).for_each(items, ordered, keys, first, items, item_keys)
    item_order = xp.argsort(item_keys)
    items_before = card.download(xp.searchsorted(item_keys[item_order], bounds)).tolist()
    stream = card.empty(int(words_before[-1]), np.uint32)
    write = card.kernel(STREAMS, "write_streams", **STREAM_DEFINES)
    write.for_each(count * STREAM_DEFINES["WRITERS"], ordered, count, batch.haplotypes, stream)
    launches = [
        ScoringLaunch(number, shape, _Items(item_order[begin:end], first), words_begin, words_end)
        for (number, shape), begin, end, words_begin, words_end in zip(
            product(range(slices), shapes),
            items_before, items_before[1:], words_before.tolist(), words_before[1:].tolist(), strict=False,
        )
        if begin < end
    ]  # fmt: skip
    return Plan(order, ordered, stream, launches)


def score(card: Card, batch: CardBatch, planned: Plan, dtype: np.dtype) -> Array:
    """Return scaled sums (dtype[t]) of planned tasks, in the plan's order."""
    sums = card.empty(len(planned.order), dtype)
    score_launches(card, batch, planned, planned.launches, sums)
    return sums


def score_launches(card: Card, batch: CardBatch, planned: Plan, launches: Iterable[ScoringLaunch], sums: Array) -> None:
    """Run some launches of a plan; write their tasks' entries of `sums` (all planned tasks, in the plan's order)."""
    dtype = np.dtype(sums.dtype)
    for _, shape, items, words_begin, words_end in launches:
        count, groups = len(items.order), _WARP // shape.lanes
        border = card.empty(2 * _WORD_COLUMNS * (words_end - words_begin) if shape.strips else 0, dtype)
        card.kernel(SOURCE, "score", **shape.defines(dtype))(
            -(-count // groups), _WARP, count, items, planned.tasks, batch.reads, batch.factors[dtype],
            *batch.numbers[dtype], planned.stream, border, words_begin, sums, shared_bytes=shape.shared_bytes(dtype),
        )  # fmt: skip


def _item_words(
    card: Card, shapes: tuple[ReadShape, ...], dtype: np.dtype, words_before: np.ndarray, most_words: int
) -> np.ndarray:
    """Return the approximate limit of an item's words (int64[classes]), so that all lanes get several items."""
    # A class is a shape of a slice.
    groups = np.array([card.multiprocessors * shape.blocks(dtype) * (_WARP // shape.lanes) for shape in shapes])
    words = np.diff(words_before).reshape(-1, len(shapes)) // (groups * _ITEMS_PER_GROUP)
    most: np.ndarray = np.clip(words, 1, most_words).reshape(-1)
    return most


def _first_tasks(card: Card, tasks: _OrderedTasks, keys: Array, most_words: np.ndarray) -> Array:
    """Return the first task of each item, and the number of tasks (int64[items + 1])."""
    count = len(keys)
    begins = card.empty(count, np.uint8)
    begin = card.kernel(STREAMS, "begin_items", **STREAM_DEFINES)
    begin.for_each(count, tasks, keys, count, card.upload(most_words), begins)
    xp: Any = card.xp
    return xp.concatenate([xp.flatnonzero(begins), card.full(1, count, np.int64)])
