"""Speed of one large alignment on a card by size, of the sweep alone and of whole calls with the path.

Bar on an H200: 1 T cells/s, score and path, at 100 kb x 100 kb (aim 2). The floor is the time of the card's arithmetic
units for the operations of a cell.

The target is a copy of a random query with 1 % edits, a third of them gaps of up to 19 bases. Before the timing, the
path is checked to give the score. Needs only NumPy and CuPy; parasail is timed on one core at the smaller sizes if it
is installed.
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
from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, gpu, pair_of
from quire.algorithms.pairwise.gpu import CardMatrix, upload_together
from quire.algorithms.pairwise.shapes import SCORE_SHAPES, VALUE_SHAPE, StripShape
from quire.algorithms.pairwise.structs import WORDS_AROUND, JobTables
from quire.algorithms.scoring import BWA_MEM
from quire.device.card import Card
from quire.sam import CIGAR_INSERTION, CIGAR_MASK, CIGAR_MATCH, CIGAR_SHIFT

from bench.cards import (
    KERNEL_HEADER,
    REPEATS,
    Clock,
    clock_rate,
    fastest,
    first_card,
    kernel_times,
    profiled,
    seconds_by_events,
)
from bench.common import arguments, print_setting, print_table, write_measurement

SIZES = (1_000, 2_000, 4_000, 8_192, 16_384, 32_768, 100_000, 300_000, 1_000_000)
PARTS_OF = (8_192, 32_768, 100_000, 400_000)
PARTS = {"sequences and first borders": (CardMatrix, "__init__"), "matrix or tiles": (CardMatrix, "launch"),
         "largest of kept rows": (CardMatrix, "peaks"), "tiles planned": (gpu, "_compute_tiles"),
         "path": (gpu, "follow")}  # fmt: skip
PARTS_HEADER = ("bases", "mode", "whole call, ms", *PARTS, "rest")
LARGEST_LOCAL, LARGEST_PARASAIL = 300_000, 8_192
BARS = (("bar", 100_000, 1e12), ("aim", 100_000, 2e12))
SHAPES_OF, LONGEST_VALUES, IN_A_ROW = (8_192, 32_768, 100_000, 400_000), 40_000, 8
SHAPES_HEADER = ("bases", "mode", "columns a lane", "kept", "ms", "G cells/s")
ARITHMETIC_LANES = 64  # per cycle and multiprocessor
OPERATIONS = {Mode.GLOBAL: 5.0, Mode.LOCAL: 6.5}  # arithmetic operations per cell of a sweep, counted in sm_90's code
EDITS = 0.01
HEADER = ("bases", "mode", "columns a lane", "floor", "sweep", "sweep/floor", "whole call")


def related(length: int, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return a random sequence (codes), and an edited copy of about the same length."""
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
    """Return the score of an alignment by its path; fail if that does not lead to the alignment's end."""
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


def sweep(card: Card, pair: Pair, shape: StripShape | None = None) -> tuple[StripShape, Callable[[], object]]:
    """Return the shape of the kernel that sweeps a matrix, and a function that prepares borders and launches it.

    A given shape selects its kernel, which may keep the values of all cells.
    """
    with ExitStack() as stack:
        if shape is not None:
            stack.enter_context(mock.patch.object(gpu, "SCORE_SHAPES", (shape,)))
        shape, matrix = gpu.matrix_on_card(card, pair)
    rows, columns = len(pair.query), len(pair.target)
    values = card.empty(shape.values_size(rows, columns) if shape.values else 0, np.uint32)
    job, strips = matrix.sweep(shape), shape.strips(columns)

    def launch() -> None:
        matrix.words[WORDS_AROUND + rows :] = 0
        tables = [np.array([0, strips]), np.array([job], np.int64), np.zeros(1, np.uint32)]
        before, jobs, ticket = upload_together(card, tables)
        matrix.launch(shape, JobTables(before, jobs, 1, ticket), strips, matrix.words, values, pair.mode == Mode.LOCAL)

    return shape, launch


