"""Seeding with Numba over the FM-index of each page.

A seed's interval comes from the prefix table and is narrowed by backward steps until it holds at most DIRECT_ROWS
rows; then the rows are located and the text is compared directly, 32 bases at a time, which costs fewer cache misses
than further steps. One page: one pass that stops at the first depth within the cap. Several pages: a pass that counts
owned hits at every depth, the choice of depth on the sums, and a pass that locates.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from quire.algorithms.fm_index.cpu import backward_step, locate, owned_count, prefetch, prefetch_row
from quire.algorithms.seeding import DEPTHS, DIAGONAL_BIAS, MAXIMUM_SEEDS, RAREST_LIMIT, SEED_LENGTH
from quire.device.simd import leading_zeros
from quire.oriented import packed_word, tie_hash

DIRECT_ROWS = 4
GROUP = 16  # reads whose look-ups are announced together
DEEPEST = int(DEPTHS[-1])
DEPTH_COUNT = len(DEPTHS)
_NONE = -1


class PageArrays(NamedTuple):
    """What the kernels read of a page: the arrays of its `FmIndex`, and where it lies on the axis."""

    blocks: np.ndarray
    words_per_block: int
    C: np.ndarray
    primary: int
    prefix_table: np.ndarray
    prefix_length: int
    suffix_array: np.ndarray
    sa_sampling: int
    sampled_rows: np.ndarray
    unowned_rows: np.ndarray
    start: int
    owned_length: int


class ReadArrays(NamedTuple):
    """What the kernels read of a batch: see `quire.oriented.Reads` and `SeedingParameters`."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    name_hash: np.ndarray
    stride: int
    maximum_hits: int


def page_arrays(fm_index, page) -> PageArrays:
    """The kernels' view of a page: `fm_index` an `FmIndex`, `page` with start and owned_end on the axis."""

    def frozen(array):
        # Memory-mapped arrays are read-only; marking all so keeps one compiled kernel for both kinds.
        view = np.asarray(array).view(np.ndarray)
        view.flags.writeable = False
        return view

    return PageArrays(
        frozen(fm_index.blocks), int(fm_index.words_per_block), frozen(fm_index.C), int(fm_index.primary),
        frozen(fm_index.prefix_table.reshape(-1)), int(fm_index.prefix_length), frozen(fm_index.suffix_array),
        int(fm_index.sa_sampling), frozen(fm_index.sampled_rows), frozen(fm_index.unowned_rows),
        int(page.start), int(page.owned_end - page.start),
    )  # fmt: skip


def find_hits(pages, reads, text, parameters):
    """See `quire.algorithms.seeding.find_hits`; `pages` are `PageArrays`."""
    batch = ReadArrays(reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, reads.name_hash,
                       parameters.stride, parameters.maximum_hits)  # fmt: skip
    if len(pages) == 1:
        return _collect(_hits_of_one_page, pages[0], batch, text)
    counts = np.zeros((len(reads), 2, MAXIMUM_SEEDS, DEPTH_COUNT), np.int32)
    for page in pages:
        _count_seeds(page, batch, text, counts)
    choice = _choose_depths(counts, batch)
    del counts
    parts = [_collect(_hits_of_choice, page, batch, text, choice) for page in pages]
    return _merge_pages(parts, batch, choice)


def _collect(kernel, page, batch, text, *more):
    """Run a kernel that appends hits read by read; grow its array and go on where it stopped for want of room."""
    count = len(batch.offsets) - 1
    offsets = np.zeros(count + 1, np.int64)
    hits = np.empty(64 * count + 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, 1) + RAREST_LIMIT, np.uint64)
    begin = kernel(page, batch, text, *more, 0, offsets, hits)
    while begin < count:
        hits = np.concatenate([hits, np.empty(len(hits), np.uint64)])
        begin = kernel(page, batch, text, *more, begin, offsets, hits)
    return offsets, hits[: offsets[-1]]


def _merge_pages(parts, batch, choice):
    """Hits of all pages by read, sorted; of a rarest seed again only those of smallest hash."""
    count = len(batch.offsets) - 1
    per_page = [np.diff(offsets) for offsets, _ in parts]
    owners = np.concatenate([np.repeat(np.arange(count), numbers) for numbers in per_page])
    hits = np.concatenate([part for _, part in parts])[np.argsort(owners, kind="stable")]
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(sum(per_page), out=offsets[1:])
    kept = np.zeros(count + 1, np.int64)
    _finish_merge(offsets, hits, batch, choice, kept)
    return kept, hits[: kept[-1]]


