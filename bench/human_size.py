"""A whole run on a genome of human size, FASTQ.gz to the report through Snakemake, with the time of its steps.

The genome is `bench.synthetic_genome`'s (3.1 Gb with human-like repeats). Its diploid sample carries one substitution
per thousand bases, two in three of them on one haplotype. Reads are 2 x 150 with real quality strings and errors at the
rate of the qualities; they are drawn and compressed in parallel. The run is `bench.whole_run`'s with compiled kernels,
which a first, small run compiles. The memory and processor time of each job are those of its benchmark file, for which
Snakemake looks at a job every half second at first, and after 15 s every 30 s: they are at least as stated.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from isal import isal_zlib
from quire import reference
from quire.reference import Reference

from bench.cards import name_card
from bench.common import add_figures, arguments, print_setting, print_table, write_measurement
from bench.gpu_mapping import (
    INSERT_DEVIATION,
    INSERT_MEAN,
    LENGTH,
    codes_at,
    fastq_records,
    quality_values,
    real_qualities,
)
from bench.synthetic_genome import write_genome
from bench.watching import most_used
from bench.whole_run import cost, draw, jobs, whole_run

PAIRS_A_PART = 1 << 17
SITES_A_VARIANT = 1000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SMALL = 30_000_000  # bases of the genome of the compiling run
# The four values of a NovaSeq: lowest quality of each range, and the value that stands for it (phred).
RANGES, FOUR_VALUES = np.array([0, 3, 18, 30]), np.array([2, 12, 23, 37], np.uint8)


def mix(numbers: np.ndarray) -> np.ndarray:
    """Return uint64[...] mixed by SplitMix64 (Steele, Lea, Flood 2014), as good as random numbers.

    A product alone is not enough: it would place seven in ten variants 12 bases from another one.
    """
    numbers = numbers * GOLDEN
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def sample_codes(axis: Reference, positions: np.ndarray, haplotypes: np.ndarray) -> np.ndarray:
    """Return the codes (uint8) of the sample at axis positions.

    A hash of each position decides if it is a variant, its allele, and its haplotypes.

    Args:
        axis: reference of the sample.
        positions: int64[n, length], axis positions.
        haplotypes: 0 or 1, int64[n, 1].
    """
    codes = codes_at(axis, positions)
    mixed = mix(positions.astype(np.uint64))
    where = np.nonzero(mixed % np.uint64(SITES_A_VARIANT) == 0)
    hashed = (mixed[where] // np.uint64(SITES_A_VARIANT)).astype(np.int64)
    zygosity, allele = hashed % 3, (hashed // 3) % 3 + 1  # on haplotype 0, on haplotype 1, on both
    carried = (zygosity == 2) | (zygosity == haplotypes[where[0], 0])
    codes[where] = np.where(carried, codes[where] + allele & 3, codes[where])
    return codes


@cache
def _opened(folder: Path) -> Reference:
    return Reference.open(folder, verify=False)


@cache
def quality_strings(four_values: bool) -> np.ndarray:
    """Return the real quality strings as text (uint8[reads, bases]), as they are or with four values."""
    strings = real_qualities()
    if not four_values:
        return strings
    return FOUR_VALUES[np.searchsorted(RANGES, strings - 33, side="right") - 1] + np.uint8(33)


def _part(task: tuple[Path, Path, int, int, int, bool]) -> list[Path]:
    """Return two gzip files of `count` pairs, numbered from `begin` on."""
    reference_folder, prefix, begin, count, seed, four_values = task
    axis, strings = _opened(reference_folder), quality_strings(four_values)
    generator = np.random.default_rng([seed, begin])
    islands = axis.island_axis
    inserts = generator.normal(INSERT_MEAN, INSERT_DEVIATION, count).astype(np.int64).clip(LENGTH, 2 * INSERT_MEAN)
    starts = generator.integers(0, axis.axis_length - 2 * INSERT_MEAN, count)
    island = np.searchsorted(islands, starts, side="right") - 1
    starts = np.minimum(starts, islands[island + 1] - inserts).clip(islands[island])
    haplotypes, swapped = generator.integers(0, 2, (count, 1)), generator.random(count) < 0.5
    paths = []
    for mate, reverse in enumerate((swapped, ~swapped), start=1):
        left = np.where(reverse, starts + inserts - LENGTH, starts)
        codes = sample_codes(axis, left[:, None] + np.arange(LENGTH), haplotypes)
        codes = np.where(reverse[:, None], 3 - codes[:, ::-1], codes)
        qualities = quality_values(generator, strings, count)
        wrong = generator.random(codes.shape, np.float32) < 10.0 ** ((33.0 - qualities) / 10)
        codes[wrong] = (codes[wrong] + generator.integers(1, 4, int(wrong.sum()), np.uint8)) & 3
        paths.append(Path(f"{prefix}_{begin}_{mate}.gz"))
        paths[-1].write_bytes(igzip(fastq_records(begin, codes, qualities).tobytes()))
    return paths


def igzip(text: bytes) -> bytes:
    """Return one gzip member, compressed at ISA-L's level 1."""
    packer = isal_zlib.compressobj(1, wbits=31)
    return bytes(packer.compress(text) + packer.flush())