def seconds_of_sweep(card: Card, clock: Clock, pair: Pair, shape: StripShape) -> float:
    """Return the seconds per sweep of several in a row: the host prepares one while the card computes another."""
    _, launch = sweep(card, pair, shape)

    def launch_all() -> None:
        for _ in range(IN_A_ROW):
            launch()

    launch_all()
    return median(clock(card, launch_all) for _ in range(3)) / IN_A_ROW


def measure_shapes(card: Card, clock: Clock, length: int) -> list[tuple[object, ...]]:
    """Return rows of SHAPES_HEADER: the sweep with each shape."""
    rows = []
    for mode in (Mode.GLOBAL, Mode.LOCAL):
        pair = pair_of(*related(length), BWA_MEM, mode)
        for shape in (*SCORE_SHAPES, *((VALUE_SHAPE,) if length <= LONGEST_VALUES else ())):
            seconds = seconds_of_sweep(card, clock, pair, shape)
            rows.append((length, mode.name.lower(), shape.columns, "all" if shape.values else "borders",
                         f"{seconds * 1e3:.3f}", f"{length * len(pair.target) / seconds / 1e9:.4g}"))  # fmt: skip
    return rows


def measure_size(card: Card, hertz: float, clock: Clock, length: int, mode: Mode) -> tuple[tuple[object, ...], float]:
    """Return a row of HEADER, and the cells per second of a whole call."""
    pair = pair_of(*related(length), BWA_MEM, mode)
    cells = len(pair.query) * len(pair.target)
    answer = gpu.align(card, pair)
    assert rescored(pair, answer) == answer.score, "the path does not score what it should"
    shape, launch = sweep(card, pair)
    launch()
    with profiled(card):
        seconds = median(clock(card, launch) for _ in range(REPEATS))
    floor = card.multiprocessors * ARITHMETIC_LANES * hertz / OPERATIONS[mode]
    speed = cells / fastest(card, lambda: gpu.align(card, pair), 3)
    return (length, mode.name.lower(), shape.columns, f"{floor / 1e9:.4g}", f"{cells / seconds / 1e9:.4g}",
            f"{cells / seconds / floor:.2f}", f"{speed / 1e9:.4g}"), speed  # fmt: skip


@contextmanager
def _parts_timed(card: Card, spent: dict[str, float]) -> Iterator[None]:
    """Add up milliseconds of PARTS, each synchronized and without its nested parts."""
    running: list[float] = []  # per active part: time of its nested parts

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


def measure_parts(card: Card, length: int, mode: Mode) -> tuple[object, ...]:
    """Return a row of PARTS_HEADER: milliseconds of a call, and of the parts of a call with synchronization."""
    pair = pair_of(*related(length), BWA_MEM, mode)
    alone = fastest(card, lambda: gpu.align(card, pair), 5) * 1e3
    spent: dict[str, float] = defaultdict(float)
    with _parts_timed(card, spent):
        start = time.perf_counter()
        gpu.align(card, pair)
        whole = (time.perf_counter() - start) * 1e3
    parts = [spent[name] for name in PARTS]
    return length, mode.name.lower(), *(f"{ms:.3f}" for ms in (alone, *parts, whole - sum(parts)))


def measure_parasail(length: int) -> tuple[object, ...] | None:
    """Return size and G cells/s of parasail on one core; None if it is not installed."""
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
                                for row in measure_shapes(card, clock, length)])  # fmt: skip
    print("## parts of a call, each waited for, ms")
    parts = [
        measure_parts(card, length, mode)
        for length in PARTS_OF if length <= sizes[-1]
        for mode in (Mode.GLOBAL, Mode.LOCAL)
    ]  # fmt: skip
    print_table(PARTS_HEADER, parts)
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


def main() -> None:
    """Measure on the first free card, or print a message if there is none."""
    parser = arguments(__doc__, needs_data=False, threads=min(8, os.cpu_count() or 1))
    parser.add_argument("--longest", type=int, default=SIZES[-1], help="no longer sequences than this")
    given = parser.parse_args()
    print_setting(())
    with first_card() as card:
        if card is not None:
            start = time.perf_counter()
            measure(card, clock_rate(), seconds_by_events, tuple(size for size in SIZES if size <= given.longest))
            print(f"# {time.perf_counter() - start:.0f} s")
            write_measurement()


if __name__ == "__main__":
    main()
