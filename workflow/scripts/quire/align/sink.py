"""Sinks that take the records of a unit, batch by batch, as flat arrays.

A sink works in two steps. `encode` runs in several worker threads at a time, in any order, and does the expensive work
on uncompressed records. `write` is called by one thread with the results of `encode`, in the order of the reads. In the
workflow the sink distributes records to buckets of the genome, the first step of sorting. On the command line it can
also compress them to a BAM file in read order.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quire.buckets.cpu import assemble_dealt
from quire.buckets.file import open_buckets, writers_of
from quire.io.bam.encode import RecordAssembly, RecordBatch, assemble_blocks
from quire.io.bam.writer import ReadGroup, open_bam
from quire.reads import PairBatch

Encoded: TypeAlias = Any
"""Records, in the order of a batch's reads, in the form that a sink's `write` takes."""


class RecordSink:
    """A sink of the records of a unit.

    Attributes:
        records: number of records written so far.
    """

    def __init__(
        self,
        read_group: ReadGroup,
        assemble: Callable[[RecordBatch, PairBatch, bytes], Encoded],
        write: Callable[[Encoded], None],
    ) -> None:
        """Create a sink; `assemble` takes the ID of the read group, and `write` what it returns."""
        self.records = 0
        self._identifier, self._assemble, self._write = read_group.identifier.encode(), assemble, write

    def encode(self, records: RecordBatch, batch: PairBatch) -> Encoded:
        """Lay out the records of a batch without holding the interpreter's lock; return also their number."""
        return len(records), self._assemble(records, batch, self._identifier)

    def write(self, encoded: Encoded) -> None:
        """Append the records."""
        count, assembled = encoded
        self.records += count
        self._write(assembled)


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
            yield RecordSink(read_group, assemble_blocks, bam.write_blocks)
    else:
        with open_buckets(path, text, names, lengths, writers_of(threads)) as file:
            yield RecordSink(
                read_group,
                lambda records, batch, group: assemble_dealt(RecordAssembly(records, batch, group), file.genome),
                file.write,
            )
