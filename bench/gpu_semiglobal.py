"""Speed of GATK's aligner on a card, in cells per second with traceback: kernels alone, and calls with transfers.

The bar is on 400 x 400 with traceback (GKL's AVX-512: 1.1 G cells/s per core). The floor is
the time of the card's arithmetic units for the operations of a cell, and of its memory for half a byte of traceback per
cell.

By length of references and alternates, the matrices alone are timed next to the prediction of the model of Wang, Xie
and Cong (`bench.gpu_pairhmm`): the slowest of instruction issue, the arithmetic units, the latency of a step divided
among the resident warps, and the memory traffic of the traceback.

Haplotypes and references are random, and alternates are copies of them with a few edits, so that hardly any alternate
occurs exactly. Needs only NumPy and CuPy.
"""

import os
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import numpy as np
from quire.algorithms.scoring import HAPLOTYPE_TO_REFERENCE
from quire.algorithms.semiglobal import SemiglobalBatch, gpu
from quire.algorithms.semiglobal.gpu import SOURCE
from quire.algorithms.semiglobal.shapes import SHAPES, WARP, FillShape
from quire.device.card import Card, CardArray

from bench.cards import (
    KERNEL_HEADER,
    REPEATS,
    Clock,
    clock_rate,
    copy_bandwidth,
    fastest,
    first_card,
    kernel_times,
    profiled,
    resources,
    seconds_by_events,
    upload_bandwidth,
)
from bench.common import add_figures, arguments, print_setting, print_table, write_measurement
from bench.gpu_pairhmm import SCHEDULERS, Machine, Prediction

SIZES = ((400, 150), (400, 400), (250, 250), (600, 500), (1000, 900))  # of references and alternates
BAR_SIZE = (400, 400)
BYTES_PER_CELL, ARITHMETIC_LANES = 0.5, 64  # per cycle and multiprocessor
OPERATIONS = 10 / 2  # arithmetic operations per cell, counted in sm_90's code
INSTRUCTIONS, ROW_INSTRUCTIONS = 17, 60  # per word of two tasks' cells, and in addition per row and lane
CHAIN, ROW_CHAIN = 4, 20  # dependent operations from one word of a row to the next, and additionally per row
REFERENCES, ALTERNATES = (150, 400, 700), (76, 150, 250, 400, 600)
HEADER = ("reference", "alternate", "lanes x columns", "registers", "warps/SM", "floor T cells/s",
          "fill alone", "with traceback", "with traceback/floor", "whole call", "floor of its transfers")  # fmt: skip

MODEL_HEADER = ("reference", "alternate", "lanes x columns", "warps/SM", "limit", "predicted T cells/s",
                "matrices alone", "measured/predicted")  # fmt: skip


class Prepared(NamedTuple):
    """A batch on the card, with its launches."""

    pairs: SemiglobalBatch
    exact: CardArray
    launches: list[gpu.FillLaunch]


