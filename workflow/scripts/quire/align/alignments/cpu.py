"""Alignments of a batch with Numba: extensions by read, best first, in contig coordinates, without duplicates."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import END_BONUS, ExtensionJobs, Extensions
from quire.align.model import Alignments
from quire.align.parameters import LEAST_SCORE, SHORT_READ_MARGIN, SHORTEST_SCORE, SeedingPass
from quire.reads import Reads
from quire.reference import Reference
from quire.sequence.ties.cpu import tie_hash
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined


class _Rows(NamedTuple):
    """Columns of extensions or alignments: see `quire.align.model.Alignments`.

    Attributes:
        alternate: uint8[], 1 on alternate contigs; empty if the reference has none.
    """

    read: np.ndarray
    strand: np.ndarray
    score: np.ndarray
    read_begin: np.ndarray
    read_end: np.ndarray
    axis_begin: np.ndarray
    axis_end: np.ndarray
    cigar_begin: np.ndarray
    cigar_length: np.ndarray
    alternate: np.ndarray


def collect(parts: list[tuple[ExtensionJobs, Extensions]], reads: Reads, reference: Reference) -> Alignments:
    """Collect the results of one or more rounds of extension.

    Alignments that score below min(LEAST_SCORE, read length - SHORT_READ_MARGIN) are dropped; END_BONUS is first added
    for an alignment of the whole read. Alignments that begin or end where a better one of the same read and strand does
    are also dropped, since two candidates led to the same place.
    """
    rows = [_rows(jobs, extensions, reference) for jobs, extensions in parts]
    offsets = np.zeros(len(reads) + 1, np.int64)
    for part in rows:
        _count_good(part, reads.offsets, offsets)
    np.cumsum(offsets, out=offsets)
    found = _Rows(*(np.empty(offsets[-1], column.dtype) for column in rows[0]))
    if not len(reference.alternate):
        found = found._replace(alternate=np.empty(0, np.uint8))
    ends, cigar_base = offsets[:-1].copy(), 0
    for part, (_, extensions) in zip(rows, parts, strict=True):
        _put_in_order(part, reads.offsets, reads.name_hash, np.int64(cigar_base), offsets, ends, found)
        cigar_base += len(extensions.cigar)
    used = _leave_out_repeats(offsets, found)
    columns = {name: column[:used] for name, column in found._asdict().items() if name != "alternate"}
    contig, position = reference.axis_to_contig(columns["axis_begin"])
    cigar = np.concatenate([extensions.cigar for _, extensions in parts])
    return Alignments(offsets=offsets, contig=contig, position=position, cigar=cigar, **columns)


def _rows(jobs: ExtensionJobs, extensions: Extensions, reference: Reference) -> _Rows:
    """Return the columns of one round."""
    alternate = np.empty(0, np.uint8)
    if len(reference.alternate):
        alternate = reference.alternate[reference.axis_to_contig(extensions.axis_begin)[0]]
    return _Rows(jobs.read, jobs.strand, *extensions[:-1], alternate)


@inlined
def _is_good(score, read_begin, read_end, length):
    """Return True if an alignment of a read of this length is kept."""
    bonus = END_BONUS if read_begin == 0 and read_end == length else 0
    return score + bonus >= min(LEAST_SCORE, length - SHORT_READ_MARGIN)


@compiled
def _count_good(part, read_offsets, offsets):
    """Add the number of alignments of read r that are kept to offsets[r + 1]."""
    read, _, score, read_begin, read_end, _, _, _, _, _ = part
    for i in range(len(read)):
        length = read_offsets[read[i] + 1] - read_offsets[read[i]]
        offsets[read[i] + 1] += _is_good(score[i], read_begin[i], read_end[i], length)


@compiled
def _put_in_order(part, read_offsets, name_hash, cigar_base, begins, ends, found):
    """Insert the alignments of one round among the others of their reads in `found`, best first."""
    # Those of read r are found[begins[r]:ends[r]]; `ends` is updated. `cigar_base` is where the round's operations
    # begin.
    found = borrowed(found)
    read_offsets, name_hash = borrowed(read_offsets), borrowed(name_hash)
    begins, ends = borrowed(begins), borrowed(ends)
    read, strand, score, read_begin, read_end, axis_begin, axis_end, cigar_begin, cigar_length, alternate = borrowed(
        part
    )
    reads, strands, scores, read_begins, read_ends, axis_begins, axis_ends, cigar_begins, cigar_lengths, alternates = (
        found
    )
    for i in range(len(read)):
        r = read[i]
        if not _is_good(score[i], read_begin[i], read_end[i], read_offsets[r + 1] - read_offsets[r]):
            continue
        place = ends[r]
        reads[place] = r
        ends[r] += 1
        on_alternate = len(alternate) > 0 and alternate[i] != 0
        while place > begins[r]:
            other = place - 1
            if len(alternate) > 0 and (alternates[other] != 0) != on_alternate:
                if on_alternate:
                    break
            elif not _before(score[i], axis_begin[i], strand[i], scores[other], axis_begins[other], strands[other],
                             name_hash[r]):  # fmt: skip
                break
            _copy_row(found, other, place)
            place = other
        strands[place], scores[place] = strand[i], score[i]
        read_begins[place], read_ends[place] = read_begin[i], read_end[i]
        axis_begins[place], axis_ends[place] = axis_begin[i], axis_end[i]
        cigar_begins[place], cigar_lengths[place] = cigar_base + cigar_begin[i], cigar_length[i]
        if len(alternate) > 0:
            alternates[place] = alternate[i]


@inlined
def _copy_row(found, source, target):
    """Copy a row of the same read to another index."""
    found.strand[target], found.score[target] = found.strand[source], found.score[source]
    found.read_begin[target], found.read_end[target] = found.read_begin[source], found.read_end[source]
    found.axis_begin[target], found.axis_end[target] = found.axis_begin[source], found.axis_end[source]
    found.cigar_begin[target], found.cigar_length[target] = found.cigar_begin[source], found.cigar_length[source]
    if len(found.alternate) > 0:
        found.alternate[target] = found.alternate[source]


@compiled
def _leave_out_repeats(offsets, found):
    """Remove the alignments of each read that duplicate a better one, update the offsets and return the number left."""
    offsets, found = borrowed(offsets), borrowed(found)
    read, strand, _, read_begin, read_end, axis_begin, axis_end, _, _, _ = found
    used = np.int64(0)
    first = np.int64(0)
    for r in range(len(offsets) - 1):
        begin = used
        for a in range(first, offsets[r + 1]):
            repeated = False
            for b in range(begin, used):
                # Test the rare condition first: strands agree half of the time, which a branch cannot predict.
                same_begin, same_end = axis_begin[a] == axis_begin[b], axis_end[a] == axis_end[b]
                if (same_begin or same_end) and strand[a] == strand[b]:
                    same_begin = same_begin and read_begin[a] == read_begin[b]
                    if same_begin or (same_end and read_end[a] == read_end[b]):
                        repeated = True
                        break
            if not repeated:
                if used < a:
                    read[used] = r
                    _copy_row(found, a, used)
                used += 1
        first = offsets[r + 1]
        offsets[r + 1] = used
    return used


@inlined
def _before(score, axis_begin, strand, other_score, other_axis_begin, other_strand, name_hash):
    """Return True if an alignment of a read precedes another one, both on primary or both on alternate contigs."""
    if score != other_score:
        return score > other_score
    rank, other_rank = tie_hash(name_hash, axis_begin), tie_hash(name_hash, other_axis_begin)
    if rank != other_rank:
        return rank < other_rank
    if axis_begin != other_axis_begin:
        return axis_begin < other_axis_begin
    return strand < other_strand


@inlined
def stands_alone(score, length):
    """Return True if an alignment is reported even without a mate at a proper distance."""
    return score >= min(SHORTEST_SCORE, length - SHORT_READ_MARGIN)


@inlined
def overlaps(alignments, a, b, length):
    """Return True if two alignments of a read share at least half of the shorter one's part of the read."""
    begin_a, end_a = alignments.read_begin[a], alignments.read_end[a]
    if alignments.strand[a] == 1:
        begin_a, end_a = length - alignments.read_end[a], length - alignments.read_begin[a]
    begin_b, end_b = alignments.read_begin[b], alignments.read_end[b]
    if alignments.strand[b] == 1:
        begin_b, end_b = length - alignments.read_end[b], length - alignments.read_begin[b]
    shared = min(end_a, end_b) - max(begin_a, begin_b)
    return 2 * shared >= min(end_a - begin_a, end_b - begin_b)


