"""Where mapping ends: a sink takes the records of the reads, batch by batch, as flat arrays.

A sink works in two steps. `encode` runs in the worker threads, several at a time and in any order: it sees the records
before anything is compressed, and does what is expensive. `write` gets what `encode` returned, in the order of the
reads and in one thread. The BAM sink encodes records to compressed BGZF blocks and appends them to a file; a sink that
sorts would encode them to bytes and keys.
"""

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.encode import RecordBatch, assemble_blocks
from quire.io.bam.writer import BamWriter, ReadGroup
from quire.reads import PairBatch

Encoded = TypeVar("Encoded")


class RecordSink(Protocol[Encoded]):
    """What takes the records; see the module's text."""

    def encode(self, records: RecordBatch, batch: PairBatch) -> Encoded:
        """Turn the records of a batch into what `write` takes.

        Args:
            records: in the order of the reads.
            batch: the reads that `records.mate` and `records.read` point into.
        """

    def write(self, encoded: Encoded) -> None:
        """Take what `encode` made of the batch that follows in the order of the reads."""


class BamSink:
    """Appends records to a BAM file, in the order of the reads.

    Attributes:
        bam: the open file.
        read_group: of all records.
    """

    def __init__(self, bam: BamWriter, read_group: ReadGroup) -> None:
        self.bam, self.read_group = bam, read_group

    def encode(self, records: RecordBatch, batch: PairBatch) -> list[NDArray[np.uint8]]:
        """Lay out the records and compress them; runs without the interpreter's lock."""
        identifier = self.read_group.identifier.encode()
        return assemble_blocks(records, batch.mate1, batch.mate2, identifier, self.bam.level)

    def write(self, encoded: list[NDArray[np.uint8]]) -> None:
        """Append the blocks."""
        self.bam.write_blocks(encoded)
