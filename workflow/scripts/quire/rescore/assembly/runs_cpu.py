"""The reference and the runs of good bases of a region's reads, in the order in which they are threaded."""

from typing import NamedTuple

import numpy as np

from quire.rescore.parameters import K_MER_SIZES, MINIMUM_BASE_QUALITY
from quire.simd.bits import ONES, copy_items, load_bytes, store_bytes
from quire.simd.compiled import compiled, inlined

_SHORTEST = K_MER_SIZES[0] + 1  # a run of only one k-mer threads nothing
_SAMPLE_BITS = np.int64(40)  # bits of a sort key below the sample
_HIGH, _LOW = ONES << np.uint64(7), ONES * np.uint64(0x7F)
_N = ONES << np.uint64(2)  # the bit of an N, whose code is 4
_UP_TO_GOOD = ONES * np.uint64(0x80 - MINIMUM_BASE_QUALITY)  # lifts the quality of a good base to 128


class ThreadedSequences(NamedTuple):
    """Sequences to thread: codes (uint8, A0 C1 G2 T3 N4) end to end; sequence i is codes[starts[i]:ends[i]].

    `sample` (int32) is the sample of each. Sequences of a sample are adjacent, and the reference comes first.
    """

    codes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    sample: np.ndarray


@compiled
def threaded_sequences(reads, region, reference):
    """Return the sequences to thread: the reference, and the runs of good bases of a region's reads."""
    first, last, length = reads.region_offsets[region], reads.region_offsets[region + 1], len(reference)
    bases = length + reads.base_offsets[last] - reads.base_offsets[first]
    most = bases // _SHORTEST + 1
    found = ThreadedSequences(
        np.empty(bases, np.uint8), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32)
    )
    copy_items(found.codes, 0, reference, 0, length)
    found.starts[0], found.ends[0], found.sample[0] = 0, length, -1
    count, end = _write_runs(reads, threading_order(reads, first, last), found, length)
    return ThreadedSequences(found.codes[:end], found.starts[:count], found.ends[:count], found.sample[:count])


@compiled
def threading_order(reads, first, last):
    """Order reads [first, last) by sample, start of the clipped bases and strand (int64; ReadCoordinateComparator).

    The order matters: edges that lead to a read's first k-mer are counted only back to the first vertex that earlier
    reads entered by another edge. GATK breaks remaining ties by name; here they keep the order of the file.
    """
    keys = np.empty(last - first, np.int64)
    for i in range(first, last):
        keys[i - first] = np.int64(reads.sample[i]) << _SAMPLE_BITS | 2 * reads.start[i] + reads.reverse[i]
    return first + np.argsort(keys, kind="mergesort")


@inlined
def _write_runs(reads, order, runs, end):
    """Write runs of at least _SHORTEST good bases of some reads after the reference, which has `end` codes."""
    offsets, bases, qualities, samples = reads.base_offsets, reads.bases, reads.qualities, reads.sample
    codes, starts, ends, sample = runs.codes, runs.starts, runs.ends, runs.sample
    n, at = np.int64(1), np.int64(end)
    for i in order:
        begun, b, stop = at, offsets[i], offsets[i + 1]
        while b < stop:
            if b + 8 <= stop and _are_good(bases, qualities, b):
                store_bytes(codes, at, load_bytes(bases, b))
                b += 8
                at += 8
                if b < stop:
                    continue
            else:
                base, is_good = bases[b], qualities[b] >= MINIMUM_BASE_QUALITY
                b += 1
                if base <= 3 and is_good:
                    codes[at] = base
                    at += 1
                    if b < stop:
                        continue
            if at - begun >= _SHORTEST:
                starts[n], ends[n], sample[n] = begun, at, samples[i]
                n += 1
            else:
                at = begun
            begun = at
    return n, at


@inlined
def _are_good(bases, qualities, first):
    """Return True if the eight bases from `first` on are all known and of good quality."""
    quality = load_bytes(qualities, first)
    high = (quality & _LOW) + _UP_TO_GOOD | quality  # the highest bit of each byte is set for a good base
    return (load_bytes(bases, first) & _N | ~high & _HIGH) == 0
