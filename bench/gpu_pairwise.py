"""Speed of one large alignment on a card by size, of the sweep alone and of whole calls with the path.

The bar is on whole calls, score and path, at 100 kb x 100 kb. The floor is the time of the card's arithmetic
units for the operations of a cell.

The target is a copy of a random query with 1 % edits, a third of them gaps of up to 19 bases. Before the timing, the
path is checked to give the score. Needs only NumPy and CuPy. `bench.pairwise` compares one core with parasail.
"""

import os
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray
from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, gpu, pair_of
from quire.algorithms.pairwise.gpu import upload_together
from quire.algorithms.pairwise.shapes import StripShape
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
from bench.common import add_figures, arguments, print_setting, print_table, write_measurement

SIZES = (1_000, 2_000, 4_000, 8_192, 16_384, 32_768, 100_000, 300_000, 1_000_000)
LARGEST_LOCAL = 300_000
BAR_SIZE = 100_000
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


def sweep(card: Card, pair: Pair) -> tuple[StripShape, Callable[[], object]]:
    """Return the shape of the kernel that sweeps a matrix, and a function that prepares borders and launches it."""
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


def measure(card: Card, hertz: float, clock: Clock, sizes: tuple[int, ...] = SIZES) -> None:
    """Print the tables."""
    print(f"## G cells/s; {hertz / 1e9:.2f} GHz")
    rows, reached = [], {}
    for mode in (Mode.GLOBAL, Mode.LOCAL):
        for length in sizes:
            if mode == Mode.GLOBAL or length <= LARGEST_LOCAL:
                row, speed = measure_size(card, hertz, clock, length, mode)
                rows.append(row)
                reached[length] = min(speed, reached.get(length, speed))
    print_table(HEADER, rows)
    pair = pair_of(*related(sizes[-1]), BWA_MEM, Mode.GLOBAL)
    print(f"## the kernels of a whole call, {sizes[-1]} bases")
    print_table(KERNEL_HEADER, kernel_times(card, lambda: gpu.align(card, pair)))
    if BAR_SIZE in reached:
        add_figures({"bar: measured": round(reached[BAR_SIZE] / 1e9)})  # whole calls, the slower mode, G cells/s


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
