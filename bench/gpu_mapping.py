"""Mapping speed on a card: from resident reads to resident alignments, and from FASTQ in memory to an unsorted BAM.

Reads are drawn from the axis with substitutions and short gaps. The share placed right is printed next to the speed,
since a fast mapper that loses reads is useless. The resident part needs only NumPy and CuPy; the files need the
packages of `quire.align`.
"""

import gzip
import logging
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from quire.algorithms.extension.gpu import MOST_BYTES
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.gpu import CardPages
from quire.align.engines.steps import find_alignments, rescue_and_select
from quire.align.engines.steps_gpu import steps_on
from quire.align.insert_size import fit_all
from quire.device.card import Card
from quire.index import open_page
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.reads import ReadBatch
from quire.reads.gpu import orient
from quire.reference import Reference
from quire.reference.gpu import upload_reference

from bench.build_index import PARAMETERS
from bench.build_index import build as build_index
from bench.cards import KERNEL_HEADER, fastest, first_card, kernel_times
from bench.common import REPOSITORY, add_figures, arguments, print_setting, print_table, python, run, write_measurement
from bench.gpu_index import CHROMOSOMES
from bench.synthetic_genome import write_genome

LENGTH = 150
INSERT_MEAN, INSERT_DEVIATION = 350, 50
SUBSTITUTIONS = 0.003  # share of bases: errors and variants together
GAPS = 0.01  # share of reads with a deletion of one to four bases
SPARE = 8  # additional bases drawn for the deletion of a read
TOLERANCE = 20
PAIRS_A_BATCH = 1 << 18
FEW_PAIRS = 2000
PAIRS_A_FILE = 1 << 18  # number drawn at a time for FASTQ


