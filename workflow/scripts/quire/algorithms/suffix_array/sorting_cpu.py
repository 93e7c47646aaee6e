"""Kernels that sort suffixes by their first bases, and then those that tie by the ranks of later suffixes.

All sorts are stable, and positions begin in descending order. Keys are padded with A after the end of the text, so of
two suffixes with equal keys the shorter one, which is less, comes first. It ties with none: its run ends with it.
"""

from typing import NamedTuple

import numpy as np

from quire.simd.bits import copy_items
from quire.simd.compiled import compiled, inlined

BASES = 32  # of a key and of a word of text
SMALL = 32  # a run of at most this length is sorted by insertion
FEW = 4096  # a run of at least this length is distributed by 11 bits at a time, a shorter one by 8
HEAD = np.uint32(1 << 31)  # marks the first row of a run; positions are below 2^31


class SuffixText(NamedTuple):
    """A text of `length` bases: uint64[], 32 each, the first one in the highest bits, and one word of A's."""

    words: np.ndarray
    length: int


class Sorter(NamedTuple):
    """Keys (uint64[n]) and positions (uint32[n]) to sort, and memory to sort them in."""

    keys: np.ndarray
    positions: np.ndarray
    other_keys: np.ndarray
    other_positions: np.ndarray
    counts: np.ndarray  # int64[2049]
    stack: np.ndarray  # int64[2 * (n // SMALL) + 2]


