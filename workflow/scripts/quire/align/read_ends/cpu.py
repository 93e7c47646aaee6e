"""Clipping of the ends of a batch's reads, with Numba."""

from collections.abc import Iterator

import numpy as np

from quire.align.read_ends import (
    BASES_PER_OTHER,
    COMPARED,
    MOST_DIFFERENCES,
    MOST_OTHER,
    SHORTEST_OVERLAP,
    SHORTEST_POLY_G,
    ClippedCounts,
    G,
)
from quire.ragged import offsets_from_lengths
from quire.reads import PairBatch, ReadBatch
from quire.reads.cpu import items_from
from quire.sequence.codes import COMPLEMENT
from quire.simd.compiled import compiled


def clip_ends(batches: Iterator[PairBatch], counts: ClippedCounts) -> Iterator[PairBatch]:
    """Yield batches of shortened reads, and count them; a batch without clipped reads is unchanged."""
    for batch in batches:
        mates = [batch.mate1] if batch.mate2 is None else [batch.mate1, batch.mate2]
        lengths = [np.diff(mate.offsets) for mate in mates]
        kept = [length.copy() for length in lengths]
        if counts.clipping.poly_g:
            for mate, ends in zip(mates, kept, strict=True):
                _before_poly_g(mate.bases, mate.offsets, ends)
            for length, ends in zip(lengths, kept, strict=True):
                counts.add("poly_g", length, ends)
        if counts.clipping.adapters and batch.mate2 is not None:
            before = [ends.copy() for ends in kept]
            _of_inserts(*(part for mate in mates for part in (mate.bases, mate.offsets)), *kept)
            for length, ends in zip(before, kept, strict=True):
                counts.add("adapter", length, ends)
        if all((ends == length).all() for length, ends in zip(lengths, kept, strict=True)):
            yield batch
            continue
        shorter = [_beginnings(mate, ends) for mate, ends in zip(mates, kept, strict=True)]
        yield PairBatch(shorter[0], None if batch.mate2 is None else shorter[1], untrimmed=batch)


def _beginnings(reads: ReadBatch, kept: np.ndarray) -> ReadBatch:
    """Return the first `kept` bases of each read."""
    offsets = offsets_from_lengths(kept)
    bases, qualities = (items_from(flat, reads.offsets, offsets) for flat in (reads.bases, reads.qualities))
    return ReadBatch(reads.names, reads.name_offsets, bases, qualities, offsets, reads.first_ordinal)


@compiled
def _before_poly_g(bases, offsets, kept):
    """Reduce `kept` (int64[n], initially the lengths of the reads) to the bases before a run of G."""
    for read in range(len(kept)):
        begin, length = offsets[read], kept[read]
        run, others, first = 0, 0, length
        for place in range(length - 1, -1, -1):
            is_g = bases[begin + place] == G
            others += not is_g
            run += 1
            if others > MOST_OTHER or (others > run // BASES_PER_OTHER and run >= SHORTEST_POLY_G):
                run -= 1
                break
            if is_g:
                first = place
        if run >= SHORTEST_POLY_G:
            kept[read] = first


@compiled
def _of_inserts(bases1, offsets1, bases2, offsets2, kept1, kept2):
    """Reduce the kept bases of both mates (int64[n] each) to the insert; only kept bases are compared."""
    turned = np.empty(0, np.uint8)
    for pair in range(len(kept1)):
        begin, length1, length2 = offsets1[pair], kept1[pair], kept2[pair]
        if length2 > len(turned):
            turned = np.empty(2 * length2, np.uint8)
        for i in range(length2):
            turned[i] = COMPLEMENT[bases2[offsets2[pair] + length2 - 1 - i]]
        insert = _insert(bases1, begin, length1, turned, length2)
        if insert >= 0:
            kept1[pair], kept2[pair] = min(length1, insert), min(length2, insert)


@compiled
def _insert(bases, begin, length1, turned, length2):
    """Return the length of the insert, from the overlap of the mates; -1 without an overlap."""
    for shift in range(length1 - SHORTEST_OVERLAP + 1):
        if _agree(bases, begin + shift, length1 - shift, turned, 0, length2):
            return length2 + shift if 3 * min(length1 - shift, length2) > length1 else -1
    for shift in range(1, length2 - SHORTEST_OVERLAP + 1):
        if _agree(bases, begin, length1, turned, shift, length2 - shift):
            return length2 - shift if 3 * min(length1, length2 - shift) > length1 else -1
    return -1


@compiled
def _agree(one, begin1, length1, other, begin2, length2):
    """Return True if two stretches overlap by enough bases with few differences."""
    overlap = min(length1, length2)
    if overlap < SHORTEST_OVERLAP:
        return False
    differences = 0
    for i in range(min(overlap, COMPARED)):
        differences += one[begin1 + i] != other[begin2 + i]
        if differences > MOST_DIFFERENCES:
            return False
    return True
