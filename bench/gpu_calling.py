"""When a card speeds up calling: the same reads called on the CPU and with a card, at several depths.

Reads are drawn from the demo's 100 kb of chr20 with the truth's phased variants, and errors by the demo's qualities.
They are placed at their origin, so no mapper is needed. All records are compared with the CPU's. Before that, both
backends compute batches of PairHMM of growing size, with transfers to the card's process included: the size from which
the card is faster is `LEAST_CELLS` of quire/rescore/engines.py. `CELLS_PER_BYTE` and the seconds come from the depths.
"""

import os
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import Value
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pysam
from isal import igzip
from quire import reference as reference_stage
from quire.algorithms.pairhmm import cpu as pairhmm
from quire.errors import QuireError
from quire.kernels import load_stage
from quire.processes import in_processes
from quire.rescore import engines
from quire.rescore.engines import CallingEngine, DeviceSettings, calling_engine, cells_of_tasks
from quire.rescore.intervals import cut_at_multiples
from quire.rescore.job import Output, contigs_of, open_job
from quire.rescore.units import call_unit

from bench.common import REPOSITORY, arguments, calling_settings, print_setting, print_table, write_measurement
from bench.pairhmm_regions import cells_of, join_batches, read_regions, repeated
from bench.simulate import Haplotype, haplotype, with_errors

DEMO = REPOSITORY / "tests/data/demo"
CONTIG, LENGTH, INSERT, INSERT_DEVIATION = "chr20", 150, 400.0, 80.0
QUALITY_STRINGS = 5000
SETTINGS = calling_settings(minimum_quality=10, minimum_mapping_quality=10, maximum_reads_per_start=1000)
DEPTHS = (30, 300, 1000, 5000)
TIMES = (1, 2, 4, 16, 64)  # multiples of the real regions of tests/data (62 M cells), in the order of the table
PARTS = (64, 16, 4, 2)  # divisors: fractions of these regions
MATCH, INSERTION, DELETION, SOFT_CLIP = 0, 1, 2, 4
CALLING_HEADER = ("depth", "reads", "backend", "s to open", "s", "core-s", "PairHMM G cells", "s in PairHMM of all",
                  "aligned G cells", "s in the aligner", "cells per byte")  # fmt: skip


class Region(NamedTuple):
    """The source of reads: haplotypes with positions from 0 on, and quality strings."""

    letters: str
    haplotypes: list[Haplotype]
    qualities: np.ndarray


