"""The assembly graph: a de Bruijn graph through which reads are threaded (GATK's AbstractReadThreadingGraph).

A k-mer that occurs at most once in every sequence is one vertex. A k-mer that some sequence repeats gets a new vertex
each time a read arrives at it by a new edge, so short repeats do not fold the graph onto itself. Sequence 0 is the
reference, whose path is kept.
"""

from typing import NamedTuple

import numpy as np

from quire.rescore.assembly.k_mers_cpu import LETTERS, NONE, equal_bases
from quire.simd.compiled import compiled, inlined

# Columns of Graph.vertices: position of the k-mer in the codes, heads of the lists of edges, numbers of living edges.
K_MER, FIRST_OUT, FIRST_IN, OUT_DEGREE, IN_DEGREE = range(5)
# Columns of Graph.edges: ends, next edges in the lists, counts (total, of the current sample, largest of a sample).
SOURCE, TARGET, NEXT_OUT, NEXT_IN, WEIGHT, SAMPLE_WEIGHT, LARGEST, IS_REFERENCE, ALIVE = range(9)

# Entries of Graph.sizes.
VERTICES, EDGES, SINGLE_K_MERS, REPEATED_K_MERS = range(4)


class Graph(NamedTuple):
    """Vertices and edges, in tables with spare rows.

    Attributes:
        vertices: int32[room, 5], columns K_MER to IN_DEGREE.
        edges: int32[room, 9], columns SOURCE to ALIVE.
        reference_path: int32[], the reference's vertices in order.
        sizes: int64[4], entries VERTICES to REPEATED_K_MERS; SINGLE_K_MERS counts k-mers with a single vertex.
    """

    vertices: np.ndarray
    edges: np.ndarray
    reference_path: np.ndarray
    sizes: np.ndarray


class _ThreadTables(NamedTuple):
    """Lookup tables of threading.

    Attributes:
        numbers, repeated: results of `number_k_mers`.
        vertex_of: int32[k-mers], the vertex of a k-mer, or NONE.
        edge_by_base: int32[vertices, letters], the edge by which a base continues a vertex, or NONE.
        through: int64[reference + 1], differences of the counts of the reference's edges: edge i was threaded
            through[0] + ... + through[i] times by the current sample.
        straight: int64[1], number of the reference's vertices if its i-th vertex is i and edge i leaves that vertex; 0
            if the reference repeats a k-mer or is not threaded yet.
    """

    numbers: np.ndarray
    repeated: np.ndarray
    vertex_of: np.ndarray
    edge_by_base: np.ndarray
    through: np.ndarray
    straight: np.ndarray


@compiled
def build(sequences, k, numbers, count, repeated):
    """Thread all sequences and return the `Graph`; the last three arguments are the results of `number_k_mers`."""
    room = 8 * k  # spare rows for dangling ends
    for s in range(len(sequences.starts)):
        room += max(0, sequences.ends[s] - sequences.starts[s] - k + 1)
    length = max(0, sequences.ends[0] - sequences.starts[0] - k + 1)
    graph = Graph(
        np.empty((room, 5), np.int32),
        np.empty((2 * room, 9), np.int32),
        np.empty(length, np.int32),
        np.zeros(4, np.int64),
    )
    tables = _ThreadTables(
        numbers,
        repeated,
        np.full(count, NONE, np.int32),
        np.empty((room, LETTERS), np.int32),
        np.zeros(length + 1, np.int64),
        np.zeros(1, np.int64),
    )
    for s in range(len(sequences.starts)):
        if s > 0 and sequences.sample[s] != sequences.sample[s - 1]:
            _close_sample(graph, tables)
        _thread(graph, sequences, s, k, tables)
        if s == 0 and graph.sizes[VERTICES] == length:
            tables.straight[0] = length
    _close_sample(graph, tables)
    for number in range(count):
        graph.sizes[SINGLE_K_MERS] += tables.vertex_of[number] != NONE
        graph.sizes[REPEATED_K_MERS] += repeated[number]
    return graph


@compiled
def no_graph():
    """Return an empty graph."""
    return Graph(np.empty((0, 5), np.int32), np.empty((0, 9), np.int32), np.empty(0, np.int32), np.zeros(4, np.int64))


