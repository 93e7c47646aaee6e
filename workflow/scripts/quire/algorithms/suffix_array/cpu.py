"""Suffix sorting on a CPU: by the first bases, then by prefix doubling of the suffixes that still tie.

1. Positions are distributed into buckets by their leading bases, so that the suffixes of a bucket fit a core's cache.
   They are sorted by their next 32 bases, those that tie by the next 32, and so on.
2. Suffixes that tie in all `KEYS` keys form runs. The rank of a suffix is the first row of its run. Runs that agree in
   d bases are sorted by the rank of the suffix d bases later, which makes runs that agree in 2d; and so on, doubling
   (Manber and Myers 1993) and skipping the resolved suffixes (Larsson and Sadakane 2007).

The suffix array of a text is unique, so it does not depend on the number of threads.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.suffix_array import sorting_cpu as kernels

LONGEST_TEXT = (1 << 31) - 1  # the highest bit of a row marks the first row of a run
BUCKET_BITS = 14  # of the number of suffixes in a bucket, on average
MOST_LEADING = 7  # bases; with more buckets than a core's cache has lines, distribution is slow
KEYS = 8  # by which suffixes are sorted before they are ranked
RANGES_A_THREAD = 8  # since some take longer than others


def suffix_array(codes: NDArray[np.uint8], pool: Executor, threads: int) -> NDArray[np.uint32]:
    """Sort the suffixes of codes (uint8[n], n < 2^31); return uint32[n + 1] (see `quire.algorithms.suffix_array`).

    It takes 8.3 bytes of memory per base in addition to the codes, in the threads of a pool.

    Raises:
        ValueError: the text is too long.
    """
    length = codes.size
    if length > LONGEST_TEXT:
        raise ValueError(f"a text of {length} bases is longer than {LONGEST_TEXT}; use smaller pages")

    def on_ranges(ranges: list[tuple[int, int]], kernel: Callable[..., Any], *arguments: Any) -> list[Any]:
        return list(pool.map(lambda one: kernel(*one, *arguments), ranges))

    rows = np.empty(length + 1, np.uint32)
    rows[0] = length
    words = np.empty(length // kernels.BASES + 2, np.uint64)  # one more than hold the text, since keys take two
    on_ranges(_even(len(words), threads), kernels.pack_words, codes, words)
    leading = min(max((length.bit_length() - BUCKET_BITS) // 2, 1), MOST_LEADING)
    depth = leading + KEYS * kernels.BASES
    parts = _even(length, threads)
    counts = np.zeros((threads, 4**leading), np.int64)
    list(pool.map(lambda part, own: kernels.count_leading(part[0], part[1], own, words, leading), parts, counts))
    starts = np.cumsum([1, *counts.sum(axis=0)])
    slots = starts[:-1] + np.cumsum(counts[::-1], axis=0)[::-1] - counts  # later parts come first in a bucket
    list(pool.map(lambda part, own: kernels.distribute(part[0], part[1], own, words, leading, rows), parts, slots))
    ranges = _cut(np.diff(starts), RANGES_A_THREAD * threads)
    text = kernels.SuffixText(words, length)
    runs = np.concatenate(on_ranges(ranges, kernels.sort_buckets, text, starts, leading, depth, rows))
    if not len(runs):
        return rows
    ranks = np.empty(length + 1, np.uint32)
    on_ranges(_even(length + 1, threads), kernels.rank_rows, rows, ranks)
    on_ranges(_even(len(runs), threads), kernels.rank_runs, runs, rows, ranks)
    while len(runs):
        ranges = _cut(runs[:, 1] - runs[:, 0], RANGES_A_THREAD * threads)
        on_ranges(ranges, kernels.sort_runs, runs, depth, ranks, rows)  # all of them before any rank changes
        runs = np.concatenate(on_ranges(ranges, kernels.rank_heads, runs, ranks, rows))
        depth *= 2
    return rows


def _even(count: int, parts: int) -> list[tuple[int, int]]:
    """Cut items into ranges of about the same number."""
    return list(pairwise(np.linspace(0, count, parts + 1).astype(int).tolist()))


def _cut(sizes: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut items into at most `parts` ranges of about the same total size."""
    ends = np.cumsum(sizes)
    inner = np.searchsorted(ends, np.linspace(0, ends[-1], parts + 1)[1:-1])
    return list(pairwise(np.unique([0, *inner, len(ends)]).tolist()))
