"""One large alignment on a card: cells a second over the size, of the sweep alone and of whole calls with the path.

Bars on an H200: 1 T cells/s, score and path, at 100 kb x 100 kb (aim 2), 200 G cells/s at 8 kb x 8 kb. Two floors: what
the card's arithmetic units take for the operations of a cell; and the wave that runs through the matrix, as counted in
the code of the sweep (`algorithms/pairwise/shapes.py`): rows and lanes that follow one another, a step each.

The target is a copy of a random query with 1 % edits, a third of them gaps of up to 19 bases. Answers are checked
before anything is timed: both kinds of memory agree, and the path scores again to the score. Needs NumPy and CuPy,
nothing else; with parasail beside them it is timed on one core at the smaller sizes.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from quire.algorithms.fm_index.tuning.tune import REPEATS, Clock, seconds_by_events
from quire.algorithms.pairwise import Memory, Mode, Pair, PairwiseAlignment, gpu, pair_of
from quire.algorithms.pairwise.shapes import SCORE_SHAPES, VALUE_SHAPES, StripShape, cycles
from quire.algorithms.pairwise.sweep_gpu import CardMatrices
from quire.algorithms.scoring import BWA_MEM
from quire.device.card import Card
from quire.sam import CIGAR_INSERTION, CIGAR_MASK, CIGAR_MATCH, CIGAR_SHIFT

from bench.cards import KERNEL_HEADER, fastest, first_card, kernel_times, profiled
from bench.common import arguments, print_setting, print_table, write_measurement

SIZES = (1_000, 2_000, 4_000, 8_192, 16_384, 32_768, 100_000, 300_000, 1_000_000)
PARTS_OF = (8_192, 32_768, 100_000, 400_000)
PARTS = {"sequences and first borders": (CardMatrices, "__init__"), "matrix or tiles": (CardMatrices, "launch"),
         "largest of kept rows": (CardMatrices, "peaks"), "tiles planned": (gpu, "_compute_tiles"),
         "path": (gpu, "follow")}  # fmt: skip
PARTS_HEADER = ("bases", "mode", "memory", "whole call, ms", *PARTS, "rest")
LARGEST_LOCAL, LARGEST_WHOLE, LARGEST_PARASAIL = 300_000, 100_000, 8_192
TOGETHER = ((1_000, 256), (8_192, 32))  # bases, pairs
BARS = (("bar", 100_000, 1e12), ("aim", 100_000, 2e12))
SHAPES_OF, LONGEST_VALUES, IN_A_ROW = (8_192, 32_768, 100_000, 400_000), 40_000, 8
SHAPES_HEADER = ("bases", "mode", "columns a lane", "kept", "ms", "G cells/s", "cycles a row of the wave")
ARITHMETIC_LANES = 64  # per cycle and multiprocessor
OPERATIONS = {Mode.GLOBAL: 5.0, Mode.LOCAL: 6.5}  # of the arithmetic units per cell of a sweep, counted in sm_90's code
EDITS = 0.01
HEADER = ("bases", "mode", "columns a lane", "floor: arithmetic", "floor: wave", "sweep", "sweep/floor",
          "whole call, linear memory", "whole call, all directions", "taken by itself")  # fmt: skip


def related(length: int, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A random sequence, and a copy of it with edits (codes), about as long."""
    random = np.random.default_rng(seed)
    query = random.integers(0, 4, length).astype(np.uint8)
    parts, at = [], 0
    for place in np.sort(random.integers(0, length, int(length * EDITS))).tolist():
        parts.append(query[at:place])
        kind, at = int(random.integers(6)), max(at, place)
        if kind < 4:
            parts.append((query[at : at + 1] + random.integers(1, 4)) % 4)
            at += 1
        elif kind == 4:
            parts.append(random.integers(0, 4, random.integers(1, 20)).astype(np.uint8))
        else:
            at += int(random.integers(1, 20))
    return query, np.concatenate([*parts, query[at:]]).astype(np.uint8)[:length]


def rescored(pair: Pair, found: PairwiseAlignment) -> int:
    """The score of an alignment by its path; fails where that does not lead to the alignment's end."""
    row, column, score = found.query_begin, found.target_begin, 0
    for element in found.cigar.tolist():
        operation, length = element & CIGAR_MASK, element >> CIGAR_SHIFT
        if operation == CIGAR_MATCH:
            equal = np.count_nonzero(pair.query[row : row + length] == pair.target[column : column + length])
            score += equal * pair.scoring.match + (length - equal) * pair.scoring.mismatch
        else:
            score += pair.scoring.gap_open + (length - 1) * pair.scoring.gap_extend
        row += length if operation in (CIGAR_MATCH, CIGAR_INSERTION) else 0
        column += length if operation != CIGAR_INSERTION else 0
    assert (row, column) == (found.query_end, found.target_end), "the path does not lead to the end"
    return score


def same(one: PairwiseAlignment, other: PairwiseAlignment) -> bool:
    """Whether two answers are equal."""
    numbers = ("score", "query_begin", "query_end", "target_begin", "target_end")
    return all(getattr(one, name) == getattr(other, name) for name in numbers) and np.array_equal(
        one.cigar, other.cigar
    )


