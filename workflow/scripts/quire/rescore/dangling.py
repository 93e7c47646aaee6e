"""Ends of the graph that leave the reference and stop: joined to it again where they align with it.

AbstractReadThreadingGraph.recoverDanglingTails and recoverDanglingHeads. Variants close to where reads end would
otherwise be lost, because no k-mer after them has enough reads to return to the reference.
"""

import numpy as np
from numba import njit

from quire.rescore.graph import (
    FIRST_IN,
    FIRST_OUT,
    IN_DEGREE,
    K_MER,
    LARGEST,
    NEXT_OUT,
    NONE,
    OUT_DEGREE,
    SOURCE,
    TARGET,
    WEIGHT,
    add_edge,
    new_vertex,
    remove_edge,
)

_MATCH, _MISMATCH, _GAP_OPEN, _GAP_EXTEND = 25, -50, -110, -6  # SmithWatermanAlignmentConstants.STANDARD_NGS
_MOST_ELEMENTS = 3  # MAX_CIGAR_COMPLEXITY
# Typed constants: a plain one would be a type of its own to Numba, and every helper compiled again for it.
_ALIGNED, _ADDED, _SKIPPED, _ONE = np.uint8(0), np.uint8(1), np.uint8(2), np.int64(1)


@njit(cache=True, nogil=True)
def recover(graph, codes, k, minimum_weight, minimum_branch):
    """Join dangling tails, then dangling heads, to the reference path (in place)."""
    on_reference = np.full(len(graph.vertices), NONE, np.int32)  # place on the reference path
    for place in range(len(graph.reference_path)):
        on_reference[graph.reference_path[place]] = place
    vertices = graph.sizes[0]
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


@njit(cache=True, nogil=True)
def _recover_tail(graph, codes, k, vertex, minimum_weight, minimum_branch, on_reference):
    """generateCigarAgainstDownwardsReferencePath and mergeDanglingTail."""
    path = _upward_path(graph, vertex, minimum_weight)
    if len(path) < max(1, minimum_branch) + 1 or path[0] == graph.reference_path[0]:
        return
    reference = _downward_reference(graph, path[0], path[1], on_reference)
    branch_bases = _suffixes(graph, codes, k, path)
    reference_bases = _suffixes(graph, codes, k, reference)
    operations, lengths, size = align_ends(reference_bases, branch_bases)
    if size > 0 and operations[size - 1] == 2:
        size -= 1
    if size == 0 or size > _MOST_ELEMENTS or operations[size - 1] != 0:
        return
    reference_length, branch_length = 0, 0
    for i in range(size):
        reference_length += lengths[i] if operations[i] != 1 else 0
        branch_length += lengths[i] if operations[i] != 2 else 0
    last = reference_length - 1
    matching = 0
    while (
        matching < min(len(branch_bases), last + 1)
        and reference_bases[last - matching] == branch_bases[len(branch_bases) - 1 - matching]
    ):
        matching += 1
    matching = min(matching, lengths[size - 1])
    if matching == 0:
        return
    from_branch = max(branch_length - matching - 1, 0)
    leading = 1 if operations[0] == 2 and lengths[0] + matching == last + 1 else 0
    to_reference = last - matching + 1 + leading
    if to_reference != 0:
        add_edge(graph, np.int64(path[from_branch]), np.int64(reference[to_reference]), False)


