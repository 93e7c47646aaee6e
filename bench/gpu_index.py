"""Indexing on a card: suffix array and transform of real and hard texts, and the index of a genome of human size.

The sorts go from a packed page in device memory to arrays there, and the index of 3.1 Gb from FASTA to a memory disk
(--work).

--data is the folder of docs/benchmarks.md, or one with only its two FASTA files. Needs only NumPy and CuPy. Every
suffix array is checked on the card. The floor is the time of the sort of the keys in the same run, plus the time to
move the other bytes at the speed of a copy in the same run.
"""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from quire import index, reference
from quire.algorithms.fm_index.construction import gpu as construction_gpu
from quire.algorithms.suffix_array import gpu
from quire.device.card import Card
from quire.reference import Reference
from quire.sequence.packing import pack, unpack

from bench.cards import KERNEL_HEADER, REPEATS, copy_bandwidth, fastest, first_card, kernel_times
from bench.common import arguments, print_setting, print_table, write_measurement
from bench.synthetic_genome import write_genome

CHROMOSOMES = "gatk_haplotypecaller/human_g1k_v37.20.21.fasta.gz"
ECOLI = "genomes/ecoli_K12_MG1655_from_bwa_pac.fa.gz"
WORDS_PER_BLOCK = 4
PAGE_SIZE = 1 << 30  # of the synthetic genome's reference
# Bytes per base in addition to the sort: its key is written; the sorted index is read and the position written; the
# position is read to find groups, with 32 bytes of text; it is read again to write its rank, in a sector of 32 bytes;
# and a third time, with 32 bytes of text, to write the transform's quarter of a byte. Text in the second-level cache
# costs less.
OTHER_BYTES = 8 + (8 + 4) + (4 + 32) + (4 + 32) + (4 + 32)


def sort_and_transform(card: Card, text: gpu.CardText):
    """Compute suffix array and occurrence blocks, the timed part."""
    rows = gpu.suffix_array(card, text)
    return rows, construction_gpu.occurrence_blocks(card, text, rows, WORDS_PER_BLOCK)


def is_suffix_array(card: Card, codes: np.ndarray, rows) -> bool:
    """Return True if rows are the sorted suffixes of a text.

    All rows differ, and each suffix is less than the next by its first base, or by the ranks of the following suffixes.
    """
    xp, size = card.xp, len(rows)
    order = rows.astype(np.int64)
    if int(order[0]) != size - 1 or int(order.max()) != size - 1 or int(xp.bincount(order).min()) != 1:
        return False
    ranks = card.empty(size, np.int64)
    ranks[order] = xp.arange(size, dtype=np.int64)
    if size <= 2:
        return True
    first, rest = card.upload(codes)[order[1:]].astype(np.int64), ranks[order[1:] + 1]
    keys = first * size + rest
    return bool((keys[1:] > keys[:-1]).all())