def sweep(card: Card, pair: Pair, shape: StripShape | None = None) -> tuple[StripShape, Callable[[], object]]:
    """The shape of the kernel that sweeps a matrix for scores, and its launch; borders are made ready each time.

    With a shape it is that one's kernel, which may keep the values of all cells.
    """
    with ExitStack() as stack:
        if shape is not None:
            stack.enter_context(mock.patch.object(gpu, "SCORE_SHAPES", (shape,)))
        shape, batch = gpu.linear_batch(card, pair)
    (matrix,) = batch.matrices
    jobs = [batch.sweep(shape, matrix, 0)]
    values = card.empty(shape.values_size(matrix.rows, matrix.columns) if shape.values else 0, np.uint32)
    first = matrix.left + matrix.rows

    def launch() -> None:
        batch.words[first:] = 0
        batch.fill(shape, jobs, batch.words, values, pair.mode == Mode.LOCAL)

    return shape, launch


def seconds_of_sweep(card: Card, clock: Clock, pair: Pair, shape: StripShape) -> float:
    """Of one of several sweeps in a row: the host lays out one while the card computes another."""
    _, launch = sweep(card, pair, shape)

    def launch_all() -> None:
        for _ in range(IN_A_ROW):
            launch()

    launch_all()
    return median(clock(card, launch_all) for _ in range(3)) / IN_A_ROW


def measure_shapes(card: Card, hertz: float, clock: Clock, length: int) -> list[tuple[object, ...]]:
    """Rows of SHAPES_HEADER: each shape's sweep, whichever would be taken."""
    rows = []
    for mode in (Mode.GLOBAL, Mode.LOCAL):
        pair = pair_of(*related(length), BWA_MEM, mode)
        for shape in (*SCORE_SHAPES, *(VALUE_SHAPES if length <= LONGEST_VALUES else ())):
            seconds = seconds_of_sweep(card, clock, pair, shape)
            steps = shape.wave(card.multiprocessors, len(pair.query), len(pair.target))
            rows.append((length, mode.name.lower(), shape.columns, "all" if shape.values else "borders",
                         f"{seconds * 1e3:.3f}", f"{length * len(pair.target) / seconds / 1e9:.4g}",
                         f"{seconds * hertz / steps:.1f}"))  # fmt: skip
    return rows


def measure_size(card: Card, hertz: float, clock: Clock, length: int, mode: Mode) -> tuple[tuple[object, ...], float]:
    """A row of HEADER, and the cells a second of a whole call."""
    pair = pair_of(*related(length), BWA_MEM, mode)
    cells = len(pair.query) * len(pair.target)
    answer = gpu.align(card, pair)
    assert rescored(pair, answer) == answer.score, "the path does not score what it should"
    shape, launch = sweep(card, pair)
    launch()
    with profiled(card):
        seconds = median(clock(card, launch) for _ in range(REPEATS))
    arithmetic = card.multiprocessors * ARITHMETIC_LANES * hertz / OPERATIONS[mode]
    wave = cells * hertz / cycles(shape, card.multiprocessors, {(len(pair.query), len(pair.target)): 1})
    speeds = []
    for memory in (Memory.LINEAR, Memory.WHOLE, Memory.AUTO):
        if memory == Memory.WHOLE and length > LARGEST_WHOLE:
            speeds.append(0.0)
            continue
        assert same(gpu.align(card, pair, memory), answer), "memory decides the answer"
        speeds.append(cells / fastest(card, lambda memory=memory: gpu.align(card, pair, memory), 3))  # type: ignore[misc]
    floor = min(arithmetic, wave)
    shown = [f"{speed / 1e9:.4g}" if speed else "-" for speed in speeds]
    return (length, mode.name.lower(), shape.columns, f"{arithmetic / 1e9:.4g}", f"{wave / 1e9:.4g}",
            f"{cells / seconds / 1e9:.4g}", f"{cells / seconds / floor:.2f}", *shown), speeds[-1]  # fmt: skip


def measure_together(card: Card, length: int, count: int) -> tuple[object, ...]:
    """Pairs of one length in one call: how many, their length, and G cells/s with paths."""
    pairs = [pair_of(*related(length, seed), BWA_MEM, Mode.GLOBAL) for seed in range(count)]
    cells = sum(len(pair.query) * len(pair.target) for pair in pairs)
    for pair, answer in zip(pairs, gpu.align_many(card, pairs), strict=True):
        assert rescored(pair, answer) == answer.score, "the path does not score what it should"
    return count, length, f"{cells / fastest(card, lambda: gpu.align_many(card, pairs), 3) / 1e9:.4g}"


