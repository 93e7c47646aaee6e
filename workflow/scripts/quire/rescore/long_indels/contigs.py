"""Assembly of the bases inserted between two breakpoints, from clipped reads and from reads whose mates are nearby.

A walk over the k-mers of the reads starts at the last k-mer before the insertion, continues with the most frequent
successor each time, and ends at the first k-mer after the insertion.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths
from quire.rescore.long_indels import LONGEST
from quire.rescore.long_indels.breakpoints import Breakpoint, Clips
from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads.aligned import AlignedReads
from quire.sequence.codes import COMPLEMENT
from quire.simd.compiled import compiled

K_MERS = (31, 21)  # lengths, tried in this order; two bits per base must fit into 64 bits
MINIMUM_WEIGHTS = (2, 1)  # least reads with a k-mer, tried in this order
_N = 4


def clipped_sequences(reads: AlignedReads, clips: Clips, members: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    """Return the codes of some reads, including clips, with N for poor bases."""
    return [
        with_poor_hidden(reads.bases[clips.first[i] : clips.last[i]], reads.qualities[clips.first[i] : clips.last[i]])
        for i in members.tolist()
    ]


def with_poor_hidden(bases: NDArray[np.uint8], qualities: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return codes with N in place of bases of poor quality."""
    return np.where(qualities < MINIMUM_BASE_QUALITY, _N, bases).astype(np.uint8)


def on_both_strands(sequences: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.uint8]]:
    """Return sequences and their reverse complements."""
    return [*sequences, *(np.ascontiguousarray(COMPLEMENT[sequence[::-1]]) for sequence in sequences)]


def anchors(
    reads: AlignedReads, clips: Clips, right: Breakpoint, left: Breakpoint, k: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]] | None:
    """Return the most frequent k-mers of clipped reads before and after the insertion; None if either is missing."""
    before: Counter[bytes] = Counter()
    after: Counter[bytes] = Counter()
    for i in right.reads.tolist():
        at = int(clips.last[i] - clips.right[i])
        if at - k >= clips.first[i]:
            before[reads.bases[at - k : at].tobytes()] += 1
    for i in left.reads.tolist():
        at = int(clips.first[i] + clips.left[i])
        if at + k <= clips.last[i]:
            after[reads.bases[at : at + k].tobytes()] += 1
    if not before or not after:
        return None
    # Ties go to the smallest k-mer, so that the order of the reads does not matter.
    first, last = (min(own, key=lambda bases: (-own[bases], bases)) for own in (before, after))
    return np.frombuffer(first, np.uint8), np.frombuffer(last, np.uint8)


def inserted_bases(
    reads: AlignedReads,
    clips: Clips,
    pair: tuple[Breakpoint, Breakpoint],
    others: Sequence[NDArray[np.uint8]],
) -> bytes | None:
    """Return the codes between two breakpoints of a sample.

    Args:
        reads: of the sample.
        clips: of the sample.
        pair: breakpoints clipped on the right and on the left.
        others: codes of further reads, on both strands.

    Returns:
        uint8 codes as bytes; None if the reads do not close the gap.
    """
    own = clipped_sequences(reads, clips, np.concatenate([pair[0].reads, pair[1].reads]))
    sequences = [*own, *others]
    codes, offsets = np.concatenate(sequences), offsets_from_lengths([len(one) for one in sequences])
    for k in K_MERS:
        ends = anchors(reads, clips, *pair, k)
        if ends is None:
            continue
        k_mers, counts = np.unique(_k_mers(codes, offsets, k), return_counts=True)
        for weight in MINIMUM_WEIGHTS:
            path = _walk(k_mers, counts, *ends, weight, LONGEST + k)
            if len(path) >= k:
                return bytes(path[: len(path) - k].tobytes())
    return None


@compiled
def _k_mers(codes, offsets, k):
    """Return every k-mer without N of every sequence (uint64[]), two bits per base."""
    found = np.empty(len(codes), np.uint64)
    mask = (np.uint64(1) << np.uint64(2 * k)) - np.uint64(1)
    n = 0
    for s in range(len(offsets) - 1):
        value, size = np.uint64(0), 0
        for b in range(offsets[s], offsets[s + 1]):
            if codes[b] > 3:
                size = 0
                continue
            value = (value << np.uint64(2) | np.uint64(codes[b])) & mask
            size += 1
            if size >= k:
                found[n] = value
                n += 1
    return found[:n]


@compiled
def _walk(k_mers, counts, first, last, weight, longest):
    """Return the bases after the k-mer `first` up to the end of the k-mer `last`; none if it is not reached.

    Args:
        k_mers: uint64[], ascending.
        counts: int64[], of the k-mers.
        first: uint8[k] codes.
        last: uint8[k] codes.
        weight: least count of a k-mer to continue with.
        longest: most bases to walk.
    """
    nothing = np.empty(0, np.uint8)
    k = len(first)
    mask = (np.uint64(1) << np.uint64(2 * k)) - np.uint64(1)
    at, target = np.uint64(0), np.uint64(0)
    for i in range(k):
        if first[i] > 3 or last[i] > 3:
            return nothing
        at = at << np.uint64(2) | np.uint64(first[i])
        target = target << np.uint64(2) | np.uint64(last[i])
    path = np.empty(longest, np.uint8)
    used = np.zeros(len(k_mers), np.bool_)
    for step in range(longest):
        best, next_one, base = np.int64(weight - 1), -1, 0
        for code in range(4):
            following = (at << np.uint64(2) | np.uint64(code)) & mask
            place = np.searchsorted(k_mers, following)
            if place < len(k_mers) and k_mers[place] == following and counts[place] > best:
                best, next_one, base = counts[place], place, code
        if next_one < 0 or used[next_one]:
            return nothing
        used[next_one] = True
        path[step] = base
        at = k_mers[next_one]
        if at == target:
            return path[: step + 1]
    return nothing