@njit(cache=True, nogil=True, forceinline=True)
def spread(length, stride):
    """The stride of a read of this length: wider for long reads, which have at most MAXIMUM_SEEDS seeds a strand."""
    needed = (length - SEED_LENGTH + MAXIMUM_SEEDS - 3) // (MAXIMUM_SEEDS - 2)
    return max(stride, needed)


@njit(cache=True, nogil=True, forceinline=True)
def seed_count(length, stride):
    """Number of seeds of a read on one strand."""
    if length < SEED_LENGTH:
        return 0
    step = spread(length, stride)
    regular = (length - SEED_LENGTH) // step + 1
    return regular if SEED_LENGTH + (regular - 1) * step == length else regular + 1


@njit(cache=True, nogil=True, forceinline=True)
def seed_end(ordinal, length, stride):
    """End (exclusive) of a seed in the oriented read."""
    return min(SEED_LENGTH + ordinal * spread(length, stride), length)


@njit(cache=True, nogil=True, forceinline=True)
def _longest_seed(codes, begin, end, ambiguous):
    """Bases that a seed ending at `end` may be deep: up to the read's begin, an N, or DEEPEST."""
    longest = min(end, DEEPEST)
    if ambiguous:
        for depth in range(longest):
            if codes[begin + end - 1 - depth] > 3:
                return depth
    return longest


@njit(cache=True, nogil=True, forceinline=True)
def _prefix(packed, word, end, k):
    """The k-mer that ends at `end`, first base most significant."""
    value = packed_word(packed, word * 32 + end - k)
    kmer = 0
    for _ in range(k):
        kmer = kmer << 2 | np.int64(value & np.uint64(3))
        value >>= np.uint64(2)
    return kmer


@njit(cache=True, nogil=True, forceinline=True)
def _left_match(packed, word, read_end, text, text_end, limit):
    """Bases equal to the left of two positions, at most `limit` (<= 64)."""
    matched = 0
    while matched < limit:
        step = min(32, limit - matched)
        step = min(step, text_end - matched, read_end - matched)
        if step <= 0:
            return matched
        left = packed_word(packed, word * 32 + read_end - matched - step)
        right = packed_word(text, text_end - matched - step)
        difference = (left ^ right) << np.uint64(64 - 2 * step)
        equal = np.int64(leading_zeros(difference)) >> 1
        if equal < step:
            return matched + equal
        matched += step
    return matched


@njit(cache=True, nogil=True, forceinline=True)
def encode_hit(strand, diagonal, ordinal):
    """One hit as uint64; sorting hits sorts by strand, diagonal, seed."""
    shifted = np.uint64(diagonal + DIAGONAL_BIAS) << np.uint64(8)
    return np.uint64(strand) << np.uint64(63) | shifted | np.uint64(ordinal)


@njit(cache=True, nogil=True, forceinline=True)
def _start_of_row(page, row):
    return locate(page.suffix_array, page.sa_sampling, page.sampled_rows, page.blocks, page.words_per_block, page.C,
                  page.primary, row)  # fmt: skip


@njit(cache=True, nogil=True, forceinline=True)
def _narrow(page, codes, origin, end, wanted, low, high, depth, direct):
    """Backward steps until the seed is `wanted` deep, the interval empty, or (direct) small enough to compare text."""
    while depth < wanted and high > low and (not direct or high - low > DIRECT_ROWS):
        symbol = np.int64(codes[origin + end - depth - 1])
        low, high = backward_step(page.blocks, page.words_per_block, page.C, page.primary, symbol, low, high)
        depth += 1
    return low, high, depth


@njit(cache=True, nogil=True, forceinline=True)
def _first_interval(page, packed, word, end):
    kmer = _prefix(packed, word, end, page.prefix_length)
    return np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])


