"""Choice among many haplotypes: against GATK's on a real region, and invariants of simplification."""

import gzip
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.assembly import ThreadedSequences, assemble_graph, chosen_haplotypes, clean_graph
from quire.rescore.assembly.paths_cpu import best_paths
from quire.rescore.assembly.sequence_graph import SequenceGraph, likeliest_sequences, shared_ends, simplified, simplify
from quire.rescore.parameters import MAXIMUM_HAPLOTYPES

from tests.rescore.test_assembly import mutate, sequences
from tests.support.builders import random_bases
from tests.support.examples import examples
from tests.support.simulation import codes

DATA = Path(__file__).parents[1] / "data" / "many_haplotypes"


def lines(name: str) -> list[str]:
    with gzip.open(DATA / name, "rt") as stream:
        return stream.read().splitlines()


def letters(bases: bytes) -> str:
    return "".join("ACGTN"[code] for code in bases)


def weights(graph: SequenceGraph) -> dict[tuple[str, str], int]:
    """Return the weight of each edge, by the sequences that it connects."""
    return {
        (letters(graph.sequences[source]), letters(graph.sequences[target])): edge.weight
        for source, edges in graph.following.items()
        for target, edge in edges.items()
    }


def test_of_768_haplotypes_those_are_kept_that_gatk_keeps_with_its_scores() -> None:
    threaded = sequences(lines("sequences.txt.gz"))
    expected = {}
    for line in lines("gatk.tsv.gz"):
        haplotype, score = line.split("\t")
        expected[haplotype] = float(score)
    succeeded, graph = clean_graph(threaded, 25, False, 2)
    found = {letters(bases): score for score, bases in likeliest_sequences(simplified(graph, threaded.codes, 25), 128)}
    assert succeeded
    assert len(found) == len(expected) == 128
    assert found.keys() == expected.keys()
    for haplotype, score in found.items():
        assert np.isnan(expected[haplotype]) or abs(score - expected[haplotype]) < 1e-12
    # The graph of k-mers alone would give different paths.
    complete, bases, offsets = best_paths(graph, threaded.codes, 25, 128)
    text = letters(bases)
    assert not complete
    assert {text[a:b] for a, b in pairwise(offsets)} != expected.keys()
    assert {letters(one) for one in chosen_haplotypes(threaded, 25, False, 2)} == expected.keys()


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([15, 25]))
@settings(max_examples=examples(60), deadline=None)
def test_simplifying_changes_no_path(seed: int, variants: int, k: int) -> None:
    generator = random.Random(seed)
    reference = random_bases(generator, 250)
    versions = []
    for _ in range(variants):
        version = mutate(generator, reference)
        versions += [version] * generator.randrange(2, 6)
    threaded = sequences([reference, *versions])
    succeeded, complete, bases, offsets = assemble_graph(threaded, k, False, 2)
    if not succeeded:
        return
    assert complete
    text = letters(bases)
    paths = {text[a:b] for a, b in pairwise(offsets)}
    graph = simplified(clean_graph(threaded, k, False, 2)[1], threaded.codes, k)
    assert {letters(one) for _, one in likeliest_sequences(graph, 1000)} == paths


def two_ways(first: str, second: str) -> SequenceGraph:
    """Return two vertices with two paths between them, of weights 3 and 4, and 5 and 6 (the reference's)."""
    graph = SequenceGraph()
    top, one, other, bottom = (graph.add(codes(text)) for text in ("AAAA", first, second, "CCCC"))
    graph.connect(top, one, 3, False)
    graph.connect(one, bottom, 4, False)
    graph.connect(top, other, 5, True)
    graph.connect(other, bottom, 6, True)
    return graph


def test_what_ways_share_at_their_ends_becomes_vertices_of_weight_one() -> None:
    graph = two_ways("GTAGG", "GTCGG")
    simplify(graph)
    # The common ends are merged with adjacent vertices on the reference path.
    assert weights(graph) == {("AAAAGT", "A"): 3, ("A", "GGCCCC"): 4, ("AAAAGT", "C"): 5, ("C", "GGCCCC"): 6}


def test_a_way_with_nothing_of_its_own_carries_both_its_weights() -> None:
    graph = two_ways("GTG", "GTCAG")
    simplify(graph)
    assert weights(graph) == {("AAAAGT", "GCCCC"): 7, ("AAAAGT", "CA"): 5, ("CA", "GCCCC"): 6}
    found = likeliest_sequences(graph, 2)
    assert [letters(bases) for _, bases in found] == ["AAAAGTGCCCC", "AAAAGTCAGCCCC"]
    assert found[0][0] == np.log10(7) - np.log10(12)


def test_of_equal_sequences_before_a_vertex_the_first_edges_stay() -> None:
    graph = SequenceGraph()
    top, one, other, bottom, aside = (graph.add(codes(text)) for text in ("AAAA", "GG", "GG", "CCCC", "TTTT"))
    for source, target, weight in ((top, one, 3), (top, other, 5), (one, bottom, 3), (other, bottom, 5)):
        graph.connect(source, target, weight, source == top and target == one)
    graph.connect(top, aside, 2, False)
    simplify(graph)
    assert weights(graph) == {("AAAA", "GGCCCC"): 3, ("AAAA", "TTTT"): 2}


def test_of_paths_alike_those_whose_letters_come_last_are_first() -> None:
    graph = SequenceGraph()
    top, bottom = graph.add(codes("A")), graph.add(codes("A"))
    for text in ("C", "T", "G", "CC"):
        middle = graph.add(codes(text))
        graph.connect(top, middle, 2, text == "C")
        graph.connect(middle, bottom, 2, text == "C")
    assert [letters(bases) for _, bases in likeliest_sequences(graph, 3)] == ["ATA", "AGA", "ACCA"]


@given(st.lists(st.text("AC", min_size=1, max_size=6), min_size=2, max_size=4))
def test_shared_ends_do_not_overlap(texts: list[str]) -> None:
    prefix, suffix = (letters(end) for end in shared_ends([codes(text) for text in texts]))
    shortest = min(map(len, texts))
    assert all(text.startswith(prefix) and text.endswith(suffix) for text in texts)
    assert len(prefix) + len(suffix) <= shortest
    longer = len(prefix) + 1
    assert longer > shortest or len({text[:longer] for text in texts}) > 1
    longer = len(suffix) + 1
    assert len(prefix) + longer > shortest or len({text[-longer:] for text in texts}) > 1


def test_no_more_than_the_cap_is_kept() -> None:
    generator = random.Random(3)
    reference = random_bases(generator, 420)
    texts = [reference]
    for at in range(20, 400, 45):  # nine substitutions, each in different reads: 512 haplotypes
        version = reference[:at] + ("A" if reference[at] != "A" else "C") + reference[at + 1 :]
        texts += [version[max(at - 20, 0) : at + 25]] * 3
    threaded: ThreadedSequences = sequences(texts)
    _, complete, _, offsets = assemble_graph(threaded, 15, False, 2)
    kept = chosen_haplotypes(threaded, 15, False, 2)
    assert not complete
    assert len(offsets) - 1 == len(kept) == len(set(kept)) == MAXIMUM_HAPLOTYPES
    assert all(len(bases) == len(reference) for bases in kept)
