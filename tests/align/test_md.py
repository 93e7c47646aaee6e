"""MD and NM of random alignments, against a walk base by base."""

from typing import NamedTuple

import numpy as np
import pytest
from quire.align.records.cpu import RecordRows
from quire.align.records.md_cpu import RecordSequences, differences
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.packing import pack


class Rows(NamedTuple):
    """The fields of `Reported` that `differences` reads."""

    axis_begin: np.ndarray
    axis_end: np.ndarray
    strand: np.ndarray
    read_begin: np.ndarray
    cigar: np.ndarray
    cigar_begin: np.ndarray
    cigar_length: np.ndarray


def walk(read: list[int], place: int, axis: int, operations: list[tuple[int, int]], text: list[int]) -> tuple[str, int]:
    """Return MD and NM as the SAM specification defines them; text holds 4 where it is ambiguous."""
    md, run, edits = "", 0, 0
    for operation, length in operations:
        if operation == CIGAR_INSERTION:
            place, edits = place + length, edits + length
        elif operation == CIGAR_DELETION:
            md, run = f"{md}{run}^" + "".join("ACGTN"[code] for code in text[axis : axis + length]), 0
            axis, edits = axis + length, edits + length
        else:
            for _ in range(length):
                if read[place] == text[axis] < 4:
                    run += 1
                else:
                    md, run, edits = f"{md}{run}{'ACGTN'[text[axis]]}", 0, edits + 1
                place, axis = place + 1, axis + 1
    return f"{md}{run}", edits


@pytest.mark.parametrize("spans", [0, 12])
@pytest.mark.parametrize("paired", [True, False])
def test_random_alignments(spans: int, paired: bool) -> None:
    generator = np.random.default_rng(11)
    length = 6016  # whole words
    text = generator.integers(0, 4, length).astype(np.uint8)
    begins = np.sort(generator.choice(np.arange(0, length, 50), spans, replace=False))
    ambiguous = np.stack([begins, begins + generator.integers(1, 45, spans)], axis=1).astype(np.int64)
    shown = text.copy()
    for begin, end in ambiguous:
        shown[begin:end] = 4
    reads, rows, expected = [], [], []
    for _ in range(600):
        operations, place, axis = [], int(generator.integers(0, 9)), int(generator.integers(0, length - 1200))
        read, start = list(generator.integers(0, 5, place)), axis
        for number in range(int(generator.integers(1, 6))):
            kind = CIGAR_MATCH if number % 2 == 0 else int(generator.choice([CIGAR_INSERTION, CIGAR_DELETION]))
            size = int(generator.integers(1, 150 if kind == CIGAR_MATCH else 40))
            if number % 2 and number == 5:
                break
            operations.append((kind, size))
            if kind == CIGAR_MATCH:
                read += text[axis : axis + size].tolist()
            elif kind == CIGAR_INSERTION:
                read += generator.integers(0, 5, size).tolist()
            axis += size if kind != CIGAR_INSERTION else 0
        read += generator.integers(0, 5, int(generator.integers(0, 9))).tolist()
        read = np.array(read, np.uint8)
        noisy = generator.random(len(read)) < generator.choice([0, 0.01, 0.3])
        read[noisy] = generator.integers(0, 5, int(noisy.sum()))
        strand = int(generator.integers(0, 2))
        expected.append(walk(read.tolist(), place, start, operations, shown.tolist()))
        reads.append(np.where(read == 4, 4, 3 - np.minimum(read, 3))[::-1].astype(np.uint8) if strand else read)
        rows.append((start, axis, strand, place, operations))
    offsets = np.cumsum([0, *map(len, reads)]).astype(np.int64)
    half = len(reads) // 2 if paired else len(reads)
    codes1, codes2 = (np.concatenate([np.empty(0, np.uint8), *some]) for some in (reads[:half], reads[half:]))
    counts = [len(row[4]) for row in rows]
    reported = Rows(
        axis_begin=np.array([row[0] for row in rows], np.int64),
        axis_end=np.array([row[1] for row in rows], np.int64),
        strand=np.array([row[2] for row in rows], np.uint8),
        read_begin=np.array([row[3] for row in rows], np.int32),
        cigar=np.array([size << 4 | kind for row in rows for kind, size in row[4]], np.uint32),
        cigar_begin=(np.cumsum(counts) - counts).astype(np.int64),
        cigar_length=np.array(counts, np.int32),
    )
    sequences = RecordSequences(codes1, codes2, offsets, np.append(pack(text), np.zeros(2, np.uint64)), ambiguous)
    order = generator.permutation(len(reads)).astype(np.int64)
    row = np.where(np.arange(len(order)) % 7 == 3, -1, order)
    distances = np.full(len(order), -1, np.int32)
    md, md_offsets = differences(reported, sequences, RecordRows(order, row), distances)
    for i, chosen in enumerate(row):
        written = md[md_offsets[i] : md_offsets[i + 1]].tobytes().decode(), int(distances[i])
        assert written == (expected[chosen] if chosen >= 0 else ("", -1))
