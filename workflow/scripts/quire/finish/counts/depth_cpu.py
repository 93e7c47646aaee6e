"""Depth of coverage of a stream of sorted records: computed as runs of equal depth, then added to the counters.

The depth is that of `samtools depth`: mapped primary and supplementary records that are neither duplicates nor
QC-failed count at each base under M, = and X. A batch determines the depth from its first record to the first record
of the next batch. Alignments that cross this border are passed on as blocks, so that batches can be counted in any
order and on any thread.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.finish.counts import COVERAGE_WINDOW, DEEPEST, Counters, Genome, Target
from quire.finish.counts.records_cpu import ALIGNED, NOT_IN_DEPTH
from quire.io.bam.decode_cpu import Records, cigar_begin, cigar_element
from quire.sam import CIGAR_MASK, CIGAR_SHIFT, CONSUMES_REFERENCE
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_above

FIRST_RING = 1 << 13  # initial size of the ring: positions from a record's start to the ends of its blocks


class Place(NamedTuple):
    """Border between batches: number of the contig and 0-based position; (contigs, 0) follows all contigs."""

    contig: int
    position: int


NO_BLOCKS = np.empty((0, 2), np.int64)


def blocks_behind(records: Records, carried: NDArray[np.int64], border: Place) -> NDArray[np.int64]:
    """Return the blocks that cross a border (int64[n, 2], starts and ends on the border's contig).

    They are of the records of the batch before the border, and of `carried`, the blocks that reach into that batch.
    """
    before = carried if len(records.fixed) == 0 or records.fixed["contig"][0] == border.contig else NO_BLOCKS
    blocks: NDArray[np.int64] = _blocks_behind(*records, before, border.contig, border.position)
    return blocks


class DepthSpan(NamedTuple):
    """A batch of sorted records and the positions whose depth they determine, [start, end).

    All mapped records lie in [start, end]; `carried` has the blocks of earlier records that cross `start`.
    """

    records: Records
    carried: NDArray[np.int64]
    start: Place
    end: Place


def count_depth(span: DepthSpan, genome: Genome, target: Target, counters: Counters) -> NDArray[np.int64]:
    """Add a span's depth to the counters; return regions (int64[n, 3]) of the target below `target.low`."""
    runs = _depth_runs(*span.records, span.carried, span.start, span.end, genome.lengths)
    low: NDArray[np.int64] = _count_runs(runs, target, genome.first_window, counters)
    return low


def regions_of_depth(span: DepthSpan, lengths: NDArray[np.int64], least: int, most: int) -> NDArray[np.int64]:
    """Return a span's regions (int64[n, 3]: contig, start, end) of depth `least` to `most`, neighbours joined."""
    contigs, starts, ends, depths = _depth_runs(*span.records, span.carried, span.start, span.end, lengths)
    kept = (depths >= least) & (depths <= most)
    contigs, starts, ends = contigs[kept], starts[kept], ends[kept]
    apart = (contigs[1:] != contigs[:-1]) | (starts[1:] != ends[:-1])
    one, any_kept = np.ones(1, np.bool_), len(contigs) > 0
    first, last = np.concatenate([one[:any_kept], apart]), np.concatenate([apart, one[:any_kept]])
    return np.stack([contigs[first], starts[first], ends[last]], axis=1)


@compiled
def in_order(fixed):
    """Return True if records (FIXED_FIELDS[n]) are sorted by contig and position, with those without contig last."""
    for r in range(1, len(fixed)):
        # As an unsigned number, contig -1 is the largest.
        before, here = np.uint32(fixed[r - 1].contig), np.uint32(fixed[r].contig)
        if here < before or (here == before and fixed[r].position < fixed[r - 1].position):
            return False
    return True


@compiled
def _count_elements(fixed):
    """Return the total number of CIGAR elements."""
    count = 0
    for r in range(len(fixed)):
        count += np.int64(fixed[r].operations)
    return count


@compiled
def _blocks_behind(data, starts, fixed, carried, contig, border):
    blocks = np.empty((_count_elements(fixed) + len(carried), 2), np.int64)
    count = 0
    for i in range(len(carried)):
        if carried[i, 1] > border:
            blocks[count, 0], blocks[count, 1] = max(carried[i, 0], border), carried[i, 1]
            count += 1
    for r in range(len(starts)):
        if np.int64(fixed[r].contig) != contig or fixed[r].flag & NOT_IN_DEPTH:
            continue
        begin, position = cigar_begin(starts[r], fixed[r]), np.int64(fixed[r].position)
        # One operation spans no more of the reference than the read has bases, so most CIGARs need not be read.
        if fixed[r].operations == 1 and fixed[r].bases > 0 and position + np.int64(fixed[r].bases) <= border:
            continue
        for k in range(np.int64(fixed[r].operations)):
            element = cigar_element(data, begin, k)
            operation, length = np.int64(element & CIGAR_MASK), np.int64(element >> CIGAR_SHIFT)
            if ALIGNED >> operation & 1 and position + length > border:
                blocks[count, 0], blocks[count, 1] = max(position, border), position + length
                count += 1
            if CONSUMES_REFERENCE >> operation & 1:
                position += length
    return blocks[:count].copy()


@compiled
def _larger(ring, origin, end):
    """Return a copy of a ring of depth differences, enlarged to hold position `end`."""
    # `ring` is int32[2^k]; the difference at position p is at index p & (2^k - 1), and none lies before `origin`.
    size = len(ring)
    while end - origin >= size:
        size *= 2
    larger = np.zeros(size, np.int32)
    for position in range(origin, origin + len(ring)):
        larger[position & (size - 1)] = ring[position & (len(ring) - 1)]
    return larger


@compiled
def _close(ring, position, end, furthest, depth, runs, count):
    """Turn the differences in [position, end) into runs; return the depth at `end` and the number of runs."""
    # No difference lies after `furthest`. `runs` (int64[3, most]: start, end, depth) is filled from `count` on. The
    # last run ends at `end`.
    first, mask = position, len(ring) - 1
    for at in range(position, min(end, furthest + 1)):
        difference = ring[at & mask]
        if difference != 0:
            ring[at & mask] = 0
            if at > first:
                runs[0, count], runs[1, count], runs[2, count] = first, at, depth
                count += 1
            depth += difference
            first = at
    if end > first:
        runs[0, count], runs[1, count], runs[2, count] = first, end, depth
        count += 1
    return depth, count


@compiled
def _depth_runs(data, starts, fixed, carried, start, end, lengths):
    """Return contigs, starts, ends and depths of the runs of equal depth, in order, that make up the span."""
    contigs = min(end[0], len(lengths) - 1) - start[0] + 1
    # Upper bound: each block begins and ends a run, each record may close one, and each contig has one more.
    most = 2 * (_count_elements(fixed) + len(carried)) + len(starts) + contigs + 1
    runs, contig_of = np.empty((3, most), np.int64), np.empty(most, np.int64)
    ring = np.zeros(FIRST_RING, np.int32)
    contig, position, furthest = start[0], start[1], start[1]
    count, depth, of_contigs = 0, 0, 0  # of_contigs: runs of the contigs before this one
    for i in range(len(carried)):
        if carried[i, 1] - position >= len(ring):
            ring = _larger(ring, position, carried[i, 1])
        ring[carried[i, 0] & (len(ring) - 1)] += 1
        ring[carried[i, 1] & (len(ring) - 1)] -= 1
        furthest = max(furthest, carried[i, 1])
    for r in range(len(starts)):
        fields = fixed[r]
        if fields.flag & NOT_IN_DEPTH or fields.contig < 0:
            continue
        here = np.int64(fields.position)
        while contig < fields.contig:
            depth, count = _close(ring, position, lengths[contig], furthest, depth, runs, count)
            contig_of[of_contigs:count] = contig
            contig, position, furthest, depth, of_contigs = contig + 1, np.int64(0), np.int64(0), 0, count
            ring[:] = 0  # left by alignments beyond the end of their contig (invalid BAM)
        # Neighbouring records share one pass over the ring.
        if here - position >= FIRST_RING // 2:
            depth, count = _close(ring, position, here, furthest, depth, runs, count)
            position = here
        begin = cigar_begin(starts[r], fields)
        for k in range(np.int64(fields.operations)):
            element = cigar_element(data, begin, k)
            operation, length = np.int64(element & CIGAR_MASK), np.int64(element >> CIGAR_SHIFT)
            if ALIGNED >> operation & 1 and length > 0:
                end_of_block = here + length
                if end_of_block - position >= len(ring):
                    ring = _larger(ring, position, end_of_block)
                ring[here & (len(ring) - 1)] += 1
                ring[end_of_block & (len(ring) - 1)] -= 1
                furthest = max(furthest, end_of_block)
            if CONSUMES_REFERENCE >> operation & 1:
                here += length
    while contig < min(end[0] + 1, len(lengths)):
        last = end[1] if contig == end[0] else lengths[contig]
        depth, count = _close(ring, position, last, furthest, depth, runs, count)
        contig_of[of_contigs:count] = contig
        contig, position, furthest, depth, of_contigs = contig + 1, np.int64(0), np.int64(0), 0, count
        ring[:] = 0
    return contig_of[:count], runs[0, :count], runs[1, :count], runs[2, :count]


@compiled
def _first_interval(first, ends, contig, position):
    """Return the contig's first interval that ends after a position, else the next contig's first interval."""
    return first_above(ends, first[contig], first[contig + 1], position)


@inlined
def _add_in_steps(start, end, depth, size, sums):
    """Add a run to the sums of consecutive bins of `size` positions."""
    while start < end:
        number = start // size
        stop = min(end, (number + 1) * size)
        sums[number] += depth * (stop - start)
        start = stop


@compiled
def _count_runs(runs, target, first_window, counters):
    """Add runs (contigs, starts, ends and depths) to the counters, and return the regions of low depth."""
    contigs, starts, ends, depths = runs
    first, target_starts, target_ends, offsets = target.first, target.starts, target.ends, target.offsets
    bin_size, below = target.bin_size, target.low
    totals, coverage, windows = counters.totals, counters.coverage, counters.windows
    depths_of_target, profile = counters.depths, counters.profile
    if len(starts) == 0:
        return np.empty((0, 3), np.int64)
    interval = _first_interval(first, target_ends, contigs[0], starts[0])
    last = _first_interval(first, target_ends, contigs[-1], ends[-1])
    low = np.empty((len(starts) + last - interval + 2, 3), np.int64)
    found, contig, target_bases = 0, contigs[0], np.int64(0)
    for r in range(len(starts)):
        start, end, depth = starts[r], ends[r], depths[r]
        if contigs[r] != contig:
            contig = contigs[r]
            interval = first[contig]
        if depth > 0:
            coverage[contig, 0] += depth * (end - start)
            coverage[contig, 1] += end - start
            to_window = first_window[contig] * COVERAGE_WINDOW
            _add_in_steps(start + to_window, end + to_window, depth, COVERAGE_WINDOW, windows)
        while interval < first[contig + 1] and target_starts[interval] < end:
            begin, stop = max(start, target_starts[interval]), min(end, target_ends[interval])
            if begin < stop:
                depths_of_target[min(depth, DEEPEST)] += stop - begin
                target_bases += depth * (stop - begin)
                along = offsets[interval] - target_starts[interval]
                _add_in_steps(begin + along, stop + along, depth, bin_size, profile)
                if depth < below:
                    if found and low[found - 1, 0] == contig and low[found - 1, 2] == begin:
                        low[found - 1, 2] = stop
                    else:
                        low[found, 0], low[found, 1], low[found, 2] = contig, begin, stop
                        found += 1
            if target_ends[interval] > end:
                break
            interval += 1
    totals[0].target_bases += target_bases
    return low[:found].copy()
