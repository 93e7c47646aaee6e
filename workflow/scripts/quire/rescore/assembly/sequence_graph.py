"""Selection of haplotypes if a graph spells more than are kept (SeqGraph, GraphBasedKBestHaplotypeFinder).

GATK does not choose among paths of k-mers but among paths of a graph of sequences: chains become one vertex, and
the common ends of neighbouring branches are merged. The paths spell the same sequences as before, but some edges have
other weights: a branch that has no bases of its own left carries the sum of two. This decides which haplotypes are kept
if there are too many. Few regions need it, so it is plain Python.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile

import numpy as np
from numpy.typing import NDArray

from quire.rescore.assembly.graph_cpu import ALIVE, EDGES, IS_REFERENCE, K_MER, SOURCE, TARGET, WEIGHT, Graph
from quire.simd.powers_of_ten.cpu import log10

_MOST_ROUNDS = 100  # MAX_REASONABLE_SIMPLIFICATION_CYCLES
_ROUNDS_BEFORE_COMPARING = 5
_SHORTEST_MERGED_TAIL = 10  # MIN_COMMON_SEQUENCE_TO_MERGE_SOURCE_SINK_VERTICES


@dataclass(slots=True)
class Edge:
    """An edge: its weight, and whether it is on the reference path."""

    weight: int
    is_reference: bool


class SequenceGraph:
    """A directed graph of sequences of codes; vertices and edges keep the order of their creation.

    Attributes:
        sequences: the codes of each vertex, by its number.
        following: edges out of each vertex, by the other vertex's number.
        preceding: the same edges, into each vertex.
    """

    def __init__(self) -> None:
        self.sequences: dict[int, bytes] = {}
        self.following: dict[int, dict[int, Edge]] = {}
        self.preceding: dict[int, dict[int, Edge]] = {}
        self._numbers = count()

    def add(self, sequence: bytes) -> int:
        """Add a vertex."""
        vertex = next(self._numbers)
        self.sequences[vertex] = sequence
        self.following[vertex] = {}
        self.preceding[vertex] = {}
        return vertex

    def connect(self, source: int, target: int, weight: int, is_reference: bool) -> None:
        """Add an edge, unless there is one already."""
        if target not in self.following[source]:
            edge = Edge(weight, is_reference)
            self.following[source][target] = edge
            self.preceding[target][source] = edge

    def remove(self, vertices: Iterable[int]) -> None:
        """Remove vertices and their edges."""
        for vertex in vertices:
            for target in self.following.pop(vertex):
                self.preceding[target].pop(vertex, None)
            for source in self.preceding.pop(vertex):
                if source in self.following:
                    self.following[source].pop(vertex, None)
            del self.sequences[vertex]

    def is_reference(self, vertex: int) -> bool:
        """Return True if the reference path contains the vertex."""
        edges = (*self.following[vertex].values(), *self.preceding[vertex].values())
        return any(edge.is_reference for edge in edges) or len(self.sequences) == 1

    def starts_reference(self, vertex: int) -> bool:
        """Return True if the reference path starts at the vertex."""
        return self.is_reference(vertex) and not any(e.is_reference for e in self.preceding[vertex].values())

    def ends_reference(self, vertex: int) -> bool:
        """Return True if the reference path ends at the vertex."""
        return self.is_reference(vertex) and not any(e.is_reference for e in self.following[vertex].values())

    def structure(self) -> tuple[int, int, frozenset[bytes], frozenset[tuple[bytes, bytes]]]:
        """Return counts, sequences and connected sequences, which are the same for equal graphs (graphEquals)."""
        edges = [(a, b) for a, targets in self.following.items() for b in targets]
        connected = frozenset((self.sequences[a], self.sequences[b]) for a, b in edges)
        return len(self.sequences), len(edges), frozenset(self.sequences.values()), connected


def simplified(graph: Graph, codes: NDArray[np.uint8], k: int) -> SequenceGraph:
    """Return the simplified sequence graph of a cleaned graph of k-mers (toSequenceGraph, cleanupSeqGraph).

    The graph's living edges all lie between the ends of the reference path; `codes` are those of `ThreadedSequences`.
    """
    result = SequenceGraph()
    edges = graph.edges[: graph.sizes[EDGES]]
    edges = edges[edges[:, ALIVE] == 1]
    numbers = {}
    entered = set(edges[:, TARGET].tolist())
    for vertex in sorted({int(graph.reference_path[0]), *entered, *edges[:, SOURCE].tolist()}):
        last = int(graph.vertices[vertex, K_MER]) + k
        numbers[vertex] = result.add(codes[last - 1 if vertex in entered else last - k : last].tobytes())
    for edge in edges:
        result.connect(
            numbers[int(edge[SOURCE])], numbers[int(edge[TARGET])], int(edge[WEIGHT]), bool(edge[IS_REFERENCE])
        )
    for _ in range(2):  # as in GATK: if the first call stops because it cycles, the second runs one cycle more
        simplify(result)
    return result


def simplify(graph: SequenceGraph) -> None:
    """Merge the common parts of branches until nothing more can be merged (simplifyGraph)."""
    zip_chains(graph)
    before = None
    for number in range(_MOST_ROUNDS + 1):
        changed = [
            _until_complete(graph, merge_diamond),
            _until_complete(graph, merge_tails),
            _until_complete(graph, partial(split_shared_end, done=set())),
            _until_complete(graph, merge_equal_parents),
            zip_chains(graph),
        ]
        if not any(changed):
            return
        if number > _ROUNDS_BEFORE_COMPARING:
            now = graph.structure()
            if now == before:
                return
            before = now


def _until_complete(graph: SequenceGraph, transform: Callable[[SequenceGraph, int], bool]) -> bool:
    """Transform the first vertex that can be, starting over each time (transformUntilComplete)."""
    changed = False
    while any(transform(graph, vertex) for vertex in list(graph.sequences)):
        changed = True
    return changed


def zip_chains(graph: SequenceGraph) -> bool:
    """Merge chains without branches into one vertex, if all or none of their vertices are on the reference path."""
    changed = False
    for start in [vertex for vertex in graph.sequences if _starts_chain(graph, vertex)]:
        chain = [start]
        is_reference = graph.is_reference(start)
        while len(graph.following[chain[-1]]) == 1:
            target = next(iter(graph.following[chain[-1]]))
            if len(graph.preceding[target]) != 1 or graph.is_reference(target) != is_reference:
                break
            chain.append(target)
        if len(chain) > 1:
            merged = graph.add(b"".join(graph.sequences[vertex] for vertex in chain))
            for target, edge in graph.following[chain[-1]].items():
                graph.connect(merged, target, edge.weight, edge.is_reference)
            for source, edge in graph.preceding[start].items():
                graph.connect(source, merged, edge.weight, edge.is_reference)
            graph.remove(chain)
            changed = True
    return changed


def _starts_chain(graph: SequenceGraph, vertex: int) -> bool:
    """Return True if a vertex with one edge out does not itself continue a chain (isLinearChainStart)."""
    if len(graph.following[vertex]) != 1:
        return False
    preceding = graph.preceding[vertex]
    return len(preceding) != 1 or len(graph.following[next(iter(preceding))]) > 1


def merge_diamond(graph: SequenceGraph, top: int) -> bool:
    """Split off the common start and end of all vertices between two vertices, if each connects the two directly."""
    middles = list(graph.following[top])
    if len(middles) <= 1 or any(len(graph.preceding[middle]) != 1 for middle in middles):
        return False
    bottoms = {bottom for middle in middles for bottom in graph.following[middle]}
    if len(bottoms) != 1 or any(not graph.following[middle] for middle in middles):
        return False
    bottom = bottoms.pop()
    if len(graph.preceding[bottom]) != len(middles):
        return False
    prefix, suffix = shared_ends([graph.sequences[middle] for middle in middles])
    if not prefix and not suffix:
        return False
    _split_middles(graph, top, middles, bottom, prefix, suffix)
    return True


def merge_tails(graph: SequenceGraph, top: int) -> bool:
    """Split off the common start and end of all successors of a vertex, if none of them has a successor."""
    tails = list(graph.following[top])
    if len(tails) <= 1 or any(graph.following[tail] or len(graph.preceding[tail]) > 1 for tail in tails):
        return False
    prefix, suffix = shared_ends([graph.sequences[tail] for tail in tails])
    if len(suffix) < _SHORTEST_MERGED_TAIL:
        return False
    _split_middles(graph, top, tails, None, prefix, suffix)
    return True


def shared_ends(sequences: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the longest common start of sequences, and their longest common end that does not overlap it."""
    prefix = _shared_start(sequences)
    return prefix, shared_end([sequence[len(prefix) :] for sequence in sequences])


