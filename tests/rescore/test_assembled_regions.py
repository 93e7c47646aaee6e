"""Many regions assembled in one call, against each assembled graph by graph: the same haplotypes in the same order."""

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.assembly import RegionAssembly, TriedGraph, assemble_all, assemble_graph, chosen_haplotypes
from quire.rescore.assembly.runs_cpu import threaded_sequences
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


def compare(regions: Sequence[tuple[str, Sequence[Drawn]]], support: int) -> None:
    """Assemble regions together and each graph by graph; compare haplotypes and graphs in order."""
    window = np.frombuffer(codes("".join(reference for reference, _ in regions)), np.uint8).copy()
    ends = np.cumsum([0, *(len(reference) for reference, _ in regions)])
    spans = np.stack([ends[:-1], ends[1:]], axis=1)
    reads = region_reads([drawn for _, drawn in regions])
    found = assemble_all(reads, window, spans, support)
    assert found == [built(reads, region, window[a:b], support) for region, (a, b) in enumerate(spans.tolist())]


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
def test_drawn_regions(seed: int, samples: int, support: int) -> None:
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
