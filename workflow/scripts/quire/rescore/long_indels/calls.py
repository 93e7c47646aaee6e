"""Long indels of a chunk: proposals from its reads, genotypes by the caller's model, merging with other records.

At sites inside a called deletion its fragments count for '*', as under shorter deletions.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import VariantRecord
from quire.rescore.engines import CallingEngine
from quire.rescore.genotyping import call_site
from quire.rescore.genotyping.annotations_cpu import annotate
from quire.rescore.genotyping.sites import SPANNING, Site, SiteRows
from quire.rescore.long_indels import AFTER, BEFORE, CONFLICT, FLANK, LONGEST, LongIndel
from quire.rescore.long_indels.breakpoints_cpu import breakpoints, clips_of
from quire.rescore.long_indels.contigs_cpu import bases_between
from quire.rescore.long_indels.proposals_cpu import insertion, propose, unique
from quire.rescore.long_indels.support import ALTERNATE, REFERENCE, Support, room_to_the_right, support
from quire.rescore.parameters import INFORMATIVE_LOG10, MISMAPPING_LOG10
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.reads.source import ReadSource
from quire.rescore.records import variant_record
from quire.rescore.window import Window

LEAST_FRAGMENTS = 2  # of a sample that clearly support an indel
LEAST_SHARE = 0.1  # of the sample's clear fragments
LEAST_CLEAR = 0.25  # of the fragments at the ends of an indel must be clear: in repeats, both haplotypes explain most
CLEAR_LOG10 = 0.4  # least difference of a clear fragment's likelihoods, more than `support` dilutes them by
FARTHEST = LONGEST + FLANK  # most bases from an indel's start to its rightmost possible end


class Supported(NamedTuple):
    """An indel and its support by fragments."""

    indel: LongIndel
    support: Support


class Called(NamedTuple):
    """A called long indel.

    Attributes:
        indel: its start and alleles.
        record: its record.
        support: its fragments, and the reads that clearly fit it better than the reference.
    """

    indel: LongIndel
    record: VariantRecord
    support: Support


MakeRecord = Callable[[Site, Support], VariantRecord | None]
"""Function that genotypes a site; it returns None if no sample carries the indel."""


def long_indels(
    reads: Sequence[AlignedReads],
    sources: Sequence[ReadSource],
    window: Window,
    owned: tuple[int, int],
    engine: CallingEngine,
    make_record: MakeRecord,
) -> list[Called]:
    """Return the long indels, in order, that start in the owned span or near enough to affect it.

    The window has CHUNK_REACH bases on both sides of the span. `make_record` is given an indel as a site whose
    haplotypes are its two alleles.
    """
    called = []
    for indel, scored in supported_indels(reads, sources, window, (owned[0] - BEFORE, owned[1] + AFTER), engine):
        # If bases are replaced by others, VCF needs no base before them.
        first = int(min(len(indel.reference), len(indel.alternate)) > 1)
        alleles = indel.reference[first:], indel.alternate[first:]
        record = make_record(Site(indel.start + first, alleles, np.eye(2, dtype=np.bool_)), scored)
        if record is not None:
            called.append(Called(indel, record, scored))
    return called


def rows_of(site: Site, scored: Support) -> SiteRows:
    """Return the fragments at an indel as the rows of its site."""
    return SiteRows(site, scored.matrix, scored.sample.astype(np.int64), scored.reverse, scored.mapping_quality)


def record_of_all_samples(contig: str, ploidies: NDArray[np.int64], minimum_quality: float) -> MakeRecord:
    """Return the function that genotypes all samples (ploidies: int64[samples]) and requires a QUAL."""

    def made(site: Site, scored: Support) -> VariantRecord | None:
        rows = rows_of(site, scored)
        call = call_site(site, rows.matrix, rows.sample, ploidies, minimum_quality, False)
        return None if call is None else variant_record(contig, call, annotate(call, rows))

    return made


def without_carried(reads: Sequence[AlignedReads], called: Sequence[Called]) -> list[AlignedReads]:
    """Return each sample's reads; carriers of a called indel are cut to the side on which they are aligned."""
    cut = []
    for number, own in enumerate(reads):
        keep_from, keep_to = own.keep_from.copy(), own.keep_to.copy()
        for one in called:
            end, before, start, after = one.support.carriers[number]
            keep_to[before] = np.minimum(keep_to[before], end)
            keep_from[after] = np.maximum(keep_from[after], start)
        cut.append(own._replace(keep_from=keep_from, keep_to=keep_to))
    return cut