@inlined
def new_sorter(size):
    """Return a sorter of `size` keys."""
    return Sorter(
        np.empty(size, np.uint64),
        np.empty(size, np.uint32),
        np.empty(size, np.uint64),
        np.empty(size, np.uint32),
        np.empty(2049, np.int64),
        np.empty(2 * (size // SMALL) + 2, np.int64),
    )


@compiled
def pack_words(first, last, codes, words):
    """Write words [first, last) of a `SuffixText` of codes (uint8[n], 0..3)."""
    for word in range(first, last):
        packed = np.uint64(0)
        for base in range(BASES * word, BASES * word + BASES):
            code = np.uint64(codes[base]) if base < codes.size else np.uint64(0)
            packed = packed << np.uint64(2) | code
        words[word] = packed


@inlined
def key_at(words, position):
    """Return the 32 bases from a position on (uint64); bases after the text are A."""
    word = position // BASES
    if word + 1 >= words.size:
        return np.uint64(0)
    shift = np.uint64(2 * (position % BASES))
    if shift == np.uint64(0):
        return words[word]
    return words[word] << shift | words[word + 1] >> np.uint64(64 - 2 * (position % BASES))


@compiled
def count_leading(first, last, counts, words, leading):
    """Count the positions [first, last) by their first `leading` bases into counts (int64[4^leading])."""
    shift = np.uint64(64 - 2 * leading)
    for position in range(first, last):
        counts[np.int64(key_at(words, position) >> shift)] += 1


@compiled
def distribute(first, last, slots, words, leading, rows):
    """Write the positions [first, last), the last one first, to the next row of their bucket (int64[4^leading])."""
    shift = np.uint64(64 - 2 * leading)
    for position in range(last - 1, first - 1, -1):
        bucket = np.int64(key_at(words, position) >> shift)
        rows[slots[bucket]] = position
        slots[bucket] += 1


@inlined
def sort_by_insertion(sorter, begin, end):
    """Sort [begin, end) of keys and positions by key; stable."""
    keys, positions = sorter.keys, sorter.positions
    for row in range(begin + 1, end):
        key = keys[row]
        position = positions[row]
        before = row - 1
        while before >= begin and keys[before] > key:
            keys[before + 1] = keys[before]
            positions[before + 1] = positions[before]
            before -= 1
        keys[before + 1] = key
        positions[before + 1] = position


@compiled
def sort_by_digits(sorter, begin, end):
    """Sort [begin, end) of keys and positions by key; stable.

    Keys are distributed by the highest bits in which they differ, and so are the larger parts that this leaves.
    """
    keys, positions, other_keys, other_positions, counts, stack = sorter
    stack[0] = begin
    stack[1] = end
    depth = 1
    while depth > 0:
        depth -= 1
        low = stack[2 * depth]
        high = stack[2 * depth + 1]
        different = np.uint64(0)
        for row in range(low + 1, high):
            different |= keys[row] ^ keys[low]
        if different == np.uint64(0):
            continue
        bits = 0
        while different != np.uint64(0):
            bits += 1
            different >>= np.uint64(1)
        digits = 11 if high - low >= FEW else 8
        shift = np.uint64(max(bits - digits, 0))
        mask = np.uint64((1 << digits) - 1)
        counts[: (1 << digits) + 1] = 0
        for row in range(low, high):
            counts[np.int64(keys[row] >> shift & mask) + 1] += 1
        for digit in range(1 << digits):
            counts[digit + 1] += counts[digit]
        for row in range(low, high):
            digit = np.int64(keys[row] >> shift & mask)
            slot = counts[digit]
            other_keys[low + slot] = keys[row]
            other_positions[low + slot] = positions[row]
            counts[digit] = slot + 1
        copy_items(keys, low, other_keys, low, high)
        copy_items(positions, low, other_positions, low, high)
        if shift == np.uint64(0):
            continue
        first = low
        for digit in range(1 << digits):
            last = low + counts[digit]
            if last - first > SMALL:
                stack[2 * depth] = first
                stack[2 * depth + 1] = last
                depth += 1
            else:
                sort_by_insertion(sorter, first, last)
            first = last


@compiled
def sort_buckets(first, last, text, starts, leading, most_depth, rows):
    """Sort the suffixes of buckets [first, last) by their first bases, up to `most_depth` of them.

    Args:
        first: number of the first bucket.
        last: number after that of the last bucket.
        text: a `SuffixText`.
        starts: first row of each bucket, and the row after the last one, int64[].
        leading: bases that the suffixes of a bucket have in common.
        most_depth: bases to sort by, a multiple of 32 more than leading.
        rows: uint32[], positions in descending order within each bucket; sorted in place.

    Returns:
        first row and row after the last of each run of suffixes that tie in `most_depth` bases, int64[runs, 2].
    """
    largest = 0
    for bucket in range(first, last):
        largest = max(largest, starts[bucket + 1] - starts[bucket])
    sorter = new_sorter(largest)
    keys, positions = sorter.keys, sorter.positions
    runs = np.empty((largest // 2 + 1, 2), np.int64)
    next_runs = np.empty((largest // 2 + 1, 2), np.int64)
    found = np.empty((1024, 2), np.int64)
    total = 0
    for bucket in range(first, last):
        base = starts[bucket]
        size = starts[bucket + 1] - base
        if size < 2:
            continue
        for row in range(size):
            positions[row] = rows[base + row]
        runs[0, 0] = 0
        runs[0, 1] = size
        count = 1
        depth = leading
        while count > 0 and depth < most_depth:
            kept = 0
            for run in range(count):
                begin = runs[run, 0]
                end = runs[run, 1]
                for row in range(begin, end):
                    keys[row] = key_at(text.words, np.int64(positions[row]) + depth)
                if end - begin <= SMALL:
                    sort_by_insertion(sorter, begin, end)
                else:
                    sort_by_digits(sorter, begin, end)
                head = begin
                for row in range(begin, end):
                    ended = np.int64(positions[row]) + depth + BASES >= text.length
                    if row + 1 == end or ended or keys[row + 1] != keys[row]:
                        if row > head:
                            next_runs[kept, 0] = head
                            next_runs[kept, 1] = row + 1
                            kept += 1
                        head = row + 1
            runs, next_runs = next_runs, runs
            count = kept
            depth += BASES
        for row in range(size):
            rows[base + row] = positions[row]
        if total + count > found.shape[0]:
            longer = np.empty((2 * (total + count), 2), np.int64)
            for run in range(total):
                longer[run, 0], longer[run, 1] = found[run, 0], found[run, 1]
            found = longer
        for run in range(count):
            found[total + run, 0] = base + runs[run, 0]
            found[total + run, 1] = base + runs[run, 1]
        total += count
    return found[:total].copy()


@compiled
def rank_rows(first, last, rows, ranks):
    """Write the rank of the suffixes of rows [first, last) that do not tie: their row."""
    for row in range(first, last):
        ranks[rows[row]] = row


@compiled
def rank_runs(first, last, runs, rows, ranks):
    """Write the rank of the suffixes of runs [first, last): the first row of the run."""
    for run in range(first, last):
        for row in range(runs[run, 0], runs[run, 1]):
            ranks[rows[row]] = runs[run, 0]


@compiled
def sort_runs(first, last, runs, depth, ranks, rows):
    """Sort the suffixes of runs [first, last) by the rank of the suffix `depth` bases later.

    Args:
        first: number of the first run.
        last: number after that of the last run.
        runs: int64[runs, 2], as `sort_buckets` returns them.
        depth: bases that the suffixes of a run have in common.
        ranks: uint32[], of all suffixes: the first row of those that agree in `depth` bases. Not changed, since other
            threads read it.
        rows: uint32[]; the first row of each new run is marked by `HEAD`.
    """
    length = rows.size - 1
    largest = 0
    for run in range(first, last):
        largest = max(largest, runs[run, 1] - runs[run, 0])
    sorter = new_sorter(largest)
    keys, positions = sorter.keys, sorter.positions
    for run in range(first, last):
        base = runs[run, 0]
        size = runs[run, 1] - base
        for row in range(size):
            position = np.int64(rows[base + row])
            positions[row] = position
            keys[row] = np.uint64(ranks[position + depth]) if position + depth < length else np.uint64(0)
        if size <= SMALL:
            sort_by_insertion(sorter, 0, size)
        else:
            sort_by_digits(sorter, 0, size)
        is_head = True
        for row in range(size):
            rows[base + row] = positions[row] | HEAD if is_head else positions[row]
            ended = np.int64(positions[row]) + depth >= length
            is_head = ended or (row + 1 < size and keys[row + 1] != keys[row])


@compiled
def rank_heads(first, last, runs, ranks, rows):
    """Rank the suffixes of runs [first, last) by the marks of `sort_runs`, which are removed; return the new runs."""
    largest = 0
    for run in range(first, last):
        largest += (runs[run, 1] - runs[run, 0]) // 2
    found = np.empty((largest, 2), np.int64)
    total = 0
    for run in range(first, last):
        head = runs[run, 0]
        end = runs[run, 1]
        for row in range(head, end):
            if rows[row] & HEAD:
                head = row
                rows[row] &= ~HEAD
            ranks[rows[row]] = head
            if row > head and (row + 1 == end or rows[row + 1] & HEAD):
                found[total, 0] = head
                found[total, 1] = row + 1
                total += 1
    return found[:total].copy()
