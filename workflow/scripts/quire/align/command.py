"""The command that maps a unit alone, for the @PG line of the header."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from quire.align.read_ends import Clipping
from quire.align.unit_files import UnitInputs
from quire.io.bam.writer import ReadGroup


def command_line(inputs: UnitInputs, read_group: ReadGroup, clipping: Clipping, umis: bool, backend: str) -> str:
    """Return a command that writes the same records: paths as given, without options that change no record."""
    reads = inputs.reads
    words: list[object] = ["quire", "map", *map(_listed, filter(None, (reads.fq1, reads.fq2, reads.bam)))]
    words += ["--backend", backend, "--index-directory", inputs.reference.parent]
    words += ["--reference", inputs.fasta] if inputs.fasta else []
    words += ["--umi", "file", "--fq-umi", _listed(reads.fq_umi)] if reads.fq_umi else ["--umi", "name"] if umis else []
    words += ["--interleaved"] if reads.interleaved else []
    words += ["--qualities", reads.qualities] if reads.qualities else []
    words += ["--clip-adapters"] if clipping.adapters else []
    words += ["--clip-poly-g"] if clipping.poly_g else []
    for part in ("sample", "unit", "library", "platform"):
        words += [f"--{part}", getattr(read_group, part)]
    return shlex.join([*map(str, words), "--unsorted", "--output", f"{read_group.identifier}.bam"])


def _listed(paths: Sequence[Path]) -> str:
    """Return files as one word, separated by commas."""
    return ",".join(map(str, paths))
