"""Junctions of long insertions and deletions inside alignments."""

from typing import NamedTuple

import numpy as np

from quire import sam
from quire.finish.evidence_cpu import LEAST_GAP
from quire.reference import Reference
from quire.rescore.long_indels import SHORTEST, left_aligned
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.compiled import compiled
from quire.structural.junctions import End, Junction, normalised

LEAST_READS = 2  # that agree
ALIGNED_WITHIN = 600  # bases by which an insertion is shifted left at most


class Span(NamedTuple):
    """A part of a contig where clipped bases may continue."""

    contig: int
    start: int
    end: int
    pointing: int = 0  # reads and mates that point there


def gap_junctions(reference: Reference, span: Span, reads: AlignedReads) -> list[Junction]:
    """Return the junctions of long insertions and deletions inside alignments that two reads agree on."""
    rows = _long_gaps(reads, LEAST_GAP)
    seen: dict[tuple[int, int, bytes], int] = {}
    for position, first, size in rows.tolist():
        inserted = reads.bases[first : first + size].tobytes() if first >= 0 else b""
        key = position, 0 if inserted else size, inserted
        seen[key] = seen.get(key, 0) + 1
    found = []
    for (position, size, inserted), count in seen.items():
        if count >= LEAST_READS and span.start <= position < span.end and max(len(inserted), size) >= SHORTEST:
            if max(inserted, default=0) > 3:
                continue
            if not inserted:
                one, other = End(span.contig, position, True), End(span.contig, position + size, False)
                found.append(normalised(reference, one, other, b""))
            else:
                low = max(0, position - ALIGNED_WITHIN)
                codes = reference.contig_codes(span.contig, low, position)
                indel = left_aligned(position, position, inserted, codes, low)
                if indel is not None:
                    first, second = End(span.contig, indel.start + 1, True), End(span.contig, indel.end, False)
                    found.append(Junction(first, second, indel.alternate[1:]))
    return found


@compiled
def _long_gaps(reads, least):
    """Return position, first inserted base (-1 for a deletion) and size of long gaps (int64[n, 3])."""
    rows = np.empty((len(reads.cigar), 3), np.int64)
    count = 0
    for r in range(len(reads.aligned_start)):
        position, base = reads.aligned_start[r], reads.base_offsets[r]
        for c in range(reads.cigar_offsets[r], reads.cigar_offsets[r + 1]):
            operation, size = operation_of(reads.cigar[c]), length_of(reads.cigar[c])
            is_gap = operation == sam.CIGAR_DELETION or operation == sam.CIGAR_INSERTION
            if is_gap and size >= least:
                rows[count, 0], rows[count, 2] = position, size
                rows[count, 1] = base if operation == sam.CIGAR_INSERTION else -1
                count += 1
            position += size * (sam.CONSUMES_REFERENCE >> operation & 1)
            base += size * (sam.CONSUMES_READ >> operation & 1)
    return rows[:count]
