"""In which order PairHMM scores tasks on the CPU: reads that have the same haplotypes together, and these as a tree.

Two haplotypes have the columns of what both begin with in common. Sorted by their bases they are the leaves of a tree
whose edges are runs of columns, so that every column that some of them share is computed once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm.cpu_lanes import LANES, NOWHERE
from quire.simd.compiled import compiled, inlined

LEAST_TOGETHER = 4 * LANES // 16
"""Reads for which a group of their own, its other lanes idle, takes less than tasks of many regions do: measured."""


class PrefixEdge(NamedTuple):
    """Columns of a `prefix_tree`'s edge; as rows of int64[edges, 6].

    Attributes:
        haplotype: one that the columns belong to, by its place among those of the tree.
        begin, end: columns (begin, end], counted from 1.
        source: level of the tree at which column `begin` was kept; 0 for column 0.
        target: level at which column `end` is to be kept, NOWHERE where no other haplotype goes on from it.
        answer: the haplotype that ends with the last column, NOWHERE where none does.
    """

    haplotype: int
    begin: int
    end: int
    source: int
    target: int
    answer: int


class ScoringOrder(NamedTuple):
    """In which order tasks are scored.

    Attributes:
        groups: int64[g, LANES], first tasks of reads that have the same haplotypes, one behind the other; NOWHERE in
            lanes that are idle.
        trees: int64[g], which tree their haplotypes are.
        tree_offsets: int64[trees + 1] into the edges.
        edges: int64[edges, 6] of `PrefixEdge`, of a tree in the order in which they are computed.
        levels: of the deepest tree, that of column 0 included.
        rest: int64[], the other tasks, in any order.
    """

    groups: NDArray[np.int64]
    trees: NDArray[np.int64]
    tree_offsets: NDArray[np.int64]
    edges: NDArray[np.int64]
    levels: int
    rest: NDArray[np.int64]


@compiled
def scoring_order(tasks, read_lengths, haplotype_bases, haplotype_offsets):
    """The `ScoringOrder` of some tasks.

    Args:
        tasks: int32[t, 2], (read, haplotype).
        read_lengths: int64[t], of each task's read.
        haplotype_bases, haplotype_offsets: as in `PairHmmBatch`.
    """
    most = len(tasks) // LEAST_TOGETHER
    groups, trees = np.full((most, LANES), NOWHERE, np.int64), np.empty(most, np.int64)
    tree_offsets, edges = np.zeros(most + 1, np.int64), np.empty((2 * len(tasks), 6), np.int64)
    rest, firsts = np.empty(len(tasks), np.int64), np.empty(len(tasks), np.int64)
    found, grown, left, begin, levels = 0, 0, 0, 0, 1
    while begin < len(tasks):
        # Reads with the same haplotypes: of all tasks that follow, those of as many reads as there are such.
        count = _run(tasks, begin)
        size, task = 0, begin
        while task < len(tasks) and tasks[task, 1] == tasks[begin, 1] and (task == begin or _run(tasks, task) == count):
            firsts[size] = task
            size += 1
            task += count
        by_length = np.argsort(read_lengths[firsts[:size]])
        taken = 0  # the longest first, so that idle lanes stand beside short reads
        while size - taken >= LEAST_TOGETHER:
            for lane in range(min(LANES, size - taken)):
                groups[found, lane] = firsts[by_length[size - 1 - taken]]
                taken += 1
            trees[found] = grown
            found += 1
        for k in range(size - taken):
            for h in range(count):
                rest[left] = firsts[by_length[k]] + h
                left += 1
        if taken:
            used, deepest = _prefix_tree(
                haplotype_bases, haplotype_offsets, tasks[begin, 1], count, edges, tree_offsets[grown]
            )
            levels = max(levels, deepest)
            grown += 1
            tree_offsets[grown] = used
        begin = task
    return ScoringOrder(
        groups[:found],
        trees[:found],
        tree_offsets[: grown + 1],
        edges[: tree_offsets[grown]],
        levels,
        rest[:left],
    )


@inlined
def _run(tasks, first):
    """How many tasks from the first on are of its read, with one haplotype after the other."""
    count = np.int64(1)
    while (
        first + count < len(tasks)
        and tasks[first + count, 0] == tasks[first, 0]
        and tasks[first + count, 1] == tasks[first, 1] + count
    ):
        count += 1
    return count


@compiled
def _prefix_tree(bases, offsets, first, count, edges, used):
    """Write the edges of `count` haplotypes from the first on behind those `used`; returns how many are, and levels.

    An edge stands behind the one that it goes on from, and before the next one that is kept at the same level.
    """
    order, shared = _sorted_haplotypes(bases, offsets, first, count)
    kept = np.zeros(count + 1, np.int64)  # columns, by level
    stops = np.empty(count, np.int64)
    level, levels = 0, 1
    for k in range(count):
        haplotype = order[k]
        length = offsets[first + haplotype + 1] - offsets[first + haplotype]
        while kept[level] > shared[k]:
            level -= 1
        # Where others go on from this one, the last of these columns first.
        found, least = 0, length + 1
        for m in range(k + 1, count):
            if shared[m] <= kept[level]:
                break
            if shared[m] < least:
                least = shared[m]
                stops[found] = least
                found += 1
        ended = False
        for s in range(found - 1, -1, -1):
            ended = stops[s] == length
            edges[used] = (haplotype, kept[level], stops[s], level, level + 1, haplotype if ended else NOWHERE)
            used += 1
            level += 1
            kept[level] = stops[s]
        if not ended:
            edges[used] = (haplotype, kept[level], length, level, NOWHERE, haplotype)
            used += 1
        levels = max(levels, level + 1)
    return used, levels


@compiled
def _sorted_haplotypes(bases, offsets, first, count):
    """The haplotypes' order by their bases, and how many each shares with the one before it (int64[count] each)."""
    order, shared = np.empty(count, np.int64), np.zeros(count, np.int64)
    for haplotype in range(count):
        place = haplotype
        while place > 0 and _is_before(bases, offsets, first + haplotype, first + order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = haplotype
    for place in range(1, count):
        shared[place] = _shared_start(bases, offsets, first + order[place - 1], first + order[place])
    return order, shared


@inlined
def _is_before(bases, offsets, one, other):
    """Whether one haplotype's bases sort before another's."""
    shared = _shared_start(bases, offsets, one, other)
    if offsets[other] + shared == offsets[other + 1]:
        return False
    if offsets[one] + shared == offsets[one + 1]:
        return True
    return bases[offsets[one] + shared] < bases[offsets[other] + shared]


@inlined
def _shared_start(bases, offsets, one, other):
    """How many bases two haplotypes share from the first on."""
    start, following = offsets[one], offsets[other]
    shortest = min(offsets[one + 1] - start, offsets[other + 1] - following)
    shared = np.int64(0)
    while shared < shortest and bases[start + shared] == bases[following + shared]:
        shared += 1
    return shared
