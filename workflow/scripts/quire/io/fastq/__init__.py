"""Reading of FASTQ: batches of reads from one or two files, with one-sentence errors.

Each file is read and decompressed ahead of the consumer in its own thread (`one_file`). Mates must have the same name,
whether they come from two files, read in lockstep, or are adjacent in an interleaved file (`interleaved`).
"""

import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from quire.errors import InputError
from quire.io.ahead import ahead
from quire.io.fastq.interleaved_cpu import separate_mates
from quire.io.fastq.one_file import CHUNK_BYTES, file_batches
from quire.io.fastq.parser_cpu import LOWEST_QUALITY, first_difference
from quire.io.first_reads import PHRED64_OFFSET
from quire.reads import PairBatch, ReadBatch
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
) -> Generator[PairBatch, None, None]:
    """Yield batches of `reads_per_batch` reads or pairs of one or two FASTQ files; the last may be smaller.

    `interleaved` says that `fq1` holds both mates. About `chunk_bytes` of text are in memory at a time.

    Raises:
        InputError: a file or record is wrong; the message names file, record, error and remedy.
    """
    if fq2 is not None and os.path.exists(fq1) and os.path.exists(fq2) and os.path.samefile(fq1, fq2):
        raise InputError(f"{fq1}: the same file is given as R1 and as R2; give the file of the mates as R2.")

    def reads_of(path: str | Path) -> Iterator[ReadBatch]:
        batches = file_batches(path, reads_per_batch * (2 if interleaved else 1), maximum_length, chunk_bytes)
        return _from_phred64(path, batches) if phred64 else batches

    if fq2 is None:
        pairs = ahead(
            lambda: separate_mates(fq1, reads_of(fq1)) if interleaved else _single(reads_of(fq1)), BATCHES_AHEAD
        )
        try:
            yield from pairs
        finally:
            pairs.close()
        return
    first = ahead(lambda: reads_of(fq1), BATCHES_AHEAD)
    second = ahead(lambda: reads_of(fq2), BATCHES_AHEAD)
    try:
        while True:
            mate1, mate2 = next(first, None), next(second, None)
            _require_mates(fq1, fq2, mate1, mate2)
            if mate1 is None or mate2 is None:
                return
            if mate1.first_ordinal == 0:
                _require_different_reads(fq1, fq2, mate1, mate2)
            yield PairBatch(mate1, mate2)
    finally:
        first.close()
        second.close()


def _single(batches: Iterator[ReadBatch]) -> Iterator[PairBatch]:
    for batch in batches:
        yield PairBatch(batch, None)


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
