"""A chunk of a sample's genome: active regions assembled and called, and how sure every other position is."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import VariantRecord
from quire.rescore.activity.regions import quiet_regions
from quire.rescore.chunks import BASES_PER_BATCH, CallingJob, Chunk, batches, padded_spans, touched
from quire.rescore.genotyping import NO_CALL
from quire.rescore.genotyping.rank_sums import rank_sums
from quire.rescore.genotyping.sites import Site
from quire.rescore.gvcf.blocks import Stretch
from quire.rescore.gvcf.confidence import ChunkConfidence
from quire.rescore.gvcf.records import gvcf_record
from quire.rescore.gvcf.variants import GvcfCall, call_gvcf_site
from quire.rescore.haplotypes.likelihoods import region_likelihoods
from quire.rescore.long_indels.calls import Called, long_indels, merged, without_carried
from quire.rescore.long_indels.support import Support
from quire.rescore.parameters import REGION_PADDING
from quire.rescore.phasing import PHASED_PLOIDY, phases
from quire.rescore.reads.clipping import RegionReads, region_reads
from quire.rescore.reference_confidence.realignment import ScoredReads, realigned
from quire.rescore.regions import (
    AssembledRegion,
    Window,
    assemble_regions,
    find_regions,
    region_sites,
    unexplained_reads,
)
from quire.rescore.trace import tell

LOOK_BACK = REGION_PADDING
"""Bases from the end of an active region to the last that its deletions may take: its haplotypes end there."""


def call_chunk(job: CallingJob, chunk: Chunk) -> Stretch:
    """Variants and confidence of some tiles of the job's one sample.

    Only what overlaps the intervals is looked at, and active regions whose deletions may reach into them: a block of
    what such a deletion takes away would belong to nobody, wherever the genome is cut.
    """
    window, reads, tiles, intervals = chunk
    ploidy = job.samples[0].ploidy
    active, borders = find_regions(reads, [ploidy], window, tiles)
    owned = borders[0], borders[-1]
    called: list[Called] = []
    if job.parameters.long_indels:
        sources = [job.samples[0].source]
        called = long_indels(reads, sources, window, owned, job.engine, partial(_long_record, window.contig, ploidy))
        reads = without_carried(reads, called)
    confidence = ChunkConfidence(borders[0], borders[-1], ploidy, window)
    quiet = quiet_regions(active, borders)
    quiet = quiet[touched(intervals, quiet[:, 0], quiet[:, 1])]
    padded = padded_spans(quiet, window)
    for batch in batches(padded, reads, BASES_PER_BATCH * job.engine.batch_scale):
        clipped = region_reads(reads, padded[batch])
        confidence.add_aligned(clipped, np.arange(len(quiet[batch])), padded[batch], quiet[batch])
    active = active[touched(intervals, active[:, 0], active[:, 1] + LOOK_BACK)]
    padded = padded_spans(active, window)
    variants: list[VariantRecord] = []
    for batch in batches(padded, reads, BASES_PER_BATCH * job.engine.batch_scale):
        clipped = region_reads(reads, padded[batch])
        variants += _call_regions(job, window, clipped, active[batch], padded[batch], confidence)
    variants = list(merged(variants, called, owned))
    deleted = [(one.record.start, one.record.start + len(one.record.alleles[0])) for one in called]
    return Stretch(confidence.start, confidence.depth, confidence.phreds, variants, deleted)


def _long_record(contig: str, ploidy: int, site: Site, scored: Support) -> VariantRecord | None:
    """The record of a long indel that the sample carries, None where it does not."""
    call = call_gvcf_site(site, scored.matrix, scored.reverse, scored.mapping_quality, ploidy, False)
    if call is None or not any(allele > 0 for allele in call.genotype):
        return None
    return gvcf_record(contig, call, {}, None)


def _call_regions(
    job: CallingJob,
    window: Window,
    reads: RegionReads,
    spans: NDArray[np.int64],
    padded: NDArray[np.int64],
    confidence: ChunkConfidence,
) -> Iterator[VariantRecord]:
    """Records of the variants of active regions; their positions go into `confidence`."""
    regions = assemble_regions(reads, spans, padded, window, job.engine, job.parameters)
    called: list[AssembledRegion] = []
    if regions:
        for region, scored in zip(regions, _scored(job, window, reads, regions, confidence), strict=True):
            calls = list(_call_region(job, window, region, reads, scored))
            if any(allele != NO_CALL for call, _ in calls for allele in call.genotype):
                called.append(region)
                yield from _records(window.contig, region, calls, job.samples[0].ploidy)
    sides = [side for region in called for side in _sides(region, spans)]
    whole = np.setdiff1d(np.arange(len(spans)), [region.number for region in called])
    numbers = np.concatenate([whole, np.array([number for number, _, _ in sides], np.int64)])
    around = np.concatenate([spans[whole], np.array([side[1:] for side in sides], np.int64).reshape(-1, 2)])
    confidence.add_aligned(reads, numbers, padded[numbers], around)


def _records(
    contig: str, region: AssembledRegion, calls: Sequence[tuple[GvcfCall, dict[str, float]]], ploidy: int
) -> Iterator[VariantRecord]:
    """Records of a region's calls, in phase with each other where the haplotypes say so."""
    sites = [call.site for call, _ in calls]
    found = phases(sites, region.haplotypes) if ploidy == PHASED_PLOIDY else [None] * len(calls)
    for (call, tests), phase in zip(calls, found, strict=True):
        yield gvcf_record(contig, call, tests, phase)


