"""Threading of sequences along an implicit reference: only k-mers that it lacks become vertices and edges.

See `plain`; the rules are those of `graph_cpu`.
"""

from typing import NamedTuple

import numpy as np

from quire.rescore.assembly.k_mers_cpu import NONE, equal_bases
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

REFUSED_EDGES = -2
BASES = 4
MOST_VERTICES = (1 << 14) - 2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_NUMBER_BITS = np.uint64(14)  # of a slot of the table; the rest holds up to 25 bases
_NUMBER = np.uint64((1 << 14) - 1)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
# Columns of vertices (the reference's k-mers in order, then the others): the edges beside the reference by the base
# that they add, or NONE; numbers of edges in and out, including the reference's; the last edges in and out that were
# added beside the reference; for vertices beside the reference, the last sequence with the k-mer, and its last base.
BY_BASE, INCOMING, OUTGOING, LAST_IN, LAST_OUT, SEEN_IN, BASE, VERTEX_COLUMNS = 0, 4, 5, 6, 7, 8, 9, 10
# Columns of edges beside the reference: ends; number of times SAMPLE threaded it, most times of any earlier sample,
# total; whether it is left after pruning; scratch list of the edges of the current chain.
SOURCE, TARGET, WEIGHT, LARGEST, SAMPLE, TOTAL, ALIVE, CHAIN = range(8)


class Beside(NamedTuple):
    """Workspace, reused for every graph.

    Attributes:
        table: uint64[slots], k-mer and vertex, or _EMPTY.
        vertices: int32[vertices, 10], columns BY_BASE to BASE.
        edges: int32[edges, 8], columns SOURCE to CHAIN.
        through: int32[vertices + 1], differences of the counts of the reference's edges: edge i was threaded
            through[0] + ... + through[i] times.
    """

    table: np.ndarray
    vertices: np.ndarray
    edges: np.ndarray
    through: np.ndarray


class Run(NamedTuple):
    """A run of good bases: its number, its bases [start, end) in the codes, and its sample."""

    number: int
    start: int
    end: int
    sample: int


@compiled
def room_for(slots):
    """Allocate the workspace for graphs with at most `slots` hash table slots."""
    most = slots // 2
    return Beside(
        np.empty(slots, np.uint64),
        np.empty((most, VERTEX_COLUMNS), np.int32),
        np.empty((BASES * most, CHAIN + 1), np.int32),
        np.empty(most + 1, np.int32),
    )


@compiled
def thread_all(space, runs, count, reference, k, slots):
    """Thread all runs along a reference; return the edges beside it, NONE to build the graph, or REFUSED_EDGES."""
    length = len(reference) - k + 1
    table, vertices, edges, through = space.table[:slots], space.vertices, space.edges, space.through
    if not _number_reference(table, reference, k):
        return np.int64(REFUSED_EDGES)
    for vertex in range(length):
        for column in range(VERTEX_COLUMNS):
            vertices[vertex, column] = NONE
        vertices[vertex, INCOMING] = vertices[vertex, OUTGOING] = 1
    vertices[0, INCOMING] = vertices[length - 1, OUTGOING] = 0
    through[: length + 1] = 0
    space = borrowed(Beside(table, vertices, edges, through))
    counts = length, np.int64(0)
    for s in range(count):
        run = Run(s, runs.starts[s], runs.ends[s], runs.sample[s])
        if run.end - run.start > k:
            counts = _thread(space, runs.codes, run, reference, k, counts)
            if counts[0] == NONE:
                return np.int64(NONE)
    return counts[1]


@inlined
def _number_reference(table, reference, k):
    """Enter the reference's k-mers; return False if one occurs twice."""
    table[:] = _EMPTY
    value, mask = np.uint64(0), (np.uint64(1) << np.uint64(2 * k)) - np.uint64(1)
    for i in range(len(reference)):
        value = (value << np.uint64(2) | np.uint64(reference[i])) & mask
        if i >= k - 1:
            slot = _slot(table, value)
            if table[slot] != _EMPTY:
                return False
            table[slot] = value << _NUMBER_BITS | np.uint64(i - k + 1)
    return True


@inlined
def _slot(table, value):
    """Return the slot of a k-mer, or the empty slot for it."""
    last = np.uint64(len(table) - 1)
    hashed = value * _MULTIPLIER
    slot = (hashed ^ hashed >> np.uint64(32)) & last
    while table[slot] != _EMPTY and table[slot] >> _NUMBER_BITS != value:
        slot = slot + np.uint64(1) & last
    return slot


@inlined
def _new_vertex(vertices, vertex, base, s):
    """Add a vertex that the reference lacks."""
    for column in range(BY_BASE, BY_BASE + BASES):
        vertices[vertex, column] = NONE
    vertices[vertex, INCOMING] = vertices[vertex, OUTGOING] = 0
    vertices[vertex, SEEN_IN] = s
    vertices[vertex, BASE] = base


