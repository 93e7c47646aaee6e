"""The variants of a chunk, called jointly over all samples: the output `Output.VARIANTS`."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import VariantRecord
from quire.rescore.chunks import Chunk, batches, touched
from quire.rescore.genotyping import best_alleles, call_site
from quire.rescore.genotyping.annotations_cpu import annotate
from quire.rescore.genotyping.plain_sites_cpu import PlainSite, Verdicts, is_plain, judge, plain_record
from quire.rescore.genotyping.rank_sums_cpu import allele_groups, rank_sums
from quire.rescore.genotyping.sites import Site
from quire.rescore.job import CallingJob
from quire.rescore.long_indels.calls import (
    Called,
    deletions_over,
    long_indels,
    merged,
    record_of_all_samples,
    without_carried,
)
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.rescore.records import variant_record
from quire.rescore.reference_confidence.realignment_cpu import ScoredReads, score_regions
from quire.rescore.regions_cpu import AssembledRegion, assemble_regions, find_regions, region_sites, sites_with_reads
from quire.rescore.tally import Tally
from quire.rescore.trace import tell
from quire.rescore.window import Window


def call_chunk(job: CallingJob, chunk: Chunk, tally: Tally) -> Iterator[VariantRecord]:
    """Yield the records of a chunk's variants that start in its intervals, in order, and count its regions."""
    window, reads, intervals = chunk.window, chunk.reads, chunk.intervals
    given = job.given.within(window.contig, window.start, window.end)
    if not given and not any(len(own.start) for own in reads):
        return
    active, borders = find_regions(reads, job.ploidies.tolist(), window, chunk.tiles, given)
    owned = borders[0], borders[-1]
    long: list[Called] = []
    if job.parameters.long_indels:
        make_record = record_of_all_samples(window.contig, job.ploidies, job.parameters.long_indel_quality)
        long = long_indels(reads, [sample.source for sample in job.samples], window, owned, job.engine, make_record)
        reads = without_carried(reads, long)
    active = active[touched(intervals, active[:, 0], active[:, 1])]
    records: list[VariantRecord] = []
    for batch in batches(job, window, reads, active):
        regions = assemble_regions(job, window, batch, tally, long)
        if regions:
            scored, _ = score_regions(job, window, batch, regions)
            records += call_regions(job, window, regions, batch.reads, scored)
    starts, ends = intervals.T.tolist()
    for record in merged(records, long, owned):
        holding = bisect_right(ends, record.start)
        if holding < len(starts) and starts[holding] <= record.start:
            yield record


def call_regions(
    job: CallingJob,
    window: Window,
    regions: Sequence[AssembledRegion],
    reads: RegionReads,
    scored: Sequence[ScoredReads],
) -> Iterator[VariantRecord]:
    """Yield the records of the variants of some regions, in order.

    Regions whose sites are all plain (`genotyping.plain_sites`) are genotyped together in one kernel, all others by
    `call_region`.
    """
    parameters, ploidy = job.parameters, int(job.ploidies[0])
    plain: list[PlainSite] = []
    if len(job.samples) == 1 and not parameters.dragen and not parameters.pool_support:
        for number, region in enumerate(regions):
            sites = region_sites(region)
            covered = any(deletions_over(site.start, region.long) for site in sites)
            if is_plain(sites, ploidy) and not covered and not region.given:
                plain += [PlainSite(number, site) for site in sites]
    held = {region for region, _ in plain}
    verdicts = None
    if plain:
        verdicts = judge(plain, reads, scored, ploidy, parameters.minimum_quality, parameters.genotyping_margin)
        called = verdicts.called.tolist()
    at = 0
    for number, region in enumerate(regions):
        tell("scored", region=region, scored=scored[number].likelihoods)
        if verdicts is None or number not in held:
            yield from call_region(job, window, region, reads, scored[number])
            continue
        while at < len(plain) and plain[at].region == number:
            _tell_verdict(plain[at].site, verdicts, at, job.ploidies)
            if called[at]:
                yield plain_record(window.contig, plain[at].site, verdicts, at, ploidy)
            at += 1


def _tell_verdict(site: Site, verdicts: Verdicts, i: int, ploidies: NDArray[np.int64]) -> None:
    quality = float(verdicts.quality[i])
    tell(
        "judged",
        given=site,
        site=site,
        touching=verdicts.depth[i : i + 1],
        depths=verdicts.allele_depths[i : i + 1],
        phreds=verdicts.phreds[i],
        ploidies=ploidies,
        quality=quality,
        absent=np.array([0.0, -quality / 10.0]),
        kept=[0, 1] if verdicts.called[i] else [0],
    )


def call_region(
    job: CallingJob, window: Window, region: AssembledRegion, reads: RegionReads, scored: ScoredReads
) -> Iterator[VariantRecord]:
    """Yield the records of the variants of a region; `reads` are those of all regions."""
    likelihoods, placed = scored
    deletions: list[tuple[int, int]] = []  # first and last position of those among the alleles of earlier calls
    for rows, touching, model, is_covered in sites_with_reads(job, window, region, reads, likelihoods):
        site = rows.site
        covered = is_covered or any(a < site.start <= b for a, b in deletions)
        quality = job.parameters.long_indel_quality if is_covered else job.parameters.minimum_quality
        pooled = job.parameters.pool_support
        call = call_site(site, rows.matrix, rows.sample, job.ploidies, quality, covered, model, pooled)
        if call is None:
            continue
        start, length = call.site.start, len(call.site.alleles[0])
        deletions += [(start, start + length - len(allele)) for allele in call.site.alleles[1:] if len(allele) < length]
        if site.start >= region.variants[0]:
            info = annotate(call, rows)
            groups = allele_groups(best_alleles(call.likelihoods[: len(touching)]), np.array(call.kept))
            info |= rank_sums(reads, placed.subset(touching), groups, site.start, site.end)
            yield variant_record(window.contig, call, info)