def draw_pairs(axis: Reference, pairs: int, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw simulated pairs.

    Returns:
        codes uint8[pairs, LENGTH] of mate 1 and of mate 2, and the leftmost axis positions, int64[2, pairs].
    """
    generator = np.random.default_rng([seed, 2])
    islands = axis.island_axis
    inserts = generator.normal(INSERT_MEAN, INSERT_DEVIATION, pairs).astype(np.int64).clip(LENGTH, 2 * INSERT_MEAN)
    starts = generator.integers(SPARE, axis.axis_length - 2 * INSERT_MEAN - SPARE, pairs)
    island = np.searchsorted(islands, starts, side="right") - 1
    starts = np.minimum(starts, islands[island + 1] - inserts - SPARE).clip(islands[island] + SPARE)
    lefts = np.stack([starts, starts + inserts - LENGTH])
    swapped = generator.random(pairs) < 0.5
    mates, origins = [], []
    for reverse in (swapped, ~swapped):
        left = np.where(reverse, lefts[1], lefts[0])
        begins = left - np.where(reverse, SPARE, 0)
        pieces = codes_at(axis, begins[:, None] + np.arange(LENGTH + SPARE))
        mates.append(_altered(generator, np.where(reverse[:, None], 3 - pieces[:, ::-1], pieces)))
        origins.append(left)
    return mates, np.stack(origins)


def codes_at(axis: Reference, positions: np.ndarray) -> np.ndarray:
    """Return the codes (uint8) at positions of an axis, in an array of any shape."""
    return (axis.text.view(np.uint8)[positions >> 2] >> (2 * (positions & 3)).astype(np.uint8)) & 3


def _altered(generator: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    """Return reads of LENGTH from longer pieces, with substitutions and, in a few, a short deletion."""
    count = len(codes)
    positions = np.tile(np.arange(LENGTH), (count, 1))
    gapped = np.flatnonzero(generator.random(count) < GAPS)
    begin, size = generator.integers(20, LENGTH - 20, len(gapped)), generator.integers(1, 5, len(gapped))
    positions[gapped] += (np.arange(LENGTH) >= begin[:, None]) * size[:, None]
    reads = np.take_along_axis(codes, positions, axis=1)
    changed = generator.random(reads.shape, np.float32) < SUBSTITUTIONS
    reads[changed] = (reads[changed] + generator.integers(1, 4, int(changed.sum()), np.uint8)) & 3
    return reads


def batch_of(codes: np.ndarray) -> ReadBatch:
    """Return a batch of equally long reads, named by their index."""
    names, name_offsets = pack_bytes([b"%d" % number for number in range(len(codes))])
    bases = np.ascontiguousarray(codes).reshape(-1)
    offsets = offsets_from_lengths([codes.shape[1]] * len(codes))
    return ReadBatch(names, name_offsets, bases, np.full(len(bases), 30, np.uint8), offsets, 0)


def map_resident(card: Card, axis: Reference, indexes: list, pairs: int, repeats: int, seed: int = 1) -> list[object]:
    """Time the steps of a batch on the card; return the row of the table and print the share of each kernel."""
    on_card = upload_reference(card, axis)
    pages = CardPages(card, indexes, int(card.free_bytes() * 0.6)).resident
    mates, origins = draw_pairs(axis, pairs, seed)
    reads = orient(card, *(batch_of(codes) for codes in mates))
    steps = steps_on(card, card.free_bytes() // 4 >= MOST_BYTES)  # as `CardEngine` does
    found = find_alignments(steps, reads, True, pages, on_card)
    lengths = card.download(steps.unique_template_lengths(found.alignments, reads))
    models = fit_all(lengths)
    del found

    def work():
        found = find_alignments(steps, reads, True, pages, on_card)
        return rescue_and_select(steps, found, reads, True, on_card, models)

    alignments, selection = work()
    primary = card.download(selection.primary)
    begin, clip = card.download(alignments.axis_begin), card.download(alignments.read_begin)
    placed = primary >= 0
    left = begin[primary] - clip[primary]
    right = placed & (abs(left - origins.reshape(-1)) <= TOLERANCE)
    del alignments, selection
    seconds = fastest(card, work, repeats)
    print_table(KERNEL_HEADER, kernel_times(card, work))
    return [axis.axis_length, len(indexes), 2 * pairs, f"{seconds * 1e3:.1f}", f"{2 * pairs / seconds / 1e6:.2f}",
            f"{seconds / pairs / 2 * 1e9:.0f}", f"{placed.mean():.5f}", f"{right.mean():.5f}"]  # fmt: skip


def write_fastq(reference_folder: Path, folder: Path, pairs: int, processes: int) -> list[Path]:
    """Write plain FASTQ of simulated pairs; names hold the index of the pair, so that all records are equally long."""
    paths = [folder / f"reads_{mate}.fq" for mate in (1, 2)]
    for path in paths:
        path.write_bytes(b"")
    tasks = [(reference_folder, paths, begin, min(PAIRS_A_FILE, pairs - begin), 3 + number)
             for number, begin in enumerate(range(0, pairs, PAIRS_A_FILE))]  # fmt: skip
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:  # a fork would share the card
        list(pool.map(_write_part, tasks))
    return paths


@cache
def real_qualities() -> np.ndarray:
    """Return the quality strings of the demo's first mates as text, uint8[reads, bases]."""
    with gzip.open(REPOSITORY / "tests" / "data" / "demo" / "NA12878_R1.fastq.gz", "rb") as stream:
        strings = stream.read().split(b"\n")[3::4]
    return np.frombuffer(b"".join(strings), np.uint8).reshape(len(strings), -1)


def _write_part(task: tuple[Path, list[Path], int, int, int]) -> None:
    """Write pairs [begin, begin + count) at their places in both files."""
    reference_folder, paths, begin, count, seed = task
    mates, _ = draw_pairs(Reference.open(reference_folder, verify=False), count, seed)
    generator, strings = np.random.default_rng([seed, 9]), real_qualities()
    for path, codes in zip(paths, mates, strict=True):
        record = fastq_records(begin, codes, quality_values(generator, strings, count))
        with path.open("r+b") as stream:
            stream.seek(begin * record.shape[1])
            stream.write(record.tobytes())


def quality_values(generator: np.random.Generator, strings: np.ndarray, count: int) -> np.ndarray:
    """Return text of qualities (uint8[count, LENGTH]) from two pieces of real strings each, which are shorter."""
    return np.hstack([strings[generator.integers(0, len(strings), count)] for _ in range(2)])[:, -LENGTH:]


def fastq_records(begin: int, codes: np.ndarray, qualities: np.ndarray) -> np.ndarray:
    """Return the text (uint8[reads, bytes]) of reads that are named by their numbers from `begin` on."""
    numbers = np.arange(begin, begin + len(codes))
    record = np.full((len(codes), 12 + LENGTH + 3 + LENGTH + 1), ord("\n"), np.uint8)
    record[:, 0] = ord("@")
    record[:, 1:11] = (numbers[:, None] // 10 ** np.arange(9, -1, -1)) % 10 + ord("0")
    record[:, 12 : 12 + LENGTH] = np.frombuffer(b"ACGT", np.uint8)[codes]
    record[:, 13 + LENGTH] = ord("+")
    record[:, 15 + LENGTH : 15 + 2 * LENGTH] = qualities
    return record


def build(
    card: Card, fasta: Path, folder: Path, page_size: int, parameters: dict[str, int]
) -> tuple[Reference, list[FmIndex]]:
    """Build reference and index of a FASTA on the card."""
    axis = build_index(fasta, folder, page_size, parameters, card)
    return axis, [open_page(folder / f"page_{number}", axis, verify=False) for number in range(len(axis.pages))]


def map_files(index: Path, work: Path, pairs: int, threads: int, repeats: int) -> list[float]:
    """Return the seconds from plain FASTQ to an unsorted BAM, by the command, for each repeat."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        mates = write_fastq(index / "reference", Path(folder), pairs, threads)
        files = " ".join(f"--fq{mate + 1} {path}" for mate, path in enumerate(mates))
        what = f"bench.map_unit --index {index} {files} --out {folder}/out.bam --backend gpu --threads {threads}"
        return [run(python(what)).seconds for _ in range(repeats)]


def main() -> None:
    """Measure on the first available card."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--bases", type=int, default=3_100_000_000, help="of the large genome; 0 leaves it out")
    parser.add_argument("--pairs", type=int, default=PAIRS_A_BATCH, help="of the resident batch")
    parser.add_argument("--file-pairs", type=int, default=20_000_000, help="of the FASTQ files; 0 leaves them out")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    print_setting(peers=())
    given.work.mkdir(parents=True, exist_ok=True)
    with first_card() as card:
        if card is None:
            return
        genomes = [("chr20+21", given.data / CHROMOSOMES)]
        if given.bases:
            genomes.append(("synthetic", given.work / "synthetic.fa"))
            write_genome(genomes[1][1], given.bases, 1, given.threads)
        rows = []
        for name, fasta in genomes:
            axis, indexes = build(card, fasta, given.work / name, 1 << 30, PARAMETERS)
            rows.append([name, *map_resident(card, axis, indexes, given.pairs, repeats=5)])
        print_table(("genome", "bases", "pages", "reads", "ms", "M reads/s", "ns a read", "placed", "right"), rows)
    if given.file_pairs:
        index = given.work / "chr20+21"
        # The first run of few reads compiles kernels that are not cached; the second one measures the start-up.
        seconds = map_files(index, given.work, FEW_PAIRS, given.threads, 2)
        seconds += map_files(index, given.work, given.file_pairs, given.threads, 2)
        reads, start_up = 2 * given.file_pairs / 1e6, seconds[1]
        rows = [(f"{reads:.0f}", f"{taken:.2f}", f"{start_up:.2f}", f"{reads / (taken - start_up):.2f}",
                 f"{reads / taken:.2f}") for taken in seconds[2:]]  # fmt: skip
        print_table(("M reads", "s", "start-up, s", "M reads/s", "start-up included"), rows)
        add_figures({"plain FASTQ to BAM, M reads/s": max(float(row[3]) for row in rows)})
    write_measurement()


if __name__ == "__main__":
    main()
