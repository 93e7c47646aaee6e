"""A chunk of a gVCF: active regions assembled and called, and the reference confidence of all other positions.

Where a region is not active or has no call, the reads count as they were aligned. In a region with calls, the positions
from its first to its last variant are judged by the reads as their haplotypes place them; the rest on either side is
treated as a region of its own (AssemblyRegionTrimmer).
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import VariantRecord
from quire.rescore.activity.regions_cpu import quiet_regions
from quire.rescore.chunks import Chunk, RegionBatch, batches, padded_spans, read_chunks, touched
from quire.rescore.genotyping import NO_CALL
from quire.rescore.genotyping.rank_sums_cpu import rank_sums
from quire.rescore.genotyping.sites import Site
from quire.rescore.gvcf.blocks_cpu import Lines, Stretch, with_blocks
from quire.rescore.gvcf.records import FIELDS, gvcf_record
from quire.rescore.gvcf.variants_cpu import GvcfCall, call_gvcf_site
from quire.rescore.job import CallingJob
from quire.rescore.long_indels.calls import Called, long_indels, merged, rows_of, without_carried
from quire.rescore.long_indels.support import Support
from quire.rescore.parameters import REGION_PADDING
from quire.rescore.phasing import PHASED_PLOIDY, phases
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.rescore.reference_confidence import ReadColumns, reference_confidence
from quire.rescore.reference_confidence.columns_cpu import Placement, clipped_columns, placed_columns
from quire.rescore.reference_confidence.realignment_cpu import ScoredReads, score_regions
from quire.rescore.regions_cpu import AssembledRegion, assemble_regions, find_regions, sites_with_reads
from quire.rescore.tally import Tally
from quire.rescore.trace import tell
from quire.rescore.window import Window

LOOK_BACK = REGION_PADDING
"""Bases from the end of an active region to the last base that its deletions may remove: its haplotypes end there."""


class _ChunkConfidence:
    """Confidence of consecutive positions from `start` on, filled in region by region.

    `depth` and `phreds` are those of `Confidence`; 0 for positions without reads.
    """

    def __init__(self, start: int, end: int, ploidy: int, window: Window) -> None:
        self.start = start
        self.depth = np.zeros(end - start, np.int32)
        self.phreds = np.zeros((end - start, ploidy + 1), np.int32)
        self._ploidy, self._window = ploidy, window

    def add_aligned(
        self, reads: RegionReads, regions: NDArray[np.int64], bounds: NDArray[np.int64], spans: NDArray[np.int64]
    ) -> None:
        """Compute spans (int64[n, 2]) from the reads of their `regions` (int64[n]) as they were aligned."""
        # `bounds` (int64[n, 2]) are the padded spans of the regions, to which their reads were clipped.
        if len(spans):
            padded = padded_spans(spans, self._window)
            padded = np.stack([np.maximum(padded[:, 0], bounds[:, 0]), np.minimum(padded[:, 1], bounds[:, 1])], 1)
            self._add(clipped_columns(reads, regions, padded), spans, padded)

    def add_placed(self, reads: RegionReads, placement: Placement, regions: Sequence[AssembledRegion]) -> None:
        """Compute the spans of the regions' variants from reads as their haplotypes place them."""
        padded = np.array([region.span for region in regions], np.int64)
        spans = np.array([region.variants for region in regions], np.int64)
        self._add(placed_columns(reads, placement), spans, padded)

    def _add(self, columns: ReadColumns, spans: NDArray[np.int64], padded: NDArray[np.int64]) -> None:
        window = self._window
        confidence = reference_confidence(columns, spans, padded, window.codes, window.start, self._ploidy)
        sizes = spans[:, 1] - spans[:, 0]
        ends = np.cumsum(sizes)
        at = np.arange(ends[-1]) + np.repeat(spans[:, 0] - self.start - (ends - sizes), sizes)
        self.depth[at] = confidence.depth
        self.phreds[at] = confidence.phreds


def stretch_lines(job: CallingJob, contig: str, intervals: NDArray[np.int64], tally: Tally) -> Iterator[Lines]:
    """Return the lines of intervals (int64[n, 2]) of a contig, in order; the job has one sample."""
    chunks = read_chunks(job, contig, intervals, tally, LOOK_BACK)
    called = (_call_chunk(job, chunk, tally) for chunk in chunks)
    letters, ploidy, bands = job.reference.sequence, job.samples[0].ploidy, job.parameters.bands
    return with_blocks(contig, called, intervals, letters, ploidy, lambda record: record.line(FIELDS), bands)