@inlined
def _thread(space, codes, run, reference, k, counts):
    """Thread a run; return the new numbers of vertices and edges, NONE if the graph must be built."""
    table, vertices, edges, through = space
    s, start, stop, sample = run
    length, most = len(reference) - k + 1, min(len(table) // 2, MOST_VERTICES)
    held, added = counts
    nothing = np.int64(NONE), np.int64(NONE)
    mask = (np.uint64(1) << np.uint64(2 * k)) - np.uint64(1)
    value = np.uint64(0)
    for i in range(start, start + k):
        value = value << np.uint64(2) | np.uint64(codes[i])
    slot = _slot(table, value)
    front = np.int64(0)  # after the last of the reference's k-mers that the run has met
    if table[slot] == _EMPTY:
        if held >= most:
            return nothing
        vertex = held
        table[slot] = value << _NUMBER_BITS | np.uint64(vertex)
        _new_vertex(vertices, vertex, codes[start + k - 1], s)
        held += 1
    else:
        vertex = np.int64(table[slot] & _NUMBER)
        if vertex < length:
            front = vertex + 1
        else:
            vertices[vertex, SEEN_IN] = s
        _count_backwards(vertices, edges, through, vertex, length, sample, k)
    at, known = start + k, start + k - 1  # `value` holds the k bases up to `known`
    while at < stop:
        if vertex < length - 1:
            same = equal_bases(codes, at, stop, reference, vertex + k)
            if same > 0:
                through[vertex] += 1
                vertex += same
                through[vertex] -= 1
                at += same
                front = vertex + 1
                continue
        elif vertex == length - 1:
            return nothing
        base = codes[at]
        edge = np.int64(vertices[vertex, BY_BASE + base])
        if edge != NONE:
            _count(edges, edge, sample)
            following = np.int64(edges[edge, TARGET])
        else:
            for i in range(max(known, at - k) + 1, at + 1):
                value = (value << np.uint64(2) | np.uint64(codes[i])) & mask
            known = at
            slot = _slot(table, value)
            if table[slot] == _EMPTY:
                if held >= most:
                    return nothing
                following = held
                table[slot] = value << _NUMBER_BITS | np.uint64(following)
                _new_vertex(vertices, following, base, NONE)
                held += 1
            else:
                following = np.int64(table[slot] & _NUMBER)
                if following == 0:
                    return nothing
            _new_edge(edges, added, vertex, following, sample)
            vertices[vertex, BY_BASE + base] = vertices[vertex, LAST_OUT] = vertices[following, LAST_IN] = added
            vertices[vertex, OUTGOING] += 1
            vertices[following, INCOMING] += 1
            added += 1
        if following < length:
            if following < front:
                return nothing
            front = following + 1
        elif vertices[following, SEEN_IN] == s:
            return nothing
        else:
            vertices[following, SEEN_IN] = s
        vertex = following
        at += 1
    return held, added


@inlined
def _new_edge(edges, edge, source, target, sample):
    edges[edge, SOURCE], edges[edge, TARGET], edges[edge, SAMPLE] = source, target, sample
    edges[edge, WEIGHT] = edges[edge, TOTAL] = edges[edge, ALIVE] = 1
    edges[edge, LARGEST] = 0


@inlined
def _count(edges, edge, sample):
    """Count an edge once more for a sample."""
    if edges[edge, SAMPLE] != sample:
        edges[edge, LARGEST] = max(edges[edge, LARGEST], edges[edge, WEIGHT])
        edges[edge, WEIGHT], edges[edge, SAMPLE] = 0, sample
    edges[edge, WEIGHT] += 1
    edges[edge, TOTAL] += 1


@inlined
def _count_backwards(vertices, edges, through, vertex, length, sample, k):
    """Count the edges that lead to a run's first k-mer and spell its bases, back to a vertex with several edges in."""
    steps = k - 1
    while steps > 0 and vertices[vertex, INCOMING] == 1:
        if vertex < length:
            through[vertex] -= 1
            vertex -= 1
            through[vertex] += 1
        else:
            edge = np.int64(vertices[vertex, LAST_IN])
            _count(edges, edge, sample)
            vertex = np.int64(edges[edge, SOURCE])
        steps -= 1


@inlined
def _inside_a_chain(vertices, vertex, length):
    """Return True if a vertex beside the reference has one edge in and one out."""
    return vertex >= length and vertices[vertex, INCOMING] == 1 and vertices[vertex, OUTGOING] == 1


@inlined
def prune_chains(vertices, edges, count, length, support):
    """Remove chains on which no sample reaches the support (`graph.prune`); return the number of remaining edges."""
    left = count
    for first in range(count):
        if _inside_a_chain(vertices, edges[first, SOURCE], length):
            continue
        size, edge, keep = np.int64(0), np.int64(first), False
        while True:
            edges[size, CHAIN] = edge
            size += 1
            keep |= max(edges[edge, LARGEST], edges[edge, WEIGHT]) >= support
            vertex = np.int64(edges[edge, TARGET])
            if not _inside_a_chain(vertices, vertex, length):
                break
            edge = np.int64(vertices[vertex, LAST_OUT])
        if not keep:
            left -= size
            for i in range(size):
                edges[edges[i, CHAIN], ALIVE] = 0
    return left
