"""The caller: from the reads of a piece of the genome to its variants."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from quire.errors import InputError
from quire.io.files import write_json_atomic
from quire.ledger import require_balance
from quire.reference import Reference
from quire.rescore import vcf
from quire.rescore.activity import FILTER_WING, profile
from quire.rescore.annotations import annotate
from quire.rescore.assembly import assemble
from quire.rescore.clipping import RegionReads, region_reads
from quire.rescore.genotyping import call_site
from quire.rescore.haplotypes import Haplotype, align_haplotypes, genotyping_span, make_haplotypes, trim
from quire.rescore.intervals import Interval
from quire.rescore.likelihoods import TrimmedReads, region_likelihoods
from quire.rescore.parameters import GENOTYPING_MARGIN, REGION_PADDING, Parameters
from quire.rescore.reads import FILTERS, Reads, ReadSource
from quire.rescore.regions import BORDER_REACH, TILE, active_regions, tile_border, tile_range
from quire.rescore.sites import make_site, site_starts

logger = logging.getLogger("quire.rescore")

# How much is handled at once: enough regions to fill PairHMM's lanes, in little memory. No answer depends on these.
NEAR = 20_000
FIRST_TILES = 10
TILES_PER_CHUNK = 100
READS_PER_CHUNK = 500_000
BASES_PER_BATCH = 30_000_000
_REACH = BORDER_REACH + FILTER_WING + REGION_PADDING  # bases beyond a chunk's tiles that matter to it
_CODES = np.full(256, 4, np.uint8)
_CODES[list(b"ACGT")] = range(4)


class Sequences(Protocol):
    """What the caller needs of a reference."""

    contig_names: list[str]
    contig_lengths: Any

    def sequence(self, contig: str, start: int, end: int) -> bytes:
        """Letters of a span."""


@dataclass(frozen=True)
class Sample:
    """A sample with its reads."""

    name: str
    ploidy: int
    source: ReadSource


@dataclass(frozen=True)
class Region:
    """A region with variants: the haplotypes cut to what is genotyped."""

    number: int
    reference: bytes
    reference_start: int
    variants: tuple[int, int]
    span: tuple[int, int]
    haplotypes: list[Haplotype]


def call_interval(
    reference_directory: str | Path,
    samples: Sequence[Mapping[str, Any]],
    intervals: Sequence[Interval],
    output_vcf_part: str | Path,
    parameters: Mapping[str, Any],
    ledger_path: str | Path,
    header_extras: Sequence[str] = (),
    fasta: str | Path | None = None,
) -> int:
    """Call the variants of one piece of the genome, jointly over all samples, and write them.

    Args:
        reference_directory: of the reference stage.
        samples: `sample`, `ploidy` and `bam` (an indexed BAM or CRAM) of each.
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        output_vcf_part: bgzip VCF to write; every sample is a column.
        parameters: the `rescore` block, see `Parameters`.
        ledger_path: JSON to write: reads of the piece by sample and by what became of them.
        header_extras: further header lines.
        fasta: the reference as FASTA, to decode CRAM.

    Returns:
        The number of variants.

    Raises:
        InputError: a BAM that cannot be read or is of another reference.
    """
    reference = Reference.open(reference_directory)
    settings = Parameters.from_mapping(parameters)
    opened = [Sample(s["sample"], int(s["ploidy"]), open_reads(s["bam"], reference, fasta)) for s in samples]
    ledger = {sample.name: np.zeros(len(FILTERS), np.int64) for sample in opened}
    contigs = list(zip(reference.contig_names, map(int, reference.contig_lengths), strict=True))
    head = vcf.header(contigs, [sample.name for sample in opened], header_extras)
    lines = (
        line
        for contig, group in neighbours(intervals)
        for line in call_group(reference, opened, contig, group, settings, ledger)
    )
    variants = vcf.write_part(output_vcf_part, head, lines)
    write_json_atomic(
        ledger_path,
        {
            "stage": "rescore",
            "intervals": [list(interval) for interval in intervals],
            "reads": {name: _ledger_entry(name, counts) for name, counts in ledger.items()},
            "variants": variants,
        },
    )
    return variants


def open_reads(path: str | Path, reference: Sequences, fasta: str | Path | None = None) -> ReadSource:
    """Open an alignment and check that its contigs are the reference's.

    Raises:
        InputError: a contig that the reference does not have, or has at another length.
    """
    source = ReadSource(path, fasta if str(path).endswith(".cram") else None)
    lengths = dict(zip(reference.contig_names, map(int, reference.contig_lengths), strict=True))
    for contig, length in source.contigs.items():
        if lengths.get(contig) != length:
            raise InputError(
                f"{path}: its contig {contig!r} ({length} bases) is not in the reference; "
                "align the reads to this reference again."
            )
    return source


def _ledger_entry(name: str, counts: np.ndarray) -> dict[str, int]:
    """Counts of one sample by name, the total first."""
    by_filter = dict(zip(FILTERS, counts.tolist(), strict=True))
    total = {"reads": int(counts.sum())}
    require_balance("rescore", name, total, by_filter)
    return total | by_filter


def neighbours(intervals: Sequence[Interval]) -> Iterator[tuple[str, np.ndarray]]:
    """Runs of intervals (int64[n, 2]) of one contig that stand close enough to be read in one go."""
    held: list[Interval] = []
    for interval in intervals:
        if held and (held[-1][0] != interval[0] or interval[1] - held[-1][2] > NEAR):
            yield held[0][0], np.array([one[1:] for one in held], np.int64)
            held = []
        held.append(interval)
    if held:
        yield held[0][0], np.array([one[1:] for one in held], np.int64)


def call_group(
    reference: Sequences,
    samples: Sequence[Sample],
    contig: str,
    intervals: np.ndarray,
    settings: Parameters,
    ledger: Mapping[str, np.ndarray],
) -> Iterator[str]:
    """VCF lines of the variants that start in some intervals, in order; reads that start there go into the ledger.

    Args:
        intervals: int64[n, 2] of the contig, in order, apart from each other.
    """
    start, end = int(intervals[0, 0]), int(intervals[-1, 1])
    length = int(reference.contig_lengths[reference.contig_names.index(contig)])
    tiles = tile_range(start, end)
    first, size, variants, seen, begun = tiles.start, FIRST_TILES, 0, 0, time.monotonic()
    while first < tiles.stop:
        chunk = range(first, min(first + size, tiles.stop))
        # The first and last chunk own what lies before and after their tiles: nothing in the intervals is uncounted.
        owned = intervals.clip(
            start if first == tiles.start else chunk.start * TILE,
            end if chunk.stop == tiles.stop else chunk.stop * TILE,
        )
        low, high = max(0, chunk.start * TILE - _REACH), min(length, chunk.stop * TILE + _REACH)
        reads = []
        for sample in samples:
            own, counts = sample.source.fetch(contig, low, high, owned, settings)
            ledger[sample.name][:] += counts
            reads.append(own)
            seen += int(counts.sum())
        codes = _CODES[np.frombuffer(reference.sequence(contig, low, high), np.uint8)]
        for line in _call_chunk(contig, length, samples, reads, codes, low, chunk, intervals, settings):
            variants += 1
            yield line
        speed = seen / (time.monotonic() - begun)
        here = min(chunk.stop * TILE, end)
        logger.info("%s:%d of %d-%d: %d reads, %.0f/s, %d variants", contig, here, start, end, seen, speed, variants)
        loaded = sum(len(own.start) for own in reads)
        size = min(max(READS_PER_CHUNK * len(chunk) // max(loaded, 1), 1), TILES_PER_CHUNK)
        first = chunk.stop


def _call_chunk(
    contig: str,
    length: int,
    samples: Sequence[Sample],
    reads: Sequence[Reads],
    codes: np.ndarray,
    low: int,
    tiles: range,
    intervals: np.ndarray,
    settings: Parameters,
) -> Iterator[str]:
    """Lines of the variants of some tiles that start in the intervals; `codes` is the reference from `low` on."""
    if not any(len(own.start) for own in reads):
        return
    spans = find_regions(reads, [sample.ploidy for sample in samples], codes, low, tiles, length)
    # Of all intervals that end after a position, the first is the one that may hold it or lies ahead of it.
    ahead = np.append(intervals[:, 0], np.iinfo(np.int64).max)
    spans = spans[ahead[np.searchsorted(intervals[:, 1], spans[:, 0], side="right")] < spans[:, 1]]
    padded = np.stack(
        [np.maximum(spans[:, 0] - REGION_PADDING, 0), np.minimum(spans[:, 1] + REGION_PADDING, length)], 1
    )
    ploidies = np.array([sample.ploidy for sample in samples], np.int64)
    for batch in batches(padded, reads, BASES_PER_BATCH):
        clipped = region_reads(reads, padded[batch])
        regions = assemble_regions(clipped, spans[batch], padded[batch], codes, low)
        if not regions:
            continue
        trimmed, matrices = region_likelihoods(
            clipped,
            np.array([region.number for region in regions]),
            np.array([region.span for region in regions]),
            [region.haplotypes for region in regions],
        )
        for i, region in enumerate(regions):
            for start, line in call_region(contig, region, i, clipped, trimmed, matrices[i], ploidies, settings):
                if ahead[np.searchsorted(intervals[:, 1], start, side="right")] <= start:
                    yield line


def batches(padded: np.ndarray, reads: Sequence[Reads], most: int) -> Iterator[slice]:
    """Runs of regions (padded spans) whose reads have about `most` bases together, or one region with more."""
    bases = np.zeros(len(padded), np.int64)
    for own in reads:
        if len(own.start):
            # Reads that start in the span, and the bases of those: close enough to govern memory.
            first, last = np.searchsorted(own.aligned_start, padded.T)
            bases += own.base_offsets[last] - own.base_offsets[first]
    start, total = 0, 0
    for r, size in enumerate(bases.tolist()):
        if total + size > most and r > start:
            yield slice(start, r)
            start, total = r, 0
        total += size
    if start < len(padded):
        yield slice(start, len(padded))


def find_regions(
    reads: Sequence[Reads], ploidies: Sequence[int], codes: np.ndarray, low: int, tiles: range, contig_length: int
) -> np.ndarray:
    """Active regions (int64[n, 2]) of some tiles.

    Args:
        reads: of each sample.
        ploidies: of each sample.
        codes: reference from position `low` on, _REACH beyond the tiles unless the contig ends.
        low: position of the first code.
        tiles: numbers.
        contig_length: of the contig.
    """
    start = max(0, tiles.start * TILE - BORDER_REACH)
    end = min(contig_length, tiles.stop * TILE + BORDER_REACH)
    if start >= end:
        return np.zeros((0, 2), np.int64)
    near = codes[max(0, start - FILTER_WING) - low : end + FILTER_WING - low]
    activity = profile(reads, ploidies, near, start, end)
    borders = [tile_border(activity, start, tile, contig_length) for tile in range(tiles.start, tiles.stop + 1)]
    found = [active_regions(activity[a - start : b - start]) + a for a, b in pairwise(borders) if a < b]
    return np.concatenate(found) if found else np.zeros((0, 2), np.int64)


def assemble_regions(
    reads: RegionReads, spans: np.ndarray, padded: np.ndarray, codes: np.ndarray, low: int
) -> list[Region]:
    """Assemble all regions and keep those with variants, their haplotypes trimmed to what is genotyped."""
    references = [codes[a - low : b - low] for a, b in padded.tolist()]
    sequences = [assemble(reads, r, references[r]) for r in range(len(spans))]
    varied = [r for r in range(len(spans)) if len(sequences[r]) > 1]
    cigars = align_haplotypes([(references[r].tobytes(), sequences[r]) for r in varied])
    regions = []
    for r, own in zip(varied, cigars, strict=True):
        reference = references[r].tobytes()
        start, end = padded[r].tolist()
        haplotypes = make_haplotypes(sequences[r], own, reference, start)
        events = {event for haplotype in haplotypes for event in haplotype.events.values()}
        spanned = genotyping_span(events, tuple(spans[r].tolist()), (start, end), reference)
        if spanned is None:
            continue
        variants, span = spanned
        trimmed = trim(haplotypes, span)
        if len(trimmed) > 1:
            regions.append(Region(r, reference, start, variants, span, trimmed))
    return regions


def call_region(
    contig: str,
    region: Region,
    number: int,
    reads: RegionReads,
    trimmed: TrimmedReads,
    matrix: np.ndarray,
    ploidies: np.ndarray,
    settings: Parameters,
) -> Iterator[tuple[int, str]]:
    """Position and VCF line of every variant of a region.

    Args:
        number: of the region in `trimmed`.
        matrix: likelihoods of its reads and haplotypes.
    """
    own = slice(trimmed.region_offsets[number], trimmed.region_offsets[number + 1])
    start, end, source = trimmed.start[own], trimmed.end[own], trimmed.source[own]
    modelled = ~np.isnan(matrix[:, 0]) | (trimmed.usable[own] == 0)
    deletions: list[tuple[int, int]] = []
    starts = site_starts(region.haplotypes, region.variants)
    sites = [make_site(s, region.haplotypes, region.reference, region.reference_start) for s in starts]
    # Deletions that start before what this region calls are judged too: only then may '*' stand for them.
    before = sorted({s for site in sites for s in site.spanning_starts if s < region.variants[0]})
    earlier = [make_site(s, region.haplotypes, region.reference, region.reference_start) for s in before]
    for site in [*earlier, *sites]:
        touching = modelled & (start < site.end + GENOTYPING_MARGIN) & (end > site.start - GENOTYPING_MARGIN)
        chosen = source[touching]
        sample = reads.sample[chosen].astype(np.int64)
        covered = any(a < site.start <= b for a, b in deletions)
        call = call_site(site, matrix[touching], sample, ploidies, settings.minimum_quality, covered)
        if call is None:
            continue
        reference_length = len(call.site.alleles[0])
        deletions += [
            (site.start, site.start + reference_length - len(allele))
            for allele in call.site.alleles[1:]
            if len(allele) < reference_length
        ]
        if site.start >= region.variants[0]:
            info = annotate(call, sample, reads.reverse[chosen], reads.mapping_quality[chosen])
            yield site.start, vcf.record(contig, call, info)