def read_region(bases: int) -> Region:
    """Read the first bases of the demo's region, with its haplotypes and qualities."""
    _, first, last = (DEMO / "region.bed").read_text().split()[:3]
    start = int(first)
    fasta = igzip.decompress((DEMO / "hg19.chr20.masked.fa.gz").read_bytes())
    letters = np.frombuffer(b"".join(fasta.split(b"\n")[1:]), np.uint8)[start : int(last)]
    letters = letters[:bases] & 0xDF  # upper case
    with pysam.VariantFile(str(DEMO / "giab_v3.3.2.vcf.gz")) as stream:
        variants = [record for record in stream if start <= record.start < start + len(letters)]
    both = [haplotype(number, variants, letters, start) for number in (0, 1)]
    shifted = [Haplotype(own.letters, own.positions - start) for own in both]
    lines = igzip.decompress((DEMO / "NA12878_R1.fastq.gz").read_bytes()).split(b"\n")[3::4][:QUALITY_STRINGS]
    strings = [np.frombuffer(line, np.uint8) - 33 for line in lines if len(line) >= LENGTH // 2]
    return Region(letters.tobytes().decode(), shifted, np.stack([np.resize(string, LENGTH) for string in strings]))


def cigar_of(positions: np.ndarray) -> list[tuple[int, int]]:
    """Return (operation, length) of a stretch of a haplotype; further bases at one position are inserted."""
    steps = np.diff(positions)
    if (steps == 1).all():
        return [(MATCH, len(positions))]
    cigar = [[MATCH, 1]]
    for step in steps.tolist():
        if step > 1:
            cigar.append([DELETION, step - 1])
        operation = INSERTION if step == 0 else MATCH
        if cigar[-1][0] != operation:
            cigar.append([operation, 0])
        cigar[-1][1] += 1
    if cigar[-1][0] == INSERTION:
        cigar[-1][0] = SOFT_CLIP  # no alignment ends with an insertion
    return [(operation, length) for operation, length in cigar]


def write_reads(region: Region, depth: float, path: Path, seed: int = 0) -> int:
    """Write reads in pairs, sorted and indexed; return their number."""
    generator = np.random.default_rng(seed)
    pairs = int(depth * len(region.letters) / (2 * LENGTH))
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": CONTIG, "LN": len(region.letters)}],
              "RG": [{"ID": "demo", "SM": "demo"}]}  # fmt: skip
    drawn = []
    for number in range(pairs):
        source = region.haplotypes[int(generator.integers(2))]
        size = max(LENGTH, round(generator.normal(INSERT, INSERT_DEVIATION)))
        start = int(generator.integers(0, max(1, len(source.letters) - size)))
        for mate, begin in enumerate((start, min(start + size, len(source.letters)) - LENGTH)):
            drawn.append((int(source.positions[begin]), number, mate, source, begin))
    drawn.sort(key=lambda read: read[:3])
    with pysam.AlignmentFile(str(path), "wb", header=header) as bam:
        for position, number, mate, source, begin in drawn:
            qualities = region.qualities[generator.integers(len(region.qualities))]
            record = pysam.AlignedSegment(bam.header)
            record.query_name, record.flag = f"r{number}", 1 | 2 | (64 << mate) | (16 if mate else 32)
            record.reference_id, record.reference_start, record.mapping_quality = 0, position, 60
            record.next_reference_id, record.next_reference_start = 0, position
            letters = with_errors(source.letters[begin : begin + LENGTH], qualities, generator)
            record.query_sequence = letters.tobytes().decode()
            record.query_qualities = qualities
            record.cigartuples = cigar_of(source.positions[begin : begin + LENGTH])
            record.set_tag("RG", "demo")
            bam.write(record)
    pysam.index(str(path))
    return len(drawn)


class Meter:
    """Cells and seconds of both algorithms, over all processes."""

    def __init__(self) -> None:
        self.counts = {name: Value("d", 0.0) for name in ("cells", "seconds", "aligned cells", "aligning seconds")}

    def __getitem__(self, name: str) -> float:
        return self.counts[name].value

    def around(self, engine: CallingEngine) -> CallingEngine:
        """Return the engine with its work counted."""

        def timed(work, cells: int, counted: str, seconds: str) -> Any:
            begun = time.perf_counter()
            answer = work()
            for name, more in ((counted, cells), (seconds, time.perf_counter() - begun)):
                with self.counts[name].get_lock():
                    self.counts[name].value += more
            return answer

        return CallingEngine(
            lambda batch, scoring: timed(
                lambda: engine.align(batch, scoring),
                cells_of_tasks(batch.tasks, batch.reference_offsets, batch.alternate_offsets),
                "aligned cells", "aligning seconds",
            ),
            lambda batch: timed(lambda: engine.log10_likelihoods(batch), cells_of(batch), "cells", "seconds"),
            engine.batch_scale,
        )  # fmt: skip