@inlined
def _thread(graph, sequences, s, k, tables):
    """Thread a sequence (AbstractReadThreadingGraph.threadSequence), each stretch of the reference in one step."""
    is_reference = s == 0
    codes, numbers, edge_by_base = sequences.codes, tables.numbers, tables.edge_by_base
    edges, through, vertex_of = graph.edges, tables.through, tables.vertex_of
    start, stop = sequences.starts[s], sequences.ends[s] - k
    if not is_reference:
        while start < stop and tables.repeated[numbers[start]]:
            start += 1
        if start >= stop:
            return
    vertex = np.int64(tables.vertex_of[numbers[start]])
    if vertex == NONE:
        vertex = _add_vertex(graph, start, tables)
    _count_backwards(graph, sequences, start, k, vertex, tables)
    if is_reference:
        graph.reference_path[0] = vertex
    reference_first, straight = sequences.starts[0], tables.straight[0]
    reference_start = numbers[reference_first]
    at = start + 1
    while at <= stop:
        if vertex < straight - 1:
            ours, theirs = at + k - 1, reference_first + vertex + k
            run = equal_bases(codes, ours, ours + min(stop - at + 1, straight - 1 - vertex), codes, theirs)
            if run > 0:
                through[vertex] += 1
                through[vertex + run] -= 1
                vertex += run
                at += run
                continue
        base = codes[at + k - 1]
        edge = edge_by_base[vertex, base]
        if edge != NONE:
            edges[edge, SAMPLE_WEIGHT] += 1
            vertex = np.int64(edges[edge, TARGET])
        else:
            number = numbers[at]
            following = np.int64(vertex_of[number] if number != reference_start else NONE)
            if following == NONE:
                following = _add_vertex(graph, at, tables)
            edge_by_base[vertex, base] = graph.sizes[EDGES]
            add_edge(graph, vertex, following, is_reference)
            graph.edges[graph.sizes[EDGES] - 1, WEIGHT] = 0  # _close_sample adds the sample's weight
            vertex = following
        if is_reference:
            graph.reference_path[at - start] = vertex
        at += 1


@inlined
def _add_vertex(graph, position, tables):
    """Add a vertex and, unless its k-mer is repeated, register it as that k-mer's."""
    vertex = new_vertex(graph, position)
    number = tables.numbers[position]
    if not tables.repeated[number] and tables.vertex_of[number] == NONE:
        tables.vertex_of[number] = vertex
    for base in range(LETTERS):
        tables.edge_by_base[vertex, base] = NONE
    return vertex


@inlined
def new_vertex(graph, position):
    """Add a vertex whose k-mer starts at a position of the codes."""
    vertex = graph.sizes[VERTICES]
    graph.sizes[VERTICES] += 1
    graph.vertices[vertex, K_MER] = position
    graph.vertices[vertex, FIRST_OUT] = NONE
    graph.vertices[vertex, FIRST_IN] = NONE
    graph.vertices[vertex, OUT_DEGREE] = 0
    graph.vertices[vertex, IN_DEGREE] = 0
    return vertex


@inlined
def add_edge(graph, source, target, is_reference):
    """Add an edge of weight 1."""
    edge = graph.sizes[EDGES]
    graph.sizes[EDGES] += 1
    graph.edges[edge, SOURCE] = source
    graph.edges[edge, TARGET] = target
    graph.edges[edge, NEXT_OUT] = graph.vertices[source, FIRST_OUT]
    graph.vertices[source, FIRST_OUT] = edge
    graph.edges[edge, NEXT_IN] = graph.vertices[target, FIRST_IN]
    graph.vertices[target, FIRST_IN] = edge
    graph.vertices[source, OUT_DEGREE] += 1
    graph.vertices[target, IN_DEGREE] += 1
    graph.edges[edge, WEIGHT] = 1
    graph.edges[edge, SAMPLE_WEIGHT] = 1
    graph.edges[edge, LARGEST] = 0
    graph.edges[edge, IS_REFERENCE] = is_reference
    graph.edges[edge, ALIVE] = 1


@inlined
def _count_backwards(graph, sequences, start, k, vertex, tables):
    """Count the edges that lead to a read's first k-mer and spell its bases (increaseCountsInMatchedKmers)."""
    codes, offset = sequences.codes, k - 2
    if vertex < tables.straight[0]:
        end, reference_first, same = vertex, sequences.starts[0], True
        while same and offset >= 0 and vertex > 0 and graph.vertices[vertex, IN_DEGREE] == 1:
            same = codes[reference_first + vertex - 1 + k - 1] == codes[start + offset]
            if same:
                vertex -= 1
                offset -= 1
        tables.through[vertex] += 1
        tables.through[end] -= 1
        if not same or vertex > 0:
            return
    while offset >= 0:
        if graph.vertices[vertex, IN_DEGREE] != 1:
            return
        edge = graph.vertices[vertex, FIRST_IN]
        previous = np.int64(graph.edges[edge, SOURCE])
        if codes[graph.vertices[previous, K_MER] + k - 1] != codes[start + offset]:
            return
        graph.edges[edge, SAMPLE_WEIGHT] += 1
        vertex = previous
        offset -= 1


@compiled
def _close_sample(graph, tables):
    """Add a sample's weights to the totals and the maxima (MultiSampleEdge.flushSingleSampleMultiplicity)."""
    times = 0
    for edge in range(tables.straight[0] - 1):
        times += tables.through[edge]
        graph.edges[edge, SAMPLE_WEIGHT] += times
    tables.through[:] = 0
    for edge in range(graph.sizes[EDGES]):
        graph.edges[edge, WEIGHT] += graph.edges[edge, SAMPLE_WEIGHT]
        graph.edges[edge, LARGEST] = max(graph.edges[edge, LARGEST], graph.edges[edge, SAMPLE_WEIGHT])
        graph.edges[edge, SAMPLE_WEIGHT] = 0


