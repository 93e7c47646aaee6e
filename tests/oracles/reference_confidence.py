"""Reference confidence in plain Python: one position at a time, testing every indel on every read."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from quire.rescore.reference_confidence.model import (
    DELETED,
    DELETION_QUALITY,
    LONGEST_INDEL,
    MINIMUM_BASE_QUALITY,
    MOST_INDEL_READS,
    base_table,
    indel_table,
)

_N = 4


@dataclass(frozen=True)
class Read:
    """A read laid out against the reference; see `ReadColumns`."""

    start: int
    query_length: int
    bases: Sequence[int]
    qualities: Sequence[int]
    before_indel: Sequence[int]


def confidence_at(
    reads: Sequence[Read], position: int, reference: Sequence[int], reference_start: int, ploidy: int
) -> tuple[int, list[int]]:
    """Return depth and PLs at a position.

    Args:
        reads: all reads, including those that do not cover the position.
        position: 0-based.
        reference: codes of the padded span.
        reference_start: position of its first base.
        ploidy: of the sample.
    """
    pileup = [(read, position - read.start) for read in reads if 0 <= position - read.start < len(read.bases)]
    depth, likelihoods = 0, [0.0] * (ploidy + 1)
    for read, column in pileup:
        deleted = read.bases[column] == DELETED
        quality = DELETION_QUALITY if deleted else read.qualities[column]
        if quality > MINIMUM_BASE_QUALITY:
            depth += 1
            differs = int(deleted or read.bases[column] != reference[position - reference_start])
            likelihoods = [a + b for a, b in zip(likelihoods, base_table(ploidy)[quality, differs], strict=True)]
    likelihoods = [value - depth * log10(ploidy) for value in likelihoods]
    substitution = [min(value, likelihoods[0]) for value in likelihoods]
    without_indel = sum(
        read.bases[column] != DELETED
        and not read.before_indel[column]
        and is_informative(read, column, reference, read.start - reference_start)
        for read, column in pileup
    )
    indel = indel_table(ploidy)[min(without_indel, MOST_INDEL_READS)].tolist()
    less_confident = indel if indel[0] - max(indel[1:]) < substitution[0] - max(substitution[1:]) else substitution
    return depth, phreds(less_confident)


def is_informative(read: Read, column: int, reference: Sequence[int], shift: int) -> bool:
    """Return True if no indel of up to ten bases that starts at a column explains the rest of the read as well.

    Args:
        read: any.
        column: index of a column of the read.
        reference: codes of the padded span.
        shift: index in the reference of the read's first column.
    """
    columns, room = len(read.bases), len(reference) - shift
    last = columns - LONGEST_INDEL if columns <= room else room - LONGEST_INDEL + 1
    query_last = read.query_length - LONGEST_INDEL
    if last <= query_last:
        if column >= last or (columns > room and column == last - 1):
            return False
    elif column > query_last:
        return False

    def cost(read_ahead: int, reference_ahead: int) -> int | None:
        """Sum the qualities of the mismatches from the column on; None if nothing is left to compare."""
        end = min(columns - read_ahead, room - reference_ahead)
        if column >= end:
            return None
        total = 0
        for j in range(column, end):
            base, other = read.bases[j + read_ahead], reference[shift + j + reference_ahead]
            if base < _N and other < _N and base != other:
                total += read.qualities[j + read_ahead]
        return total

    as_aligned = cost(0, 0)
    assert as_aligned is not None
    for size in range(1, LONGEST_INDEL + 1):
        for shifted in (cost(size, 0), cost(0, size)):
            if shifted is not None and shifted <= as_aligned:
                return False
    return True


def phreds(likelihoods: Sequence[float]) -> list[int]:
    """Return log10 likelihoods as whole phreds below the best."""
    best = max(likelihoods)
    return [floor(-10.0 * (value - best) + 0.5) for value in likelihoods]
