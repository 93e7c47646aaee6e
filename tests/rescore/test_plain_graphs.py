"""Graphs that are solved without being built, against built ones: the same haplotypes in the same order."""

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.assembly import (
    RegionAssembly,
    assemble_all,
    assemble_graph,
    chosen_haplotypes,
    threaded_sequences,
)
from quire.rescore.assembly.plain_cpu import REFUSED, SERVES, UNKNOWN, PlainGraphs, TriedGraph, plain_graphs
from quire.rescore.parameters import K_MER_SIZES
from quire.rescore.reads.clipping_cpu import RegionReads

from tests.support.builders import random_bases
from tests.support.examples import examples
from tests.support.simulation import codes

GOOD, POOR = 30, 5
Drawn = tuple[int, str, int, int, list[int]]
"""A read: where it starts, its bases, its sample, its strand, places of poor quality."""


def region_reads(regions: Sequence[Sequence[Drawn]]) -> RegionReads:
    """Return the clipped reads of some regions."""
    ordered = [sorted(reads, key=lambda read: (read[2], read[0])) for reads in regions]
    flat = [read for reads in ordered for read in reads]
    qualities = [np.where(np.isin(np.arange(len(bases)), poor), POOR, GOOD) for _, bases, _, _, poor in flat]
    count = len(flat)
    return RegionReads(
        region_offsets=np.cumsum([0, *map(len, ordered)]),
        sample=np.array([sample for _, _, sample, _, _ in flat], np.int32),
        start=np.array([start for start, *_ in flat], np.int64),
        end=np.array([start + len(bases) for start, bases, *_ in flat], np.int64),
        usable=np.ones(count, np.uint8),
        reverse=np.array([reverse for _, _, _, reverse, _ in flat], np.uint8),
        mapping_quality=np.full(count, 60, np.uint8),
        before=np.zeros(count, np.int32),
        behind=np.zeros(count, np.int32),
        base_offsets=np.cumsum([0, *(len(bases) for _, bases, *_ in flat)]),
        bases=np.frombuffer(codes("".join(bases for _, bases, *_ in flat)), np.uint8).copy(),
        qualities=np.concatenate([np.zeros(0, np.uint8), *qualities]).astype(np.uint8),
        positions=np.zeros(sum(len(bases) for _, bases, *_ in flat), np.int32),
    )


def built(reads: RegionReads, region: int, reference: np.ndarray, support: int) -> RegionAssembly:
    """Assemble a region graph by graph."""
    sequences = threaded_sequences(reads, region, reference)
    found, graphs = {reference.tobytes(): None}, []
    for k in (10, 25, 35, 45, 55, 65, 75, 85):
        if k > len(reference) or (k > 25 and any(graph.serves for graph in graphs)):
            break
        serves, complete, bases, offsets = assemble_graph(sequences, k, k == 85, support)
        own = [bases[first:last].tobytes() for first, last in pairwise(offsets)]
        found |= dict.fromkeys(own if complete else chosen_haplotypes(sequences, k, k == 85, support))
        graphs.append(TriedGraph(k, serves, complete, len(offsets) - 1))
    return RegionAssembly(list(found), graphs)


def compare(regions: Sequence[tuple[str, Sequence[Drawn]]], support: int) -> PlainGraphs:
    """Assemble with and without plain graphs, compare haplotypes and graphs in order, and return the plain graphs."""
    window = np.frombuffer(codes("".join(reference for reference, _ in regions)), np.uint8).copy()
    ends = np.cumsum([0, *(len(reference) for reference, _ in regions)])
    spans = np.stack([ends[:-1], ends[1:]], axis=1)
    reads = region_reads([drawn for _, drawn in regions])
    found = assemble_all(reads, window, spans, support)
    plain = plain_graphs(reads, window, spans, support)
    settled = plain.settled
    for region, (start, end) in enumerate(spans.tolist()):
        full = built(reads, region, window[start:end], support)
        assert found[region] == full
        if settled[region]:
            assert plain.graphs(region) == full.graphs
        for size, (_, succeeded, complete, count) in enumerate(full.graphs[: len(K_MER_SIZES)]):
            if plain.kind[region, size] != UNKNOWN:
                assert plain.kind[region, size] == (SERVES if succeeded else REFUSED)
                assert complete
                assert len(plain.sequences(region, size, full.haplotypes[0])) == count
    return plain


