"""Builders for the align tests: packed text, oriented reads, small genomes, and mapped runs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pysam
from quire import index
from quire import reference as reference_stage
from quire.align.read_ends import NO_CLIPPING, Clipping
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.io.bam.writer import ReadGroup
from quire.io.files import read_json
from quire.io.read_files import ReadFiles
from quire.reads import Reads
from quire.reads.cpu import orient
from quire.reference import Reference

from tests.support.builders import Read, reverse_complement, write_fastq
from tests.support.card_builders import make_batch

WHOLE = 1 << 30
READ_GROUP = ReadGroup(sample="S", unit="u", library="L", platform="ILLUMINA")


def make_reads(sequences: Sequence[np.ndarray], mates: Sequence[np.ndarray] | None = None) -> Reads:
    """Return oriented reads with these codes; with `mates`, pairs."""
    return orient(make_batch(sequences), None if mates is None else make_batch(mates))


@dataclass
class Indexed:
    """A reference with the indexes of its pages."""

    directory: Path
    pages: list[Path]

    def open(self) -> Reference:
        """Open the reference."""
        return Reference.open(self.directory)


def build_index(
    folder: Path, fasta: Path, page_size: int = WHOLE, sampling_distance: int = 64, sa_sampling: int = 1
) -> Indexed:
    """Build the reference and the indexes of all its pages below `folder`."""
    home = folder / f"index_{page_size}_{sampling_distance}_{sa_sampling}"
    reference_stage.build(fasta, home / "reference", page_size)
    opened = Reference.open(home / "reference")
    pages = [home / f"page_{number}" for number in range(len(opened.pages))]
    for number, page in enumerate(pages):
        index.build(opened, number, page, {"sampling_distance": sampling_distance, "sa_sampling": sa_sampling})
    return Indexed(home / "reference", pages)


@dataclass
class Mapped:
    """The files that one run of `map_unit` wrote."""

    bam: Path
    ledger: dict
    insert_size: dict
    lines: list[str] = field(default_factory=list)

    def records(self) -> list[pysam.AlignedSegment]:
        """Return all records in the order of the file."""
        with pysam.AlignmentFile(str(self.bam), check_sq=False) as stream:
            return list(stream.fetch(until_eof=True))


def map_files(
    folder: Path,
    indexed: Indexed,
    mates: Sequence[Path],
    batch: int = 1000,
    threads: int = 1,
    clipping: Clipping = NO_CLIPPING,
    alternate: Path | None = None,
) -> Mapped:
    """Map FASTQ files; every call overwrites the same files of `folder`."""
    bam, ledger, sizes = folder / "out.bam", folder / "ledger.json", folder / "insert_size.json"
    map_unit(
        UnitInputs(indexed.directory, indexed.pages, ReadFiles(mates[:1], mates[1:]), alternate=alternate),
        UnitFiles(bam, ledger, sizes),
        READ_GROUP,
        MappingSettings(threads, backend="cpu", reads_per_batch=batch),
        clipping,
    )
    lines = pysam.samtools.view("--no-PG", str(bam)).splitlines()
    return Mapped(bam, read_json(ledger), read_json(sizes), lines)


def write_pairs(folder: Path, pairs: Sequence[tuple[Read, Read]], name: str = "reads") -> list[Path]:
    """Write R1 and R2; return both paths."""
    return [write_fastq(folder / f"{name}_{mate + 1}.fq", [pair[mate] for pair in pairs]) for mate in (0, 1)]


def with_errors(generator: random.Random, bases: str, rate: float) -> str:
    """Return a copy with substitutions at `rate`, and insertions or deletions of up to 4 bases at a tenth of it."""
    out: list[str] = []
    skip = 0
    for base in bases:
        if skip:
            skip -= 1
            continue
        drawn = generator.random()
        if drawn < rate:
            out.append(generator.choice([letter for letter in "ACGT" if letter != base]))
        elif drawn < 1.05 * rate:
            out.append(base + "".join(generator.choices("ACGT", k=generator.randint(1, 4))))
        elif drawn < 1.1 * rate:
            skip = generator.randint(0, 3)
        else:
            out.append(base)
    return "".join(out)


def named(generator: random.Random, name: str, bases: str) -> Read:
    """Return a read with random qualities."""
    return Read(name, bases, "".join(chr(33 + generator.randrange(2, 42)) for _ in bases))


def mates_of(
    generator: random.Random, name: str, fragment: str, lengths: tuple[int, int], rate: float, adapter: str = ""
) -> tuple[Read, Read]:
    """Return both ends of a fragment, read inwards; if it is shorter than a read, `adapter` follows."""
    forward, reverse = fragment + adapter, reverse_complement(fragment) + adapter
    first = with_errors(generator, forward[: lengths[0]], rate)
    second = with_errors(generator, reverse[: lengths[1]], rate)
    return named(generator, name, first[:1024]), named(generator, name, second[:1024])
