"""Haplotypes to variants: alignment, left alignment, events, trimming and sites."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.engines import cpu_engine
from quire.rescore.genotyping.sites import SPANNING, make_site, site_starts
from quire.rescore.haplotypes import (
    Event,
    Haplotype,
    align_haplotypes,
    events_of,
    genotyping_span,
    left_aligned,
    make_haplotypes,
    trim,
)
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH

from tests.support.builders import random_bases
from tests.support.examples import examples
from tests.support.simulation import codes

START = 1000


def haplotypes_of(reference: str, versions: list[str]) -> list[Haplotype]:
    """Return the reference and its versions, aligned, from START on."""
    whole = codes(reference)
    texts = [whole, *map(codes, versions)]
    (cigars,) = align_haplotypes([(whole, texts)], cpu_engine())
    return make_haplotypes(texts, cigars, whole, START)


def spell(reference: bytes, start: int, haplotype: Haplotype) -> bytes:
    """Apply a haplotype's events to the reference."""
    text, at = b"", start
    for event in sorted(haplotype.events.values()):
        text += reference[at - start : event.start - start] + event.alternate
        at = event.end
    return text + reference[at - start :]


@given(st.integers(0, 10_000), st.sampled_from(["ACGT", "AC", "A" * 9 + "C"]))
@settings(max_examples=examples(120), deadline=None)
def test_events_spell_the_haplotype_and_indels_are_leftmost(seed: int, alphabet: str) -> None:
    generator = random.Random(seed)
    reference = random_bases(generator, 60) + random_bases(generator, 60, alphabet) + random_bases(generator, 60)
    version = reference
    for _ in range(generator.randrange(1, 4)):
        at = generator.randrange(60, len(version) - 60)
        cut = generator.choice([0, 0, generator.randrange(1, 8)])
        version = version[:at] + random_bases(generator, generator.randrange(0, 8), alphabet) + version[at + cut :]
    whole = codes(reference)
    for haplotype in haplotypes_of(reference, [version])[1:]:
        assert spell(whole, START, haplotype) == haplotype.bases
        simple = len(haplotype.events) == 1
        for event in haplotype.events.values():
            assert whole[event.start - START] == event.alternate[0] or not event.is_indel or not simple
            if simple and event.is_indel and min(event.reference_length, len(event.alternate)) == 1:
                # Leftmost: the last base of the long allele is not the base before it.
                long = max(whole[event.start - START : event.end - START], event.alternate, key=len)
                assert long[-1] != long[0]


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_left_alignment_keeps_both_sequences(data: st.DataObject) -> None:
    elements = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), min_size=1, max_size=7))
    elements = [(CIGAR_MATCH, 3), *elements, (CIGAR_MATCH, 3)]
    reference, query = [], []
    for operation, length in elements:
        text = data.draw(st.text("AC", min_size=length, max_size=length))
        if operation != CIGAR_INSERTION:
            reference.append(text)
        if operation != CIGAR_DELETION:
            query.append(text)
    theirs, ours = (np.frombuffer(codes("".join(part)), np.uint8) for part in (reference, query))
    operations = np.array([operation for operation, _ in elements], np.uint8)
    lengths = np.array([length for _, length in elements], np.int64)
    new_operations, new_lengths = left_aligned(operations, lengths, theirs, ours)

    def mismatches(operations: np.ndarray, lengths: np.ndarray) -> int:
        differing = at = query_at = 0
        for operation, length in zip(operations.tolist(), lengths.tolist(), strict=True):
            if operation == CIGAR_MATCH:
                differing += int((theirs[at : at + length] != ours[query_at : query_at + length]).sum())
            at += length if operation != CIGAR_INSERTION else 0
            query_at += length if operation != CIGAR_DELETION else 0
        assert (at, query_at) == (len(theirs), len(ours))
        return differing

    assert mismatches(new_operations, new_lengths) <= mismatches(operations, lengths)
    again = left_aligned(new_operations, new_lengths, theirs, ours)
    assert mismatches(*again) <= mismatches(new_operations, new_lengths)


def test_homopolymer_deletion_moves_to_its_left_end() -> None:
    reference = "ACGTACGGTCAGTTTTTTTTCAGGCATCGA"
    operations, lengths = left_aligned(
        np.array([0, 2, 0], np.uint8),
        np.array([18, 2, 10]),
        np.frombuffer(codes(reference), np.uint8),
        np.frombuffer(codes(reference.replace("TTTTTTTT", "TTTTTT")), np.uint8),
    )
    assert list(zip(operations, lengths, strict=True)) == [(0, 12), (2, 2), (0, 16)]


