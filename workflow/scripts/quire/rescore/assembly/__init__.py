"""Local assembly of a region's reads into haplotypes (ReadThreadingAssembler).

Graphs of 10-mers and of 25-mers both contribute haplotypes. If neither is usable (cycles, or too many repeated k-mers),
the k-mers grow by 10 bases until one graph is.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from quire.rescore.assembly.dangling import recover
from quire.rescore.assembly.graph import (
    REPEATED_K_MERS,
    SINGLE_K_MERS,
    build,
    has_cycle,
    keep_connected,
    no_graph,
    prune,
)
from quire.rescore.assembly.k_mers import ThreadedSequences, number_k_mers
from quire.rescore.assembly.paths import best_paths
from quire.rescore.assembly.plain import REFUSED, UNKNOWN, PlainGraphs, TriedGraph, plain_graphs
from quire.rescore.assembly.runs import room_for_runs, threading_order, write_runs
from quire.rescore.assembly.sequence_graph import likeliest_sequences, simplified
from quire.rescore.parameters import (
    K_MER_INCREASE,
    K_MER_ITERATIONS,
    K_MER_SIZES,
    MAXIMUM_HAPLOTYPES,
    MINIMUM_DANGLING_BRANCH,
)
from quire.rescore.reads.clipping import RegionReads
from quire.simd.compiled import compiled


class RegionAssembly(NamedTuple):
    """The assembly of one region.

    Attributes:
        haplotypes: byte strings of codes, the reference first, the others in the order of discovery.
        graphs: the graphs that were tried, in order of k.
    """

    haplotypes: list[bytes]
    graphs: list[TriedGraph]


def assemble_all(reads: RegionReads, window: np.ndarray, spans: np.ndarray, support: int) -> list[RegionAssembly]:
    """Assemble all regions; graphs that `plain` solves are not built.

    Args:
        reads: clipped reads of all regions.
        window: uint8 codes of the reference.
        spans: int64[regions, 2], the regions' padded spans in the window.
        support: least number of a sample's reads on a chain of k-mers that the reference lacks.
    """
    plain = plain_graphs(reads, window, spans, support)
    settled = plain.settled.tolist()
    found = []
    for region, (start, end) in enumerate(spans.tolist()):
        reference = window[start:end]
        if settled[region]:
            found.append(RegionAssembly(plain.haplotypes(region, reference.tobytes()), plain.graphs(region)))
        else:
            found.append(assemble(reads, region, reference, support, plain))
    return found


def assemble(
    reads: RegionReads, region: int, reference: np.ndarray, support: int, plain: PlainGraphs | None = None
) -> RegionAssembly:
    """Assemble one region.

    Args:
        reads: clipped reads of all regions.
        region: index of the region.
        reference: uint8 codes of the region's padded span.
        support: least number of a sample's reads on a chain of k-mers that the reference lacks.
        plain: solved graphs of all regions; None to build every graph.
    """
    whole = reference.tobytes()
    found, graphs = {whole: None}, []
    first, last = reads.region_offsets[region], reads.region_offsets[region + 1]
    sequences = threaded_sequences(reads, first, last, reference)
    assembled = False
    largest = K_MER_SIZES[-1] + K_MER_INCREASE * K_MER_ITERATIONS
    for number, k in enumerate((*K_MER_SIZES, *range(K_MER_SIZES[-1] + K_MER_INCREASE, largest + 1, K_MER_INCREASE))):
        if assembled and k > K_MER_SIZES[-1]:
            break
        if k > len(reference):
            break
        if plain is not None and k <= K_MER_SIZES[-1] and plain.kind[region, number] != UNKNOWN:
            succeeded, complete = plain.kind[region, number] != REFUSED, True
            own = plain.sequences(region, number, whole)
        else:
            succeeded, complete, own = _assemble_graph(sequences, k, k == largest, support)
        assembled |= succeeded
        graphs.append(TriedGraph(k, bool(succeeded), bool(complete), len(own)))
        found |= dict.fromkeys(own if complete else chosen_haplotypes(sequences, k, k == largest, support))
    return RegionAssembly(list(found), graphs)


def _assemble_graph(
    sequences: ThreadedSequences, k: int, last_attempt: bool, support: int
) -> tuple[bool, bool, list[bytes]]:
    """Run `assemble_graph` and return its haplotypes as byte strings."""
    succeeded, complete, bases, offsets = assemble_graph(sequences, k, last_attempt, support)
    text = bases.tobytes()
    return succeeded, complete, [text[a:b] for a, b in pairwise(offsets.tolist())]


def chosen_haplotypes(sequences: ThreadedSequences, k: int, last_attempt: bool, support: int) -> list[bytes]:
    """Return the haplotypes (codes) that GATK keeps from a graph with more than MAXIMUM_HAPLOTYPES paths."""
    graph = simplified(clean_graph(sequences, k, last_attempt, support)[1], sequences.codes, k)
    return [bases for _, bases in likeliest_sequences(graph, MAXIMUM_HAPLOTYPES)]


@compiled
def threaded_sequences(reads, first, last, reference):
    """Return the sequences to thread: the reference, and the runs of good bases of reads [first, last)."""
    length = len(reference)
    runs = room_for_runs(length + reads.base_offsets[last] - reads.base_offsets[first])
    runs.codes[:length] = reference
    runs.starts[0], runs.ends[0], runs.sample[0] = 0, length, -1
    count, end = write_runs(reads, threading_order(reads, first, last), runs, 1, length)
    return ThreadedSequences(runs.codes[:end], runs.starts[:count], runs.ends[:count], runs.sample[:count])


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
    prune(graph, support)
    if has_cycle(graph) or (not last_attempt and graph.sizes[REPEATED_K_MERS] * 4 > graph.sizes[SINGLE_K_MERS]):
        return False, graph
    recover(graph, sequences.codes, k, support, MINIMUM_DANGLING_BRANCH)
    keep_connected(graph)
    return not has_cycle(graph), graph
