"""Active regions from their reads to their variants: found, assembled, and called once their reads are scored."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import VariantRecord
from quire.rescore.activity import FILTER_WING, profile
from quire.rescore.activity.regions import BORDER_REACH, TILE, active_regions, tile_border
from quire.rescore.assembly import assemble_all
from quire.rescore.dragen.genotypes import RegionModel
from quire.rescore.engines import CallingEngine
from quire.rescore.genotyping import Call, best_alleles, call_site
from quire.rescore.genotyping.annotations import annotate
from quire.rescore.genotyping.plain_sites import PlainSite, is_plain, judge, record_of
from quire.rescore.genotyping.rank_sums import PlacedReads, allele_groups, rank_sums
from quire.rescore.genotyping.sites import Site, make_site, site_starts
from quire.rescore.haplotypes import Haplotype, align_haplotypes, genotyping_span, make_haplotypes, trim
from quire.rescore.haplotypes.likelihoods import RegionLikelihoods
from quire.rescore.parameters import CallingParameters
from quire.rescore.reads.aligned import AlignedReads
from quire.rescore.reads.clipping import RegionReads
from quire.rescore.records import variant_record
from quire.rescore.trace import is_heard, tell
from quire.simd.compiled import compiled

_TOLD_OF_SITES = ("scored", "site", "judged")  # steps of `call_region` that sites judged together do not take


@dataclass(frozen=True)
class Window:
    """A window of a contig of the reference.

    Attributes:
        contig: name.
        contig_length: of the whole contig.
        start: position of the first code, 0-based.
        codes: uint8, A0 C1 G2 T3, 4 elsewhere.
    """

    contig: str
    contig_length: int
    start: int
    codes: NDArray[np.uint8]

    @property
    def end(self) -> int:
        """Position after the last code."""
        return self.start + len(self.codes)

    def between(self, start: int, end: int) -> NDArray[np.uint8]:
        """Codes of [start, end), as far as the contig goes; `start` lies in the window."""
        return self.codes[start - self.start : end - self.start]


@dataclass(frozen=True)
class AssembledRegion:
    """A region with variants.

    Attributes:
        number: of the region in its batch.
        reference: codes of the padded region, from position `reference_start` on.
        variants: span of the variants that are called.
        span: what is genotyped: reads and haplotypes are cut to it.
        haplotypes: cut to the span, the reference first.
    """

    number: int
    reference: bytes
    reference_start: int
    variants: tuple[int, int]
    span: tuple[int, int]
    haplotypes: list[Haplotype]


def find_regions(
    reads: Sequence[AlignedReads], ploidies: Sequence[int], window: Window, tiles: range
) -> tuple[NDArray[np.int64], list[int]]:
    """Active regions (int64[n, 2]) of some tiles, and the borders of the tiles.

    Args:
        reads: of each sample.
        ploidies: of each sample.
        window: reaches beyond the tiles by all that the activity of a tile's border depends on.
        tiles: numbers.
    """
    start = max(0, tiles.start * TILE - BORDER_REACH)
    end = min(window.contig_length, tiles.stop * TILE + BORDER_REACH)
    if start >= end:
        return np.zeros((0, 2), np.int64), [window.contig_length] * (len(tiles) + 1)
    near = window.between(max(0, start - FILTER_WING), end + FILTER_WING)
    activity = profile(reads, ploidies, near, start, end)
    numbers = range(tiles.start, tiles.stop + 1)
    borders = [tile_border(activity, start, tile, window.contig_length) for tile in numbers]
    found = [active_regions(activity[a - start : b - start]) + a for a, b in pairwise(borders) if a < b]
    spans = np.concatenate(found) if found else np.zeros((0, 2), np.int64)
    tell("activity", start=start, activity=activity, spans=spans)
    return spans, borders


def assemble_regions(
    reads: RegionReads,
    spans: NDArray[np.int64],
    padded: NDArray[np.int64],
    window: Window,
    engine: CallingEngine,
    parameters: CallingParameters,
) -> list[AssembledRegion]:
    """Assemble all regions and keep those with variants, their haplotypes trimmed to what is genotyped.

    Args:
        reads: clipped reads of all regions.
        spans: int64[regions, 2].
        padded: likewise, with REGION_PADDING.
        window: holds all regions.
        engine: aligns the haplotypes.
        parameters: the user's.
    """
    sequences, plain = assemble_all(reads, window.codes, padded - window.start, parameters.minimum_support)
    story = {"contig": window.contig, "spans": spans, "padded": padded, "reads": reads}
    tell("assembled", **story, sequences=sequences, plain=plain)
    varied = [r for r in range(len(spans)) if len(sequences[r]) > 1]
    cigars = align_haplotypes([(sequences[r][0], sequences[r]) for r in varied], engine)
    regions = []
    for r, own in zip(varied, cigars, strict=True):
        reference = sequences[r][0]
        start, end = padded[r].tolist()
        haplotypes = make_haplotypes(sequences[r], own, reference, start)
        events = {event for haplotype in haplotypes for event in haplotype.events.values()}
        tell("aligned", span=spans[r], haplotypes=haplotypes)
        region_start, region_end = spans[r].tolist()
        spanned = genotyping_span(events, (region_start, region_end), (start, end), reference, parameters.indel_padding)
        if spanned is None:
            continue
        variants, span = spanned
        trimmed = trim(haplotypes, span)
        if len(trimmed) > 1:
            regions.append(AssembledRegion(r, reference, start, variants, span, trimmed))
    return regions


def call_regions(
    contig: str,
    regions: Sequence[AssembledRegion],
    reads: RegionReads,
    moved: Sequence[tuple[RegionLikelihoods, PlacedReads]],
    ploidies: NDArray[np.int64],
    parameters: CallingParameters,
    model_of: Callable[[AssembledRegion], RegionModel | None],
) -> Iterator[VariantRecord]:
    """Records of the variants of some regions, in order; see `call_region`.

    Regions whose sites are all plain (`genotyping.plain_sites`) are judged together, unless somebody listens to each.
    """
    ploidy = int(ploidies[0])
    plain: list[PlainSite] = []
    if len(ploidies) == 1 and not parameters.dragen and not any(map(is_heard, _TOLD_OF_SITES)):
        for number, region in enumerate(regions):
            sites = region_sites(region)
            if is_plain(sites, ploidy):
                plain += [PlainSite(number, site) for site in sites]
    held = {region for region, _ in plain}
    verdicts = None
    if plain:
        quality, margin = parameters.minimum_quality, parameters.genotyping_margin
        verdicts = judge(plain, reads, moved, ploidy, quality, margin)
        called = verdicts.called.tolist()
    at = 0
    for number, region in enumerate(regions):
        if verdicts is None or number not in held:
            own = moved[number]
            yield from call_region(contig, region, reads, *own, ploidies, parameters, model_of(region))
            continue
        while at < len(plain) and plain[at].region == number:
            if called[at]:
                yield record_of(contig, plain[at].site, verdicts, at, ploidy)
            at += 1


def call_region(
    contig: str,
    region: AssembledRegion,
    reads: RegionReads,
    scored: RegionLikelihoods,
    placed: PlacedReads,
    ploidies: NDArray[np.int64],
    parameters: CallingParameters,
    model: RegionModel | None = None,
) -> Iterator[VariantRecord]:
    """Records of the variants of a region.

    Args:
        contig: name.
        region: with its haplotypes.
        reads: of all regions, which the scored ones point into.
        scored: the region's reads where its haplotypes place them, and their likelihoods under its haplotypes.
        placed: the same reads, base by base.
        ploidies: int64[samples].
        parameters: the user's.
        model: of GATK's DRAGEN mode, if that is asked for.
    """
    margin = parameters.genotyping_margin
    tell("scored", region=region, reads=reads, scored=scored)
    deletions: list[tuple[int, int]] = []
    for site in region_sites(region):
        touching = _touching(scored, site.start - margin, site.end + margin)
        chosen = scored.source[touching]
        site_model = None
        if model is not None:
            site_model = model.at(site, reads, chosen, unexplained_reads(site, scored, margin))
        sample = reads.sample[chosen].astype(np.int64)
        tell("site", site=site, sample=sample, matrix=scored.matrix[touching])
        covered = any(a < site.start <= b for a, b in deletions)
        call = call_site(
            site, scored.matrix[touching], sample, ploidies, parameters.minimum_quality, covered, site_model
        )
        if call is None:
            continue
        deletions += _deletions(call)
        if site.start >= region.variants[0]:
            info = annotate(call, sample, reads.reverse[chosen], reads.mapping_quality[chosen])
            groups = allele_groups(best_alleles(call.likelihoods), call.kept)
            info |= rank_sums(reads, placed.subset(touching), groups, site.start, site.end)
            yield variant_record(contig, call, info)


def unexplained_reads(site: Site, scored: RegionLikelihoods, margin: int) -> NDArray[np.int64]:
    """Reads (as in `RegionReads`) over a site or near it that no haplotype explains."""
    over = (scored.start < site.end + margin) & (scored.end > site.start - margin)
    unexplained: NDArray[np.int64] = scored.source[over & (scored.usable == 1) & np.isnan(scored.matrix[:, 0])]
    return unexplained


@compiled
def _touching(scored, start, end):  # type: ignore[no-untyped-def]
    """int64: the reads over a span, but for those that no haplotype explains."""
    found = np.empty(len(scored.start), np.int64)
    count = 0
    for i in range(len(found)):
        modelled = scored.usable[i] == 0 or not np.isnan(scored.matrix[i, 0])
        if modelled and scored.start[i] < end and scored.end[i] > start:
            found[count] = i
            count += 1
    return found[:count]


def region_sites(region: AssembledRegion) -> list[Site]:
    """Sites to judge, in order: those of deletions that start before what the region calls, and its own.

    Only where such a deletion is called may '*' stand for it.
    """

    def made(starts: Sequence[int]) -> list[Site]:
        return [make_site(s, region.haplotypes, region.reference, region.reference_start) for s in starts]

    own = made(site_starts(region.haplotypes, region.variants))
    return made(sorted({s for site in own for s in site.spanning_starts if s < region.variants[0]})) + own


def _deletions(call: Call) -> list[tuple[int, int]]:
    """First position and last of the deletions that a call's alleles are."""
    start, length = call.site.start, len(call.site.alleles[0])
    return [(start, start + length - len(allele)) for allele in call.site.alleles[1:] if len(allele) < length]