def core_seconds() -> float:
    """Return the CPU seconds of this process and its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Called(NamedTuple):
    """A run of calling: seconds to open the engine, seconds and core-seconds from then on, and its records."""

    opening: float
    seconds: float
    core_seconds: float
    meter: Meter
    backend: str
    records: list[bytes]


def call(work: Path, bam: Path, backend: str, threads: int, unit_bases: int) -> Called:
    """Call the whole reference."""
    job = open_job(Output.VARIANTS, work / "reference", [{"sample": "demo", "ploidy": 2, "bam": bam}], SETTINGS)
    units = cut_at_multiples([(name, 0, length) for name, length in contigs_of(job.reference)], unit_bases)
    meter, before = Meter(), core_seconds()
    begun = time.perf_counter()
    with calling_engine(DeviceSettings(backend, "auto"), lambda: 0, threads) as (chosen, engine):
        opened = time.perf_counter()
        job = replace(job, engine=meter.around(engine))
        called = in_processes(partial(call_unit, job), units, threads, partial(load_stage, "rescore"))
        records = [line for unit in called for line in unit.text.splitlines()]
        done = time.perf_counter()
    return Called(opened - begun, done - opened, core_seconds() - before, meter, chosen.name, records)


def measure_batches(backend: str, most_times: int) -> None:
    """Print the time of batches on one thread of the CPU, and in the card's process with transfers."""
    regions = join_batches(read_regions(REPOSITORY / "tests/data/kernel_vectors/10s.in"))
    rows = []
    with everything_to_the_card(), calling_engine(DeviceSettings(backend, "auto"), lambda: 0, 1) as (chosen, engine):
        for share, times in [*((share, 1) for share in PARTS), *((1, t) for t in TIMES if t <= most_times)]:
            batch = repeated(replace(regions, tasks=regions.tasks[: len(regions.tasks) // share]), times)
            seconds = [_fastest(work, batch) for work in (pairhmm.log10_likelihoods, engine.log10_likelihoods)]
            cells = cells_of(batch)
            speeds = [cells / own / 1e9 for own in seconds]
            figures = (*(1e3 * own for own in seconds), *speeds, speeds[1] / speeds[0])
            rows.append((f"{cells / 1e6:.1f}", len(batch.tasks), *(f"{figure:.2f}" for figure in figures)))
    print(f"## one batch of real regions: a thread of the CPU, and the process with backend {chosen.name}")
    print_table(("M cells", "tasks", "CPU ms", f"{chosen.name} ms", "CPU G cells/s", f"{chosen.name} G cells/s",
                 "CPU/card"), rows)  # fmt: skip


@contextmanager
def everything_to_the_card() -> Iterator[None]:
    """Send batches of any size to the card."""
    least, engines.LEAST_CELLS = engines.LEAST_CELLS, 1
    try:
        yield
    finally:
        engines.LEAST_CELLS = least


def _fastest(work, batch, repeats: int = 3) -> float:
    work(batch)
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work(batch)
        times.append(time.perf_counter() - begun)
    return min(times)


def measure(work: Path, threads: int, bases: int, depths: Sequence[float], backend: str, most_times: int) -> None:
    """Print both tables."""
    measure_batches(backend, most_times)
    region = read_region(bases)
    (work / "demo.fa").write_text(f">{CONTIG}\n{region.letters}\n")
    reference_stage.build(work / "demo.fa", work / "reference", 1 << 20)
    unit_bases = max(2000, bases // (2 * threads) // 2000 * 2000)  # gives all threads work in a short region
    print(f"## calling {bases} bases with {threads} processes")
    for line in (CALLING_HEADER, ["---"] * len(CALLING_HEADER)):
        print("| " + " | ".join(line) + " |")
    for depth in depths:
        bam = work / f"depth_{depth:g}.bam"
        reads = write_reads(region, depth, bam)
        expected: list[str] = []
        for name in ("cpu", backend):
            if depth == depths[0]:  # the first compiles
                call(work, bam, name, threads, unit_bases)
            called = call(work, bam, name, threads, unit_bases)
            expected = expected or called.records
            assert called.records == expected, "the card's calls are others"
            meter = called.meter
            row = (
                f"{depth:g}", reads, called.backend, f"{called.opening:.2f}", f"{called.seconds:.2f}",
                f"{called.core_seconds:.2f}", f"{meter['cells'] / 1e9:.2f}", f"{meter['seconds']:.2f}",
                f"{meter['aligned cells'] / 1e9:.2f}", f"{meter['aligning seconds']:.2f}",
                f"{meter['cells'] / bam.stat().st_size:.0f}",
            )  # fmt: skip
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print("# the records of each depth are the same")


def main() -> None:
    """Measure on the first card that is free."""
    parser = arguments(__doc__, needs_data=False, threads=os.cpu_count() or 1)
    parser.add_argument("--bases", type=int, default=20_000, help="of the demo's region")
    parser.add_argument("--depths", type=float, nargs="+", default=DEPTHS)
    parser.add_argument("--backend", choices=("gpu", "cpu"), default="gpu", help="what is compared with the CPU")
    parser.add_argument("--most-times", type=int, default=TIMES[-1], help="repeats of the largest batch, at most")
    given = parser.parse_args()
    print_setting(())
    work = given.work / "gpu_calling"
    work.mkdir(parents=True, exist_ok=True)
    try:
        measure(work, given.threads, given.bases, given.depths, given.backend, given.most_times)
        write_measurement()
    except QuireError as error:  # no card
        print(f"not measured: {error}")


if __name__ == "__main__":
    main()
