"""The assembly graph: a de Bruijn graph that reads are threaded through (ReadThreadingGraph, AbstractReadThreadingGraph).

A k-mer that occurs once at most in every sequence is one vertex; a repeated k-mer becomes a new vertex wherever a read
brings it, so that short repeats do not fold the graph onto itself. Sequence 0 is the reference; its path is kept.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

NONE = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Sequences(NamedTuple):
    """What is threaded: codes (uint8, A0 C1 G2 T3 N4) end to end, sequence i is codes[starts[i]:ends[i]].

    `sample` (int32) groups the sequences; those of a sample stand together, the reference comes first.
    """

    codes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    sample: np.ndarray


class Graph(NamedTuple):
    """Vertices and edges in arrays with room to grow; `sizes` holds (vertices, edges, tracked, repeated k-mers).

    Attributes:
        k_mer: int64 per vertex, where in the codes a copy of its k-mer starts.
        first_out, first_in: int32 per vertex, heads of its lists of edges.
        out_degree, in_degree: int32 per vertex, of living edges.
        source, target, next_out, next_in: int32 per edge.
        weight: int32 per edge, times it was threaded; sample_weight: by the sample at hand; largest: by any sample.
        is_reference, alive: uint8 per edge.
        reference_path: int32, vertices of the reference.
        sizes: int64[4].
    """

    k_mer: np.ndarray
    first_out: np.ndarray
    first_in: np.ndarray
    out_degree: np.ndarray
    in_degree: np.ndarray
    source: np.ndarray
    target: np.ndarray
    next_out: np.ndarray
    next_in: np.ndarray
    weight: np.ndarray
    sample_weight: np.ndarray
    largest: np.ndarray
    is_reference: np.ndarray
    alive: np.ndarray
    reference_path: np.ndarray
    sizes: np.ndarray


@njit(cache=True, nogil=True)
def number_k_mers(sequences, k):
    """Give every distinct k-mer a number.

    Returns:
        int32 per code: number of the k-mer that starts there, NONE at the last k - 1 of a sequence;
        how many there are; uint8 per k-mer: 1 if some sequence holds it twice.
    """
    codes = sequences.codes
    slots = 1
    while slots < 2 * len(codes) + 1:
        slots *= 2
    table = np.full(slots, NONE, np.int32)
    numbers = np.full(len(codes), NONE, np.int32)
    example = np.empty(len(codes), np.int64)
    last_sequence = np.empty(len(codes), np.int32)
    repeated = np.zeros(len(codes), np.uint8)
    leading = np.uint64(1)
    for _ in range(k):
        leading *= _MULTIPLIER
    count = 0
    for s in range(len(sequences.starts)):
        value = np.uint64(0)
        for at in range(sequences.starts[s], sequences.ends[s]):
            value = value * _MULTIPLIER + np.uint64(codes[at] + 1)
            first = at - k + 1
            if first < sequences.starts[s]:
                continue
            if first > sequences.starts[s]:
                value -= leading * np.uint64(codes[first - 1] + 1)
            slot = np.int64((value ^ (value >> np.uint64(29))) & np.uint64(slots - 1))
            while table[slot] != NONE and not _same(codes, example[table[slot]], first, k):
                slot = (slot + 1) & (slots - 1)
            if table[slot] == NONE:
                table[slot] = count
                example[count] = first
                last_sequence[count] = s
                count += 1
            else:
                if last_sequence[table[slot]] == s:
                    repeated[table[slot]] = 1
                last_sequence[table[slot]] = s
            numbers[first] = table[slot]
    return numbers, count, repeated[:count]


@njit(cache=True, nogil=True)
def _same(codes, a, b, k):
    for i in range(k):
        if codes[a + i] != codes[b + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def build(sequences, k, numbers, count, repeated):
    """Thread all sequences: a `Graph`. The numbers are those of `number_k_mers`."""
    room = 16
    for s in range(len(sequences.starts)):
        room += max(0, sequences.ends[s] - sequences.starts[s] - k + 1)
    length = max(0, sequences.ends[0] - sequences.starts[0] - k + 1)
    graph = Graph(
        np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32),
        np.empty(room, np.int32), np.empty(2 * room, np.int32), np.empty(2 * room, np.int32),
        np.empty(2 * room, np.int32), np.empty(2 * room, np.int32), np.empty(2 * room, np.int32),
        np.empty(2 * room, np.int32), np.empty(2 * room, np.int32), np.empty(2 * room, np.uint8),
        np.empty(2 * room, np.uint8), np.empty(length, np.int32), np.zeros(4, np.int64),
    )  # fmt: skip
    vertex_of = np.full(count, NONE, np.int32)
    for s in range(len(sequences.starts)):
        if s > 0 and sequences.sample[s] != sequences.sample[s - 1]:
            _close_sample(graph)
        _thread(graph, sequences, s, k, numbers, repeated, vertex_of)
    _close_sample(graph)
    for number in range(count):
        graph.sizes[2] += vertex_of[number] != NONE
        graph.sizes[3] += repeated[number]
    return graph


@njit(cache=True, nogil=True)
def _thread(graph, sequences, s, k, numbers, repeated, vertex_of):
    """AbstractReadThreadingGraph.threadSequence."""
    is_reference = s == 0
    start, stop = sequences.starts[s], sequences.ends[s] - k
    if not is_reference:
        while start < stop and repeated[numbers[start]]:
            start += 1
        if start >= stop:
            return
    vertex = vertex_of[numbers[start]]
    if vertex == NONE:
        vertex = _add_vertex(graph, start, numbers[start], repeated, vertex_of)
    _count_backwards(graph, sequences.codes, start, k, vertex)
    if is_reference:
        graph.reference_path[0] = vertex
    reference_start = numbers[sequences.starts[0]]
    for at in range(start + 1, stop + 1):
        base = sequences.codes[at + k - 1]
        edge = graph.first_out[vertex]
        while edge != NONE and sequences.codes[graph.k_mer[graph.target[edge]] + k - 1] != base:
            edge = graph.next_out[edge]
        if edge != NONE:
            graph.weight[edge] += 1
            graph.sample_weight[edge] += 1
            vertex = graph.target[edge]
        else:
            number = numbers[at]
            following = vertex_of[number] if number != reference_start else NONE
            if following == NONE:
                following = _add_vertex(graph, at, number, repeated, vertex_of)
            add_edge(graph, vertex, following, is_reference)
            vertex = following
        if is_reference:
            graph.reference_path[at - start] = vertex


@njit(cache=True, nogil=True)
def _add_vertex(graph, position, number, repeated, vertex_of):
    vertex = graph.sizes[0]
    graph.sizes[0] += 1
    graph.k_mer[vertex] = position
    graph.first_out[vertex] = NONE
    graph.first_in[vertex] = NONE
    graph.out_degree[vertex] = 0
    graph.in_degree[vertex] = 0
    if not repeated[number] and vertex_of[number] == NONE:
        vertex_of[number] = vertex
    return vertex


@njit(cache=True, nogil=True)
def add_edge(graph, source, target, is_reference):
    """Add an edge of weight 1."""
    edge = graph.sizes[1]
    graph.sizes[1] += 1
    graph.source[edge] = source
    graph.target[edge] = target
    graph.next_out[edge] = graph.first_out[source]
    graph.first_out[source] = edge
    graph.next_in[edge] = graph.first_in[target]
    graph.first_in[target] = edge
    graph.out_degree[source] += 1
    graph.in_degree[target] += 1
    graph.weight[edge] = 1
    graph.sample_weight[edge] = 1
    graph.largest[edge] = 0
    graph.is_reference[edge] = is_reference
    graph.alive[edge] = 1


@njit(cache=True, nogil=True)
def _count_backwards(graph, codes, start, k, vertex):
    """Count the edges that spell the start of a read's first k-mer too (increaseCountsInMatchedKmers)."""
    for offset in range(k - 2, -1, -1):
        if graph.in_degree[vertex] != 1:
            return
        edge = graph.first_in[vertex]
        previous = graph.source[edge]
        if codes[graph.k_mer[previous] + k - 1] != codes[start + offset]:
            return
        graph.weight[edge] += 1
        graph.sample_weight[edge] += 1
        vertex = previous


