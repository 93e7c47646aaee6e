"""PairHMM on a card: cells per second by length of reads and haplotypes, compared with a model's prediction.

The bars are the speeds of the best shapes of gpuPairHMM, and with `--regions FILE` (GATK's 1m.in: real reads and
haplotypes of 110 regions, repeated) whole calls, including all transfers and logarithms.

The model is that of Wang, Xie and Cong: cells per second are the parallel work, times the clock, over the cycles of a
step. The cycles are the larger of two limits: instruction issue by a scheduler, and the latency of a step divided
among the resident warps. Needs only NumPy and CuPy.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.pairhmm.gpu import log10_likelihoods
from quire.algorithms.pairhmm.items_gpu import FLOAT32, LONGEST_ITEM, SHAPES, SOURCE, ReadShape, plan, score
from quire.device.card import Card

from bench.cards import (
    Clock,
    clock_rate,
    fastest,
    first_card,
    median_time,
    profiled,
    resources,
    seconds_by_events,
    upload_bandwidth,
)
from bench.common import add_figures, arguments, print_setting, print_table, write_measurement
from bench.pairhmm_regions import cells_of, join_batches, read_regions, regions_of_length, repeated, upload

WARP, SCHEDULERS, COLUMNS_AT_LEAST_BETWEEN = 32, 4, 4
READS, HAPLOTYPES = (36, 76, 101, 151, 250, 500), (64, 128, 256, 512, 1024)
PEERS = (("8 x 20", ReadShape(8, 19)), ("8 x 28", ReadShape(8, 28)), ("16 x 28", ReadShape(16, 28)),
         ("32 x 28", ReadShape(32, 28)))  # fmt: skip
"""Lanes and rows of gpuPairHMM's best shapes (Schmidt et al.), and of the kernels compared with them."""
HEADER = ("read", "haplotype", "shape", "registers", "warps/SM", "limit", "predicted T cells/s", "measured",
          "measured/predicted", "share of issue slots")  # fmt: skip


class Prediction(NamedTuple):
    """Cells per second, the limiting resource, and instructions per cell."""

    cells: float
    limit: str
    instructions: float


class Machine(NamedTuple):
    """A card since Volta and the latencies of its operations.

    Attributes:
        multiprocessors: number of multiprocessors.
        hertz: clock frequency.
        arithmetic: cycles until the result of an arithmetic operation is available.
        shuffle: cycles until the result of a shuffle is available.
    """

    multiprocessors: int
    hertz: float
    arithmetic: int = 4
    shuffle: int = 24

    def cells(self, cells_per_step: float, cycles: float) -> float:
        """Return cells per second if each scheduler takes `cycles` cycles for a warp's step."""
        return self.multiprocessors * SCHEDULERS * self.hertz * cells_per_step / cycles


def by_shuffles(machine: Machine, shape: ReadShape, warps: int, read: int, haplotype: int) -> Prediction:
    """Predict the kernel of pairhmm.cu; a step is a column of a warp.

    A cell has six operations; three of them read three registers and take two cycles, because a scheduler reads two
    registers per cycle. Counted in the machine code: one load for four rows, and twelve instructions per column. A step
    waits for the chain of I, two operations per row, then for the shuffle and the selection of its result.
    """
    instructions = (6 + 1 / 4) * shape.rows + 12
    issue = (3 * 2 + 3 + 1 / 4) * shape.rows + 12
    wait = (2 * shape.rows + 1) * machine.arithmetic + machine.shuffle
    cycles = max(issue, wait * SCHEDULERS / warps)
    useful = read / shape.capacity * haplotype / (haplotype + COLUMNS_AT_LEAST_BETWEEN)
    cells = machine.cells(WARP * shape.rows * useful, cycles)
    return Prediction(cells, "issue" if cycles == issue else "latency", instructions / shape.rows)


def measure_lengths(
    card: Card, machine: Machine, clock: Clock, read: int, haplotype: int, cells: float, shape: ReadShape | None = None
) -> tuple:
    """Time one launch of the kernel, all tasks of one size; return a row of HEADER.

    Args:
        card: card to measure.
        machine: model of the card.
        clock: function that times a launch.
        read: bases of each read.
        haplotype: bases of each haplotype.
        cells: approximate number of cells of all tasks.
        shape: shape of the kernel; None for the default shape for such reads.
    """
    batch = regions_of_length(read, haplotype, cells)
    uploaded, tasks, count = upload(card, batch), card.upload(batch.tasks), cells_of(batch)
    chosen = shape or next(shape for shape in SHAPES[FLOAT32] if shape.capacity >= read or shape.strips)
    planned = plan(card, uploaded, tasks, FLOAT32, LONGEST_ITEM, (chosen,))
    with profiled(card):
        score(card, uploaded, planned, FLOAT32)
    kernel = card.kernel(SOURCE, "score", **chosen.defines(FLOAT32))
    registers, held = resources(kernel, WARP, chosen.shared_bytes(FLOAT32))
    warps = held // WARP if isinstance(held, int) else chosen.blocks(FLOAT32)
    predicted = by_shuffles(machine, chosen, warps, read, haplotype)
    seconds = median_time(card, clock, lambda: score(card, uploaded, planned, FLOAT32))
    name = f"{chosen.lanes} x {chosen.rows}"
    return _row(machine, read, haplotype, name, registers, warps, predicted, count / seconds)