@njit(cache=True, nogil=True, forceinline=True)
def _append_rows(page, low, high, begin, strand, ordinal, hits, used):
    """Append the hits of a whole interval whose seed begins at `begin` of the read, those that the page owns."""
    for row in range(low, high):
        start = _start_of_row(page, row)
        if start < page.owned_length:
            hits[used] = encode_hit(strand, page.start + start - begin, ordinal)
            used += 1
    return used


@njit(cache=True, nogil=True, forceinline=True)
def _append_direct(page, text, packed, word, end, depth, wanted, low, high, strand, ordinal, hits, used):
    """Append those rows of a small interval whose text agrees to the left down to depth `wanted`."""
    for row in range(low, high):
        start = _start_of_row(page, row) - (wanted - depth)
        if start < 0 or start >= page.owned_length:
            continue
        at = page.start + start + (wanted - depth)
        if _left_match(packed, word, end - depth, text, at, wanted - depth) == wanted - depth:
            hits[used] = encode_hit(strand, page.start + start - (end - wanted), ordinal)
            used += 1
    return used


@njit(cache=True, nogil=True)
def _append_rarest(page, low, high, begin, strand, ordinal, name_hash, maximum_hits, hits, used):
    """Append the hits of the smallest hashes of a seed that is too frequent."""
    first = used
    used = _append_rows(page, low, high, begin, strand, ordinal, hits, used)
    return _keep_smallest(hits, first, used, begin, name_hash, maximum_hits)


@njit(cache=True, nogil=True)
def _keep_smallest(hits, first, used, begin, name_hash, maximum_hits):
    """Keep the `maximum_hits` hits of smallest (hash(name, seed's axis position), position) in hits[first:used]."""
    if used - first <= maximum_hits:
        return used
    hashes = np.empty(used - first, np.uint64)
    positions = np.empty(used - first, np.int64)
    for i in range(used - first):
        diagonal = np.int64((hits[first + i] << np.uint64(1)) >> np.uint64(9)) - DIAGONAL_BIAS
        positions[i] = diagonal + begin
        hashes[i] = tie_hash(name_hash, positions[i])
    limit = np.sort(hashes)[maximum_hits - 1]
    kept = first
    for i in range(used - first):
        # Two positions of one hash are as good as impossible (64 bits); both would be kept up to the limit.
        if hashes[i] <= limit and kept - first < maximum_hits:
            hits[kept] = hits[first + i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _hits_of_one_page(page, batch, text, begin_read, offsets, hits):
    """Hits of the reads from `begin_read` on where one page is the whole axis; returns the read it stopped before."""
    used = offsets[begin_read]
    count = len(offsets) - 1
    intervals = np.empty((GROUP, 2, MAXIMUM_SEEDS, 2), np.int64)
    room = 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, DIRECT_ROWS) + RAREST_LIMIT
    for group in range(begin_read, count, GROUP):
        last = min(group + GROUP, count)
        _look_up_group(page, batch, group, last, intervals)
        for read in range(group, last):
            if used + room > len(hits):
                return read
            used = _hits_of_read(page, batch, text, read, intervals[read - group], hits, used)
            offsets[read + 1] = used
    return count


@njit(cache=True, nogil=True)
def _look_up_group(page, batch, group, last, intervals):
    """First intervals of all seeds of some reads. Every look-up is a cache miss, so each is announced a round ahead."""
    for read in range(group, last):
        length = batch.offsets[read + 1] - batch.offsets[read]
        for strand in range(2):
            for ordinal in range(seed_count(length, batch.stride)):
                end = seed_end(ordinal, length, batch.stride)
                kmer = _prefix(batch.packed[strand], batch.word_offsets[read], end, page.prefix_length)
                intervals[read - group, strand, ordinal, 0] = kmer
                prefetch(page.prefix_table, 2 * kmer)
    for read in range(group, last):
        length = batch.offsets[read + 1] - batch.offsets[read]
        for strand in range(2):
            for ordinal in range(seed_count(length, batch.stride)):
                kmer = intervals[read - group, strand, ordinal, 0]
                low, high = np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])
                intervals[read - group, strand, ordinal, 0] = low
                intervals[read - group, strand, ordinal, 1] = high
                if high - low > DIRECT_ROWS:
                    prefetch_row(page.blocks, page.words_per_block, low)
                    prefetch_row(page.blocks, page.words_per_block, high)
                elif high > low and page.sa_sampling == 1:
                    prefetch(page.suffix_array, low)


