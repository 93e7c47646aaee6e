"""Graphs with few paths around the reference, solved without building them.

Most active regions are caused by an error in one read, or by one or two variants. Their graph consists of the reference
and a few chains of k-mers beside it. After chains with too few reads are pruned, none is left, or a few that follow one
another. Here the reference is implicit (its k-mers are numbered by their position). Only k-mers that it lacks become
vertices and edges (`beside_reference`), by the rules of `graph_cpu` for threading, counting and pruning. Cases in which
those rules do more are left to `graph_cpu`: sequences that contain a k-mer twice or go back on the reference, that
enter its first k-mer or go beyond its last, dangling ends, and chains that meet or overlap.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.assembly.beside_reference_cpu import (
    ALIVE,
    BASE,
    BASES,
    BY_BASE,
    MOST_VERTICES,
    REFUSED_EDGES,
    SOURCE,
    TARGET,
    TOTAL,
    prune_chains,
    room_for,
    thread_all,
)
from quire.rescore.assembly.k_mers_cpu import NONE
from quire.rescore.assembly.runs_cpu import room_for_runs, threading_order, write_runs
from quire.rescore.parameters import K_MER_SIZES
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.simd.compiled import compiled, inlined
from quire.simd.powers_of_ten.cpu import log10

UNKNOWN, REFUSED, SERVES = range(3)
"""State of a graph: not solved here; solved, but not usable; solved, and all its paths are known."""
_MOST_DETOURS = 3
_NOVEL_SHARE = 4  # every fourth base of the reads may begin a k-mer that the reference lacks


class TriedGraph(NamedTuple):
    """The outcome of the graph of one k-mer size.

    Attributes:
        k: length of the k-mers.
        serves: True if haplotypes were taken from it.
        complete: False if it has more than MAXIMUM_HAPLOTYPES paths; only the most likely were then kept.
        haplotypes: number of paths.
    """

    k: int
    serves: bool
    complete: bool
    haplotypes: int


class PlainGraphs(NamedTuple):
    """The solved graphs of some regions; the second axis of the arrays runs over K_MER_SIZES.

    A *detour* leaves the reference after its first `before` bases, spells others, and returns at base `after`.

    Attributes:
        kind: int8[regions, 2], UNKNOWN, REFUSED or SERVES.
        detours: int8[regions, 2], number of detours of a graph; each haplotype takes a subset of them.
        before, after: int32[regions, 2, 3], of each detour.
        offsets: int64[regions, 2, 4], start of each detour's bases in `bases`, then the end of the last one's.
        order: uint8[regions, 2, 8], the detours that each haplotype takes, as bits; the likeliest haplotype first.
        bases: uint8 codes.
    """

    kind: NDArray[np.int8]
    detours: NDArray[np.int8]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    offsets: NDArray[np.int64]
    order: NDArray[np.uint8]
    bases: NDArray[np.uint8]

    @property
    def served(self) -> NDArray[np.bool_]:
        """bool[regions]: True if a graph is solved and usable."""
        served: NDArray[np.bool_] = (self.kind == SERVES).any(axis=1)
        return served

    @property
    def settled(self) -> NDArray[np.bool_]:
        """bool[regions]: True if all graphs are solved and one is usable; otherwise larger k-mers are tried."""
        settled: NDArray[np.bool_] = (self.kind != UNKNOWN).all(axis=1) & self.served
        return settled

    def sequences(self, region: int, size: int, reference: bytes) -> list[bytes]:
        """Return the paths of a solved graph, the likeliest first; `size` is an index into K_MER_SIZES."""
        if self.kind[region, size] == REFUSED:
            return []
        count = int(self.detours[region, size])
        before, after = self.before[region, size].tolist(), self.after[region, size].tolist()
        offsets = self.offsets[region, size].tolist()
        spelled = [self.bases[begin:end].tobytes() for begin, end in pairwise(offsets[: count + 1])]
        found = []
        for taken in self.order[region, size, : 1 << count].tolist():
            parts, at = [], 0
            for detour in range(count):
                if taken >> detour & 1:
                    parts += [reference[at : before[detour]], spelled[detour]]
                    at = after[detour]
            found.append(b"".join([*parts, reference[at:]]))
        return found

    def haplotypes(self, region: int, reference: bytes) -> list[bytes]:
        """Return the haplotypes of a settled region, the reference first."""
        found = {reference: None}
        for size, detours in enumerate(self.detours[region].tolist()):
            if detours:
                found |= dict.fromkeys(self.sequences(region, size, reference))
        return list(found)

    def graphs(self, region: int) -> list[TriedGraph]:
        """Return the graphs of a settled region, one for each of K_MER_SIZES."""
        return [
            TriedGraph(k, kind == SERVES, True, 1 << detours if kind == SERVES else 0)
            for k, kind, detours in zip(
                K_MER_SIZES, self.kind[region].tolist(), self.detours[region].tolist(), strict=True
            )
        ]


def plain_graphs(reads: RegionReads, window: NDArray[np.uint8], spans: NDArray[np.int64], support: int) -> PlainGraphs:
    """Solve the graphs of some regions that need not be built.

    As in `assembly.assemble_all`.
    """
    found: PlainGraphs = _plain_graphs(reads, window, spans, support)
    return found


@compiled
def _plain_graphs(reads, window, spans, support):
    regions, sizes = len(spans), len(K_MER_SIZES)
    result = PlainGraphs(
        np.zeros((regions, sizes), np.int8),
        np.zeros((regions, sizes), np.int8),
        np.zeros((regions, sizes, _MOST_DETOURS), np.int32),
        np.zeros((regions, sizes, _MOST_DETOURS), np.int32),
        np.zeros((regions, sizes, _MOST_DETOURS + 1), np.int64),
        np.zeros((regions, sizes, 1 << _MOST_DETOURS), np.uint8),
        np.empty(sizes * len(reads.bases), np.uint8),
    )
    longest, most_bases = np.int64(0), np.int64(0)
    for r in range(regions):
        first, last = reads.region_offsets[r], reads.region_offsets[r + 1]
        longest = max(longest, spans[r, 1] - spans[r, 0])
        most_bases = max(most_bases, reads.base_offsets[last] - reads.base_offsets[first])
    runs = room_for_runs(most_bases)
    space = room_for(_slots(longest, most_bases))
    used = np.int64(0)
    for r in range(regions):
        reference = window[spans[r, 0] : spans[r, 1]]
        first, last = reads.region_offsets[r], reads.region_offsets[r + 1]
        if not _is_known(reference):
            continue
        count = write_runs(reads, threading_order(reads, first, last), runs, 0, 0)[0]
        slots = _slots(len(reference), reads.base_offsets[last] - reads.base_offsets[first])
        for size in range(sizes):
            edges = thread_all(space, runs, count, reference, K_MER_SIZES[size], slots)
            if edges == REFUSED_EDGES:
                result.kind[r, size] = REFUSED
            elif edges != NONE:
                used = _spell(space, edges, len(reference), support, result, (r, size), used)
    return PlainGraphs(
        result.kind,
        result.detours,
        result.before,
        result.after,
        result.offsets,
        result.order,
        result.bases[:used],
    )


@inlined
def _is_known(reference):
    """Return True if a reference is short enough for the tables, long enough for a graph, and without N."""
    if len(reference) <= 2 * K_MER_SIZES[1] or len(reference) > MOST_VERTICES // 2:
        return False
    for i in range(len(reference)):  # noqa: SIM110 (Numba has no all() of a generator)
        if reference[i] > 3:
            return False
    return True


@inlined
def _slots(length, bases):
    """Return the number of hash table slots for a reference and for `bases` of reads: at least twice the vertices."""
    slots = np.int64(1024)
    while slots < 2 * (length + bases // _NOVEL_SHARE + 64) and slots < 2 * MOST_VERTICES:
        slots *= 2
    return slots


@compiled
def _spell(space, count, bases, support, result, place, used):
    """Prune a graph and write its paths, if they are simple enough; return the end of the written bases."""
    r, size = place
    k = K_MER_SIZES[size]
    length, end, detours, at = bases - k + 1, used, np.int64(0), np.int64(-1)
    vertices, edges, through, spelled = space.vertices, space.edges, space.through, result.bases
    left = prune_chains(vertices, edges, count, length, support)
    scores = np.empty((_MOST_DETOURS, 2), np.float64)
    while left > 0:
        edge = _next_departure(edges, count, length, at)
        if edge == NONE or detours == _MOST_DETOURS:
            return used
        leaves = np.int64(edges[edge, SOURCE])
        result.offsets[r, size, detours] = end
        back, steps, end = _follow(vertices, edges, edge, length, left, spelled, end)
        if back <= leaves:
            return used
        scores[detours, 0], scores[detours, 1] = _scores(through, leaves, np.int64(edges[edge, TOTAL]))
        result.before[r, size, detours], result.after[r, size, detours] = leaves + k, back + k - 1
        left -= steps
        detours += 1
        at = back
    result.offsets[r, size, detours] = end
    result.kind[r, size], result.detours[r, size] = SERVES, detours
    _put_in_order(scores, detours, result.order[r, size])
    return end


@inlined
def _next_departure(edges, count, length, at):
    """Return the first remaining edge along the reference, from `at` on, that leaves it, or NONE."""
    best = np.int64(NONE)
    for edge in range(count):
        source = edges[edge, SOURCE]
        if edges[edge, ALIVE] and at <= source < length and (best == NONE or source < edges[best, SOURCE]):
            best = np.int64(edge)
    return best


@inlined
def _only_way(vertices, edges, vertex):
    """Return the only remaining edge out of a vertex beside the reference; NONE if there are none or several."""
    way = np.int64(NONE)
    for column in range(BY_BASE, BY_BASE + BASES):
        edge = np.int64(vertices[vertex, column])
        if edge != NONE and edges[edge, ALIVE]:
            if way != NONE:
                return np.int64(NONE)
            way = edge
    return way


@inlined
def _follow(vertices, edges, edge, length, left, bases, end):
    """Write the bases of the only path from an edge to the reference."""
    # Returns the reference's vertex that the path reaches, NONE if it ends before or forks; its number of edges; the
    # end of its bases.
    steps = np.int64(1)
    if _only_way(vertices, edges, edges[edge, SOURCE]) != edge:
        return np.int64(NONE), steps, end
    vertex = np.int64(edges[edge, TARGET])
    while vertex >= length:
        bases[end] = vertices[vertex, BASE]
        end += 1
        way = _only_way(vertices, edges, vertex)
        if way == NONE or steps == left:
            return np.int64(NONE), steps, end
        steps += 1
        vertex = np.int64(edges[way, TARGET])
    return vertex, steps, end


@inlined
def _scores(through, leaves, taken):
    """Return log10 shares of the reads that stay on the reference where an edge leaves it, and that take the edge."""
    reference = np.int64(1)  # the reference itself counts once
    for vertex in range(leaves + 1):
        reference += through[vertex]
    total = log10(reference + taken)
    return log10(reference) - total, log10(taken) - total


@compiled
def _put_in_order(scores, count, order):
    """Write the detours of each haplotype, as bits, in the order in which `paths.best_paths` finds the haplotypes."""
    # The likeliest partial path is extended first. Ties go to the oldest; a detour is older than the reference's edge.
    most = 1 << _MOST_DETOURS
    score, level = np.zeros(2 * most, np.float64), np.zeros(2 * most, np.int64)
    taken, waiting = np.zeros(2 * most, np.uint8), np.zeros(2 * most, np.uint8)
    waiting[0] = 1
    nodes, found = 1, 0
    while found < 1 << count:
        best = -1
        for node in range(nodes):
            if waiting[node] and (best < 0 or score[node] > score[best]):
                best = node
        waiting[best] = 0
        detour = level[best]
        if detour == count:
            order[found] = taken[best]
            found += 1
            continue
        for way in (1, 0):
            score[nodes] = score[best] + scores[detour, way]
            level[nodes], waiting[nodes] = detour + 1, 1
            taken[nodes] = taken[best] | way << detour
            nodes += 1
