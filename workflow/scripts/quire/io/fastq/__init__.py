"""Reading of FASTQ: batches of reads from one or two files, with one-sentence errors.

Each file is read and decompressed ahead of the consumer in its own thread (`one_file`). Mates must have the same name,
whether they come from two files, read in lockstep, or are adjacent in an interleaved file.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from quire.errors import InputError
from quire.io.ahead import ahead
from quire.io.fastq.one_file import CHUNK_BYTES, file_batches
from quire.io.fastq.parser_cpu import LOWEST_QUALITY, first_difference
from quire.io.first_reads import PHRED64_OFFSET
from quire.ragged import offsets_from_lengths
from quire.reads import PairBatch, ReadBatch
from quire.reads.cpu import items_from
from quire.sequence.codes import AMBIGUOUS

BATCHES_AHEAD = 2
MORE_THAN_PHRED = PHRED64_OFFSET - LOWEST_QUALITY  # excess of Phred+64 qualities read as Phred+33


def read_batches(
    fq1: str | Path,
    fq2: str | Path | None,
    reads_per_batch: int,
    maximum_length: int = 1024,
    chunk_bytes: int = CHUNK_BYTES,
    interleaved: bool = False,
    phred64: bool = False,
    gzip_threads: int = 1,
) -> Generator[PairBatch, None, None]:
    """Yield batches of `reads_per_batch` reads or pairs of one or two FASTQ files; the last may be smaller.

    `interleaved` says that `fq1` holds both mates. About `chunk_bytes` of text are in memory at a time, and more with
    several `gzip_threads` (see `text_chunks`).

    Raises:
        InputError: a file or record is wrong; the message names file, record, error and remedy.
    """
    if fq2 is not None and os.path.exists(fq1) and os.path.exists(fq2) and os.path.samefile(fq1, fq2):
        raise InputError(f"{fq1}: the same file is given as R1 and as R2; give the file of the mates as R2.")

    def reads_of(path: str | Path) -> Iterator[ReadBatch]:
        reads = reads_per_batch * (2 if interleaved else 1)
        batches = file_batches(path, reads, maximum_length, chunk_bytes, gzip_threads)
        return _from_phred64(path, batches) if phred64 else batches

    if fq2 is None:

        def pairs_of() -> Iterator[PairBatch]:
            reads = reads_of(fq1)
            return _separate_mates(fq1, reads) if interleaved else (PairBatch(batch, None) for batch in reads)

        with closing(ahead(pairs_of, BATCHES_AHEAD)) as pairs:
            yield from pairs
        return
    with (
        closing(ahead(lambda: reads_of(fq1), BATCHES_AHEAD)) as first,
        closing(ahead(lambda: reads_of(fq2), BATCHES_AHEAD)) as second,
    ):
        while True:
            mate1, mate2 = next(first, None), next(second, None)
            _require_mates(fq1, fq2, mate1, mate2)
            if mate1 is None or mate2 is None:
                return
            if mate1.first_ordinal == 0:
                _require_different_reads(fq1, fq2, mate1, mate2)
            yield PairBatch(mate1, mate2)


def _from_phred64(path: str | Path, batches: Iterator[ReadBatch]) -> Iterator[ReadBatch]:
    """Correct the qualities of Phred+64 reads that were read as Phred+33."""
    for batch in batches:
        too_low = batch.qualities < MORE_THAN_PHRED
        if too_low.any():
            read = int(np.searchsorted(batch.offsets, np.argmax(too_low), side="right")) - 1
            letter = chr(LOWEST_QUALITY + int(batch.qualities[np.argmax(too_low)]))
            raise InputError(
                f"{path}: record {batch.first_ordinal + read + 1} ({batch.name(read)}) has {letter!r} among its "
                "qualities, but Phred+64 has none below '@'; remove phred64 from the column, or repair the file."
            )
        yield replace(batch, qualities=batch.qualities - np.uint8(MORE_THAN_PHRED))


def _separate_mates(path: str | Path, batches: Iterator[ReadBatch]) -> Iterator[PairBatch]:
    """Yield the pairs of interleaved reads, of even batches but the last; raise InputError for a read without mate."""
    for batch in batches:
        mate1, mate2 = _every_other(batch, 0), _every_other(batch, 1)
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


def _every_other(batch: ReadBatch, first: int) -> ReadBatch:
    """Return reads `first`, `first` + 2, ... of a batch whose first ordinal is even."""
    chosen = np.arange(first, len(batch), 2)
    name_offsets, offsets = (offsets_from_lengths(np.diff(own)[chosen]) for own in (batch.name_offsets, batch.offsets))
    names = items_from(batch.names, batch.name_offsets[chosen], name_offsets)
    bases, qualities = (items_from(flat, batch.offsets[chosen], offsets) for flat in (batch.bases, batch.qualities))
    return ReadBatch(names, name_offsets, bases, qualities, offsets, batch.first_ordinal // 2)


def _require_mates(fq1: str | Path, fq2: str | Path, mate1: ReadBatch | None, mate2: ReadBatch | None) -> None:
    """Refuse batches of different sizes or with different names."""
    counts = [0 if mate is None else len(mate) for mate in (mate1, mate2)]
    if mate1 is not None and mate2 is not None:
        different = first_difference(mate1.names, mate1.name_offsets, mate2.names, mate2.name_offsets, min(counts))
        if different >= 0:
            raise InputError(
                f"{fq2}: record {mate1.first_ordinal + different + 1} is named {mate2.name(different)} but its mate in "
                f"{fq1} is named {mate1.name(different)}; give the two files of one run, in the same order."
            )
    if counts[0] != counts[1]:
        short, longer = (fq1, fq2) if counts[0] < counts[1] else (fq2, fq1)
        held = mate1 if mate1 is not None else mate2
        assert held is not None
        raise InputError(
            f"{short}: ends after record {held.first_ordinal + min(counts)} while {longer} has more reads; "
            "R1 and R2 must hold the same pairs, so copy both files again."
        )


def _require_different_reads(fq1: str | Path, fq2: str | Path, mate1: ReadBatch, mate2: ReadBatch) -> None:
    """Refuse a copy of R1 as R2, whose first batch has identical reads."""
    same = np.array_equal(mate1.offsets, mate2.offsets) and np.array_equal(mate1.bases, mate2.bases)
    if same and (mate1.bases < AMBIGUOUS).any() and np.array_equal(mate1.qualities, mate2.qualities):
        raise InputError(f"{fq2}: holds the same reads as {fq1}; give the file of the mates as R2.")
