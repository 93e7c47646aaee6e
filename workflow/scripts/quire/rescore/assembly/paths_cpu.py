"""The likeliest paths through an assembly graph (GraphBasedKBestHaplotypeFinder)."""

from heapq import heappop, heappush

import numpy as np

from quire.rescore.assembly.graph_cpu import FIRST_OUT, K_MER, NEXT_OUT, OUT_DEGREE, TARGET, VERTICES, WEIGHT
from quire.rescore.assembly.k_mers_cpu import NONE
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten.cpu import log10


@compiled
def best_paths(graph, codes, k, most):
    """Return at most `most` paths from the reference's source to its sink, by descending product of edge shares.

    The graph has no cycle, and every vertex with edges is on such a path. Ties are ordered by discovery.

    Returns:
        True if there are no further paths; uint8 codes end to end, int64[n + 1] offsets.
    """
    sink = graph.reference_path[-1]
    branches = 1
    for vertex in range(graph.sizes[VERTICES]):
        branches += graph.vertices[vertex, OUT_DEGREE] if graph.vertices[vertex, OUT_DEGREE] > 1 else 0
    room = branches * most + 2
    # A node is a path from the source to a branching vertex or the sink: the node that it extends, the edge by which it
    # does, its last vertex, and its number of bases.
    parent = np.empty(room, np.int64)
    edge_of = np.empty(room, np.int32)
    end = np.empty(room, np.int32)
    length = np.empty(room, np.int64)
    visits = np.zeros(graph.sizes[VERTICES], np.int32)
    parent[0], edge_of[0] = NONE, NONE
    end[0], steps = _walk(graph, graph.reference_path[0], sink)
    length[0] = k + steps
    waiting = [(0.0, 0)]  # -log10 of the product, and node
    nodes, found = 1, 0
    results = np.empty(most, np.int64)
    while len(waiting) > 0 and found < most:
        penalty, node = heappop(waiting)
        vertex = end[node]
        if vertex == sink:
            results[found] = node
            found += 1
            continue
        visits[vertex] += 1
        if visits[vertex] > most:
            continue
        total = 0
        edge = graph.vertices[vertex, FIRST_OUT]
        while edge != NONE:
            total += graph.edges[edge, WEIGHT]
            edge = graph.edges[edge, NEXT_OUT]
        edge = graph.vertices[vertex, FIRST_OUT]
        while edge != NONE:
            parent[nodes] = node
            edge_of[nodes] = edge
            end[nodes], steps = _walk(graph, graph.edges[edge, TARGET], sink)
            length[nodes] = length[node] + 1 + steps
            heappush(waiting, (penalty - (log10(graph.edges[edge, WEIGHT]) - log10(total)), nodes))
            nodes += 1
            edge = graph.edges[edge, NEXT_OUT]
    bases, offsets = _spell(graph, codes, k, results[:found], parent, edge_of, length)
    return len(waiting) == 0, bases, offsets


@compiled
def _walk(graph, vertex, sink):
    """Follow single edges from a vertex to the first that forks, or to the sink; return it and the number of steps."""
    steps = 0
    while vertex != sink and graph.vertices[vertex, OUT_DEGREE] == 1:
        vertex = graph.edges[graph.vertices[vertex, FIRST_OUT], TARGET]
        steps += 1
    return vertex, steps


@compiled
def _spell(graph, codes, k, results, parent, edge_of, length):
    """Return codes of the paths that end in the nodes `results`, end to end, and their offsets."""
    sink = graph.reference_path[-1]
    offsets = np.zeros(len(results) + 1, np.int64)
    for i in range(len(results)):
        offsets[i + 1] = offsets[i] + length[results[i]]
    bases = np.empty(offsets[-1], np.uint8)
    for i in range(len(results)):
        node = results[i]
        at = offsets[i + 1]
        while node != NONE:
            before = length[parent[node]] if parent[node] != NONE else k - 1
            at = offsets[i] + before
            if parent[node] == NONE:
                vertex = graph.reference_path[0]
                for b in range(k - 1):
                    bases[offsets[i] + b] = codes[graph.vertices[vertex, K_MER] + b]
            else:
                vertex = graph.edges[edge_of[node], TARGET]
            bases[at] = codes[graph.vertices[vertex, K_MER] + k - 1]
            while vertex != sink and graph.vertices[vertex, OUT_DEGREE] == 1:
                vertex = graph.edges[graph.vertices[vertex, FIRST_OUT], TARGET]
                at += 1
                bases[at] = codes[graph.vertices[vertex, K_MER] + k - 1]
            node = parent[node]
    return bases, offsets
