"""In which order PairHMM scores tasks on the CPU: reads that have the same haplotypes together, as many as lanes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm.cpu_lanes import LANES
from quire.simd.compiled import compiled, inlined


class ScoringOrder(NamedTuple):
    """In which order tasks are scored.

    Attributes:
        groups: int64[g, LANES], first tasks of reads that have the same haplotypes, one behind the other.
        counts: int64[g], how many haplotypes these are.
        rest: int64[], the other tasks, sorted.
    """

    groups: NDArray[np.int64]
    counts: NDArray[np.int64]
    rest: NDArray[np.int64]


@compiled
def together(tasks, read_lengths):
    """The columns of `ScoringOrder` for some tasks, the rest in any order; `read_lengths` are of each task's read."""
    groups, counts = np.empty((len(tasks) // LANES, LANES), np.int64), np.empty(len(tasks) // LANES, np.int64)
    rest, firsts = np.empty(len(tasks), np.int64), np.empty(len(tasks), np.int64)
    found, left, begin = 0, 0, 0
    while begin < len(tasks):
        # Reads with the same haplotypes: of all tasks that follow, those of as many reads as there are such.
        count = _run(tasks, begin)
        size, task = 0, begin
        while task < len(tasks) and tasks[task, 1] == tasks[begin, 1] and (task == begin or _run(tasks, task) == count):
            firsts[size] = task
            size += 1
            task += count
        by_length = np.argsort(read_lengths[firsts[:size]])
        whole = size // LANES * LANES
        for k in range(whole):
            groups[found + k // LANES, k % LANES] = firsts[by_length[k]]
        for k in range(whole // LANES):
            counts[found + k] = count
        found += whole // LANES
        for k in range(whole, size):
            for h in range(count):
                rest[left] = firsts[by_length[k]] + h
                left += 1
        begin = task
    return groups[:found], counts[:found], rest[:left]


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
