"""Sinks that take the records of a unit, batch by batch, as flat arrays.

A sink works in two steps. `encode` runs in several worker threads at a time, in any order, and does the expensive work
on uncompressed records. `write` is called by one thread with the results of `encode`, in the order of the reads. In the
workflow the sink distributes records to buckets of the genome, the first step of sorting. On the command line it can
also compress them to a BAM file in read order.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quire.buckets.cpu import Dealt, assemble_dealt
from quire.buckets.file import BucketWriter, open_buckets, writers_of
from quire.io.bam.encode import NO_UMIS, RecordAssembly, RecordBatch, Umis, assemble_blocks
from quire.io.bam.writer import BamWriter, ReadGroup, open_bam
from quire.reads import PairBatch

Encoded: TypeAlias = Any
"""Records, in the order of a batch's reads, in the form that a sink's `write` takes."""


def _umis_of(batch: PairBatch) -> Umis:
    return NO_UMIS if batch.umis is None or batch.umi_offsets is None else Umis(batch.umis, batch.umi_offsets)


class BucketSink:
    """A sink that distributes records to the buckets of a folder."""

    def __init__(self, file: BucketWriter, read_group: ReadGroup) -> None:
        self.file, self.read_group = file, read_group

    @property
    def records(self) -> int:
        """Return the number of records written so far."""
        return self.file.records

    def encode(self, records: RecordBatch, batch: PairBatch) -> Dealt:
        """Write the records to their buckets in memory, without holding the interpreter's lock."""
        identifier = self.read_group.identifier.encode()
        assembly = RecordAssembly(records, batch.mate1, batch.mate2, identifier, _umis_of(batch))
        return assemble_dealt(assembly, self.file.genome)

    def write(self, encoded: Dealt) -> None:
        """Append the records."""
        self.file.write(encoded)


class BamSink:
    """A sink that appends records to a BAM file in the order of the reads."""

    def __init__(self, bam: BamWriter, read_group: ReadGroup) -> None:
        self.bam, self.read_group, self.records = bam, read_group, 0

    def encode(self, records: RecordBatch, batch: PairBatch) -> tuple[int, list[NDArray[np.uint8]]]:
        """Lay out and compress the records without the interpreter's lock; return their number and the blocks."""
        identifier = self.read_group.identifier.encode()
        return len(records), assemble_blocks(records, batch.mate1, batch.mate2, identifier, _umis_of(batch))

    def write(self, encoded: tuple[int, list[NDArray[np.uint8]]]) -> None:
        """Append the blocks."""
        records, blocks = encoded
        self.records += records
        self.bam.write_blocks(blocks)


RecordSink: TypeAlias = BucketSink | BamSink


@contextmanager
def open_sink(
    path: Path, text: str, names: Sequence[str], lengths: NDArray[np.int64], read_group: ReadGroup, threads: int = 1
) -> Iterator[RecordSink]:
    """Yield the sink of a file or folder, which appears when the `with` block ends without an error.

    A path that ends in `.bam` is a BAM file, any other a folder of buckets. `names` and `lengths` (int64[], bases) are
    those of the contigs. `threads` of the job determine the number of threads that write buckets.
    """
    if path.suffix == ".bam":
        with open_bam(path, text, names, lengths) as bam:
            yield BamSink(bam, read_group)
    else:
        with open_buckets(path, text, names, lengths, writers_of(threads)) as file:
            yield BucketSink(file, read_group)