@inlined
def remove_edge(graph, edge):
    """Remove an edge from both its lists."""
    source, target = np.int64(graph.edges[edge, SOURCE]), np.int64(graph.edges[edge, TARGET])
    _unlink(graph, source, edge, FIRST_OUT, NEXT_OUT)
    _unlink(graph, target, edge, FIRST_IN, NEXT_IN)
    graph.vertices[source, OUT_DEGREE] -= 1
    graph.vertices[target, IN_DEGREE] -= 1
    graph.edges[edge, ALIVE] = 0


@inlined
def _unlink(graph, vertex, edge, first, following):
    """Remove an edge from one of a vertex's lists, given by the columns `first` and `following`."""
    if graph.vertices[vertex, first] == edge:
        graph.vertices[vertex, first] = graph.edges[edge, following]
        return
    at = graph.vertices[vertex, first]
    while graph.edges[at, following] != edge:
        at = graph.edges[at, following]
    graph.edges[at, following] = graph.edges[edge, following]


@compiled
def prune(graph, minimum):
    """Remove chains, except the reference's, on which no sample reaches the minimum weight (LowWeightChainPruner).

    Return the number of edges that are left.
    """
    remove = np.zeros(graph.sizes[EDGES], np.uint8)
    chain = np.empty(graph.sizes[EDGES], np.int32)
    for first in range(graph.sizes[EDGES]):
        source = graph.edges[first, SOURCE]
        if graph.vertices[source, IN_DEGREE] == 1 and graph.vertices[source, OUT_DEGREE] == 1:
            continue  # inside a chain
        size = 0
        edge = first
        keep = False
        while True:
            chain[size] = edge
            size += 1
            keep |= graph.edges[edge, LARGEST] >= minimum or graph.edges[edge, IS_REFERENCE] == 1
            vertex = graph.edges[edge, TARGET]
            if graph.vertices[vertex, OUT_DEGREE] != 1 or graph.vertices[vertex, IN_DEGREE] != 1:
                break
            edge = graph.vertices[vertex, FIRST_OUT]
        if not keep:
            for i in range(size):
                remove[chain[i]] = 1
    left = graph.sizes[EDGES]
    for edge in range(graph.sizes[EDGES]):
        if remove[edge]:
            remove_edge(graph, edge)
            left -= 1
    return left


@compiled
def has_cycle(graph):
    """Return True if the living edges form a cycle (Kahn's algorithm)."""
    left = graph.vertices[: graph.sizes[VERTICES], IN_DEGREE].copy()
    stack = np.empty(graph.sizes[VERTICES], np.int32)
    size = 0
    peeled = 0
    for vertex in range(graph.sizes[VERTICES]):
        if left[vertex] == 0:
            stack[size] = vertex
            size += 1
    while size > 0:
        size -= 1
        vertex = stack[size]
        peeled += 1
        edge = graph.vertices[vertex, FIRST_OUT]
        while edge != NONE:
            target = graph.edges[edge, TARGET]
            left[target] -= 1
            if left[target] == 0:
                stack[size] = target
                size += 1
            edge = graph.edges[edge, NEXT_OUT]
    return peeled < graph.sizes[VERTICES]


@compiled
def keep_connected(graph):
    """Remove all edges that are on no path from the reference's source to its sink (removePathsNotConnectedToRef)."""
    forward = _reachable(graph, graph.reference_path[0], FIRST_OUT, NEXT_OUT, TARGET)
    backward = _reachable(graph, graph.reference_path[-1], FIRST_IN, NEXT_IN, SOURCE)
    for edge in range(graph.sizes[EDGES]):
        if graph.edges[edge, ALIVE]:
            source, target = graph.edges[edge, SOURCE], graph.edges[edge, TARGET]
            if not (forward[source] and forward[target] and backward[source] and backward[target]):
                remove_edge(graph, edge)


@compiled
def _reachable(graph, start, first, following, end):
    """Return uint8 per vertex: 1 if it is reachable from `start` along the lists of edges in the given columns."""
    seen = np.zeros(graph.sizes[VERTICES], np.uint8)
    stack = np.empty(graph.sizes[VERTICES], np.int32)
    stack[0] = start
    seen[start] = 1
    size = 1
    while size > 0:
        size -= 1
        edge = graph.vertices[stack[size], first]
        while edge != NONE:
            vertex = graph.edges[edge, end]
            if not seen[vertex]:
                seen[vertex] = 1
                stack[size] = vertex
                size += 1
            edge = graph.edges[edge, following]
    return seen