@njit(cache=True, nogil=True)
def _close_sample(graph):
    """MultiSampleEdge.flushSingleSampleMultiplicity: remember the largest weight of one sample."""
    for edge in range(graph.sizes[1]):
        graph.largest[edge] = max(graph.largest[edge], graph.sample_weight[edge])
        graph.sample_weight[edge] = 0


@njit(cache=True, nogil=True)
def remove_edge(graph, edge):
    """Take an edge out of both its lists."""
    source, target = graph.source[edge], graph.target[edge]
    _unlink(graph.first_out, graph.next_out, source, edge)
    _unlink(graph.first_in, graph.next_in, target, edge)
    graph.out_degree[source] -= 1
    graph.in_degree[target] -= 1
    graph.alive[edge] = 0


@njit(cache=True, nogil=True)
def _unlink(first, following, vertex, edge):
    if first[vertex] == edge:
        first[vertex] = following[edge]
        return
    at = first[vertex]
    while following[at] != edge:
        at = following[at]
    following[at] = following[edge]


@njit(cache=True, nogil=True)
def prune(graph, minimum):
    """LowWeightChainPruner: remove chains on which no sample reaches the minimum weight; the reference stays."""
    remove = np.zeros(graph.sizes[1], np.uint8)
    chain = np.empty(graph.sizes[1], np.int32)
    for first in range(graph.sizes[1]):
        source = graph.source[first]
        if graph.in_degree[source] == 1 and graph.out_degree[source] == 1:
            continue  # inside a chain
        size = 0
        edge = first
        keep = False
        while True:
            chain[size] = edge
            size += 1
            keep |= graph.largest[edge] >= minimum or graph.is_reference[edge] == 1
            vertex = graph.target[edge]
            if graph.out_degree[vertex] != 1 or graph.in_degree[vertex] != 1:
                break
            edge = graph.first_out[vertex]
        if not keep:
            for i in range(size):
                remove[chain[i]] = 1
    for edge in range(graph.sizes[1]):
        if remove[edge]:
            remove_edge(graph, edge)


