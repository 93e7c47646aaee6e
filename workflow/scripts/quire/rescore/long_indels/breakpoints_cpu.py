"""Breakpoints: positions at which several reads of a sample are soft-clipped, with the consensus of their clips."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.sam import CIGAR_HARD_CLIP, CIGAR_SOFT_CLIP
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.compiled import compiled

MINIMUM_CLIP = 8  # bases that a read must be clipped by
MINIMUM_READS = 2  # clipped at one position
MINIMUM_TAIL = 16  # of the longest clip
MINIMUM_SHARE = 0.05  # of the reads that cross the position or are clipped there
MINIMUM_AGREEMENT = 0.9  # of the clipped bases with their consensus
NEIGHBOURS = 5  # bases to either side within which only the position with most clips counts
MOST_TAILS = 64  # most clips of a consensus; the longest are used
_N = 4


class Clips(NamedTuple):
    """The clips of n reads, without adaptor.

    Attributes:
        left: int32[n], soft-clipped bases before the alignment.
        right: int32[n], soft-clipped bases after it.
        first: int64[n], start of the read's bases, including the clips, in the flat arrays of `AlignedReads`.
        last: int64[n], their end, exclusive.
        whole: uint8[n], 0 for reads with hard clips, whose bases are in another record.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    whole: NDArray[np.uint8]


class Breakpoint(NamedTuple):
    """A position at which reads are clipped.

    Attributes:
        position: 0-based; the reads are aligned before it and clipped from it on (`right`), or the other way round.
        right: True if the clipped bases are to the right of the position.
        reads: int64[], the clipped reads.
        tail: uint8 codes, consensus of the clipped bases in the reference's direction; N where no base is usable.
    """

    position: int
    right: bool
    reads: NDArray[np.int64]
    tail: NDArray[np.uint8]


@compiled
def clips_of(reads):
    """Return the `Clips` of a sample's reads."""
    count = len(reads.aligned_start)
    left, right = np.zeros(count, np.int32), np.zeros(count, np.int32)
    first, last = np.empty(count, np.int64), np.empty(count, np.int64)
    whole = np.ones(count, np.uint8)
    for i in range(count):
        first[i], last[i] = reads.base_offsets[i], reads.base_offsets[i + 1]
        begin, end = reads.cigar_offsets[i], reads.cigar_offsets[i + 1]
        for c in (begin, end - 1):
            operation, length = operation_of(reads.cigar[c]), length_of(reads.cigar[c])
            if operation == CIGAR_HARD_CLIP:
                whole[i] = 0
            elif operation == CIGAR_SOFT_CLIP and c == begin:
                left[i] = max(0, min(length, reads.aligned_start[i] - reads.keep_from[i]))
                first[i] += length - left[i]
            elif operation == CIGAR_SOFT_CLIP:
                right[i] = max(0, min(length, reads.keep_to[i] - reads.aligned_end[i]))
                last[i] -= length - right[i]
    return Clips(left, right, first, last, whole)


def breakpoints(reads: AlignedReads, clips: Clips) -> list[Breakpoint]:
    """Return all breakpoints of a sample: with clips on the right, then with clips on the left, both by position."""
    longest = int((reads.aligned_end - reads.aligned_start).max(initial=0))
    found = []
    for right, lengths, position in ((True, clips.right, reads.aligned_end), (False, clips.left, reads.aligned_start)):
        chosen = np.flatnonzero((lengths >= MINIMUM_CLIP) & (clips.whole == 1))
        chosen = chosen[np.argsort(position[chosen], kind="stable")]
        places, begin, sizes = np.unique(position[chosen], return_index=True, return_counts=True)
        for p in _peaks(places, sizes).tolist():
            members = chosen[begin[p] : begin[p] + sizes[p]]
            if lengths[members].max() >= MINIMUM_TAIL and _is_frequent(reads, int(places[p]), len(members), longest):
                members = members[np.argsort(-lengths[members], kind="stable")[:MOST_TAILS]]
                tail, agreement = _consensus(reads, clips, members, right)
                if agreement >= MINIMUM_AGREEMENT:
                    found.append(Breakpoint(int(places[p]), right, members, tail))
    return found


def facing(found: Sequence[Breakpoint], most: int) -> Iterator[tuple[int, int]]:
    """Yield the numbers of breakpoints clipped on the right and on the left, at most `most` bases from each other.

    Those on the left are in order of position.
    """
    lefts = np.array([i for i, one in enumerate(found) if not one.right], np.int64)
    positions = np.array([found[i].position for i in lefts.tolist()], np.int64)
    for i, right in enumerate(found):
        if right.right:
            low, high = np.searchsorted(positions, [right.position - most, right.position + most + 1])
            yield from ((i, k) for k in lefts[low:high].tolist())


def _peaks(places: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of positions with enough clips, and more than any neighbour (ties go to the first)."""
    peaks = []
    for p in np.flatnonzero(sizes >= MINIMUM_READS).tolist():
        low, high = np.searchsorted(places, [places[p] - NEIGHBOURS, places[p] + NEIGHBOURS + 1])
        if p == low + int(np.argmax(sizes[low:high])):
            peaks.append(p)
    return np.array(peaks, np.int64)


def _is_frequent(reads: AlignedReads, position: int, clipped: int, longest: int) -> bool:
    """Return True if there are too many clipped reads, relative to reads that cross the position, to be errors."""
    low, high = np.searchsorted(reads.aligned_start, [position - longest, position])
    crossing = int((reads.aligned_end[low:high] > position).sum())
    return clipped >= MINIMUM_SHARE * (crossing + clipped)


@compiled
def _consensus(reads, clips, members, right):
    """Return the consensus of some reads' clipped bases, weighted by quality, and the share of agreeing bases."""
    size = np.int64(0)
    for i in members:
        size = max(size, np.int64(clips.right[i] if right else clips.left[i]))
    votes = np.zeros((size, 4), np.int64)
    for i in members:
        length = clips.right[i] if right else clips.left[i]
        for k in range(length):
            # From the breakpoint outwards.
            b = clips.last[i] - length + k if right else clips.first[i] + length - 1 - k
            if reads.bases[b] < _N and reads.qualities[b] >= MINIMUM_BASE_QUALITY:
                votes[k, reads.bases[b]] += reads.qualities[b]
    tail = np.full(size, _N, np.uint8)
    agreeing, total = np.int64(0), np.int64(0)
    for k in range(size):
        best = votes[k].argmax()
        if votes[k, best] > 0:
            tail[k] = best
        agreeing += votes[k, best]
        total += votes[k].sum()
    return (tail if right else tail[::-1].copy()), agreeing / max(total, 1)