def texts(axis: np.ndarray, ecoli: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Return names and codes of the texts to sort."""
    yield "chr20+21", axis
    yield "one base", np.zeros(min(5_000_000, axis.size), np.uint8)
    piece = axis[:5_000_000]
    copy = piece[piece.size // 5 :][:100_000]
    yield "an exact copy", np.concatenate((piece, copy))
    yield "E. coli x 20", np.tile(ecoli, 20)


def packed(codes: np.ndarray) -> np.ndarray:
    """Pack codes as on an axis, with two words of padding."""
    return pack(np.concatenate((codes, np.zeros(-codes.size % 32 + 64, np.uint8))))


def measure_sorts(card: Card, axis: np.ndarray, ecoli: np.ndarray, repeats: int) -> None:
    """Print the table of sorts, and of the kernels of the first and the last."""
    bandwidth = copy_bandwidth(card, max(axis.size, 1 << 16), repeats)
    print(f"copy within the card's memory: {bandwidth / 1e9:.0f} GB/s")
    lines: list[tuple[object, ...]] = []
    for name, codes in texts(axis, ecoli):
        text = gpu.upload_text(card, packed(codes), 0, codes.size)
        seconds = fastest(card, lambda text=text: sort_and_transform(card, text), repeats)
        rows = sort_and_transform(card, text)[0]
        correct = is_suffix_array(card, codes, rows)
        del rows
        keys = card.upload(np.random.default_rng(1).integers(0, 1 << 63, codes.size, np.int64).view(np.uint64))
        sort = fastest(card, lambda keys=keys: card.xp.argsort(keys), repeats)
        del keys
        moved = OTHER_BYTES * codes.size / bandwidth
        lines.append(
            (name, codes.size, f"{seconds * 1e3:.1f}", f"{codes.size / seconds / 1e9:.2f}", f"{sort * 1e3:.1f}",
             f"{(sort + moved) * 1e3:.1f}", "yes" if correct else "NO")
        )  # fmt: skip
        if name in ("chr20+21", "E. coli x 20"):
            print(f"kernels of {name}, each waited for:")
            print_table(KERNEL_HEADER, kernel_times(card, lambda text=text: sort_and_transform(card, text)))
        del text
    print_table(("text", "bases", "ms", "Gb/s", "argsort ms", "floor ms", "correct"), lines)


def measure_index(card: Card, fasta: Path, folder: Path, page_size: int, parameters: dict[str, int]) -> None:
    """Print the times from FASTA to index, by step."""
    steps = []

    @contextmanager
    def step(name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        steps.append((name, time.perf_counter() - start))

    with step("reference"):
        reference.build(fasta, folder / "reference", page_size)
    with step("open and verify"):
        opened = Reference.open(folder / "reference")
    for number in range(len(opened.pages)):
        with step(f"page {number}"):
            index.build(opened, number, folder / f"page_{number}", parameters, card)
    total = sum(seconds for _, seconds in steps)
    size = sum(path.stat().st_size for path in folder.rglob("*.npy"))
    print(f"{fasta.name}: {opened.axis_length} bases, pages of {page_size}, {parameters}, {size / 1e9:.2f} GB")
    rows = [(name, f"{seconds:.2f}") for name, seconds in [*steps, ("all", total)]]
    print_table(("step", "s"), rows, f"sa_sampling {parameters['sa_sampling']}")


def axis_of(fasta: Path, folder: Path) -> np.ndarray:
    """Return the codes of a FASTA's islands, one after the other."""
    reference.build(fasta, folder, 1 << 30)
    opened = Reference.open(folder)
    return unpack(opened.text, 0, opened.axis_length)


def measure(card: Card, data: Path, work: Path, genome_bases: int, processes: int, repeats: int) -> None:
    """Run all measurements."""

    def find(name: str) -> Path:
        return data / name if (data / name).exists() else data / Path(name).name

    with tempfile.TemporaryDirectory(dir=work) as temporary:
        folder = Path(temporary)
        codes = [axis_of(find(name), folder / "axis") for name in (CHROMOSOMES, ECOLI)]
        measure_sorts(card, *codes, repeats=repeats)
        if genome_bases == 0:
            return
        fasta = folder / "genome.fa"
        start = time.perf_counter()
        write_genome(fasta, genome_bases, seed=1, processes=processes)
        print(f"synthetic genome written in {time.perf_counter() - start:.0f} s")
        for sa_sampling in (1, 4):
            parameters = {"sampling_distance": 64, "sa_sampling": sa_sampling}
            measure_index(card, fasta, folder / f"sampling_{sa_sampling}", PAGE_SIZE, parameters)


def main() -> None:
    """Measure on the first free card."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--genome-bases", type=int, default=3_100_000_000, help="of the synthetic genome; 0: none")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(message)s", datefmt="%H:%M:%S")
    print_setting(())
    given.work.mkdir(parents=True, exist_ok=True)
    with first_card() as card:
        if card is None:
            return
        measure(card, given.data, given.work, given.genome_bases, given.threads, REPEATS)
    write_measurement()


if __name__ == "__main__":
    main()