@njit(cache=True, nogil=True)
def _hits_of_read(page, batch, text, read, intervals, hits, used):
    """Append the sorted hits of one read where one page is the whole axis; returns their end."""
    origin, word = batch.offsets[read], batch.word_offsets[read]
    length = batch.offsets[read + 1] - origin
    first = used
    rarest = np.int64(RAREST_LIMIT) + 1
    rarest_low, rarest_begin, rarest_strand, rarest_ordinal = np.int64(0), np.int64(0), 0, 0
    for strand in range(2):
        packed, codes = batch.packed[strand], batch.codes[strand]
        for ordinal in range(seed_count(length, batch.stride)):
            low, high, depth = (
                intervals[strand, ordinal, 0],
                intervals[strand, ordinal, 1],
                np.int64(page.prefix_length),
            )
            if low >= high:
                continue
            end = seed_end(ordinal, length, batch.stride)
            longest = _longest_seed(codes, origin, end, batch.ambiguous[read])
            if longest < SEED_LENGTH:
                continue
            low, high, depth = _narrow(page, codes, origin, end, SEED_LENGTH, low, high, depth, True)
            if high - low <= DIRECT_ROWS and high - low <= batch.maximum_hits:
                used = _append_direct(page, text, packed, word, end, depth, SEED_LENGTH, low, high, strand, ordinal,
                                      hits, used)  # fmt: skip
                continue
            low, high, depth = _narrow(page, codes, origin, end, SEED_LENGTH, low, high, depth, False)
            level = 0
            while high - low > batch.maximum_hits and level + 1 < DEPTH_COUNT and DEPTHS[level + 1] <= longest:
                level += 1
                low, high, depth = _narrow(page, codes, origin, end, DEPTHS[level], low, high, depth, False)
            if high - low <= batch.maximum_hits:
                used = _append_rows(page, low, high, end - depth, strand, ordinal, hits, used)
            elif high - low < rarest:
                rarest, rarest_low, rarest_begin = high - low, low, end - depth
                rarest_strand, rarest_ordinal = strand, ordinal
    if used == first and rarest <= RAREST_LIMIT:
        used = _append_rarest(page, rarest_low, rarest_low + rarest, rarest_begin, rarest_strand, rarest_ordinal,
                              batch.name_hash[read], batch.maximum_hits, hits, used)  # fmt: skip
    hits[first:used].sort()
    return used


@njit(cache=True, nogil=True)
def _count_seeds(page, batch, text, counts):
    """Add the hits that a page owns of every seed at every depth to counts[read, strand, seed, depth]."""
    for read in range(len(batch.offsets) - 1):
        origin, word = batch.offsets[read], batch.word_offsets[read]
        length = batch.offsets[read + 1] - origin
        for strand in range(2):
            packed, codes = batch.packed[strand], batch.codes[strand]
            for ordinal in range(seed_count(length, batch.stride)):
                end = seed_end(ordinal, length, batch.stride)
                longest = _longest_seed(codes, origin, end, batch.ambiguous[read])
                if longest < SEED_LENGTH:
                    continue
                depth = np.int64(page.prefix_length)
                low, high = _first_interval(page, packed, word, end)
                row = counts[read, strand, ordinal]
                for level in range(DEPTH_COUNT):
                    wanted = DEPTHS[level]
                    if wanted > longest:
                        break
                    low, high, depth = _narrow(page, codes, origin, end, wanted, low, high, depth, True)
                    if low >= high:
                        break
                    if depth == wanted:
                        row[level] += owned_count(page.unowned_rows, low, high)
                    if high - low <= DIRECT_ROWS:
                        later = level + 1 if depth == wanted else level
                        _count_direct(page, text, packed, word, end, depth, longest, low, high, later, row)
                        break


@njit(cache=True, nogil=True, forceinline=True)
def _count_direct(page, text, packed, word, end, depth, longest, low, high, level, row):
    """Count the rows of a small interval at every depth from DEPTHS[level] on by comparing the text."""
    for suffix in range(low, high):
        start = _start_of_row(page, suffix)
        reach = depth + _left_match(packed, word, end - depth, text, page.start + start, min(longest - depth, start))
        for later in range(level, DEPTH_COUNT):
            wanted = DEPTHS[later]
            if wanted > reach:
                break
            if start - (wanted - depth) < page.owned_length:
                row[later] += 1


