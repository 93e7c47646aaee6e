"""Assembly against all paths of a de Bruijn graph found by brute force, and on difficult cases."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.scoring import DANGLING_END
from quire.rescore.assembly import assemble_all, assemble_graph
from quire.rescore.assembly.dangling_cpu import align_branch
from quire.rescore.assembly.graph_cpu import EDGES, IS_REFERENCE, LARGEST, SOURCE, TARGET, WEIGHT, build, has_cycle
from quire.rescore.assembly.k_mers_cpu import number_k_mers
from quire.rescore.assembly.runs_cpu import ThreadedSequences, threading_order
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.sam import CIGAR_DELETION, CIGAR_MASK, CIGAR_SHIFT

from tests.oracles import semiglobal as oracle
from tests.oracles.semiglobal import Overhang
from tests.support.builders import random_bases
from tests.support.examples import examples
from tests.support.simulation import codes


def sequences(texts: list[str], samples: list[int] | None = None) -> ThreadedSequences:
    """Return the sequences to thread; the first text is the reference."""
    ends = np.cumsum([len(text) for text in texts]).astype(np.int64)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    owner = [-1, *(samples or [0] * (len(texts) - 1))]
    return ThreadedSequences(
        np.frombuffer(codes("".join(texts)), np.uint8).copy(), starts, ends, np.array(owner, np.int32)
    )


def haplotypes(
    texts: list[str], k: int, samples: list[int] | None = None, last: bool = False, support: int = 2
) -> set[str] | None:
    """Return the haplotypes of `assemble_graph` as text, None if the graph is not usable."""
    succeeded, _, bases, offsets = assemble_graph(sequences(texts, samples), k, last, support)
    text = "".join("ACGTN"[b] for b in bases)
    return {text[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1)} if succeeded else None


def brute_force_paths(reference: str, reads: list[str], k: int) -> set[str]:
    """Return every path between the reference's end k-mers over k-mer pairs of two reads or of the reference."""
    weights = Counter(read[i : i + k + 1] for read in reads for i in range(len(read) - k))
    solid = {pair for pair, weight in weights.items() if weight >= 2}
    solid |= {reference[i : i + k + 1] for i in range(len(reference) - k)}
    found = set()
    stack = [reference[:k]]
    while stack:
        path = stack.pop()
        if path[-k:] == reference[-k:]:
            found.add(path)
            continue
        stack += [path + base for base in "ACGT" if path[-k:] + base in solid]
    return found


def slow_numbers(texts: list[str], k: int) -> tuple[list[list[int]], list[bool]]:
    """Return numbers of the k-mers of each text by first occurrence, and the k-mers that some text contains twice."""
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(text[i : i + k], len(numbers)) for i in range(len(text) - k + 1)] for text in texts]
    twice = {number for row in rows for number, times in Counter(row).items() if times > 1}
    return rows, [number in twice for number in range(len(numbers))]


def slow_edges(texts: list[str], samples: list[int], k: int) -> list[list[int]]:
    """Thread vertex by vertex; return (source, target, weight, largest weight of a sample, reference) of each edge."""
    rows, twice = slow_numbers(texts, k)
    vertices: list[str] = []
    vertex_of: dict[int, int] = {}
    edges: list[list[int]] = []
    weights: list[Counter] = []  # of each edge, by sample

    def add_vertex(number: int, k_mer: str) -> int:
        vertices.append(k_mer)
        if not twice[number]:
            vertex_of.setdefault(number, len(vertices) - 1)
        return len(vertices) - 1

    for s, (text, sample) in enumerate(zip(texts, samples, strict=True)):
        start = 0
        while s > 0 and start < len(text) - k and twice[rows[s][start]]:
            start += 1
        if s > 0 and start >= len(text) - k:
            continue
        vertex = vertex_of.get(rows[s][start])
        if vertex is None:
            vertex = add_vertex(rows[s][start], text[start : start + k])
        back, offset = vertex, k - 2
        while offset >= 0 and len(into := [e for e, edge in enumerate(edges) if edge[1] == back]) == 1:
            back = edges[into[0]][0]
            if vertices[back][-1] != text[start + offset]:
                break
            weights[into[0]][sample] += 1
            offset -= 1
        for at in range(start + 1, len(text) - k + 1):
            k_mer, number = text[at : at + k], rows[s][at]
            ways = [e for e, edge in enumerate(edges) if edge[0] == vertex and vertices[edge[1]][-1] == k_mer[-1]]
            if not ways:
                following = vertex_of.get(number) if number != rows[0][0] else None
                edges.append([vertex, add_vertex(number, k_mer) if following is None else following, int(s == 0)])
                weights.append(Counter())
                ways = [len(edges) - 1]
            weights[ways[0]][sample] += 1
            vertex = edges[ways[0]][1]
    return [
        [source, target, sum(weight.values()), max(weight.values()), reference]
        for (source, target, reference), weight in zip(edges, weights, strict=True)
    ]


