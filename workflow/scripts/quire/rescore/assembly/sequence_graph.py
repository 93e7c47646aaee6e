"""The likeliest haplotypes of a graph that spells more than are kept (SeqGraph, GraphBasedKBestHaplotypeFinder).

GATK does not choose among the paths of k-mers but among those of a graph of sequences: chains become one vertex, and
what neighbouring branches share at their ends is merged. All paths spell the same as before, but some edges have other
weights: a branch that has nothing of its own left carries the sum of two. So this decides which haplotypes are kept
where there are too many. Few regions get here; hence plain Python.
"""

import heapq
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from quire.rescore.assembly.graph import ALIVE, IS_REFERENCE, K_MER, SOURCE, TARGET, WEIGHT, Graph
from quire.simd.powers_of_ten.cpu import log10

_MOST_ROUNDS = 100  # MAX_REASONABLE_SIMPLIFICATION_CYCLES
_ROUNDS_BEFORE_COMPARING = 5
_SHORTEST_MERGED_TAIL = 10  # MIN_COMMON_SEQUENCE_TO_MERGE_SOURCE_SINK_VERTICES


class Edge:
    """A weight, and whether the reference takes this way."""

    __slots__ = ("is_reference", "weight")

    def __init__(self, weight: int, is_reference: bool) -> None:
        self.weight = weight
        self.is_reference = is_reference


class SequenceGraph:
    """A directed graph whose vertices are sequences of codes; vertices and edges are kept in the order of their making.

    Attributes:
        sequences: of each vertex, by its number.
        following: of each vertex the edges to others, by their numbers.
        preceding: the same edges, of each vertex from others.
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
        """Add an edge; where there is one already it stays as it is."""
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
        """Whether the reference passes through a vertex."""
        edges = (*self.following[vertex].values(), *self.preceding[vertex].values())
        return any(edge.is_reference for edge in edges) or len(self.sequences) == 1

    def reference_source(self) -> int:
        """The vertex that the reference starts from."""
        return self._end_of_reference(self.preceding, self.following)

    def reference_sink(self) -> int:
        """The vertex that the reference ends in."""
        return self._end_of_reference(self.following, self.preceding)

    def _end_of_reference(self, outside: dict[int, dict[int, Edge]], inside: dict[int, dict[int, Edge]]) -> int:
        """The only vertex, or the one that the reference enters or leaves but not both."""
        if len(self.sequences) == 1:
            return next(iter(self.sequences))
        return next(
            vertex
            for vertex in self.sequences
            if any(edge.is_reference for edge in inside[vertex].values())
            and not any(edge.is_reference for edge in outside[vertex].values())
        )

    def structure(self) -> tuple[int, int, frozenset[bytes], frozenset[tuple[bytes, bytes]]]:
        """What is the same in two graphs that count as equal (graphEquals): counts, sequences, connected sequences."""
        edges = [(a, b) for a, targets in self.following.items() for b in targets]
        connected = frozenset((self.sequences[a], self.sequences[b]) for a, b in edges)
        return len(self.sequences), len(edges), frozenset(self.sequences.values()), connected


def simplified(graph: Graph, codes: NDArray[np.uint8], k: int) -> SequenceGraph:
    """The sequence graph of a cleaned graph of k-mers, simplified (toSequenceGraph, cleanupSeqGraph).

    Args:
        graph: whose living edges all lie between the ends of the reference path.
        codes: of `ThreadedSequences`.
        k: length of its k-mers.
    """
    result = SequenceGraph()
    edges = graph.edges[: graph.sizes[1]]
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
    for _ in range(2):  # as there: where the first ends because it turns in circles, the second turns once more
        simplify(result)
    return result


def simplify(graph: SequenceGraph) -> None:
    """Merge what branches share until nothing more can be merged (simplifyGraph)."""
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
    """Transform the first vertex that can be, from the start again each time (transformUntilComplete)."""
    changed = False
    while any(transform(graph, vertex) for vertex in list(graph.sequences)):
        changed = True
    return changed


def zip_chains(graph: SequenceGraph) -> bool:
    """Make one vertex of each chain without branches whose vertices all are the reference's or all are not."""
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
    """isLinearChainStart: one way out of it, and not the only way out of its only predecessor."""
    if len(graph.following[vertex]) != 1:
        return False
    preceding = graph.preceding[vertex]
    return len(preceding) != 1 or len(graph.following[next(iter(preceding))]) > 1


def merge_diamond(graph: SequenceGraph, top: int) -> bool:
    """Take apart what all ways between two vertices start and end with, where these ways are one vertex each."""
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
    """The same where the ways end in no vertex."""
    tails = list(graph.following[top])
    if len(tails) <= 1 or any(graph.following[tail] or len(graph.preceding[tail]) > 1 for tail in tails):
        return False
    prefix, suffix = shared_ends([graph.sequences[tail] for tail in tails])
    if len(suffix) < _SHORTEST_MERGED_TAIL:
        return False
    _split_middles(graph, top, tails, None, prefix, suffix)
    return True


def shared_ends(sequences: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The longest start that sequences share, and the longest end that they share beside it."""
    first, shortest = sequences[0], min(map(len, sequences))
    prefix = 0
    while prefix < shortest and all(sequence[prefix] == first[prefix] for sequence in sequences):
        prefix += 1
    return first[:prefix], shared_end(sequences, shortest - prefix)


def shared_end(sequences: Sequence[bytes], longest: int) -> bytes:
    """The longest end, of at most so many bases, that sequences share."""
    first = sequences[0]
    size = 0
    while size < longest and all(sequence[-1 - size] == first[-1 - size] for sequence in sequences):
        size += 1
    return first[len(first) - size :]


def _split_middles(
    graph: SequenceGraph, top: int, middles: Sequence[int], bottom: int | None, prefix: bytes, suffix: bytes
) -> None:
    """Replace the middles by their shared start, what each has of its own, and their shared end.

    SharedVertexSequenceSplitter. A middle with nothing of its own becomes an edge with the weights of both its edges.
    """
    ways: list[tuple[bytes, Edge, Edge]] = []  # what is left of a middle, and its edges; b"" where nothing is left
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
    """Give the end that all parents of a vertex share a vertex of its own in each of them (CommonSuffixSplitter).

    Args:
        graph: changed in place.
        bottom: the vertex.
        done: vertices that were looked at before, which are left alone.
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
    suffix = shared_end(sequences, min(map(len, sequences)))
    if not suffix or all(len(sequence) == len(suffix) for sequence in sequences):
        return False
    if any(len(graph.sequences[p]) == len(suffix) and _is_reference_source(graph, p) for p in parents):
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


def _is_reference_source(graph: SequenceGraph, vertex: int) -> bool:
    """Whether the reference starts from a vertex."""
    return any(edge.is_reference for edge in graph.following[vertex].values()) and not any(
        edge.is_reference for edge in graph.preceding[vertex].values()
    )


def merge_equal_parents(graph: SequenceGraph, bottom: int) -> bool:
    """Make one vertex of a vertex and all its parents where these are the same sequence (SharedSequenceMerger).

    Where one vertex leads to several of the parents, the first of its edges stays and the others' weights are lost.
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
    """At most `most` paths along the reference's ends: log10 of the product of their edges' shares, and codes.

    The likeliest come first; of equals the one whose codes come last in the order of the letters.
    """
    sink = graph.reference_sink()
    source = graph.reference_source()
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
    """A key that orders sequences of codes last letters first, and of two that start alike the longer first."""
    return bases.translate(_COMPLEMENT) + b"\xff"