@njit(cache=True, nogil=True)
def _choose_depths(counts, batch):
    """Depth level of every seed, _NONE where it is not located; a read's rarest seed, if needed, as level + 100."""
    choice = np.full((counts.shape[0], 2, MAXIMUM_SEEDS), _NONE, np.int8)
    for read in range(counts.shape[0]):
        origin = batch.offsets[read]
        length = batch.offsets[read + 1] - origin
        found = 0
        rarest, rarest_strand, rarest_ordinal, rarest_level = np.int64(RAREST_LIMIT) + 1, 0, 0, 0
        for strand in range(2):
            for ordinal in range(seed_count(length, batch.stride)):
                end = seed_end(ordinal, length, batch.stride)
                longest = _longest_seed(batch.codes[strand], origin, end, batch.ambiguous[read])
                if longest < SEED_LENGTH:
                    continue
                level = 0
                row = counts[read, strand, ordinal]
                while row[level] > batch.maximum_hits and level + 1 < DEPTH_COUNT and DEPTHS[level + 1] <= longest:
                    level += 1
                if row[level] <= batch.maximum_hits:
                    choice[read, strand, ordinal] = level if row[level] > 0 else _NONE
                    found += row[level]
                elif row[level] < rarest:
                    rarest, rarest_strand, rarest_ordinal, rarest_level = row[level], strand, ordinal, level
        if found == 0 and rarest <= RAREST_LIMIT:
            choice[read, rarest_strand, rarest_ordinal] = rarest_level + 100
    return choice


@njit(cache=True, nogil=True)
def _hits_of_choice(page, batch, text, choice, begin_read, offsets, hits):
    """Hits that a page owns of the seeds at their chosen depths; returns the read it stopped before."""
    used = offsets[begin_read]
    for read in range(begin_read, len(offsets) - 1):
        if used + 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, DIRECT_ROWS) + RAREST_LIMIT > len(hits):
            return read
        origin, word = batch.offsets[read], batch.word_offsets[read]
        length = batch.offsets[read + 1] - origin
        for strand in range(2):
            packed, codes = batch.packed[strand], batch.codes[strand]
            for ordinal in range(seed_count(length, batch.stride)):
                level = np.int64(choice[read, strand, ordinal])
                if level == _NONE:
                    continue
                end = seed_end(ordinal, length, batch.stride)
                wanted = DEPTHS[level if level < 100 else level - 100]
                low, high = _first_interval(page, packed, word, end)
                low, high, depth = _narrow(page, codes, origin, end, wanted, low, high,
                                           np.int64(page.prefix_length), level < 100)  # fmt: skip
                if low >= high:
                    continue
                if level >= 100:
                    used = _append_rarest(page, low, high, end - wanted, strand, ordinal, batch.name_hash[read],
                                          batch.maximum_hits, hits, used)  # fmt: skip
                else:
                    used = _append_direct(page, text, packed, word, end, depth, wanted, low, high, strand, ordinal,
                                          hits, used)  # fmt: skip
        offsets[read + 1] = used
    return len(offsets) - 1


@njit(cache=True, nogil=True)
def _finish_merge(offsets, hits, batch, choice, kept):
    """Sort the gathered hits of each read in place, cut those of a rarest seed, and close the gaps."""
    used = np.int64(0)
    for read in range(len(offsets) - 1):
        first, last = offsets[read], offsets[read + 1]
        if last - first > batch.maximum_hits and choice[read].max() >= 100:
            ordinal = np.int64(hits[first] & np.uint64(255))
            strand = np.int64(hits[first] >> np.uint64(63))
            length = batch.offsets[read + 1] - batch.offsets[read]
            depth = DEPTHS[np.int64(choice[read, strand, ordinal]) - 100]
            begin = seed_end(ordinal, length, batch.stride) - depth
            last = _keep_smallest(hits, first, last, begin, batch.name_hash[read], batch.maximum_hits)
        hits[first:last].sort()
        for i in range(first, last):
            hits[used] = hits[i]
            used += 1
        kept[read + 1] = used
