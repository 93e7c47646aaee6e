"""Local assembly of a region's reads into haplotypes (ReadThreadingAssembler).

Graphs of 10-mers and of 25-mers both contribute haplotypes. If neither is usable (cycles, or too many repeated k-mers),
the k-mers grow by 10 bases until one graph is.
"""

from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from quire.rescore.assembly.dangling_cpu import recover
from quire.rescore.assembly.graph_cpu import (
    REPEATED_K_MERS,
    SINGLE_K_MERS,
    build,
    has_cycle,
    keep_connected,
    no_graph,
    prune,
)
from quire.rescore.assembly.k_mers_cpu import number_k_mers
from quire.rescore.assembly.paths_cpu import best_paths
from quire.rescore.assembly.runs_cpu import ThreadedSequences, threaded_sequences
from quire.rescore.assembly.sequence_graph import likeliest_sequences, simplified
from quire.rescore.parameters import (
    K_MER_INCREASE,
    K_MER_ITERATIONS,
    K_MER_SIZES,
    MAXIMUM_HAPLOTYPES,
    MINIMUM_DANGLING_BRANCH,
)
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.simd.bits import copy_items, with_room
from quire.simd.compiled import compiled

_LENGTHS = (*K_MER_SIZES, *(K_MER_SIZES[-1] + K_MER_INCREASE * n for n in range(1, K_MER_ITERATIONS + 1)))


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


class RegionAssembly(NamedTuple):
    """The assembly of one region.

    Attributes:
        haplotypes: byte strings of codes, the reference first, the others in the order of discovery.
        graphs: the graphs that were tried, in order of k.
    """

    haplotypes: list[bytes]
    graphs: list[TriedGraph]


def assemble_all(reads: RegionReads, window: np.ndarray, spans: np.ndarray, support: int) -> list[RegionAssembly]:
    """Assemble all regions.

    Args:
        reads: clipped reads of all regions.
        window: uint8 codes of the reference.
        spans: int64[regions, 2], the regions' padded spans in the window.
        support: least number of a sample's reads on a chain of k-mers that the reference lacks.
    """
    graphs, codes, ends = _build_graphs(reads, window, spans, support)
    text, bounds = codes.tobytes(), pairwise([0, *ends.tolist()])
    haplotypes = [{window[start:end].tobytes(): None} for start, end in spans.tolist()]
    tried: list[list[TriedGraph]] = [[] for _ in haplotypes]
    for region, k, serves, complete, count in graphs.tolist():
        own = [text[a:b] for a, b in islice(bounds, count)]
        if not complete:
            sequences = threaded_sequences(reads, region, window[slice(*spans[region])])
            own = chosen_haplotypes(sequences, k, k == _LENGTHS[-1], support)
        haplotypes[region] |= dict.fromkeys(own)
        tried[region].append(TriedGraph(k, bool(serves), bool(complete), count))
    return [RegionAssembly(list(own), graphs) for own, graphs in zip(haplotypes, tried, strict=True)]


@compiled
def _build_graphs(reads, window, spans, support):
    """Build the graphs of all regions."""
    # Returns int64[graphs, 5]: region, k, 1 if the graph is usable, 1 if all its haplotypes were kept, and their
    # number; uint8 codes of all haplotypes, end to end; int64[haplotypes], their ends.
    graphs = np.empty((len(spans) * len(_LENGTHS), 5), np.int64)
    codes, ends = np.empty(1 << 16, np.uint8), np.empty(1 << 8, np.int64)
    tried, held, used = 0, 0, 0
    for region in range(len(spans)):
        reference = window[spans[region, 0] : spans[region, 1]]
        sequences = threaded_sequences(reads, region, reference)
        usable = False
        for k in _LENGTHS:
            if k > len(reference) or (usable and k > K_MER_SIZES[-1]):
                break
            serves, complete, bases, offsets = assemble_graph(sequences, k, k == _LENGTHS[-1], support)
            usable |= serves
            count = len(offsets) - 1
            codes, ends = with_room(codes, used, used + len(bases)), with_room(ends, held, held + count)
            copy_items(codes, used, bases, 0, len(bases))
            for i in range(count):
                ends[held + i] = used + offsets[i + 1]
            graphs[tried, 0], graphs[tried, 1], graphs[tried, 2] = region, k, serves
            graphs[tried, 3], graphs[tried, 4] = complete, count
            tried, held, used = tried + 1, held + count, used + len(bases)
    return graphs[:tried], codes[:used], ends[:held]


def chosen_haplotypes(sequences: ThreadedSequences, k: int, last_attempt: bool, support: int) -> list[bytes]:
    """Return the haplotypes (codes) that GATK keeps from a graph with more than MAXIMUM_HAPLOTYPES paths."""
    graph = simplified(clean_graph(sequences, k, last_attempt, support)[1], sequences.codes, k)
    return [bases for _, bases in likeliest_sequences(graph, MAXIMUM_HAPLOTYPES)]


@compiled
def assemble_graph(sequences, k, last_attempt, support):
    """Assemble one graph; return whether it is usable, whether all haplotypes were kept, their codes and offsets."""
    succeeded, graph = clean_graph(sequences, k, last_attempt, support)
    if not succeeded:
        return False, True, np.empty(0, np.uint8), np.zeros(1, np.int64)
    complete, bases, offsets = best_paths(graph, sequences.codes, k, MAXIMUM_HAPLOTYPES)
    return True, complete, bases, offsets


@compiled
def clean_graph(sequences, k, last_attempt, support):
    """Return whether a graph is usable, and the graph reduced to paths between the reference's ends (createGraph)."""
    numbers, count, repeated = number_k_mers(sequences, k, last_attempt)
    if count == 0:
        return False, no_graph()
    graph = build(sequences, k, numbers, count, repeated)
    left = prune(graph, support)
    if not last_attempt and graph.sizes[REPEATED_K_MERS] * 4 > graph.sizes[SINGLE_K_MERS]:
        return False, graph
    if left == len(graph.reference_path) - 1 == graph.reference_path[-1]:
        return True, graph  # one edge for each step of a reference without repeats: only its path is left
    if has_cycle(graph):
        return False, graph
    recover(graph, sequences.codes, k, support, MINIMUM_DANGLING_BRANCH)
    keep_connected(graph)
    return not has_cycle(graph), graph