def best_scores(parts: list[tuple[ExtensionJobs, Extensions]], reads: Reads, reference: Reference) -> np.ndarray:
    """Return each read's best score on the primary assembly and on alternate contigs (int32[n, 2]); 0 for none."""
    best = np.zeros((len(reads), 2), np.int32)
    for jobs, extensions in parts:
        _take_best(_rows(jobs, extensions, reference), reads.offsets, best)
    return best


@compiled
def _take_best(part, read_offsets, best):
    """Raise the scores in `best` to those of a round."""
    read, _, score, read_begin, read_end, _, _, _, _, alternate = part
    for i in range(len(read)):
        r = read[i]
        if _is_good(score[i], read_begin[i], read_end[i], read_offsets[r + 1] - read_offsets[r]):
            side = 1 if len(alternate) > 0 and alternate[i] != 0 else 0
            best[r, side] = max(best[r, side], score[i])


def poorly_aligned(best: np.ndarray, reads: Reads, seeding_pass: SeedingPass) -> np.ndarray:
    """Return True (bool[n]) for reads that a later pass maps again, given the result of `best_scores`."""
    # A read that was placed only on alternate contigs still misses its place on the primary assembly.
    lengths, scores = np.diff(reads.offsets), best[:, 0].astype(np.int64)
    is_short = (lengths < seeding_pass.shortest_certain) | (
        (lengths < seeding_pass.shortest_clear) & (scores < lengths)
    )
    poor: np.ndarray = (scores * seeding_pass.denominator < lengths * seeding_pass.numerator) | is_short
    if seeding_pass.all_versions:
        poor |= best[:, 1] > 0
    return poor
