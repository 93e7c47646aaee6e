"""Sites genotyped together, against each genotyped alone: the same records, to the last digit."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.io.vcf import VariantRecord
from quire.rescore.genotyping.plain_sites_cpu import is_plain
from quire.rescore.genotyping.rank_sums_cpu import PlacedReads
from quire.rescore.genotyping.sites import Site
from quire.rescore.haplotypes import Event, Haplotype
from quire.rescore.haplotypes.likelihoods_cpu import RegionLikelihoods
from quire.rescore.job import CalledSample, CallingJob, Output
from quire.rescore.parameters import CallingParameters
from quire.rescore.ploidy import PloidyMap
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads
from quire.rescore.records import FIELDS
from quire.rescore.reference_confidence.realignment_cpu import ScoredReads
from quire.rescore.regions_cpu import AssembledRegion
from quire.rescore.trace import observing
from quire.rescore.variants import call_region, call_regions
from quire.rescore.window import Window

from tests.support.examples import examples

SPAN = 60
WINDOW = Window("c", SPAN, 0, np.zeros(SPAN, np.uint8))


def drawn_event(generator: random.Random, reference: bytes, start: int) -> Event:
    """Draw a substitution, an insertion or a deletion at a position of the reference."""
    at = reference[start : start + 1]
    kind = generator.randrange(6)
    if kind == 0:
        return Event(start, 1, at + bytes(generator.choices(range(4), k=generator.randrange(1, 4))))
    if kind == 1:
        return Event(start, generator.randrange(2, 5), at)
    return Event(start, 1, bytes([(at[0] + generator.randrange(1, 4)) % 4]))


def drawn_region(generator: random.Random, number: int) -> AssembledRegion:
    """Draw a region whose haplotypes have up to three variants, mostly apart from each other."""
    reference = bytes(generator.choices(range(4), k=SPAN))
    starts = sorted(generator.sample(range(10, SPAN - 10, generator.choice([2, 7])), generator.randrange(1, 4)))
    events = [drawn_event(generator, reference, start) for start in starts]
    haplotypes = [Haplotype(reference, 0, ((0, SPAN),))]
    for _ in range(generator.randrange(1, 4)):
        carried: dict[int, Event] = {}
        for event in events:  # no event within a deletion of the same haplotype
            if generator.random() < 0.7 and all(event.start > other.end for other in carried.values()):
                carried[event.start] = event
        haplotypes.append(Haplotype(reference, 0, ((0, SPAN),), carried))
    return AssembledRegion(number, reference, 0, (0, SPAN), (0, SPAN), haplotypes)


def drawn_reads(
    generator: np.random.Generator, regions: list[AssembledRegion], most: int
) -> tuple[RegionReads, list[ScoredReads]]:
    """Draw reads of each region with random likelihoods and positions, some of them left out."""
    counts = [int(generator.integers(0, most)) for _ in regions]
    total, length = sum(counts), 30
    reads = RegionReads(
        region_offsets=np.cumsum([0, *counts]),
        sample=np.zeros(total, np.int32),
        start=np.zeros(total, np.int64),
        end=np.zeros(total, np.int64),
        usable=generator.integers(0, 10, total).clip(0, 1).astype(np.uint8),
        reverse=generator.integers(0, 2, total).astype(np.uint8),
        mapping_quality=generator.choice([0, 20, 37, 60, 255], total).astype(np.uint8),
        before=generator.integers(0, 5, total).astype(np.int32),
        behind=generator.integers(0, 5, total).astype(np.int32),
        base_offsets=np.arange(total + 1) * length,
        bases=generator.integers(0, 4, total * length).astype(np.uint8),
        qualities=generator.integers(2, 41, total * length).astype(np.uint8),
        positions=np.zeros(total * length, np.int32),
    )
    positions = np.empty(total * length, np.int64)
    scored, first = [], 0
    for region, count in zip(regions, counts, strict=True):
        source = np.arange(first, first + count)
        start = generator.integers(-10, SPAN - 5, count)
        for i, begin in zip(source.tolist(), start.tolist(), strict=True):
            places = np.arange(begin, begin + length)
            places[generator.random(length) < 0.05] = INSERTED
            positions[i * length : (i + 1) * length] = places
        matrix = -generator.integers(0, 40, (count, len(region.haplotypes))) * generator.choice([0.0, 0.1, 0.37])
        matrix[generator.random(count) < 0.1] = np.nan
        matrix[reads.usable[source] == 0] = np.nan
        own = RegionLikelihoods(source, start, start + length, reads.usable[source], matrix)
        sizes = np.where(np.isnan(matrix[:, 0]), 0, length)
        scored.append(ScoredReads(own, PlacedReads(source, source * length, sizes, source * length, positions)))
        first += count
    return reads, scored


def job_of(ploidy: int, quality: float) -> CallingJob:
    """Return a job of one sample."""
    sample = CalledSample("sample", ploidy, None, PloidyMap.of(ploidy, []))  # type: ignore[arg-type]
    parameters = CallingParameters(quality, 20, 50, 2, True)
    return CallingJob(Output.VARIANTS, None, [sample], parameters, {}, None)  # type: ignore[arg-type]


def records(
    regions: list[AssembledRegion],
    reads: RegionReads,
    scored: list[ScoredReads],
    ploidy: int,
    quality: float,
) -> list[VariantRecord]:
    """Return the records, with plain sites genotyped together."""
    return list(call_regions(job_of(ploidy, quality), WINDOW, regions, reads, scored))


def records_one_by_one(
    regions: list[AssembledRegion],
    reads: RegionReads,
    scored: list[ScoredReads],
    ploidy: int,
    quality: float,
) -> list[VariantRecord]:
    """Return the records, genotyped site by site."""
    job = job_of(ploidy, quality)
    found: list[VariantRecord] = []
    for region, own in zip(regions, scored, strict=True):
        found += call_region(job, WINDOW, region, reads, own)
    return found


@given(st.integers(0, 1 << 30), st.sampled_from([1, 2, 2, 3]), st.sampled_from([0.0, 4.0, 30.0]))
@settings(max_examples=examples(250), deadline=None)
def test_records_are_those_of_each_site_by_itself(seed: int, ploidy: int, quality: float) -> None:
    generator = random.Random(seed)
    regions = [drawn_region(generator, number) for number in range(4)]
    reads, scored = drawn_reads(np.random.default_rng(seed), regions, generator.choice([3, 10, 60]))
    together = records(regions, reads, scored, ploidy, quality)
    alone = records_one_by_one(regions, reads, scored, ploidy, quality)
    assert together == alone
    assert [record.line(FIELDS) for record in together] == [record.line(FIELDS) for record in alone]


def test_deep_tables_are_shrunk_alike() -> None:
    generator = random.Random(1)
    regions = [drawn_region(generator, number) for number in range(6)]
    reads, scored = drawn_reads(np.random.default_rng(1), regions, 1500)
    together = records(regions, reads, scored, 2, 0.0)
    assert together
    assert together == records_one_by_one(regions, reads, scored, 2, 0.0)


def test_an_observer_is_told_the_same_of_both() -> None:
    generator = random.Random(1)
    regions = [drawn_region(generator, number) for number in range(12)]
    reads, scored = drawn_reads(np.random.default_rng(1), regions, 30)
    told = []
    for call in (records, records_one_by_one):
        heard: list[Mapping[str, Any]] = []
        with observing(lambda step, facts, heard=heard: heard.append(facts) if step == "judged" else None):  # type: ignore[misc]
            call(regions, reads, scored, 2, 4.0)
        told.append(heard)
    together, alone = told
    assert len(together) == len(alone) > 10
    for first, second in zip(together, alone, strict=True):
        for name in ("given", "site"):
            assert first[name].start == second[name].start
            assert first[name].alleles == second[name].alleles
        for name in ("touching", "depths", "phreds", "ploidies", "quality", "kept"):
            assert np.array_equal(first[name], second[name]), name
        assert np.allclose(first["absent"][1:], second["absent"][1:], rtol=1e-12)


@pytest.mark.parametrize(
    ("alleles", "ploidy", "plain"),
    [
        ([b"\0", b"\1"], 2, True),
        ([b"\0", b"\1", b"\2"], 2, False),
        ([b"\0", b"*"], 2, False),
        ([b"\0", b"\1"], 1023, True),
        ([b"\0", b"\1"], 1024, False),
    ],
)
def test_which_sites_are_plain(alleles: list[bytes], ploidy: int, plain: bool) -> None:
    site = Site(5, tuple(alleles), np.eye(len(alleles), dtype=np.bool_))
    assert is_plain([site], ploidy) is plain
    assert is_plain([site, Site(7, (b"\0", b"\1"), np.eye(2, dtype=np.bool_))], ploidy) is plain