def _sides(region: AssembledRegion, spans: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Number of a region with calls, start and end of what lies before its first and behind its last variant."""
    start, end = spans[region.number].tolist()
    sides = ((start, region.variants[0]), (region.variants[1], end))
    return [(region.number, *side) for side in sides if side[0] < side[1]]


def _scored(
    job: CallingJob,
    window: Window,
    reads: RegionReads,
    regions: Sequence[AssembledRegion],
    confidence: ChunkConfidence,
) -> list[ScoredReads]:
    """Likelihoods of each region's reads, these where their best haplotypes place them.

    What the reads then say of the spans of the variants goes into `confidence`.
    """
    spans = np.array([region.span for region in regions], np.int64)
    haplotypes = [region.haplotypes for region in regions]
    numbers = np.array([region.number for region in regions])
    scored = region_likelihoods(reads, numbers, spans, haplotypes, job.engine, job.repeat_gaps)
    moved, placement = realigned(reads, scored, regions, window, job.engine)
    confidence.add_placed(reads, placement, spans, np.array([region.variants for region in regions], np.int64))
    return moved


def _call_region(
    job: CallingJob, window: Window, region: AssembledRegion, reads: RegionReads, scored_reads: ScoredReads
) -> Iterator[tuple[GvcfCall, dict[str, float]]]:
    """Calls of a region, each with its rank sums."""
    scored, placed = scored_reads
    model, margin = job.region_model(window, region), job.parameters.genotyping_margin
    modelled = ~np.isnan(scored.matrix[:, 0]) | (scored.usable == 0)
    tell("scored", region=region, reads=reads, scored=scored)
    covered_to = -1  # an allele of a site before may take bases away up to here
    for site in region_sites(region):
        touching = modelled & (scored.start < site.end + margin) & (scored.end > site.start - margin)
        chosen = scored.source[touching]
        tell("site", site=site, sample=np.zeros(len(chosen), np.int64), matrix=scored.matrix[touching])
        call = call_gvcf_site(
            site,
            scored.matrix[touching],
            reads.reverse[chosen],
            reads.mapping_quality[chosen],
            job.samples[0].ploidy,
            site.start <= covered_to,
            None if model is None else model.at(site, reads, chosen, unexplained_reads(site, scored, margin)),
        )
        if call is not None:
            # <NON_REF> stands for deletions too, so that any site covers what its reference allele does.
            covered_to = max(covered_to, site.end)
            if site.start >= region.variants[0]:
                own = placed.subset(touching)
                yield call, rank_sums(reads, own, call.groups, site.start, site.end)
