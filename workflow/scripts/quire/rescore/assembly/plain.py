"""Graphs that spell the reference and few ways round parts of it, known without building them.

Most active regions come from one read's error or from one or two variants. Their graph is the reference and a few
chains of k-mers beside it, and once chains of too few reads are pruned, none is left, or some that follow one another.
So here the reference stays implicit (its k-mers are numbered by where they stand), and only what leaves it becomes
vertices and edges (`beside_reference`), threaded, counted and pruned by the very rules of `graph.py`. What those rules
treat in ways of their own is left to them: sequences that hold a k-mer twice or go back on the reference, that come to
its first k-mer or go beyond its last, ends that dangle, and chains that meet or overlap.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.assembly.beside_reference import (
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
from quire.rescore.assembly.k_mers import NONE
from quire.rescore.parameters import K_MER_SIZES, MINIMUM_BASE_QUALITY
from quire.rescore.reads.clipping import RegionReads
from quire.simd.bits import ONES, load_bytes, store_bytes
from quire.simd.compiled import compiled, inlined
from quire.simd.powers_of_ten.cpu import log10

UNKNOWN, REFUSED, SERVES = range(3)
"""What is known of a graph: nothing; it does not serve; all that it spells."""
_MOST_DETOURS = 3
_MOST_READS = 4096  # of a region: its order of threading is found by insertion
_NOVEL_SHARE = 4  # one base in so many of the reads may begin a k-mer that the reference lacks
_HIGH, _LOW = ONES << np.uint64(7), ONES * np.uint64(0x7F)
_N = ONES << np.uint64(2)  # the bit of an N, whose code is 4
_UP_TO_GOOD = ONES * np.uint64(0x80 - MINIMUM_BASE_QUALITY)  # lifts the quality of a good base to 128


class PlainGraphs(NamedTuple):
    """What is known of the graphs of some regions; the second axis is of K_MER_SIZES.

    A *detour* leaves the reference behind its first `before` bases, spells others, and is back at base `behind`.

    Attributes:
        kind: int8[regions, 2], UNKNOWN, REFUSED or SERVES.
        detours: int8[regions, 2], how many a graph has; each is taken or not.
        before, behind: int32[regions, 2, 3].
        offsets: int64[regions, 2, 4], where each detour's bases begin in `bases`, and where the last one's end.
        order: uint8[regions, 2, 8], which detours each haplotype takes (bits), the likeliest first.
        bases: uint8 codes.
    """

    kind: NDArray[np.int8]
    detours: NDArray[np.int8]
    before: NDArray[np.int32]
    behind: NDArray[np.int32]
    offsets: NDArray[np.int64]
    order: NDArray[np.uint8]
    bases: NDArray[np.uint8]

    @property
    def served(self) -> NDArray[np.bool_]:
        """bool[regions]: whether a graph is known to serve."""
        served: NDArray[np.bool_] = (self.kind == SERVES).any(axis=1)
        return served

    @property
    def settled(self) -> NDArray[np.bool_]:
        """bool[regions]: whether all graphs are known; where none of them serves, larger k-mers are tried."""
        settled: NDArray[np.bool_] = (self.kind != UNKNOWN).all(axis=1) & self.served
        return settled

    def sequences(self, region: int, size: int, reference: bytes) -> list[bytes]:
        """What a known graph spells, the likeliest first; `size` is an index into K_MER_SIZES."""
        if self.kind[region, size] == REFUSED:
            return []
        count = int(self.detours[region, size])
        before, behind = self.before[region, size].tolist(), self.behind[region, size].tolist()
        offsets = self.offsets[region, size].tolist()
        spelled = [self.bases[begin:end].tobytes() for begin, end in pairwise(offsets[: count + 1])]
        found = []
        for taken in self.order[region, size, : 1 << count].tolist():
            parts, at = [], 0
            for detour in range(count):
                if taken >> detour & 1:
                    parts += [reference[at : before[detour]], spelled[detour]]
                    at = behind[detour]
            found.append(b"".join([*parts, reference[at:]]))
        return found

    def haplotypes(self, region: int, reference: bytes) -> list[bytes]:
        """The haplotypes of a settled region, the reference first."""
        found = {reference: None}
        for size, detours in enumerate(self.detours[region].tolist()):
            if detours:
                found |= dict.fromkeys(self.sequences(region, size, reference))
        return list(found)

    def graphs(self, region: int) -> list[tuple[int, bool, bool, int]]:
        """Of a settled region's graphs: k, whether it serves, whether all paths were kept, haplotypes."""
        return [
            (k, kind == SERVES, True, 1 << detours if kind == SERVES else 0)
            for k, kind, detours in zip(
                K_MER_SIZES, self.kind[region].tolist(), self.detours[region].tolist(), strict=True
            )
        ]


class _Runs(NamedTuple):
    """Runs of good bases of a region's reads: codes[starts[i]:ends[i]], in the order in which they are threaded."""

    codes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    sample: np.ndarray


