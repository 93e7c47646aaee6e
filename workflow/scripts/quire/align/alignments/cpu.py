"""The alignments of a batch: extensions by read, best first, in coordinates of contigs, without repeats."""

import numpy as np

from quire.algorithms.extension import END_BONUS, ExtensionJobs, Extensions
from quire.align.model import Alignments
from quire.align.parameters import LEAST_SCORE, SHORT_READ_MARGIN, SHORTEST_SCORE, Look
from quire.reads import Reads
from quire.reference import Reference
from quire.sequence.ties.cpu import tie_hash
from quire.simd.compiled import compiled, inlined


def collect(parts: list[tuple[ExtensionJobs, Extensions]], reads: Reads, reference: Reference) -> Alignments:
    """Gather the results of one or more rounds of extension.

    Alignments below min(LEAST_SCORE, read length - SHORT_READ_MARGIN) are left out (one of the whole read earns
    END_BONUS first), as are those that begin or end
    where a better one of the same read and strand does: two candidates that led to one place.
    """
    base = np.cumsum([0] + [len(extensions.cigar) for _, extensions in parts])
    read = np.concatenate([jobs.read for jobs, _ in parts])
    strand = np.concatenate([jobs.strand for jobs, _ in parts])
    score, read_begin, read_end, axis_begin, axis_end, cigar_length = (
        np.concatenate([getattr(extensions, name) for _, extensions in parts])
        for name in ("score", "read_begin", "read_end", "axis_begin", "axis_end", "cigar_length")
    )
    cigar_begin = np.concatenate([extensions.cigar_begin + base[i] for i, (_, extensions) in enumerate(parts)])
    cigar = np.concatenate([extensions.cigar for _, extensions in parts])

    lengths = np.diff(reads.offsets)
    whole = (read_begin == 0) & (read_end == lengths[read])
    good = score + np.where(whole, END_BONUS, 0) >= np.minimum(LEAST_SCORE, lengths[read] - SHORT_READ_MARGIN)
    alternate = np.empty(0, np.uint8)
    if len(reference.alternate):
        alternate = reference.alternate[reference.axis_to_contig(axis_begin)[0]]
    order, offsets = _order(np.flatnonzero(good), read, strand, score, read_begin, read_end, axis_begin, axis_end,
                            alternate, reads.name_hash)  # fmt: skip
    contig, position = reference.axis_to_contig(axis_begin[order])
    return Alignments(
        offsets, read[order], strand[order], score[order], read_begin[order], read_end[order], axis_begin[order],
        axis_end[order], contig, position, cigar_begin[order], cigar_length[order], cigar,
    )  # fmt: skip


@compiled
def _order(good, read, strand, score, read_begin, read_end, axis_begin, axis_end, alternate, name_hash):
    """Indices of the alignments to keep, by read and best first, and the offsets of the reads.

    `alternate`: whether each lies on an alternate contig; empty where there are none.
    """
    count = len(name_hash)
    offsets = np.zeros(count + 1, np.int64)
    for i in good:
        offsets[read[i] + 1] += 1
    for r in range(count):
        offsets[r + 1] += offsets[r]
    placed = offsets[:-1].copy()
    order = np.empty(len(good), np.int64)
    for i in good:
        r = read[i]
        place = placed[r]
        while place > offsets[r] and _before(i, order[place - 1], strand, score, axis_begin, alternate, name_hash[r]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
        placed[r] += 1
    used = np.int64(0)
    first = np.int64(0)
    for r in range(count):
        begin = used
        for i in range(first, offsets[r + 1]):
            a = order[i]
            repeated = False
            for j in range(begin, used):
                b = order[j]
                if strand[a] != strand[b]:
                    continue
                same_begin = axis_begin[a] == axis_begin[b] and read_begin[a] == read_begin[b]
                if same_begin or (axis_end[a] == axis_end[b] and read_end[a] == read_end[b]):
                    repeated = True
                    break
            if not repeated:
                order[used] = a
                used += 1
        first = offsets[r + 1]
        offsets[r + 1] = used
    return order[:used], offsets


@inlined
def _before(a, b, strand, score, axis_begin, alternate, name_hash):
    """Whether alignment a of a read comes before its alignment b."""
    if len(alternate) > 0 and alternate[a] != alternate[b]:
        return alternate[a] < alternate[b]
    if score[a] != score[b]:
        return score[a] > score[b]
    hash_a, hash_b = tie_hash(name_hash, axis_begin[a]), tie_hash(name_hash, axis_begin[b])
    if hash_a != hash_b:
        return hash_a < hash_b
    if axis_begin[a] != axis_begin[b]:
        return axis_begin[a] < axis_begin[b]
    return strand[a] < strand[b]


@inlined
def stands_alone(score, length):
    """Whether an alignment of a read of this length is good enough to be reported without a mate beside it."""
    return score >= min(SHORTEST_SCORE, length - SHORT_READ_MARGIN)


def poorly_aligned(alignments: Alignments, reads: Reads, look: Look) -> np.ndarray:
    """bool[n]: reads that take part in a later look: of which a better place, or a second one, may have been missed."""
    limits = look.numerator, look.denominator, look.shortest_clear, look.shortest_certain
    poor: np.ndarray = _find_poor(alignments, reads.offsets, *limits)
    return poor


@compiled
def _find_poor(alignments, read_offsets, numerator, denominator, shortest_clear, shortest_certain):
    """See `poorly_aligned`."""
    count = len(read_offsets) - 1
    poor = np.empty(count, np.bool_)
    for read in range(count):
        first, last = alignments.offsets[read], alignments.offsets[read + 1]
        length = read_offsets[read + 1] - read_offsets[read]
        score = np.int64(alignments.score[first]) if first < last else np.int64(0)
        is_short = length < shortest_certain or (length < shortest_clear and score < length)
        poor[read] = score * denominator < length * numerator or is_short
    return poor