def _call_chunk(job: CallingJob, chunk: Chunk, tally: Tally) -> Stretch:
    """Return variants and confidence of some tiles of the job's one sample, and count their regions."""
    # Only regions that overlap the intervals are handled, and active regions whose deletions may reach into them: the
    # bases that such a deletion removes belong to no block, wherever the genome is cut.
    window, reads, tiles, intervals = chunk
    ploidy = job.samples[0].ploidy
    given = job.given.within(window.contig, window.start, window.end)
    active, borders = find_regions(reads, [ploidy], window, tiles, given)
    owned = borders[0], borders[-1]
    called: list[Called] = []
    if job.parameters.long_indels:
        sources = [job.samples[0].source]
        called = long_indels(reads, sources, window, owned, job.engine, partial(_long_record, window.contig, ploidy))
        reads = without_carried(reads, called)
    confidence = _ChunkConfidence(borders[0], borders[-1], ploidy, window)
    quiet = quiet_regions(active, borders)
    quiet = quiet[touched(intervals, quiet[:, 0], quiet[:, 1])]
    for batch in batches(job, window, reads, quiet):
        confidence.add_aligned(batch.reads, np.arange(len(batch.spans)), batch.padded, batch.spans)
    active = active[touched(intervals, active[:, 0], active[:, 1] + LOOK_BACK)]
    variants: list[VariantRecord] = []
    for batch in batches(job, window, reads, active):
        regions = assemble_regions(job, window, batch, tally, called)
        variants += _call_regions(job, window, batch, regions, confidence)
    variants = list(merged(variants, called, owned))
    deleted = [(one.record.start, one.record.start + len(one.record.alleles[0])) for one in called]
    return Stretch(confidence.start, confidence.depth, confidence.phreds, variants, deleted)


def _long_record(contig: str, ploidy: int, site: Site, scored: Support) -> VariantRecord | None:
    """Return the record of a long indel, or None if the sample does not carry it."""
    call = call_gvcf_site(rows_of(site, scored), ploidy, False)
    if call is None or not any(allele > 0 for allele in call.genotype):
        return None
    return gvcf_record(contig, call, {}, None)


def _call_regions(
    job: CallingJob,
    window: Window,
    batch: RegionBatch,
    regions: Sequence[AssembledRegion],
    confidence: _ChunkConfidence,
) -> Iterator[VariantRecord]:
    """Yield the records of assembled regions' variants, and add all positions of the batch to `confidence`."""
    called: list[AssembledRegion] = []
    if regions:
        scored, placement = score_regions(job, window, batch, regions)
        confidence.add_placed(batch.reads, placement, regions)
        for region, own in zip(regions, scored, strict=True):
            calls = list(_call_region(job, window, region, batch.reads, own))
            if any(allele != NO_CALL for call, _ in calls for allele in call.genotype):
                called.append(region)
                is_diploid = job.samples[0].ploidy == PHASED_PLOIDY
                sites = [call.site for call, _ in calls]
                found = phases(sites, region.haplotypes) if is_diploid else [None] * len(calls)
                for (call, tests), phase in zip(calls, found, strict=True):
                    yield gvcf_record(window.contig, call, tests, phase)
    sides = [side for region in called for side in _sides(region, batch.spans)]
    whole = np.setdiff1d(np.arange(len(batch.spans)), [region.number for region in called])
    numbers = np.concatenate([whole, np.array([number for number, _, _ in sides], np.int64)])
    around = np.concatenate([batch.spans[whole], np.array([side[1:] for side in sides], np.int64).reshape(-1, 2)])
    confidence.add_aligned(batch.reads, numbers, batch.padded[numbers], around)


def _sides(region: AssembledRegion, spans: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return (number, start, end) of the spans before the first and after the last variant of a region with calls."""
    start, end = spans[region.number].tolist()
    sides = ((start, region.variants[0]), (region.variants[1], end))
    return [(region.number, *side) for side in sides if side[0] < side[1]]


def _call_region(
    job: CallingJob, window: Window, region: AssembledRegion, reads: RegionReads, scored_reads: ScoredReads
) -> Iterator[tuple[GvcfCall, dict[str, float]]]:
    """Yield the calls of a region, each with its rank sums."""
    scored, placed = scored_reads
    tell("scored", region=region, scored=scored)
    covered_to = -1  # end of the bases that an allele of an earlier site may remove
    ploidy = job.samples[0].ploidy
    for rows, touching, model, is_covered in sites_with_reads(job, window, region, reads, scored):
        site = rows.site
        covered = is_covered or site.start <= covered_to
        call = call_gvcf_site(rows, ploidy, covered, model)
        if call is not None:
            # <NON_REF> may be a deletion, so any site covers the bases of its reference allele.
            covered_to = max(covered_to, site.end)
            if site.start >= region.variants[0]:
                groups = call.groups[: len(touching)]
                yield call, rank_sums(reads, placed.subset(touching), groups, site.start, site.end)