@st.composite
def overlapping_texts(draw: st.DrawFn) -> list[str]:
    """Draw a reference, and reads of pieces of it in both directions, with other bases between."""
    reference = draw(st.text(draw(st.sampled_from(["AC", "ACGTN"])), min_size=12, max_size=40))
    piece = st.tuples(st.integers(0, len(reference)), st.integers(0, 20)).map(lambda p: reference[p[0] : sum(p)])
    pieces = st.lists(st.one_of(piece, st.text("ACGT", max_size=3)), min_size=1, max_size=5)
    reads = draw(st.lists(pieces.map("".join).filter(lambda read: len(read) > 4), min_size=1, max_size=6))
    return [reference, *reads]


@pytest.mark.full
@given(overlapping_texts(), st.integers(2, 8), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_graphs_are_those_of_plain_threading(texts: list[str], k: int, data: st.DataObject) -> None:
    texts = [text for text in texts if len(text) >= k]
    samples = [-1, *sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(texts) - 1, max_size=len(texts) - 1)))]
    threaded = sequences(texts, samples[1:])
    numbers, count, repeated = number_k_mers(threaded, k, True)
    rows, twice = slow_numbers(texts, k)
    assert numbers[numbers >= 0].tolist() == [number for row in rows for number in row]
    assert repeated.astype(bool).tolist() == twice
    assert count == len(twice)
    refused = number_k_mers(threaded, k, False)[1] == 0
    assert refused == (len(set(rows[0])) < len(rows[0]))
    graph = build(threaded, k, numbers, count, repeated)
    table = graph.edges[: graph.sizes[EDGES], [SOURCE, TARGET, WEIGHT, LARGEST, IS_REFERENCE]]
    assert table.tolist() == slow_edges(texts, samples, k)


def mutate(generator: random.Random, text: str) -> str:
    """Insert a substitution, an insertion or a deletion well inside a text."""
    at = generator.randrange(40, len(text) - 40)
    kind = generator.randrange(3)
    if kind == 0:
        return text[:at] + generator.choice([b for b in "ACGT" if b != text[at]]) + text[at + 1 :]
    if kind == 1:
        return text[:at] + random_bases(generator, generator.randrange(1, 30)) + text[at:]
    return text[:at] + text[at + generator.randrange(1, 30) :]


@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([15, 25]))
@settings(max_examples=examples(60), deadline=None)
def test_paths_are_those_of_brute_force(seed: int, variants: int, k: int) -> None:
    generator = random.Random(seed)
    reference = random_bases(generator, 200)
    version = reference
    for _ in range(variants):
        version = mutate(generator, version)
    reads = [version] * 2 + [reference]
    found = haplotypes([reference, *reads], k)
    # A k-mer may occur twice even in random sequence; GATK unrolls it and the brute-force graph folds it. A version
    # whose end differs from the reference's has a dangling end, which only GATK joins.
    anchored = version[:k] == reference[:k] and version[-k:] == reference[-k:]
    if anchored and all(
        len({t[i : i + k] for i in range(len(t) - k + 1)}) == len(t) - k + 1 for t in (version, reference)
    ):
        assert found == brute_force_paths(reference, reads, k)


def test_support_says_how_many_reads_must_show_a_haplotype() -> None:
    reference = random_bases(random.Random(8), 120)
    other = reference[:60] + "ACGT"["ACGT".index(reference[60]) - 1] + reference[61:]
    for reads in (1, 2, 3):
        for support in (1, 2, 3):
            found = haplotypes([reference, *[other[10:110]] * reads], 25, support=support)
            assert found == ({reference, other} if reads >= support else {reference})
    # One sample alone must have enough reads; reads of two samples are not added.
    assert haplotypes([reference, other, other], 25, [0, 1]) == {reference}


def test_chains_that_one_read_has_are_pruned_unless_a_sample_has_two() -> None:
    generator = random.Random(5)
    reference = random_bases(generator, 200)
    version = reference[:100] + ("A" if reference[100] != "A" else "C") + reference[101:]
    assert haplotypes([reference, version], 25) == {reference}
    assert haplotypes([reference, version, version], 25) == {reference, version}
    # One read in each of two samples is not enough: the weight is that of the best sample.
    assert haplotypes([reference, version, version], 25, [0, 1]) == {reference}


def test_dangling_ends_are_joined_to_the_reference() -> None:
    generator = random.Random(7)
    reference = random_bases(generator, 300)
    version = reference[:150] + ("A" if reference[150] != "A" else "C") + reference[151:]
    tails = [version[60:168]] * 3  # the branch ends before a k-mer returns to the reference
    heads = [version[140:240]] * 3
    assert haplotypes([reference, *tails], 25) == {reference, version}
    assert haplotypes([reference, *heads], 25) == {reference, version}