def shared_end(sequences: Sequence[bytes]) -> bytes:
    """Return the longest common end of sequences."""
    return _shared_start([sequence[::-1] for sequence in sequences])[::-1]


def _shared_start(sequences: Sequence[bytes]) -> bytes:
    equal = takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return bytes(column[0] for column in equal)


def _split_middles(
    graph: SequenceGraph, top: int, middles: Sequence[int], bottom: int | None, prefix: bytes, suffix: bytes
) -> None:
    """Replace the middles by their common start, the rest of each, and their common end."""
    # Follows SharedVertexSequenceSplitter. A middle without a rest becomes an edge with the sum of its edges' weights.
    ways: list[tuple[bytes, Edge, Edge]] = []  # rest of a middle (b"" if none), edge in, edge out
    for middle in middles:
        into = graph.preceding[middle][top]
        out = Edge(0, graph.is_reference(middle)) if bottom is None else graph.following[middle][bottom]
        rest = graph.sequences[middle][len(prefix) : len(graph.sequences[middle]) - len(suffix)]
        direct = next((way for way in ways if not way[0]), None)
        if rest or direct is None:
            both = Edge(into.weight + out.weight, into.is_reference or out.is_reference)
            ways.append((rest, into, out) if rest else (rest, both, both))
        else:
            direct[1].weight += into.weight + out.weight
            direct[1].is_reference |= into.is_reference or out.is_reference
    graph.remove(middles)
    rests = [graph.add(rest) if rest else None for rest, _, _ in ways]
    upper, lower = top, bottom
    if prefix:
        upper = graph.add(prefix)
        graph.connect(top, upper, 1, any(into.is_reference for _, into, _ in ways))
    if suffix or (bottom is None and any(rest for rest, _, _ in ways)):
        lower = graph.add(suffix)
        if bottom is not None:
            graph.connect(lower, bottom, 1, any(out.is_reference for _, _, out in ways))
    for vertex, (_, into, _) in zip(rests, ways, strict=True):
        if vertex is not None:
            graph.connect(upper, vertex, into.weight, into.is_reference)
        elif lower is not None:
            graph.connect(upper, lower, into.weight, into.is_reference)
    for vertex, (_, _, out) in zip(rests, ways, strict=True):
        if vertex is not None and lower is not None:
            graph.connect(vertex, lower, out.weight, out.is_reference)


