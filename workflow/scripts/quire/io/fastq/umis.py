"""UMIs from a FASTQ file of their own."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from quire.errors import InputError
from quire.io.ahead import ahead
from quire.io.fastq.one_file import CHUNK_BYTES, file_batches
from quire.io.fastq.parser_cpu import first_difference
from quire.reads import PairBatch

MOST_BASES = 1024  # longest UMI
_LETTERS = np.frombuffer(bytearray(b"ACGTN"), np.uint8)


def with_umi_file(
    pairs: Generator[PairBatch, None, None], reads: Path, path: Path, reads_per_batch: int
) -> Iterator[PairBatch]:
    """Yield batches with the UMIs of their reads or pairs; record i of the file is the UMI of read or pair i.

    `pairs` are always closed at the end; `reads` is their file, for messages.

    Raises:
        InputError: the number of records or their names differ, a UMI has no bases, or the file is wrong.
    """
    umis = ahead(lambda: file_batches(path, reads_per_batch, MOST_BASES, CHUNK_BYTES), 2)
    with closing(umis), closing(pairs):  # otherwise an error's traceback would keep them and their threads alive
        while True:
            batch, read = next(pairs, None), next(umis, None)
            if batch is None and read is None:
                return
            counts = [0 if one is None else len(one) for one in (batch, read)]
            mates = None if batch is None else batch.mate1
            if mates is not None and read is not None:
                different = first_difference(
                    mates.names, mates.name_offsets, read.names, read.name_offsets, min(counts)
                )
                if different >= 0:
                    raise InputError(
                        f"{path}: record {read.first_ordinal + different + 1} is named {read.name(different)} but that "
                        f"of {reads} is named {mates.name(different)}; give the files of one run, in the same order."
                    )
            if counts[0] != counts[1] or batch is None or read is None:
                short, longer = (reads, path) if counts[0] < counts[1] else (path, reads)
                raise InputError(f"{short}: has fewer records than {longer}; each read, or pair, needs one UMI.")
            if (empty := np.diff(read.offsets) == 0).any():
                number = read.first_ordinal + int(np.argmax(empty)) + 1
                raise InputError(f"{path}: record {number} has no bases; each read, or pair, needs a UMI.")
            yield replace(batch, umis=_LETTERS[read.bases], umi_offsets=read.offsets)