@contextmanager
def _parts_timed(card: Card, spent: dict[str, float]) -> Iterator[None]:
    """Add up milliseconds of PARTS, each waited for and without what other parts take within it."""
    running: list[float] = []  # of the parts that are under way: what others took within them

    def timed(name: str, part: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            card.synchronize()
            start = time.perf_counter()
            running.append(0.0)
            result = part(*given, **named)
            card.synchronize()
            whole, within = (time.perf_counter() - start) * 1e3, running.pop()
            spent[name] += whole - within
            if running:
                running[-1] += whole
            return result

        return call

    with ExitStack() as stack:
        for name, (owner, attribute) in PARTS.items():
            part = getattr(owner, attribute)
            stack.enter_context(mock.patch.object(owner, attribute, timed(name, part)))
        yield


def measure_parts(card: Card, length: int, mode: Mode, memory: Memory) -> tuple[object, ...]:
    """A row of PARTS_HEADER: a call by itself, and the parts of one whose parts are waited for, in milliseconds."""
    pair = pair_of(*related(length), BWA_MEM, mode)
    alone = fastest(card, lambda: gpu.align(card, pair, memory), 5) * 1e3
    spent: dict[str, float] = defaultdict(float)
    with _parts_timed(card, spent):
        start = time.perf_counter()
        gpu.align(card, pair, memory)
        whole = (time.perf_counter() - start) * 1e3
    parts = [spent[name] for name in PARTS]
    return length, mode.name.lower(), memory.value, *(f"{ms:.3f}" for ms in (alone, *parts, whole - sum(parts)))


def measure_parasail(length: int) -> tuple[object, ...] | None:
    """Size and G cells/s of parasail's best on one core; None where it is not installed."""
    try:
        import parasail
    except ImportError:
        return None
    pair = pair_of(*related(length), BWA_MEM, Mode.GLOBAL)
    texts = ["".join("ACGTN"[code] for code in np.minimum(codes, 4)) for codes in (pair.query, pair.target)]
    matrix = parasail.matrix_create("ACGT", BWA_MEM.match, BWA_MEM.mismatch)
    prices = -BWA_MEM.gap_open, -BWA_MEM.gap_extend
    row: list[object] = [length]
    for function in (parasail.nw_striped_sat, parasail.nw_trace_striped_sat):
        start = time.perf_counter()
        function(*texts, *prices, matrix)
        row.append(f"{length * len(texts[1]) / (time.perf_counter() - start) / 1e9:.3g}")
    return tuple(row)


def measure(card: Card, hertz: float, clock: Clock, sizes: tuple[int, ...] = SIZES) -> None:
    """Print the tables, and the bars."""
    print(f"## G cells/s; {hertz / 1e9:.2f} GHz")
    rows, reached = [], {}
    for mode in (Mode.GLOBAL, Mode.LOCAL):
        for length in sizes:
            if mode == Mode.GLOBAL or length <= LARGEST_LOCAL:
                row, speed = measure_size(card, hertz, clock, length, mode)
                rows.append(row)
                reached[length] = min(speed, reached.get(length, speed))
    print_table(HEADER, rows)
    print("## sweeps by shape")
    print_table(SHAPES_HEADER, [row for length in SHAPES_OF if length <= sizes[-1]
                                for row in measure_shapes(card, hertz, clock, length)])  # fmt: skip
    print("## parts of a call, each waited for, ms")
    parts = [
        measure_parts(card, length, mode, memory)
        for length in PARTS_OF if length <= sizes[-1]
        for mode in (Mode.GLOBAL, Mode.LOCAL)
        for memory in (Memory.LINEAR, Memory.WHOLE) if memory == Memory.LINEAR or length <= LARGEST_WHOLE
    ]  # fmt: skip
    print_table(PARTS_HEADER, parts)
    print("## several pairs in one call")
    together = [measure_together(card, length, count) for length, count in TOGETHER if length <= sizes[-1]]
    print_table(("pairs", "bases", "G cells/s"), together)
    pair = pair_of(*related(sizes[-1]), BWA_MEM, Mode.GLOBAL)
    print(f"## the kernels of a whole call, {sizes[-1]} bases")
    print_table(KERNEL_HEADER, kernel_times(card, lambda: gpu.align(card, pair)))
    peers = [row for row in map(measure_parasail, sizes) if row is not None and int(str(row[0])) <= LARGEST_PARASAIL]
    if peers:
        print("## parasail on one core")
        print_table(("bases", "score, G cells/s", "with path"), peers)
    lines = [
        (name, length, f"{bar / 1e9:.0f}", f"{reached[length] / 1e9:.0f}", "yes" if reached[length] >= bar else "NO")
        for name, length, bar in BARS
        if length in reached
    ]
    print_table(("whole calls, the slower mode (H200)", "bases", "at least, G cells/s", "measured", "reached"), lines)


def _hertz() -> float:
    """The highest clock of the card in use."""
    import cupy

    return cupy.cuda.Device().attributes["ClockRate"] * 1e3


def main() -> None:
    """Measure on the first card that is free; say so where there is none."""
    parser = arguments(__doc__, needs_data=False, threads=min(8, os.cpu_count() or 1))
    parser.add_argument("--longest", type=int, default=SIZES[-1], help="no longer sequences than this")
    given = parser.parse_args()
    print_setting(())
    with first_card() as card:
        if card is not None:
            start = time.perf_counter()
            measure(card, _hertz(), seconds_by_events, tuple(size for size in SIZES if size <= given.longest))
            print(f"# {time.perf_counter() - start:.0f} s")
            write_measurement()


if __name__ == "__main__":
    main()