def _row(
    machine: Machine, read: int, haplotype: int, shape: str, registers, warps: int, predicted: Prediction, cells: float
) -> tuple:
    slots = cells * predicted.instructions / machine.cells(WARP, 1)
    return (read, haplotype, shape, registers, warps, predicted.limit, f"{predicted.cells / 1e12:.3f}",
            f"{cells / 1e12:.3f}", f"{cells / predicted.cells:.2f}", f"{slots:.0%}")  # fmt: skip


def measure_regions(card: Card, batch: PairHmmBatch, times: int, threads: int) -> float:
    """Print the times of the parts of a call for repeated regions; return cells per second of whole calls."""
    batch = repeated(batch, times)
    cells = cells_of(batch)
    uploaded, tasks = upload(card, batch), card.upload(batch.tasks)
    planned = plan(card, uploaded, tasks, FLOAT32, LONGEST_ITEM, SHAPES[FLOAT32])
    parts = [
        ("order tasks, write streams", lambda: plan(card, uploaded, tasks, FLOAT32, LONGEST_ITEM, SHAPES[FLOAT32])),
        ("score", lambda: score(card, uploaded, planned, FLOAT32)),
        (f"whole call, {threads} threads", lambda: log10_likelihoods(card, batch, threads)),
        ("whole call, 1 thread", lambda: log10_likelihoods(card, batch)),
    ]
    crossing = sum(array.nbytes for array in vars(batch).values() if hasattr(array, "nbytes"))
    bandwidth = upload_bandwidth(card, min(crossing, 1 << 28))
    floor = crossing / bandwidth
    rows, speeds = [], {}
    rows.append((f"floor of transfers: {crossing / 1e6:.0f} MB at {bandwidth / 1e9:.0f} GB/s", f"{floor * 1e3:.1f}",
                 f"{cells / floor / 1e12:.3f}"))  # fmt: skip
    for name, work in parts:
        seconds = fastest(card, work)
        speeds[name] = cells / seconds
        rows.append((name, f"{seconds * 1e3:.1f}", f"{cells / seconds / 1e12:.3f}"))
    print(f"## real regions, {times} times: {len(batch.tasks)} tasks, {cells / 1e9:.1f} G cells")
    print_table(("part", "ms", "T cells/s"), rows)
    return speeds[parts[2][0]]


def measure(
    card: Card, hertz: float, clock: Clock, cells: float, reads: Sequence[int] = READS,
    haplotypes: Sequence[int] = HAPLOTYPES, regions: Path | None = None, times: int = 128, threads: int = 8,
) -> None:  # fmt: skip
    """Print the table of lengths, and measure the shapes of the bars."""
    machine = Machine(card.multiprocessors, hertz)
    print(f"## one kernel, about {cells / 1e9:.3g} G cells; the model's clock is {hertz / 1e9:.2f} GHz")
    rows = [measure_lengths(card, machine, clock, read, haplotype, cells) for read in reads for haplotype in haplotypes]
    print_table(HEADER, rows)
    for name, shape in PEERS:
        row = measure_lengths(card, machine, clock, shape.capacity, 512, cells, shape)
        figure = f"{shape.lanes} x {shape.rows} against gpuPairHMM's {name}: measured"
        add_figures({figure: float(row[7])})
    add_figures({"best of the table (aim): measured": max(float(row[7]) for row in rows)})
    if regions is not None:
        speed = measure_regions(card, join_batches(read_regions(regions)), times, threads)
        add_figures({f"{regions.name}, whole calls: measured": round(speed / 1e12, 2)})


def main() -> None:
    """Measure on the first free card; print a message if there is none."""
    parser = arguments(__doc__, needs_data=False, threads=min(8, os.cpu_count() or 1))
    parser.add_argument("--cells", type=float, default=2e10, help="cells of each measurement")
    parser.add_argument("--reads", type=int, nargs="+", default=READS, help="bases")
    parser.add_argument("--haplotypes", type=int, nargs="+", default=HAPLOTYPES, help="bases")
    parser.add_argument("--regions", type=Path, help="a file of GATK's PairHMM regions (1m.in)")
    parser.add_argument("--times", type=int, default=128, help="number of repetitions of the regions")
    given = parser.parse_args()
    print_setting(())
    regions = given.regions or (given.data / "kernel_vectors" / "1m.in" if given.data else None)
    with first_card() as card:
        if card is not None:
            start = time.perf_counter()
            measure(card, clock_rate(), seconds_by_events, given.cells, given.reads, given.haplotypes, regions,
                    given.times, given.threads)  # fmt: skip
            print(f"# {time.perf_counter() - start:.0f} s")
            write_measurement()


if __name__ == "__main__":
    main()
