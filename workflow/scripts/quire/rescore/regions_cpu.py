"""Active regions: finding and assembling them, and the sites of their haplotypes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.activity import FILTER_WING, profile
from quire.rescore.activity.regions_cpu import BORDER_REACH, TILE, active_regions, tile_border
from quire.rescore.assembly import assemble_all
from quire.rescore.chunks import RegionBatch
from quire.rescore.dragen.evidence_cpu import site_evidence
from quire.rescore.dragen.genotypes import DragenSiteModel
from quire.rescore.dragen.priors import indel_prior
from quire.rescore.genotyping.sites import Site, SiteRows, make_site, site_starts
from quire.rescore.given import with_all, with_given, with_one_snv_less
from quire.rescore.haplotypes import Event, Haplotype, align_haplotypes, genotyping_span, make_haplotypes, trim
from quire.rescore.haplotypes.likelihoods_cpu import RegionLikelihoods
from quire.rescore.job import CallingJob
from quire.rescore.long_indels.calls import Called, deletions_over, under_deletions
from quire.rescore.pileup import shown_together
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.rescore.tally import Tally
from quire.rescore.trace import tell
from quire.rescore.window import Window
from quire.simd.compiled import compiled


@dataclass(frozen=True)
class AssembledRegion:
    """A region with variants.

    Attributes:
        number: of the region in its batch.
        reference: codes of the padded region, from `reference_start` on.
        variants: span of the variants that are called.
        span: the span that is genotyped, to which reads and haplotypes are cut.
        haplotypes: cut to the span, the reference first.
        long: the called long indels nearby.
        given: alleles that are written whatever their QUAL.
    """

    number: int
    reference: bytes
    reference_start: int
    variants: tuple[int, int]
    span: tuple[int, int]
    haplotypes: list[Haplotype]
    long: Sequence[Called] = ()
    given: Sequence[Event] = ()


def find_regions(
    reads: Sequence[AlignedReads],
    ploidies: Sequence[int],
    window: Window,
    tiles: range,
    given: Sequence[Event] = (),
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the active regions (int64[n, 2]) of some tiles, and the borders of the tiles.

    The window holds the tiles, and all bases around them on which the activity at their borders depends. Positions of
    `given`, ascending, are active whatever the reads show.
    """
    start = max(0, tiles.start * TILE - BORDER_REACH)
    end = min(window.contig_length, tiles.stop * TILE + BORDER_REACH)
    if start >= end:
        return np.zeros((0, 2), np.int64), [window.contig_length] * (len(tiles) + 1)
    near = window.between(max(0, start - FILTER_WING), end + FILTER_WING)
    activity = profile(reads, ploidies, near, start, end, [event.start for event in given])
    numbers = range(tiles.start, tiles.stop + 1)
    borders = [tile_border(activity, start, tile, window.contig_length) for tile in numbers]
    found = [active_regions(activity[a - start : b - start]) + a for a, b in pairwise(borders) if a < b]
    spans = np.concatenate(found) if found else np.zeros((0, 2), np.int64)
    tell("activity", start=start, activity=activity, spans=spans)
    return spans, borders


def assemble_regions(
    job: CallingJob, window: Window, batch: RegionBatch, tally: Tally, long: Sequence[Called]
) -> list[AssembledRegion]:
    """Assemble a batch and return the regions with variants, their haplotypes trimmed to what is genotyped."""
    spans, padded, reads = batch
    pooled, support = job.parameters.pool_support, job.parameters.minimum_support
    threaded = reads._replace(sample=np.zeros_like(reads.sample)) if pooled else reads
    shown = shown_together(reads, window, spans, support) if pooled else [[] for _ in spans]
    assemblies = assemble_all(threaded, window.codes, padded - window.start, support)
    for start, assembly in zip(spans[:, 0].tolist(), assemblies, strict=True):
        tally.count_region(window.contig, start, assembly)
    tell("assembled", contig=window.contig, batch=batch, assemblies=assemblies)
    sequences = [assembly.haplotypes for assembly in assemblies]
    given = [job.given.within(window.contig, *span) for span in spans.tolist()]
    varied = [r for r in range(len(spans)) if len(sequences[r]) > 1 or given[r] or shown[r]]
    cigars = align_haplotypes([(sequences[r][0], sequences[r]) for r in varied], job.engine)
    regions = []
    for r, own in zip(varied, cigars, strict=True):
        reference = sequences[r][0]
        start, end = padded[r].tolist()
        haplotypes = with_given(make_haplotypes(sequences[r], own, reference, start), given[r])
        haplotypes += with_all(haplotypes[0], shown[r])
        events = {event for haplotype in haplotypes for event in haplotype.events.values()}
        tell("aligned", span=spans[r], haplotypes=haplotypes)
        region_start, region_end = spans[r].tolist()
        spanned = genotyping_span(events, (region_start, region_end), (start, end), reference)
        if spanned is None:
            continue
        variants, span = spanned
        trimmed = trim(haplotypes, span)
        if pooled:
            trimmed = trim([*trimmed, *with_one_snv_less(trimmed, reference, start)], span)
        if len(trimmed) > 1:
            regions.append(AssembledRegion(r, reference, start, variants, span, trimmed, long, given[r]))
    return regions