def supported_indels(
    reads: Sequence[AlignedReads],
    sources: Sequence[ReadSource],
    window: Window,
    span: tuple[int, int],
    engine: CallingEngine,
) -> list[Supported]:
    """Return the long indels that start in a span and have support, in order, more than CONFLICT bases apart.

    Reads from inside insertions are fetched from `sources`. The window has REACH bases on both sides of the span.
    """
    samples = [(own, clips_of(own)) for own in reads]
    near = span[0] - CONFLICT, span[1] + CONFLICT
    proposed: list[LongIndel] = []
    for (own, clips), source in zip(samples, sources, strict=True):
        explaining, insertions = propose(breakpoints(own, clips), window)
        proposed += explaining
        for pair in insertions:
            if near[0] <= min(pair[0].position, pair[1].position) and pair[0].position < near[1]:
                inserted = bases_between(own, clips, pair, source, window.contig)
                indel = insertion(pair, inserted, window) if inserted is not None else None
                proposed += [] if indel is None else [indel]
    indels = [
        indel
        for indel in unique(proposed)
        if near[0] <= indel.start < near[1] and len(indel.reference) + room_to_the_right(indel, window) <= FARTHEST
    ]
    if not indels:
        return []
    scored = support(samples, indels, window, engine)
    found = [Supported(*one) for one in zip(indels, scored, strict=True) if is_supported(one[1], len(samples))]
    return [one for one in found if span[0] <= one.indel.start < span[1] and not _is_beaten(one, found)]


def is_supported(scored: Support, samples: int) -> bool:
    """Return True if enough clear fragments of a sample support the indel."""
    better = scored.matrix[:, ALTERNATE] - scored.matrix[:, REFERENCE]
    for sample in range(samples):
        own = better[scored.sample == sample]
        clear, count = int((np.abs(own) > CLEAR_LOG10).sum()), int((own > CLEAR_LOG10).sum())
        if count >= max(LEAST_FRAGMENTS, LEAST_SHARE * clear) and clear >= LEAST_CLEAR * len(own):
            return True
    return False


def _is_beaten(one: Supported, all_found: Sequence[Supported]) -> bool:
    """Return True if another supported indel nearby explains the fragments better."""
    own = _rank(one)
    return any(abs(other.indel.start - one.indel.start) <= CONFLICT and _rank(other) < own for other in all_found)


def _rank(one: Supported) -> tuple[float, LongIndel]:
    matrix = one.support.matrix
    return -float(np.maximum(matrix[:, ALTERNATE] - matrix[:, REFERENCE], 0).sum()), one.indel


def merged(
    records: Iterable[VariantRecord], called: Sequence[Called], owned: tuple[int, int]
) -> Iterator[VariantRecord]:
    """Merge records of active regions, in order, with those of the long indels that start in the owned span.

    If both called the same variant, the long indel's record is kept: its reads were removed from the active regions.
    """
    long = [one.record for one in called if owned[0] <= one.record.start < owned[1]]
    same = {(record.start, *record.alleles) for record in long}
    others = (record for record in records if (record.start, *record.alleles) not in same)
    return heapq.merge(others, long, key=lambda record: record.start)


def deletions_over(position: int, called: Sequence[Called]) -> list[Called]:
    """Return the long deletions that remove the base at a position."""
    return [one for one in called if one.indel.change < 0 and one.indel.start < position < one.indel.end]


def under_deletions(rows: SiteRows, over: Sequence[Called]) -> SiteRows:
    """Return the rows of a site inside some long deletions, with '*' among its alleles."""
    site, matrix = rows.site, rows.matrix
    alleles, carriers, columns = site.alleles, site.carriers, list[Any](rows[2:])
    if SPANNING not in alleles:
        alleles, carriers = (*alleles[:1], SPANNING, *alleles[1:]), np.insert(carriers, 1, False, axis=0)
    reference, misplaced = matrix[:, 0], matrix.max(axis=1) + MISMAPPING_LOG10
    for one in over:
        support = one.support
        # Where the bases after the deletion are the same, reads over the site fit it too: only fragments tell then.
        # Elsewhere these reads are the evidence against it.
        repeated = site.start < support.carriers[0].end
        chosen = repeated | (support.matrix[:, ALTERNATE] - support.matrix[:, REFERENCE] > INFORMATIVE_LOG10)
        fits_none = np.repeat(support.matrix[chosen, REFERENCE, None], matrix.shape[1], axis=1)
        fits = np.concatenate([reference if repeated else misplaced, support.matrix[chosen, ALTERNATE]])
        matrix = np.column_stack([np.concatenate([matrix, fits_none]), fits])
        carriers = np.column_stack([carriers, [allele == SPANNING for allele in alleles]])
        more: list[Any] = [support.sample.astype(np.int64), support.reverse, support.mapping_quality]
        columns = [np.concatenate([own, other[chosen]]) for own, other in zip(columns, more, strict=True)]
        reference, misplaced = (np.append(own, fits_none[:, 0]) for own in (reference, misplaced))
    return SiteRows(Site(site.start, alleles, carriers, given=site.given), matrix, *columns)