def test_cycles_and_repeats_are_refused_until_the_k_mers_are_long_enough() -> None:
    generator = random.Random(9)
    left, right = random_bases(generator, 100), random_bases(generator, 100)
    reference = left + "CAG" * 12 + right
    longer = left + "CAG" * 15 + right
    assert haplotypes([reference, longer, longer], 25) is None
    assert haplotypes([reference, longer, longer], 55) == {reference, longer}
    graph_of = sequences([reference, reference])
    numbers, count, repeated = number_k_mers(graph_of, 25, True)
    assert repeated.any()
    assert count == len({reference[i : i + 25] for i in range(len(reference) - 24)})
    unrepeated = np.zeros_like(repeated)  # without marks of repeats, the graph folds into a cycle
    assert has_cycle(build(graph_of, 25, numbers, count, unrepeated))


def test_assemble_unites_graphs_and_grows_k_mers() -> None:
    generator = random.Random(11)
    left, right = random_bases(generator, 100), random_bases(generator, 100)
    reference = left + "CAG" * 12 + right
    longer = left + "CAG" * 15 + right
    text = codes(longer)
    reads = RegionReads(
        region_offsets=np.array([0, 3]),
        sample=np.zeros(3, np.int32),
        start=np.zeros(3, np.int64),
        end=np.zeros(3, np.int64),
        usable=np.ones(3, np.uint8),
        reverse=np.zeros(3, np.uint8),
        mapping_quality=np.full(3, 60, np.uint8),
        before=np.zeros(3, np.int32),
        behind=np.zeros(3, np.int32),
        base_offsets=np.arange(4) * len(text),
        bases=np.frombuffer(text * 3, np.uint8).copy(),
        qualities=np.full(3 * len(text), 30, np.uint8),
        positions=np.zeros(3 * len(text), np.int32),
    )
    window = np.frombuffer(codes(reference), np.uint8).copy()
    (found,) = assemble_all(reads, window, np.array([[0, len(window)]]), 2)
    assert found.haplotypes == [codes(reference), codes(longer)]


def test_reads_are_threaded_by_sample_start_and_strand() -> None:
    starts, strands, samples = [5, 5, 3, 5, 7, 2], [1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]
    n = len(starts)
    reads = RegionReads(
        region_offsets=np.array([0, n]),
        sample=np.array(samples, np.int32),
        start=np.array(starts),
        end=np.array(starts) + 10,
        usable=np.ones(n, np.uint8),
        reverse=np.array(strands, np.uint8),
        mapping_quality=np.full(n, 60, np.uint8),
        before=np.zeros(n, np.int32),
        behind=np.zeros(n, np.int32),
        base_offsets=np.arange(n + 1) * 10,
        bases=np.zeros(10 * n, np.uint8),
        qualities=np.full(10 * n, 30, np.uint8),
        positions=np.zeros(10 * n, np.int64),
    )
    assert threading_order(reads, 0, 6).tolist() == [2, 1, 3, 0, 5, 4]
    assert threading_order(reads, 1, 4).tolist() == [2, 1, 3]
    assert threading_order(reads, 3, 3).tolist() == []


def test_ambiguous_reference_bases_stay_in_the_haplotypes() -> None:
    generator = random.Random(13)
    reference = random_bases(generator, 120) + "N" + random_bases(generator, 120)
    version = mutate(random.Random(1), reference)
    assert haplotypes([reference, version, version], 25) == {reference, version}


@given(st.data())
@settings(max_examples=examples(80), deadline=None)
def test_branches_are_aligned_as_by_the_oracle(data: st.DataObject) -> None:
    text = st.text("ACGT", min_size=1, max_size=30)
    reference, branch = data.draw(text), data.draw(text)
    if data.draw(st.booleans()):
        branch = reference[: len(reference) // 2] + branch
    _, path = oracle.align(codes(reference), codes(branch), DANGLING_END, Overhang.LEADING_INDEL)
    if path[-1][0] == CIGAR_DELETION:
        path.pop()
    elements = align_branch(*(np.frombuffer(codes(sequence), np.uint8).copy() for sequence in (reference, branch)))
    answer = [(element & CIGAR_MASK, element >> CIGAR_SHIFT) for element in elements.tolist()]
    assert answer == (path if len(path) <= 3 else [])


@pytest.mark.parametrize("k", [10, 25])
def test_the_reference_alone_is_its_own_haplotype(k: int) -> None:
    reference = "ACGTTGCAAGGTCCATATGCCGATTACAGGCTTAAC"
    assert haplotypes([reference], k) == {reference}