def write_reads(
    reference_folder: Path, prefix: Path, pairs: int, processes: int, four_values: bool
) -> tuple[Path, Path]:
    """Write both gzip files of the sample's reads; parts are made in parallel and joined in order."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    mates = Path(f"{prefix}_1.fq.gz"), Path(f"{prefix}_2.fq.gz")
    tasks = [(reference_folder, prefix, begin, min(PAIRS_A_PART, pairs - begin), 7, four_values)
             for begin in range(0, pairs, PAIRS_A_PART)]  # fmt: skip
    pool = ProcessPoolExecutor(processes, get_context("spawn"))
    with pool, mates[0].open("wb") as one, mates[1].open("wb") as two:
        for parts in pool.map(_part, tasks):
            for path, stream in zip(parts, (one, two), strict=True):
                stream.write(path.read_bytes())
                path.unlink()
    return mates


def of_jobs(folder: Path) -> list[tuple[str, str, str, str]]:
    """Return rows (job, seconds, core-seconds, most MB of memory) from the benchmark files of a run."""
    top = folder / "results/benchmarks"
    rows = []
    for path in sorted(top.rglob("*.tsv")):
        head, values = (line.split("\t") for line in path.read_text().splitlines())
        of = dict(zip(head, values, strict=True))
        rows.append((str(path.relative_to(top).with_suffix("")), of["s"], of["cpu_time"], of["max_rss"]))
    return rows


def main() -> None:
    """Make the genome and the reads, run, and print the time of each step."""
    parser = arguments(__doc__, needs_data=False, threads=16)
    parser.add_argument("--bases", type=int, default=3_100_000_000)
    parser.add_argument("--coverage", type=float, default=3)
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--four-values", action="store_true", help="four quality values, as a NovaSeq has")
    parser.add_argument("--reads", type=Path, help="folder for the reads; the folder for intermediate files by default")
    parser.add_argument("--small", type=int, default=SMALL, help="bases of the compiling run; 0 leaves it out")
    parser.add_argument("--picture", type=Path, help="draw the run into this file (PNG, SVG)")
    given = parser.parse_args()
    print_setting(())
    on_card = name_card(given.backend)
    given.work.mkdir(parents=True, exist_ok=True)
    for name, bases in ("small", min(given.small, given.bases)), ("large", given.bases):
        if not bases:
            continue
        fasta, packed = given.work / f"{name}.fa", given.work / f"{name}_packed"
        if not fasta.exists():
            write_genome(fasta, bases, 1, given.threads)
            reference.build(fasta, packed, 1 << 30)
        pairs = int(bases * given.coverage / (2 * LENGTH))
        mates = write_reads(packed, (given.reads or given.work) / name, pairs, given.threads, given.four_values)
        packed_bytes = sum(path.stat().st_size for path in mates)
        print(f"{name}: {2 * pairs:,} reads, {packed_bytes / 1e9:.2f} GB", flush=True)
        add_figures({f"{name}, GB of FASTQ.gz": round(packed_bytes / 1e9, 2)})
        with most_used(given.work) as used:
            timing, folder = whole_run(given, fasta, [mates], name)
        rows = jobs(folder)
        print(f"{name}: {timing.seconds:.1f} s, {timing.cpu_seconds:.0f} core-seconds, {used[0] / 1e9:.1f} GB of disk")
        add_figures({**cost(name, timing, rows, on_card), f"{name}, GB of disk": round(used[0] / 1e9, 1)})
        print_table(("job", "s", "core-s", "MB"), of_jobs(folder), name)
        print_table(
            ("rule", "starts at", "seconds"),
            [(rule, f"{start:.1f}", f"{end - start:.1f}") for rule, start, end in sorted(rows, key=lambda row: row[1])],
        )
    if given.picture:
        title = f"{given.bases / 1e9:g} Gb at {given.coverage:g}x, {given.threads} cores: {timing.seconds:.0f} s"
        draw(rows, timing.seconds, title, given.picture)
    card = "" if on_card else ", no card"
    write_measurement(f"{given.bases / 1e9:g} Gb at {given.coverage:g}x{card}")


if __name__ == "__main__":
    main()
