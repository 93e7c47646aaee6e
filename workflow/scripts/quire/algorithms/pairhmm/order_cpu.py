"""Order in which PairHMM scores tasks on the CPU: reads with the same haplotypes in groups, the haplotypes as a tree.

Two haplotypes share the columns of their common prefix. Sorted by their bases, haplotypes are the leaves of a tree,
whose edges are runs of columns. Each edge is computed once for all haplotypes that share it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm.shared_cpu import LANES, NOWHERE
from quire.simd.compiled import compiled, inlined

PREFIX_EDGE = np.dtype([(name, np.int64) for name in ("haplotype", "begin", "end", "source", "target", "answer")])
"""An edge of a tree of haplotypes.

Fields:
    haplotype: a haplotype with these columns, by its index in the tree.
    begin, end: columns (begin, end], counted from 1.
    source: level of the tree at which the state of column `begin` was kept; 0 for column 0.
    target: level at which to keep the state of column `end`, NOWHERE if no other haplotype continues from it.
    answer: the haplotype that ends with column `end`, NOWHERE if none does.
"""


class ScoringOrder(NamedTuple):
    """Groups of reads with the same haplotypes, and the trees of these haplotypes.

    The tasks of a read, one for each haplotype of its tree in order, are adjacent.

    Attributes:
        first_tasks: int64[reads], the first task of each read, group by group.
        group_offsets: int64[groups + 1] into `first_tasks`; a group has at most LANES reads.
        trees: int64[groups], the tree of each group.
        tree_offsets: int64[trees + 1] into `edges`.
        edges: PREFIX_EDGE[], the edges of each tree in the order in which they are computed.
        levels: number of levels of the deepest tree, including level 0.
    """

    first_tasks: NDArray[np.int64]
    group_offsets: NDArray[np.int64]
    trees: NDArray[np.int64]
    tree_offsets: NDArray[np.int64]
    edges: NDArray[np.void]
    levels: int


@compiled
def scoring_order(tasks, read_lengths, haplotype_bases, haplotype_offsets):
    """Return the `ScoringOrder` of tasks (int32[t, 2]), given the length of each task's read (int64[t])."""
    most = len(tasks)
    first_tasks, group_offsets, trees = np.empty(most, np.int64), np.zeros(most + 1, np.int64), np.empty(most, np.int64)
    tree_offsets, edges = np.zeros(most + 1, np.int64), np.empty(2 * most, PREFIX_EDGE)
    firsts = np.empty(most, np.int64)
    placed, groups, grown, begin, levels = 0, 0, 0, 0, 1
    while begin < len(tasks):
        # Collect the first tasks of the next reads with the same haplotypes.
        count = _run(tasks, begin)
        size, task = 0, begin
        while task < len(tasks) and tasks[task, 1] == tasks[begin, 1] and (task == begin or _run(tasks, task) == count):
            firsts[size] = task
            size += 1
            task += count
        by_length = np.argsort(read_lengths[firsts[:size]], kind="mergesort")  # which `threading_order` compiles too
        for k in range(size):  # the longest first, so that idle lanes are next to short reads
            first_tasks[placed] = firsts[by_length[size - 1 - k]]
            placed += 1
            if (k + 1) % LANES == 0 or k + 1 == size:
                trees[groups] = grown
                groups += 1
                group_offsets[groups] = placed
        used, deepest = _prefix_tree(
            haplotype_bases, haplotype_offsets, tasks[begin, 1], count, edges, tree_offsets[grown]
        )
        levels = max(levels, deepest)
        grown += 1
        tree_offsets[grown] = used
        begin = task
    return ScoringOrder(
        first_tasks[:placed],
        group_offsets[: groups + 1],
        trees[:groups],
        tree_offsets[: grown + 1],
        edges[: tree_offsets[grown]],
        levels,
    )


@inlined
def _run(tasks, first):
    """Count the adjacent tasks from `first` on that have the same read and consecutive haplotypes."""
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
    """Write the edges of the tree of `count` haplotypes from edges[used] on; return the new `used`, and the levels."""
    # An edge follows the edge that it continues, and precedes the next edge whose end is kept at the same level.
    order, shared = _sorted_haplotypes(bases, offsets, first, count)
    kept = np.zeros(count + 1, np.int64)  # column kept at each level
    stops = np.empty(count, np.int64)
    level, levels = 0, 1
    for k in range(count):
        haplotype = order[k]
        length = offsets[first + haplotype + 1] - offsets[first + haplotype]
        while kept[level] > shared[k]:
            level -= 1
        # Columns at which following haplotypes branch off this one, the last first.
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
            answer = haplotype if ended else NOWHERE
            _set_edge(edges[used], haplotype, kept[level], stops[s], level, level + 1, answer)
            used += 1
            level += 1
            kept[level] = stops[s]
        if not ended:
            _set_edge(edges[used], haplotype, kept[level], length, level, NOWHERE, haplotype)
            used += 1
        levels = max(levels, level + 1)
    return used, levels


@inlined
def _set_edge(edge, haplotype, begin, end, source, target, answer):
    edge.haplotype, edge.begin, edge.end = haplotype, begin, end
    edge.source, edge.target, edge.answer = source, target, answer


@compiled
def _sorted_haplotypes(bases, offsets, first, count):
    """Return the order of haplotypes by their bases, and the prefix each shares with the one before (int64[count])."""
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
    """Return True if one haplotype's bases sort before another's."""
    shared = _shared_start(bases, offsets, one, other)
    if offsets[other] + shared == offsets[other + 1]:
        return False
    if offsets[one] + shared == offsets[one + 1]:
        return True
    return bases[offsets[one] + shared] < bases[offsets[other] + shared]


@inlined
def _shared_start(bases, offsets, one, other):
    """Return the length of the common prefix of two haplotypes."""
    start, following = offsets[one], offsets[other]
    shortest = min(offsets[one + 1] - start, offsets[other + 1] - following)
    shared = np.int64(0)
    while shared < shortest and bases[start + shared] == bases[following + shared]:
        shared += 1
    return shared