@njit(cache=True, nogil=True)
def has_cycle(graph):
    """Whether any living edges form a cycle (vertices are peeled off from the sources on)."""
    left = graph.in_degree[: graph.sizes[0]].copy()
    stack = np.empty(graph.sizes[0], np.int32)
    size = 0
    peeled = 0
    for vertex in range(graph.sizes[0]):
        if left[vertex] == 0:
            stack[size] = vertex
            size += 1
    while size > 0:
        size -= 1
        vertex = stack[size]
        peeled += 1
        edge = graph.first_out[vertex]
        while edge != NONE:
            target = graph.target[edge]
            left[target] -= 1
            if left[target] == 0:
                stack[size] = target
                size += 1
            edge = graph.next_out[edge]
    return peeled < graph.sizes[0]


@njit(cache=True, nogil=True)
def keep_connected(graph):
    """Remove all that lies on no path from the reference's source to its sink (removePathsNotConnectedToRef)."""
    forward = _reachable(graph, graph.reference_path[0], graph.first_out, graph.next_out, graph.target)
    backward = _reachable(graph, graph.reference_path[-1], graph.first_in, graph.next_in, graph.source)
    for edge in range(graph.sizes[1]):
        if graph.alive[edge]:
            source, target = graph.source[edge], graph.target[edge]
            if not (forward[source] and forward[target] and backward[source] and backward[target]):
                remove_edge(graph, edge)


@njit(cache=True, nogil=True)
def _reachable(graph, start, first, following, end):
    """uint8 per vertex: whether it can be reached from `start` along the given lists of edges."""
    seen = np.zeros(graph.sizes[0], np.uint8)
    stack = np.empty(graph.sizes[0], np.int32)
    stack[0] = start
    seen[start] = 1
    size = 1
    while size > 0:
        size -= 1
        edge = first[stack[size]]
        while edge != NONE:
            vertex = end[edge]
            if not seen[vertex]:
                seen[vertex] = 1
                stack[size] = vertex
                size += 1
            edge = following[edge]
    return seen