def test_events_that_start_together_become_one() -> None:
    reference = codes("ACGTACGT")
    insertion = events_of(
        codes("ACGCTTACGT"), ((CIGAR_MATCH, 4), (CIGAR_INSERTION, 2), (CIGAR_MATCH, 4)), START, reference, START
    )
    assert insertion == {START + 3: Event(START + 3, 1, codes("CTT"))}
    deletion = events_of(
        codes("ACGCGT"), ((CIGAR_MATCH, 4), (CIGAR_DELETION, 2), (CIGAR_MATCH, 2)), START, reference, START
    )
    assert deletion == {START + 3: Event(START + 3, 3, codes("C"))}
    both = events_of(
        codes("ACGTGGCGT"),
        ((CIGAR_MATCH, 4), (CIGAR_INSERTION, 2), (CIGAR_DELETION, 1), (CIGAR_MATCH, 3)),
        START,
        reference,
        START,
    )
    assert both == {START + 3: Event(START + 3, 2, codes("TGG"))}


def test_haplotypes_that_do_not_span_the_reference_are_left_out() -> None:
    generator = random.Random(2)
    reference, other = random_bases(generator, 200), random_bases(generator, 200)
    assert len(haplotypes_of(reference, [other[:40] + reference[100:]])) <= 2
    kept = haplotypes_of(reference, [reference[:100] + reference[130:]])
    assert [event.reference_length for event in kept[1].events.values()] == [31]


def test_trimming_cuts_haplotypes_and_joins_equal_ones() -> None:
    generator = random.Random(4)
    reference = random_bases(generator, 300)
    other = {base: "ACGT"["ACGT".index(base) - 1] for base in "ACGT"}
    near = reference[:150] + other[reference[150]] + reference[151:]
    far = reference[:20] + other[reference[20]] + reference[21:]
    both = far[:150] + other[reference[150]] + far[151:]
    whole = codes(reference)
    haplotypes = haplotypes_of(reference, [near, far, both])
    events = {event for haplotype in haplotypes for event in haplotype.events.values()}
    spans = genotyping_span(events, (START + 100, START + 200), (START, START + 300), whole)
    assert spans == ((START + 150, START + 151), (START + 130, START + 171))
    trimmed = trim(haplotypes, spans[1])
    assert [h.bases for h in trimmed] == [whole[130:171], codes(near)[130:171]]
    assert trimmed[0].is_reference
    assert genotyping_span(events, (START + 200, START + 250), (START, START + 300), whole) is None
    deleted = haplotypes_of(reference, [reference[:120] + reference[140:]])
    assert len(trim(deleted, (START + 130, START + 171))) == 1


def test_padding_grows_with_the_repeat() -> None:
    generator = random.Random(6)
    reference = random_bases(generator, 150) + "CA" * 10 + random_bases(generator, 150)
    haplotypes = haplotypes_of(reference, [reference[:150] + reference[154:]])
    (event,) = haplotypes[1].events.values()
    span = genotyping_span([event], (START + 100, START + 200), (START, START + 320), codes(reference))
    assert span is not None
    assert event.start - span[1][0] == 75 + 20


def test_sites_merge_alleles_and_name_spanning_deletions() -> None:
    generator = random.Random(8)
    reference = random_bases(generator, 80) + "GCGCATTGC" + random_bases(generator, 80)
    deletion = reference[:81] + reference[86:]
    substitution = reference[:83] + ("T" if reference[83] != "T" else "A") + reference[84:]
    haplotypes = haplotypes_of(reference, [deletion, substitution])
    starts = site_starts(haplotypes, (START, START + len(reference)))
    assert len(starts) == 2
    site = make_site(starts[1], haplotypes, codes(reference), START)
    assert SPANNING in site.alleles
    assert site.carriers.sum(axis=0).tolist() == [1, 1, 1]
    assert site.spanning_starts == (starts[0],)
    first = make_site(starts[0], haplotypes, codes(reference), START)
    assert first.end - first.start == 6
    assert first.carriers[0].tolist() == [True, False, True]


def test_sites_extend_shorter_alleles_to_the_longest_reference() -> None:
    haplotypes = [
        Haplotype(b"", START, (), {}),
        Haplotype(b"", START, (), {START: Event(START, 3, b"\0")}),
        Haplotype(b"", START, (), {START: Event(START, 1, b"\1")}),
        Haplotype(b"", START, (), {START: Event(START, 1, b"\0\2")}),
    ]
    site = make_site(START, haplotypes, bytes([0, 1, 2, 3]), START)
    assert site.alleles == (b"\0\1\2", b"\0", b"\1\1\2", b"\0\2\1\2")
    assert site.carriers.astype(int).tolist() == np.eye(4, dtype=int).tolist()
