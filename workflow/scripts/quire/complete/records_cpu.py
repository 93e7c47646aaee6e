"""BAM records of hits (primary and secondary ones with NM, MD, NH and HI, and unmapped reads), and the table of counts.

The table has a line for each read, with its hits by number of differences.
"""

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete.alignment_cpu import align
from quire.align.model import Reported
from quire.align.records.cpu import RecordRows
from quire.align.records.md_cpu import RecordSequences, differences
from quire.complete.finders import axis_of
from quire.complete.selection_cpu import Chosen, CompleteSettings, CountedReads, listed, reportable
from quire.errors import QuireError
from quire.io.bam.encode import RecordBatch
from quire.reads import ReadBatch
from quire.reference import Reference
from quire.sam import FLAG_REVERSE, FLAG_SECONDARY, FLAG_UNMAPPED, UNAVAILABLE_MAPPING_QUALITY
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled
from quire.simd.decimals import write_number

MOST_DIGITS = 20
_TAB, _LINE_END = ord("\t"), ord("\n")


def build_records(
    chosen: Chosen, counted: CountedReads, reference: Reference, settings: CompleteSettings, index_before: int = 0
) -> RecordBatch:
    """Return the records of reads, in the order of the reads; a read without hits gets an unmapped one.

    The counts of reads give the tags NH (hits with a record, in this or another call) and th (hits that would have one
    without `max_hits`, if that is more). The first read had `index_before` records in earlier calls (for the tag HI).

    Raises:
        QuireError: an alignment does not have the number of differences that the search found.
    """
    batch, reads, counts = counted
    with_record, all_of_report = listed(counts, settings), reportable(counts, settings)
    hits = chosen.hits
    without_record = np.flatnonzero(with_record == 0)
    read = np.concatenate([hits.read, without_record])
    row = np.concatenate([np.arange(len(hits.read)), np.full(len(without_record), -1)])
    order = np.argsort(read, kind="stable")
    read, row = read[order], row[order]
    count, mapped = len(read), row >= 0
    filled = lambda value, dtype: np.full(count, value, dtype)  # noqa: E731
    contig, position = filled(-1, np.int32), filled(-1, np.int32)
    contig[mapped], position[mapped] = reference.axis_to_contig(hits.begin[row[mapped]])
    flag = np.where(mapped, 0, FLAG_UNMAPPED).astype(np.uint16)
    flag[mapped] |= hits.strand[row[mapped]].astype(np.uint16) * np.uint16(FLAG_REVERSE)
    flag[mapped] |= np.where(chosen.is_first[row[mapped]], 0, FLAG_SECONDARY).astype(np.uint16)
    index = np.arange(count) - np.searchsorted(read, read) + 1 + index_before
    cut = mapped & (all_of_report > with_record)[read]

    cigar, offsets = align(hits, reads, axis_of(reference), settings.max_differences)
    # Records with hits are in the order of the hits, so only the CIGARs' lengths have to be spread.
    cigar_offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.where(mapped, np.diff(offsets)[row] if len(hits.read) else 0, 0), out=cigar_offsets[1:])
    edit_distance = filled(-1, np.int32)
    sequences = RecordSequences(batch.bases, np.empty(0, np.uint8), batch.offsets, reference.text, reference.ambiguous)
    md, md_offsets = differences(_reported(chosen, cigar, offsets), sequences, RecordRows(read, row), edit_distance)
    if (edit_distance[mapped] != hits.distance[row[mapped]]).any():
        raise QuireError("complete: an alignment does not have the number of differences found; please report this.")
    return RecordBatch(
        mate=filled(0, np.uint8),
        read=read,
        flag=flag,
        contig=contig,
        position=position,
        mapping_quality=np.where(mapped, UNAVAILABLE_MAPPING_QUALITY, 0).astype(np.uint8),
        cigar=cigar,
        cigar_offsets=cigar_offsets,
        mate_contig=filled(-1, np.int32),
        mate_position=filled(-1, np.int32),
        template_length=filled(0, np.int32),
        alignment_score=filled(-1, np.int32),
        suboptimal_score=filled(-1, np.int32),
        edit_distance=edit_distance,
        md=md,
        md_offsets=md_offsets,
        mate_record=filled(-1, np.int64),
        sa=np.empty(0, np.uint8),
        sa_offsets=np.zeros(count + 1, np.int64),
        hit_count=np.where(mapped, with_record[read], -1).astype(np.int32),
        hit_index=np.where(mapped, index, -1).astype(np.int32),
        all_hits=np.where(cut, all_of_report[read], -1).astype(np.int32),
    )


def _reported(chosen: Chosen, cigar: NDArray[np.uint32], offsets: NDArray[np.int64]) -> Reported:
    """Return hits as the alignments that `differences` takes; fields that it does not read are empty."""
    hits, nothing = chosen.hits, np.empty(0, np.int32)
    return Reported._make([nothing] * len(Reported._fields))._replace(
        strand=hits.strand,
        read_begin=np.zeros(len(hits.read), np.int32),
        axis_begin=hits.begin,
        axis_end=hits.end,
        cigar_begin=offsets[:-1],
        cigar_length=np.diff(offsets).astype(np.int32),
        cigar=cigar,
    )


def table_header(max_differences: int) -> bytes:
    """Return the first line of the table."""
    columns = ["read", *map(str, range(max_differences + 1)), "total", "listed"]
    return ("\t".join(columns) + "\n").encode()


def table_lines(batch: ReadBatch, counts: NDArray[np.int64], with_record: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the lines (uint8[]) of reads with their hits by differences (int64[n, k + 1]) and with a record."""
    numbers = np.column_stack((counts, counts.sum(axis=1), with_record))
    text: NDArray[np.uint8] = _write_lines(batch.names, batch.name_offsets, numbers)
    return text


@compiled
def _write_lines(names, name_offsets, numbers):
    """Return a line for each name with its row of numbers."""
    text = np.empty(len(names) + numbers.size * (MOST_DIGITS + 1) + len(numbers), np.uint8)
    at = np.int64(0)
    for read in range(len(numbers)):
        at = copy_items(text, at, names, name_offsets[read], name_offsets[read + 1])
        for number in numbers[read]:
            text[at] = _TAB
            at = write_number(text, at + 1, number)
        text[at] = _LINE_END
        at += 1
    return text[:at].copy()