def split_shared_end(graph: SequenceGraph, bottom: int, done: set[int]) -> bool:
    """Split the common end of all parents of a vertex off each parent, as a new vertex (CommonSuffixSplitter).

    Vertices in `done` were processed before and are skipped.
    """
    if bottom in done:
        return False
    done.add(bottom)
    parents = list(graph.preceding[bottom])
    if len(parents) < 2 or any(
        len(graph.following[parent]) != 1 or parent in graph.following[bottom] for parent in parents
    ):
        return False
    sequences = [graph.sequences[parent] for parent in parents]
    suffix = shared_end(sequences)
    if not suffix or all(len(sequence) == len(suffix) for sequence in sequences):
        return False
    if any(len(graph.sequences[p]) == len(suffix) and graph.starts_reference(p) for p in parents):
        return False
    for parent in parents:
        out = graph.following[parent][bottom]
        end = target = graph.add(suffix)
        rest = graph.sequences[parent][: -len(suffix)]
        if rest:
            target = graph.add(rest)
            graph.connect(target, end, 1, out.is_reference)
        graph.connect(end, bottom, out.weight, out.is_reference)
        for source, into in graph.preceding[parent].items():
            graph.connect(source, target, into.weight, into.is_reference)
    graph.remove(parents)
    return True


def merge_equal_parents(graph: SequenceGraph, bottom: int) -> bool:
    """Merge a vertex and all its parents if these have the same sequence (SharedSequenceMerger).

    If one vertex leads to several of the parents, its first edge stays and the weights of the others are lost.
    """
    parents = list(graph.preceding[bottom])
    if not parents or len({graph.sequences[parent] for parent in parents}) != 1:
        return False
    if any(len(graph.following[parent]) != 1 or not graph.preceding[parent] for parent in parents):
        return False
    merged = graph.add(graph.sequences[parents[0]] + graph.sequences[bottom])
    for parent in parents:
        for source, edge in graph.preceding[parent].items():
            graph.connect(source, merged, edge.weight, edge.is_reference)
    for target, edge in graph.following[bottom].items():
        graph.connect(merged, target, edge.weight, edge.is_reference)
    graph.remove([*parents, bottom])
    return True


def likeliest_sequences(graph: SequenceGraph, most: int) -> list[tuple[float, bytes]]:
    """Return at most `most` paths between the reference's ends: log10 of the product of edge shares, and codes.

    The likeliest come first. Ties are in descending order of the codes.
    """
    source, sink = (next(filter(is_end, graph.sequences)) for is_end in (graph.starts_reference, graph.ends_reference))
    queue = [(0.0, _descending(graph.sequences[source]), graph.sequences[source], source)]
    visits = dict.fromkeys(graph.sequences, 0)
    found: list[tuple[float, bytes]] = []
    while queue and len(found) < most:
        penalty, _, bases, vertex = heapq.heappop(queue)
        if vertex == sink:
            found.append((-penalty, bases))
            continue
        visits[vertex] += 1
        if visits[vertex] > most:
            continue
        following = graph.following[vertex]
        total = log10(sum(edge.weight for edge in following.values()))
        for target, edge in following.items():
            longer = bases + graph.sequences[target]
            item = (penalty - (log10(edge.weight) - total), _descending(longer), longer, target)
            heapq.heappush(queue, item)
    return found


_COMPLEMENT = bytes(255 - code for code in range(256))


def _descending(bases: bytes) -> bytes:
    """Return a sort key for descending order of codes; of sequences with a common start, the longer comes first."""
    return bases.translate(_COMPLEMENT) + b"\xff"
