"""Inputs and settings of mapping a unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quire.io.read_files import ReadFiles


@dataclass(frozen=True)
class UnitInputs:
    """Inputs of mapping a unit.

    Attributes:
        reference: directory that `quire.reference.build` wrote.
        pages: directories of the indexes of all its pages, in order.
        reads: files of the reads.
        fasta: FASTA from which the reference must have been built; None skips the check.
        alternate: list of the alternate contigs (`quire.reference.alternate`); None if there are none.
    """

    reference: Path
    pages: Sequence[Path]
    reads: ReadFiles
    fasta: Path | None = None
    alternate: Path | None = None


@dataclass(frozen=True)
class MappingSettings:
    """Settings of mapping a unit. None of them changes a record.

    Attributes:
        threads: number of worker threads.
        backend, memory: as in the configuration's block `device`.
        reads_per_batch: reads or pairs in a batch.
    """

    threads: int
    backend: str = "auto"
    memory: str = "auto"
    reads_per_batch: int | Literal["auto"] = "auto"
