"""Separation of the interleaved mates of one FASTQ file."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quire.errors import InputError
from quire.io.fastq.parser_cpu import first_difference
from quire.reads import PairBatch, ReadBatch
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled


def separate_mates(path: str | Path, batches: Iterator[ReadBatch]) -> Iterator[PairBatch]:
    """Yield the pairs of interleaved reads, of even batches but the last; raise InputError for a read without mate."""
    for batch in batches:
        mate1, mate2 = every_other(batch, 0), every_other(batch, 1)
        different = first_difference(mate1.names, mate1.name_offsets, mate2.names, mate2.name_offsets, len(mate2))
        if different >= 0:
            record = batch.first_ordinal + 2 * different + 1
            raise InputError(
                f"{path}: records {record} and {record + 1} are named {mate1.name(different)} and "
                f"{mate2.name(different)}, where an interleaved file must have the two mates of a pair; repair the "
                "file, or remove reads without mates."
            )
        if len(mate1) != len(mate2):
            raise InputError(
                f"{path}: ends after record {batch.first_ordinal + len(batch)} ({mate1.name(len(mate1) - 1)}), whose "
                "mate is missing in an interleaved file; copy the file again."
            )
        yield PairBatch(mate1, mate2)


def every_other(batch: ReadBatch, first: int) -> ReadBatch:
    """Return reads `first`, `first` + 2, ... of a batch whose first ordinal is even."""
    chosen = np.arange(first, len(batch), 2)
    names, name_offsets = _gather(batch.names, batch.name_offsets, chosen)
    bases, offsets = _gather(batch.bases, batch.offsets, chosen)
    qualities, _ = _gather(batch.qualities, batch.offsets, chosen)
    return ReadBatch(names, name_offsets, bases, qualities, offsets, batch.first_ordinal // 2)


@compiled
def _gather(values, offsets, chosen):
    """Return the chosen items of a ragged array end to end, and their offsets."""
    new = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        new[i + 1] = new[i] + offsets[chosen[i] + 1] - offsets[chosen[i]]
    taken = np.empty(new[-1], np.uint8)
    for i in range(len(chosen)):
        copy_bytes(taken, new[i], values, offsets[chosen[i]], offsets[chosen[i] + 1])
    return taken, new