def altered(generator: random.Random, text: str, at: int) -> str:
    """Insert a substitution, or a short insertion or deletion, at a position."""
    kind = generator.randrange(4)
    if kind == 0:
        return text[:at] + random_bases(generator, generator.randrange(1, 8)) + text[at:]
    if kind == 1:
        return text[:at] + text[at + generator.randrange(1, 8) :]
    return text[:at] + generator.choice([base for base in "ACGT" if base != text[at]]) + text[at + 1 :]


def drawn_region(generator: random.Random, samples: int) -> tuple[str, list[Drawn]]:
    """Draw a reference, sometimes with a repeat or an N, and reads of two haplotypes with errors."""
    reference = random_bases(generator, generator.randrange(60, 400))
    if generator.random() < 0.2:
        unit = random_bases(generator, generator.randrange(1, 30)) * generator.randrange(2, 12)
        at = generator.randrange(len(reference))
        reference = reference[:at] + unit[:100] + reference[at:]
    if generator.random() < 0.03:
        reference = reference[:30] + "N" + reference[31:]
    haplotypes = [reference, reference]
    for _ in range(generator.choice([0, 0, 1, 1, 2, 3, 4, 5])):
        at, which = generator.randrange(len(reference) - 10), generator.choice([(0,), (1,), (0, 1)])
        for one in which:
            haplotypes[one] = altered(generator, haplotypes[one], min(at, len(haplotypes[one]) - 10))
    reads: list[Drawn] = []
    for _ in range(generator.randrange(0, generator.choice([4, 12, 40]))):
        text = generator.choice(haplotypes)
        start = generator.randrange(max(1, len(text) - 20))
        bases = text[start : start + generator.randrange(10, 160)]
        while len(bases) > 20 and generator.random() < 0.3:
            bases = altered(generator, bases, generator.randrange(len(bases) - 10))
        if generator.random() < 0.05:
            bases = bases[:5] + "N" + bases[6:]
        poor = [generator.randrange(len(bases)) for _ in range(generator.choice([0, 0, 0, 1, 3]))]
        reads.append((start, bases, generator.randrange(samples), generator.randrange(2), poor))
    return reference, reads


@given(st.integers(0, 1 << 30), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=examples(400), deadline=None)
def test_known_graphs_are_those_that_are_built(seed: int, samples: int, support: int) -> None:
    generator = random.Random(seed)
    compare([drawn_region(generator, samples) for _ in range(6)], support)


@given(st.integers(0, 1 << 30), st.sampled_from(["AC", "ACG"]), st.integers(1, 3))
@settings(max_examples=examples(150), deadline=None)
def test_in_low_complexity(seed: int, alphabet: str, support: int) -> None:
    """K-mers repeat, cycles form, and reads rejoin the reference far from where they left it."""
    generator = random.Random(seed)
    regions = []
    for _ in range(8):
        reference = random_bases(generator, generator.randrange(52, 90), alphabet)
        reads: list[Drawn] = []
        for _ in range(generator.randrange(1, 10)):
            start, cut = generator.randrange(len(reference) - 15), generator.randrange(len(reference) - 15)
            bases = reference[start : start + generator.randrange(12, 40)]
            bases += random_bases(generator, generator.randrange(0, 3), alphabet) + reference[cut : cut + 30]
            reads += [(start, bases, 0, generator.randrange(2), [])] * generator.randrange(1, 4)
        regions.append((reference, reads))
    compare(regions, support)


