"""Local assembly: the haplotypes that a region's reads spell (ReadThreadingAssembler).

Graphs of 10-mers and 25-mers both give haplotypes; where neither serves (cycles, repeats, too many repeated k-mers) the
k-mers grow by 10 until one does.
"""

from itertools import pairwise

import numpy as np

from quire.rescore.assembly.dangling import recover
from quire.rescore.assembly.graph import build, has_cycle, keep_connected, no_graph, prune
from quire.rescore.assembly.k_mers import ThreadedSequences, number_k_mers
from quire.rescore.assembly.paths import best_paths
from quire.rescore.assembly.plain import REFUSED, UNKNOWN, PlainGraphs, plain_graphs
from quire.rescore.assembly.sequence_graph import likeliest_sequences, simplified
from quire.rescore.parameters import (
    K_MER_INCREASE,
    K_MER_ITERATIONS,
    K_MER_SIZES,
    MAXIMUM_HAPLOTYPES,
    MINIMUM_BASE_QUALITY,
    MINIMUM_DANGLING_BRANCH,
)
from quire.rescore.reads.clipping import RegionReads
from quire.rescore.trace import tell
from quire.simd.compiled import compiled


def assemble_all(
    reads: RegionReads, window: np.ndarray, spans: np.ndarray, support: int
) -> tuple[list[list[bytes]], PlainGraphs]:
    """Haplotypes of all regions, as `assemble` gives them, and the graphs that were known without being built.

    Args:
        reads: clipped reads of all regions.
        window: uint8 codes of the reference.
        spans: int64[regions, 2], the regions' padded spans in the window.
        support: reads that a chain of k-mers beside the reference must have.
    """
    plain = plain_graphs(reads, window, spans, support)
    settled = plain.settled.tolist()
    found = []
    for region, (start, end) in enumerate(spans.tolist()):
        reference = window[start:end]
        if settled[region]:
            found.append(plain.haplotypes(region, reference.tobytes()))
        else:
            found.append(assemble(reads, region, reference, support, plain))
    return found, plain


def assemble(
    reads: RegionReads, region: int, reference: np.ndarray, support: int, plain: PlainGraphs | None = None
) -> list[bytes]:
    """Haplotypes of a region as byte strings of codes: the reference first, the others as found.

    Args:
        reads: clipped reads of all regions.
        region: which region.
        reference: uint8 codes of the region's padded span.
        support: reads that a chain of k-mers beside the reference must have.
        plain: of all regions, graphs that need not be built where they are known.
    """
    whole = reference.tobytes()
    found = {whole: None}
    first, last = reads.region_offsets[region], reads.region_offsets[region + 1]
    sequences = ThreadedSequences(*read_sequences(reads, first, last, reference))
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
        tell("graph", region=region, k=k, succeeded=succeeded, complete=complete, haplotypes=len(own))
        found |= dict.fromkeys(own if complete else chosen_haplotypes(sequences, k, k == largest, support))
    return list(found)


def _assemble_graph(
    sequences: ThreadedSequences, k: int, last_attempt: bool, support: int
) -> tuple[bool, bool, list[bytes]]:
    """`assemble_graph` with byte strings."""
    succeeded, complete, bases, offsets = assemble_graph(sequences, k, last_attempt, support)
    text = bases.tobytes()
    return succeeded, complete, [text[a:b] for a, b in pairwise(offsets.tolist())]


def chosen_haplotypes(sequences: ThreadedSequences, k: int, last_attempt: bool, support: int) -> list[bytes]:
    """The haplotypes, as byte strings of codes, that GATK keeps of a graph with more than MAXIMUM_HAPLOTYPES paths."""
    graph = simplified(clean_graph(sequences, k, last_attempt, support)[1], sequences.codes, k)
    return [bases for _, bases in likeliest_sequences(graph, MAXIMUM_HAPLOTYPES)]


@compiled
def read_sequences(reads, first, last, reference):
    """The reference and every run of good bases of reads [first, last), as columns of `ThreadedSequences`."""
    room = len(reference) + reads.base_offsets[last] - reads.base_offsets[first]
    codes = np.empty(room, np.uint8)
    codes[: len(reference)] = reference
    starts = np.empty(room + 1, np.int64)
    ends = np.empty(room + 1, np.int64)
    sample = np.empty(room + 1, np.int32)
    starts[0], ends[0], sample[0] = 0, len(reference), -1
    n = 1
    at = len(reference)
    for i in threading_order(reads, first, last):
        begun = at
        for b in range(reads.base_offsets[i], reads.base_offsets[i + 1] + 1):
            if b == reads.base_offsets[i + 1] or reads.bases[b] > 3 or reads.qualities[b] < MINIMUM_BASE_QUALITY:
                if at - begun >= K_MER_SIZES[0]:
                    starts[n], ends[n], sample[n] = begun, at, reads.sample[i]
                    n += 1
                else:
                    at = begun
                begun = at
            else:
                codes[at] = reads.bases[b]
                at += 1
    return codes[:at], starts[:n], ends[:n], sample[:n]


@compiled
def threading_order(reads, first, last):
    """int64: reads [first, last) by sample, where their clipped bases start, and strand (ReadCoordinateComparator).

    The order counts: a read adds to what lies before its first k-mer only as far as other reads have not branched off.
    GATK orders by name what is then still equal, we leave it as it is.
    """
    order = np.empty(last - first, np.int64)
    begun = first
    while begun < last:
        end = begun
        while end < last and reads.sample[end] == reads.sample[begun]:
            end += 1
        keys = 2 * reads.start[begun:end] + reads.reverse[begun:end]
        order[begun - first : end - first] = begun + np.argsort(keys, kind="mergesort")
        begun = end
    return order


@compiled
def assemble_graph(sequences, k, last_attempt, support):
    """One graph: whether it serves, whether these are all of its haplotypes, and their codes and offsets."""
    succeeded, graph = clean_graph(sequences, k, last_attempt, support)
    if not succeeded:
        return False, True, np.empty(0, np.uint8), np.zeros(1, np.int64)
    complete, bases, offsets = best_paths(graph, sequences.codes, k, MAXIMUM_HAPLOTYPES)
    return True, complete, bases, offsets


@compiled
def clean_graph(sequences, k, last_attempt, support):
    """Whether a graph serves, and the graph with only what lies between the reference's ends (createGraph)."""
    numbers, count, repeated = number_k_mers(sequences, k, last_attempt)
    if count == 0:
        return False, no_graph()
    graph = build(sequences, k, numbers, count, repeated)
    prune(graph, support)
    if has_cycle(graph) or (not last_attempt and graph.sizes[3] * 4 > graph.sizes[2]):
        return False, graph
    recover(graph, sequences.codes, k, support, MINIMUM_DANGLING_BRANCH)
    keep_connected(graph)
    return not has_cycle(graph), graph