@njit(cache=True, nogil=True)
def _recover_head(graph, codes, k, vertex, minimum_weight, minimum_branch, on_reference):
    """generateCigarAgainstUpwardsReferencePath and mergeDanglingHeadLegacy."""
    path = _downward_path(graph, vertex, minimum_weight, on_reference)
    if len(path) < minimum_branch + 1 or path[0] == graph.reference_path[-1]:
        return
    place = on_reference[path[0]]
    reference = graph.reference_path[: place + 1][::-1].copy()
    branch_bases = _upward_bases(graph, codes, k, path)
    reference_bases = _upward_bases(graph, codes, k, reference)
    operations, lengths, size = align_ends(reference_bases, branch_bases)
    if size > 0 and operations[size - 1] == 2:
        size -= 1
    if size == 0 or size > _MOST_ELEMENTS or operations[0] != 0:
        return
    allowed = max(1, lengths[0] // k)
    differing = 0
    merge = NONE
    for i in range(lengths[0]):
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
    offset = 0
    for i in range(size):
        offset += (lengths[i] if operations[i] != 1 else 0) - (lengths[i] if operations[i] != 2 else 0)
    nodes = merge - len(path) + 2
    if len(path) - 1 + offset + nodes < len(reference) and graph.sizes[0] + nodes <= len(graph.vertices):
        add_edge(graph, np.int64(reference[merge + 1]), _grow_head(graph, path[-1], nodes), False)


@njit(cache=True, nogil=True)
def _grow_head(graph, head, nodes):
    """Put `nodes` vertices, the uppermost returned, in place of a head: its own k-mer unrolled upward.

    extendDanglingPathAgainstReference. Only the last base of such a vertex is ever read, and that is a base of the
    head's k-mer, so each points into the codes one base before the one below it.
    """
    edge = np.int64(graph.vertices[head, FIRST_OUT])
    weight = graph.edges[edge, WEIGHT]
    below = np.int64(graph.edges[edge, TARGET])
    remove_edge(graph, edge)
    for i in range(nodes):
        vertex = new_vertex(graph, graph.vertices[head, K_MER] - i)
        add_edge(graph, vertex, below, False)
        graph.edges[graph.sizes[1] - 1, WEIGHT] = weight
        below = vertex
    return below


@njit(cache=True, nogil=True)
def _upward_path(graph, vertex, minimum_weight):
    """Vertices from the common ancestor down to a tail; empty if the branch forks on the way."""
    path = np.empty(graph.sizes[0] + 1, np.int32)  # from the tail up
    size = 0
    steps = 0
    while graph.vertices[vertex, IN_DEGREE] == 1 and graph.vertices[vertex, OUT_DEGREE] < 2:
        edge = graph.vertices[vertex, FIRST_IN]
        if graph.edges[edge, LARGEST] < minimum_weight:
            size = 0
        else:
            path[size] = vertex
            size += 1
        vertex = graph.edges[edge, SOURCE]
        steps += 1
        if steps > graph.sizes[0]:
            return path[:0]
    if graph.vertices[vertex, OUT_DEGREE] <= 1:
        return path[:0]
    path[size] = vertex
    return path[: size + 1][::-1].copy()


@njit(cache=True, nogil=True)
def _downward_path(graph, vertex, minimum_weight, on_reference):
    """Vertices from the reference up to a head; empty if the branch forks on the way."""
    path = np.empty(graph.sizes[0] + 1, np.int32)
    size = 0
    steps = 0
    while on_reference[vertex] == NONE and graph.vertices[vertex, OUT_DEGREE] == 1:
        edge = graph.vertices[vertex, FIRST_OUT]
        if graph.edges[edge, LARGEST] < minimum_weight:
            size = 0
        else:
            path[size] = vertex
            size += 1
        vertex = graph.edges[edge, TARGET]
        steps += 1
        if steps > graph.sizes[0]:
            return path[:0]
    if on_reference[vertex] == NONE:
        return path[:0]
    path[size] = vertex
    return path[: size + 1][::-1].copy()


@njit(cache=True, nogil=True)
def _downward_reference(graph, vertex, branch, on_reference):
    """Vertices from `vertex` on along the reference, or along the only other way there is."""
    path = np.empty(graph.sizes[0] + 1, np.int32)
    size = 0
    first = vertex
    while size < graph.sizes[0]:
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


@njit(cache=True, nogil=True)
def _suffixes(graph, codes, k, path):
    """Last base of every vertex of a path."""
    bases = np.empty(len(path), np.uint8)
    for i in range(len(path)):
        bases[i] = codes[graph.vertices[path[i], K_MER] + k - 1]
    return bases


@njit(cache=True, nogil=True)
def _upward_bases(graph, codes, k, path):
    """Bases met going up a path whose last vertex may be a source, whose whole k-mer then counts."""
    whole = graph.vertices[path[-1], IN_DEGREE] == 0
    bases = np.empty(len(path) + (k - 1 if whole else 0), np.uint8)
    for i in range(len(path)):
        bases[i] = codes[graph.vertices[path[i], K_MER] + k - 1]
    for i in range(len(bases) - len(path)):
        bases[len(path) + i] = codes[graph.vertices[path[-1], K_MER] + k - 2 - i]
    return bases


@njit(cache=True, nogil=True)
def align_ends(reference, branch):
    """Align a branch with the reference from their common start on; the reference's end is free (LEADING_INDEL).

    Returns:
        uint8 operations (M0 I1 D2), int64 lengths, number of elements.
    """
    rows, columns = len(reference), len(branch)
    backtrack = np.zeros((rows + 1, columns + 1), np.int16)
    previous = np.empty(columns + 1, np.int32)
    current = np.empty(columns + 1, np.int32)
    gap_down = np.full(columns + 1, -(1 << 30), np.int32)
    size_down = np.zeros(columns + 1, np.int32)
    previous[0] = 0
    for j in range(1, columns + 1):
        previous[j] = _GAP_OPEN + (j - 1) * _GAP_EXTEND
    best = np.int64(-(1 << 30))
    best_row = np.int64(0)
    for i in range(1, rows + 1):
        current[0] = _GAP_OPEN + (i - 1) * _GAP_EXTEND
        gap_right = -(1 << 30)
        size_right = 0
        base = reference[i - 1]
        for j in range(1, columns + 1):
            diagonal = previous[j - 1] + (_MATCH if base == branch[j - 1] else _MISMATCH)
            opened = previous[j] + _GAP_OPEN
            gap_down[j] += _GAP_EXTEND
            size_down[j] += 1
            if opened > gap_down[j]:
                gap_down[j] = opened
                size_down[j] = 1
            opened = current[j - 1] + _GAP_OPEN
            gap_right += _GAP_EXTEND
            size_right += 1
            if opened > gap_right:
                gap_right = opened
                size_right = 1
            if diagonal >= gap_down[j] and diagonal >= gap_right:
                current[j] = diagonal
            elif gap_right >= gap_down[j]:
                current[j] = gap_right
                backtrack[i, j] = -size_right
            else:
                current[j] = gap_down[j]
                backtrack[i, j] = size_down[j]
        if current[columns] >= best:
            best, best_row = current[columns], i
        previous, current = current, previous
    return _trace(backtrack, best_row, columns)


@njit(cache=True, nogil=True)
def _trace(backtrack, i, j):
    """CIGAR elements of the path that ends at cell (i, j)."""
    operations = np.empty(i + j + 2, np.uint8)
    lengths = np.empty(i + j + 2, np.int64)
    size = np.int64(0)
    while i > 0 and j > 0:
        step = np.int64(backtrack[i, j])
        if step == 0:
            i, j = i - 1, j - 1
            size = _append(operations, lengths, size, _ALIGNED, _ONE)
        elif step > 0:
            i -= step
            size = _append(operations, lengths, size, _SKIPPED, step)
        else:
            j += step
            size = _append(operations, lengths, size, _ADDED, -step)
    if i > 0:
        size = _append(operations, lengths, size, _SKIPPED, i)
    elif j > 0:
        size = _append(operations, lengths, size, _ADDED, j)
    for e in range(size // 2):
        operations[e], operations[size - 1 - e] = operations[size - 1 - e], operations[e]
        lengths[e], lengths[size - 1 - e] = lengths[size - 1 - e], lengths[e]
    return operations, lengths, size


@njit(cache=True, nogil=True)
def _append(operations, lengths, size, operation, length):
    if size > 0 and operations[size - 1] == operation:
        lengths[size - 1] += length
        return size
    operations[size] = operation
    lengths[size] = length
    return size + 1