def plain_graphs(reads: RegionReads, window: NDArray[np.uint8], spans: NDArray[np.int64], support: int) -> PlainGraphs:
    """What can be said of the regions' graphs without building them.

    Args:
        reads: clipped reads of all regions.
        window: uint8 codes of the reference.
        spans: int64[regions, 2], the regions' padded spans in the window.
        support: reads that a chain of k-mers beside the reference must have.
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
    longest, most_bases, most_reads = np.int64(0), np.int64(0), np.int64(0)
    for r in range(regions):
        first, last = reads.region_offsets[r], reads.region_offsets[r + 1]
        if last - first > _MOST_READS:
            continue
        longest = max(longest, spans[r, 1] - spans[r, 0])
        most_bases = max(most_bases, reads.base_offsets[last] - reads.base_offsets[first])
        most_reads = max(most_reads, last - first)
    runs = _Runs(
        np.empty(most_bases, np.uint8),
        np.empty(most_bases + 1, np.int64),
        np.empty(most_bases + 1, np.int64),
        np.empty(most_bases + 1, np.int32),
    )
    space = room_for(_slots(longest, most_bases))
    order = np.empty(most_reads, np.int64)
    used = np.int64(0)
    for r in range(regions):
        reference = window[spans[r, 0] : spans[r, 1]]
        first, last = reads.region_offsets[r], reads.region_offsets[r + 1]
        if last - first > _MOST_READS or not _is_known(reference):
            continue
        _threading_order(reads, first, last, order)
        count = _good_runs(reads, order[: last - first], runs)
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
        result.behind,
        result.offsets,
        result.order,
        result.bases[:used],
    )


@inlined
def _is_known(reference):
    """Whether a reference has room for a graph, and no unknown base."""
    if len(reference) <= 2 * K_MER_SIZES[1] or len(reference) > MOST_VERTICES // 2:
        return False
    for i in range(len(reference)):  # noqa: SIM110 (Numba has no all() of a generator)
        if reference[i] > 3:
            return False
    return True


@inlined
def _slots(length, bases):
    """Slots of the table for a reference and so many bases of reads: at least twice the vertices."""
    slots = np.int64(1024)
    while slots < 2 * (length + bases // _NOVEL_SHARE + 64) and slots < 2 * MOST_VERTICES:
        slots *= 2
    return slots


@inlined
def _threading_order(reads, first, last, order):
    """`assembly.beside_reference_order` of reads [first, last), which nearly stand so."""
    for i in range(first, last):
        key = 2 * reads.start[i] + reads.reverse[i]
        at = i - first
        while at > 0:
            before = order[at - 1]
            if reads.sample[before] != reads.sample[i] or 2 * reads.start[before] + reads.reverse[before] <= key:
                break
            order[at] = before
            at -= 1
        order[at] = i


@inlined
def _good_runs(reads, order, runs):
    """Fill `runs` with every run of good bases as long as the shortest k-mer (`assembly.read_sequences`); their number.

    Those of exactly the k-mer's length thread nothing.
    """
    offsets, bases, qualities, samples = reads.base_offsets, reads.bases, reads.qualities, reads.sample
    codes, starts, ends, sample = runs.codes, runs.starts, runs.ends, runs.sample
    n, at = np.int64(0), np.int64(0)
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
            if at - begun > K_MER_SIZES[0]:
                starts[n], ends[n], sample[n] = begun, at, samples[i]
                n += 1
            else:
                at = begun
            begun = at
    return n


@inlined
def _are_good(bases, qualities, first):
    """Whether the eight bases from `first` on are all known and of good quality."""
    quality = load_bytes(qualities, first)
    high = (quality & _LOW) + _UP_TO_GOOD | quality  # in each byte the highest bit
    return (load_bytes(bases, first) & _N | ~high & _HIGH) == 0


@compiled
def _spell(space, count, bases, support, result, place, used):
    """Prune a graph and write down what it spells, if that is known; the end of the bases that were written."""
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
        result.before[r, size, detours], result.behind[r, size, detours] = leaves + k, back + k - 1
        left -= steps
        detours += 1
        at = back
    result.offsets[r, size, detours] = end
    result.kind[r, size], result.detours[r, size] = SERVES, detours
    _put_in_order(scores, detours, result.order[r, size])
    return end


@inlined
def _next_departure(edges, count, length, at):
    """Of the edges that are left, the first along the reference, from `at` on, that leaves it; NONE if none does."""
    best = np.int64(NONE)
    for edge in range(count):
        source = edges[edge, SOURCE]
        if edges[edge, ALIVE] and at <= source < length and (best == NONE or source < edges[best, SOURCE]):
            best = np.int64(edge)
    return best


@inlined
def _only_way(vertices, edges, vertex):
    """The one edge beside the reference that is left from a vertex on; NONE where there are none or several."""
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
    """Write down the bases of the one path from an edge to the reference.

    Returns:
        Where it comes back, NONE where it does not or it is not the only path; its edges; the end of its bases.
    """
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
    """Log10 shares of the reads that stay on the reference where an edge leaves it, and that take the edge."""
    reference = np.int64(1)  # the reference itself was threaded once
    for vertex in range(leaves + 1):
        reference += through[vertex]
    total = log10(reference + taken)
    return log10(reference) - total, log10(taken) - total


@compiled
def _put_in_order(scores, count, order):
    """Which detours each haplotype takes (bits), in the order in which `paths.best_paths` comes to them.

    A path that goes on is put off for others that are likelier so far; of equals the one that was begun first goes on,
    and a detour is begun before the reference's way.
    """
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