def test_the_common_cases_are_known() -> None:
    """No error, one read's error, one variant, three variants, and no reads are solved; four variants are not."""
    generator = random.Random(3)
    reference = random_bases(generator, 300)

    def with_variants(places: Sequence[int]) -> str:
        text = reference
        for at in places:
            text = text[:at] + "ACGT"["ACGT".index(text[at]) - 1] + text[at + 1 :]
        return text

    def reads_of(text: str, count: int) -> list[Drawn]:
        return [(0, text[10:290], 0, number % 2, []) for number in range(count)]

    cases = [
        (reads_of(reference, 3), 1),
        (reads_of(with_variants([150]), 1) + reads_of(reference, 5), 1),
        (reads_of(with_variants([150]), 2) + reads_of(reference, 5), 2),
        (reads_of(with_variants([50, 120, 240]), 2) + reads_of(reference, 5), 8),
        ([], 1),
    ]
    plain = compare([(reference, reads) for reads, _ in cases], 2)
    assert plain.settled.all()
    assert [len(plain.haplotypes(r, codes(reference))) for r in range(len(cases))] == [count for _, count in cases]
    four = compare([(reference, reads_of(with_variants([50, 110, 170, 230]), 2))], 2)
    assert not four.settled.any()


@pytest.mark.parametrize("weights", [(2, 2, 4), (3, 2, 3), (2, 5, 1), (2, 2, 2)])
def test_the_likelier_haplotypes_come_first(weights: tuple[int, int, int]) -> None:
    """Haplotypes of two variants in different reads are ordered as by the graph, ties included."""
    generator = random.Random(4)
    reference = random_bases(generator, 300)
    left = reference[:100] + "ACGT"["ACGT".index(reference[100]) - 1] + reference[101:]
    right = reference[:200] + "ACGT"["ACGT".index(reference[200]) - 1] + reference[201:]
    reads: list[Drawn] = []
    for text, count in zip((left, right, reference), weights, strict=True):
        reads += [(number, text[number : 280 + number], 0, 0, []) for number in range(count)]
    plain = compare([(reference, reads)], 2)
    assert plain.settled.all()
    assert plain.detours.tolist() == [[2, 2]]


def test_ends_of_the_reference_and_runs_of_one_base() -> None:
    """Reads enter the reference's first k-mer, go beyond its last, or contain a k-mer twice in a row."""
    generator = random.Random(6)
    reference, other = random_bases(generator, 200), random_bases(generator, 40)
    run = random_bases(generator, 60, "CG") + "A" * 10 + random_bases(generator, 60, "CG")
    cases = [
        (reference, [other + reference[:120]] * 3),
        (reference, [reference[:50] + other + reference[:50]] * 3),
        (reference, [reference[80:] + other] * 3),
        (reference, [reference[100:] + reference[:60]] * 3),
        (reference, [reference[60:100] + other] * 3 + [other + reference[40:90]] * 3),
        (reference, [reference[60:100] + other] * 3 + [other + reference[130:]] * 3),
        (run, [run[:65] + "A" * more + run[65:] for more in (1, 1, 3, 20, 20)]),
        (run, [run[:62] + run[68:]] * 3),
    ]
    for text, reads in cases:
        for support in (1, 2, 4):
            compare([(text, [(0, read, 0, number % 2, []) for number, read in enumerate(reads)])], support)


def test_what_is_too_much_is_left_to_the_graph() -> None:
    """References with an N or that are too short are not solved."""
    generator = random.Random(5)
    reference = random_bases(generator, 120)
    read: Drawn = (0, reference[:60], 0, 0, [])
    short = (0, reference[:40], 0, 0, [])
    plain = plain_graphs(
        region_reads([[read], [short]]),
        np.frombuffer(codes(reference[:50] + "N" + reference[51:] + reference[:45]), np.uint8).copy(),
        np.array([[0, 120], [120, 165]]),
        2,
    )
    assert plain.kind.tolist() == [[UNKNOWN, UNKNOWN]] * 2