class SiteReads(NamedTuple):
    """A site of a region and the reads that touch it.

    Attributes:
        rows: the site, these reads, and what else counts there.
        touching: int64[n], the reads as indices of the region's likelihoods, without those that no haplotype explains.
        model: of the site; None without DRAGEN's error models, and under a long deletion.
        is_covered: True under a long deletion.
    """

    rows: SiteRows
    touching: NDArray[np.int64]
    model: DragenSiteModel | None
    is_covered: bool


def sites_with_reads(
    job: CallingJob, window: Window, region: AssembledRegion, reads: RegionReads, scored: RegionLikelihoods
) -> Iterator[SiteReads]:
    """Yield the sites of `region_sites` with the reads that touch them; `reads` are those of all regions."""
    margin = job.parameters.genotyping_margin
    tables = [sample.repeats for sample in job.samples if sample.repeats is not None]
    events = (event for haplotype in region.haplotypes for event in haplotype.events.values())
    has_indels = job.parameters.dragen and any(event.is_indel for event in events)
    for site in region_sites(region):
        low, high = site.start - margin, site.end + margin
        touching = _touching(scored, low, high)
        chosen, model, over = scored.source[touching], None, deletions_over(site.start, region.long)
        sample, reverse, quality = reads.sample[chosen], reads.reverse[chosen], reads.mapping_quality[chosen]
        rows = SiteRows(site, scored.matrix[touching], sample.astype(np.int64), reverse, quality)
        if over:
            rows = under_deletions(rows, over)
        elif job.parameters.dragen:
            near = (scored.start < high) & (scored.end > low)
            unexplained = scored.source[near & (scored.usable == 1) & np.isnan(scored.matrix[:, 0])]
            used = np.concatenate([chosen, unexplained])
            evidence, position = site_evidence(reads, used, site.start), site.start - window.start
            # GATK searches for repeats only in regions with an indel.
            indels = [indel_prior(own, window.codes, position) for own in tables] if has_indels else None
            model = DragenSiteModel(evidence, reads.usable[used] == 1, window.codes, position, indels)
        yield SiteReads(rows, touching, model, bool(over))


@compiled
def _touching(scored, start, end):
    """Return int64[]: the reads over a span, without those that no haplotype explains."""
    found = np.empty(len(scored.start), np.int64)
    count = 0
    for i in range(len(found)):
        modelled = scored.usable[i] == 0 or not np.isnan(scored.matrix[i, 0])
        if modelled and scored.start[i] < end and scored.end[i] > start:
            found[count] = i
            count += 1
    return found[:count]


def region_sites(region: AssembledRegion) -> list[Site]:
    """Return the sites to genotype, in order: earlier deletions that span the region's sites, then the region's own.

    An earlier deletion must be genotyped too, since '*' may only be written for a deletion that is called.
    """

    def made(starts: Sequence[int]) -> list[Site]:
        return [make_site(s, region.haplotypes, region.reference, region.reference_start, region.given) for s in starts]

    own = made(site_starts(region.haplotypes, region.variants))
    return made(sorted({s for site in own for s in site.spanning_starts if s < region.variants[0]})) + own
