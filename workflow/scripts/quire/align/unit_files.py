"""What a unit is mapped from and to, and how."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from quire.io.read_files import ReadFiles


@dataclass(frozen=True)
class UnitInputs:
    """What a unit is mapped from.

    Attributes:
        reference: directory that `quire.reference.build` wrote.
        pages: directories of the indexes of all its pages, in order.
        reads: their files.
        fasta: the FASTA that the reference must still be of; None skips the check.
        alternate: the list of its alternate contigs (`quire.reference.alternate`); None if it has none.
        assembly: name of the assembly, for the header; empty for none.
    """

    reference: Path
    pages: Sequence[Path]
    reads: ReadFiles
    fasta: Path | None = None
    alternate: Path | None = None
    assembly: str = ""


@dataclass(frozen=True)
class UnitOutputs:
    """What a unit's mapping writes: its records, and two JSON files.

    Attributes:
        records: a folder of buckets (`quire.buckets`), or a BAM in the order of the reads if its name ends in `.bam`.
        ledger, insert_size: JSON.
        mapped_from: what the ledger says of where the records come from (`quire.align.origin`); empty for nothing.
    """

    records: Path
    ledger: Path
    insert_size: Path
    mapped_from: str = ""


@dataclass(frozen=True)
class MappingSettings:
    """How a unit is mapped; nothing of it changes a record.

    Attributes:
        threads: worker threads.
        backend, memory: the configuration's block `device`.
        reads_per_batch: reads or pairs; "auto" leaves the choice to the engine.
    """

    threads: int
    backend: str = "auto"
    memory: str = "auto"
    reads_per_batch: int | Literal["auto"] = "auto"