def edited_batch(rows: int, columns: int, tasks: int, seed: int = 0) -> SemiglobalBatch:
    """Return one task per reference (uint8 codes), whose alternate is a part of it with up to three edits."""
    random = np.random.default_rng(seed)
    references = random.integers(0, 4, (tasks, rows), np.uint8)
    alternates = np.take_along_axis(
        np.hstack([references, references]),
        random.integers(0, max(1, rows - columns + 1), (tasks, 1)) + np.arange(columns),
        1,
    )
    every = np.arange(tasks)
    for _ in range(2):
        at = random.integers(columns, size=tasks)
        alternates[every, at] = random.integers(0, 4, tasks)
    shifted = random.random(tasks) < 0.5  # a deletion of one to nine bases, filled up at the end
    at, gap = random.integers(columns // 2, size=tasks), random.integers(1, 10, tasks)
    index = np.arange(columns) + np.where((np.arange(columns) >= at[:, None]) & shifted[:, None], gap[:, None], 0)
    alternates = np.take_along_axis(alternates, np.minimum(index, columns - 1), 1)
    pair = np.repeat(np.arange(tasks, dtype=np.int32)[:, None], 2, axis=1)
    offsets = np.arange(tasks + 1, dtype=np.int64)
    return SemiglobalBatch(references.ravel(), offsets * rows, alternates.ravel(), offsets * columns, pair)


def prepare(card: Card, batch: SemiglobalBatch) -> Prepared:
    """Upload sequences and tasks, order them, and allocate memory for the results."""
    pairs = SemiglobalBatch(*map(card.upload, batch))
    gpu.code_letters(card, pairs)
    exact = card.full(len(batch.tasks), -1, np.int32)
    return Prepared(pairs, exact, gpu.plan(card, pairs, (exact >= 0).astype(np.uint8), SHAPES))


def fill(card: Card, prepared: Prepared) -> None:
    """Compute the matrices with their traceback bits."""
    for launch in prepared.launches:
        gpu.fill(card, prepared.pairs, launch, HAPLOTYPE_TO_REFERENCE)


def align(card: Card, prepared: Prepared) -> None:
    """Compute the matrices and the CIGARs."""
    fill(card, prepared)
    gpu.trace(card, prepared.pairs, prepared.exact, prepared.launches, HAPLOTYPE_TO_REFERENCE)


def measure_size(
    card: Card, clock: Clock, size: tuple[int, int], cells: float, arithmetic: float, bandwidth: float, threads: int = 1
) -> tuple[object, ...]:
    """Return a row of HEADER."""
    rows, columns = size
    tasks = max(1, int(cells / (rows * columns)))
    batch, count = edited_batch(rows, columns, tasks), rows * columns * tasks
    prepared = prepare(card, batch)
    (launch,) = prepared.launches
    with profiled(card):
        align(card, prepared)

    def speed(work: Callable[[], object]) -> float:
        return count / median(clock(card, work) for _ in range(REPEATS))

    filled, traced = speed(lambda: fill(card, prepared)), speed(lambda: align(card, prepared))
    shape = launch.shape
    registers, held = resources(card.kernel(SOURCE, "fill", **shape.fill_defines()), 32, 0)
    warps = held // 32 if isinstance(held, int) else "-"
    seconds = fastest(card, lambda: gpu.align(card, batch, HAPLOTYPE_TO_REFERENCE, threads), 3)
    whole = f"{count / seconds / 1e12:.3f}"
    crossing = sum(array.nbytes for array in batch)
    transfers = f"{count * upload_bandwidth(card, min(crossing, 1 << 28)) / crossing / 1e12:.3f}"
    floor = min(arithmetic / OPERATIONS, bandwidth / BYTES_PER_CELL)
    return (rows, columns, f"{shape.lanes} x {shape.columns}", registers, warps,
            f"{floor / 1e12:.2f}", f"{filled / 1e12:.3f}", f"{traced / 1e12:.3f}",
            f"{traced / floor:.2f}", whole, transfers)  # fmt: skip


def predicted(machine: Machine, shape: FillShape, warps: int, size: tuple[int, int], bandwidth: float) -> Prediction:
    """Predict the speed of semiglobal.cu.

    A step is a row of a warp: a word of two tasks' cells for each column of a lane. A scheduler issues one instruction
    per cycle. The arithmetic units execute ten of a pair's seventeen instructions and about half of a row's own, and
    need two cycles for a warp's. A step waits for the chain of `insertion` and `down` from column to column (a maximum
    of three, the mask, a sum with a maximum, a sum), and for the shuffle.

    Args:
        machine: the card.
        shape: shape of the kernel, for pairs of tasks.
        warps: resident warps of a multiprocessor.
        size: bases of references and alternates.
        bandwidth: bytes per second of the card's memory.
    """
    rows, columns = size
    limits = {
        "issue": INSTRUCTIONS * shape.columns + ROW_INSTRUCTIONS,
        "arithmetic": 2 * (OPERATIONS * 2 * shape.columns + ROW_INSTRUCTIONS / 2),
        "latency": ((CHAIN * shape.columns + ROW_CHAIN) * machine.arithmetic + machine.shuffle) * SCHEDULERS / warps,
    }
    strips = -(-columns // shape.capacity) if shape.strips else 1
    useful = columns / (strips * shape.capacity) * rows / (rows + shape.lanes - 1)
    limit = max(limits, key=limits.__getitem__)
    cells = machine.cells(WARP * 2 * shape.columns * useful, limits[limit])
    written = useful * bandwidth / BYTES_PER_CELL
    return Prediction(*((written, "memory") if written < cells else (cells, limit)), INSTRUCTIONS / 2)


def measure_lengths(
    card: Card, machine: Machine, clock: Clock, size: tuple[int, int], cells: float, bandwidth: float
) -> tuple[object, ...]:
    """Return a row of MODEL_HEADER, for the matrices of tasks of one size."""
    rows, columns = size
    tasks = max(1, int(cells / (rows * columns)))
    prepared = prepare(card, edited_batch(rows, columns, tasks))
    (launch,) = prepared.launches
    with profiled(card):
        fill(card, prepared)
    seconds = median(clock(card, lambda: fill(card, prepared)) for _ in range(REPEATS))
    shape, got = launch.shape, rows * columns * tasks / seconds
    _, held = resources(card.kernel(SOURCE, "fill", **shape.fill_defines()), WARP, 0)
    warps = held // WARP if isinstance(held, int) else shape.blocks
    model = predicted(machine, shape, warps, size, bandwidth)
    return (rows, columns, f"{shape.lanes} x {shape.columns}", warps, model.limit, f"{model.cells / 1e12:.3f}",
            f"{got / 1e12:.3f}", f"{got / model.cells:.2f}")  # fmt: skip


def measure(
    card: Card, hertz: float, clock: Clock, cells: float, sizes: tuple[tuple[int, int], ...] = SIZES, threads: int = 1,
    references: tuple[int, ...] = REFERENCES, alternates: tuple[int, ...] = ALTERNATES,
) -> None:  # fmt: skip
    """Print the tables."""
    arithmetic = card.multiprocessors * ARITHMETIC_LANES * hertz
    bandwidth = copy_bandwidth(card, max(1, int(cells) // 64))
    print(
        f"## about {cells / 1e9:.3g} G cells each; {hertz / 1e9:.2f} GHz; memory {bandwidth / 1e12:.2f} TB/s; T cells/s"
    )
    rows = [measure_size(card, clock, size, cells, arithmetic, bandwidth, threads) for size in sizes]
    print_table(HEADER, rows)
    machine = Machine(card.multiprocessors, hertz)
    lengths = [(one, other) for one in references for other in alternates if other <= 2 * one]
    print_table(MODEL_HEADER, [measure_lengths(card, machine, clock, size, cells / 4, bandwidth) for size in lengths])
    batch = edited_batch(*BAR_SIZE, max(1, int(cells / (BAR_SIZE[0] * BAR_SIZE[1]))))
    print(f"## the kernels of a whole call, {BAR_SIZE[0]} x {BAR_SIZE[1]}")
    print_table(KERNEL_HEADER, kernel_times(card, lambda: gpu.align(card, batch, HAPLOTYPE_TO_REFERENCE)))
    got = next(float(str(row[7])) for row in rows if row[:2] == BAR_SIZE)
    add_figures({"bar: measured": got})


def main() -> None:
    """Measure on the first free card, or print a message if there is none."""
    parser = arguments(__doc__, needs_data=False, threads=min(8, os.cpu_count() or 1))
    parser.add_argument("--cells", type=float, default=1.6e10, help="of each measurement")
    given = parser.parse_args()
    print_setting(())
    with first_card() as card:
        if card is not None:
            start = time.perf_counter()
            measure(card, clock_rate(), seconds_by_events, given.cells, threads=given.threads)
            print(f"# {time.perf_counter() - start:.0f} s")
            write_measurement()


if __name__ == "__main__":
    main()
