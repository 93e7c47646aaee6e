"""Dangling ends of the graph: branches that leave the reference and stop are joined to it again if they align with it.

Follows AbstractReadThreadingGraph.recoverDanglingTails and recoverDanglingHeads. Without this, variants near the ends
of reads would be lost, because no k-mer after them has enough reads to return to the reference.
"""

import numpy as np

from quire.algorithms.scoring import DANGLING_END
from quire.algorithms.semiglobal.cpu import align_one
from quire.rescore.assembly.graph_cpu import (
    EDGES,
    FIRST_IN,
    FIRST_OUT,
    IN_DEGREE,
    K_MER,
    LARGEST,
    NEXT_OUT,
    OUT_DEGREE,
    SOURCE,
    TARGET,
    VERTICES,
    WEIGHT,
    add_edge,
    new_vertex,
    remove_edge,
)
from quire.rescore.assembly.k_mers_cpu import NONE
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled

_MOST_ELEMENTS = 3  # MAX_CIGAR_COMPLEXITY


@compiled
def recover(graph, codes, k, minimum_weight, minimum_branch):
    """Join dangling tails, then dangling heads, to the reference path (in place)."""
    on_reference = np.full(len(graph.vertices), NONE, np.int32)  # index on the reference path
    for place in range(len(graph.reference_path)):
        on_reference[graph.reference_path[place]] = place
    vertices = graph.sizes[VERTICES]
    for vertex in range(vertices):
        if (
            graph.vertices[vertex, OUT_DEGREE] == 0
            and graph.vertices[vertex, IN_DEGREE] > 0
            and vertex != graph.reference_path[-1]
        ):
            _recover_tail(graph, codes, k, vertex, minimum_weight, minimum_branch, on_reference)
    heads = np.zeros(vertices, np.uint8)
    for vertex in range(vertices):
        if (
            graph.vertices[vertex, IN_DEGREE] == 0
            and graph.vertices[vertex, OUT_DEGREE] > 0
            and vertex != graph.reference_path[0]
        ):
            heads[vertex] = 1
    for vertex in range(vertices):
        if heads[vertex]:
            _recover_head(graph, codes, k, vertex, minimum_weight, minimum_branch, on_reference)


@compiled
def _recover_tail(graph, codes, k, vertex, minimum_weight, minimum_branch, on_reference):
    """Join one tail (generateCigarAgainstDownwardsReferencePath and mergeDanglingTail)."""
    path = _branch(graph, vertex, True, minimum_weight, on_reference)
    if len(path) < max(1, minimum_branch) + 1 or path[0] == graph.reference_path[0]:
        return
    reference = _downward_reference(graph, path[0], path[1], on_reference)
    branch_bases = _suffixes(graph, codes, k, path)
    reference_bases = _suffixes(graph, codes, k, reference)
    elements = align_branch(reference_bases, branch_bases)
    if len(elements) == 0 or operation_of(elements[-1]) != CIGAR_MATCH:
        return
    reference_length, branch_length = _spans(elements)
    last = reference_length - 1
    matching = 0
    while (
        matching < min(len(branch_bases), last + 1)
        and reference_bases[last - matching] == branch_bases[len(branch_bases) - 1 - matching]
    ):
        matching += 1
    matching = min(matching, length_of(elements[-1]))
    if matching == 0:
        return
    from_branch = max(branch_length - matching - 1, 0)
    skipped = length_of(elements[0]) if operation_of(elements[0]) == CIGAR_DELETION else 0
    leading = 1 if skipped > 0 and skipped + matching == last + 1 else 0
    to_reference = last - matching + 1 + leading
    if to_reference != 0:
        add_edge(graph, np.int64(path[from_branch]), np.int64(reference[to_reference]), False)


@compiled
def _recover_head(graph, codes, k, vertex, minimum_weight, minimum_branch, on_reference):
    """Join one head (generateCigarAgainstUpwardsReferencePath and mergeDanglingHeadLegacy)."""
    path = _branch(graph, vertex, False, minimum_weight, on_reference)
    if len(path) < minimum_branch + 1 or path[0] == graph.reference_path[-1]:
        return
    place = on_reference[path[0]]
    reference = graph.reference_path[: place + 1][::-1].copy()
    branch_bases = _upward_bases(graph, codes, k, path)
    reference_bases = _upward_bases(graph, codes, k, reference)
    elements = align_branch(reference_bases, branch_bases)
    if len(elements) == 0 or operation_of(elements[0]) != CIGAR_MATCH:
        return
    aligned = length_of(elements[0])
    allowed = max(1, aligned // k)
    differing = 0
    merge = NONE
    for i in range(aligned):
        if reference_bases[i] != branch_bases[i]:
            differing += 1
            if differing > allowed:
                return
            merge = i
    if merge <= 0 or merge >= len(reference) - 1:
        return
    if merge < len(path):
        add_edge(graph, np.int64(reference[merge + 1]), np.int64(path[merge]), False)
        return
    reference_length, branch_length = _spans(elements)
    nodes = merge - len(path) + 2
    if len(path) - 1 + reference_length - branch_length + nodes < len(reference) and graph.sizes[
        VERTICES
    ] + nodes <= len(graph.vertices):
        add_edge(graph, np.int64(reference[merge + 1]), _grow_head(graph, path[-1], nodes), False)


@compiled
def align_branch(reference, branch):
    """Align a branch with the reference from their common start; none beyond the CIGAR elements that GATK allows."""
    elements = align_one(reference, branch, DANGLING_END)
    if operation_of(elements[-1]) == CIGAR_DELETION:
        elements = elements[:-1]
    return elements if len(elements) <= _MOST_ELEMENTS else elements[:0]


@compiled
def _spans(elements):
    """Return the bases of the reference and of the branch that CIGAR elements cover."""
    reference, branch = 0, 0
    for element in elements:
        reference += length_of(element) if operation_of(element) != CIGAR_INSERTION else 0
        branch += length_of(element) if operation_of(element) != CIGAR_DELETION else 0
    return reference, branch


@compiled
def _grow_head(graph, head, nodes):
    """Replace a head by `nodes` vertices that spell its own k-mer upwards, and return the uppermost."""
    # Follows extendDanglingPathAgainstReference. Only the last base of such a vertex is ever read, and it is a base of
    # the head's k-mer. So each vertex points one base further back into the codes than the vertex below it.
    edge = np.int64(graph.vertices[head, FIRST_OUT])
    weight = graph.edges[edge, WEIGHT]
    below = np.int64(graph.edges[edge, TARGET])
    remove_edge(graph, edge)
    for i in range(nodes):
        vertex = new_vertex(graph, graph.vertices[head, K_MER] - i)
        add_edge(graph, vertex, below, False)
        graph.edges[graph.sizes[EDGES] - 1, WEIGHT] = weight
        below = vertex
    return below


@compiled
def _branch(graph, end, is_tail, minimum_weight, on_reference):
    """Return the vertices from where a branch leaves or joins the rest to its end; none if the branch forks."""
    path = np.empty(graph.sizes[VERTICES] + 1, np.int32)  # from the end on
    size, vertex = 0, end
    for _ in range(graph.sizes[VERTICES] + 1):
        enters, leaves = graph.vertices[vertex, IN_DEGREE], graph.vertices[vertex, OUT_DEGREE]
        if is_tail:
            inside, joined, edge = enters == 1 and leaves < 2, leaves > 1, graph.vertices[vertex, FIRST_IN]
        else:
            joined, edge = on_reference[vertex] != NONE, graph.vertices[vertex, FIRST_OUT]
            inside = not joined and leaves == 1
        if not inside:
            path[size] = vertex
            return path[: size + 1 if joined else 0][::-1].copy()
        if graph.edges[edge, LARGEST] < minimum_weight:
            size = 0
        else:
            path[size] = vertex
            size += 1
        vertex = graph.edges[edge, SOURCE if is_tail else TARGET]
    return path[:0]


@compiled
def _downward_reference(graph, vertex, branch, on_reference):
    """Return the vertices from `vertex` on along the reference, or along the only other edge."""
    path = np.empty(graph.sizes[VERTICES] + 1, np.int32)
    size = 0
    first = vertex
    while size < graph.sizes[VERTICES]:
        path[size] = vertex
        size += 1
        place = on_reference[vertex]
        if place != NONE and place + 1 < len(graph.reference_path):
            vertex = graph.reference_path[place + 1]
            continue
        following = NONE
        ways = 0
        edge = graph.vertices[vertex, FIRST_OUT]
        while edge != NONE:
            if not (vertex == first and graph.edges[edge, TARGET] == branch):
                following = graph.edges[edge, TARGET]
                ways += 1
            edge = graph.edges[edge, NEXT_OUT]
        if ways != 1:
            break
        vertex = following
    return path[:size].copy()


@compiled
def _suffixes(graph, codes, k, path):
    """Return the last base of every vertex of a path."""
    bases = np.empty(len(path), np.uint8)
    for i in range(len(path)):
        bases[i] = codes[graph.vertices[path[i], K_MER] + k - 1]
    return bases


@compiled
def _upward_bases(graph, codes, k, path):
    """Return the last bases of a path's vertices, upwards; a source at its top adds the rest of its k-mer, reversed."""
    whole = graph.vertices[path[-1], IN_DEGREE] == 0
    bases = np.empty(len(path) + (k - 1 if whole else 0), np.uint8)
    copy_items(bases, 0, _suffixes(graph, codes, k, path), 0, len(path))
    for i in range(len(bases) - len(path)):
        bases[len(path) + i] = codes[graph.vertices[path[-1], K_MER] + k - 2 - i]
    return bases
