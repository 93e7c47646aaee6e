"""Sites of one sample with two alleles, judged for many regions in one kernel.

Most sites are of this kind. `call_site`, `annotate` and `rank_sums` need a dozen kernel calls per site; here the same
functions run in one call for all sites, with the same results to the last bit. Sites of several samples, with
more alleles, under a spanning deletion, or with the error model of GATK's DRAGEN mode are left to those functions. The
decision record on fast paths of calling has the measurements.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import Value, VariantRecord
from quire.ragged import offsets_from_lengths
from quire.rescore.genotyping import (
    NO_CALL,
    NO_CALL_PHRED,
    Call,
    best_alleles,
    from_the_best,
    genotype_members,
    genotype_phreds,
    marginalise,
    pseudocounts,
)
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, no_variant_log10
from quire.rescore.genotyping.annotations_cpu import (
    MAXIMUM_QD,
    fisher_strand,
    likeliest_frequencies,
    root_mean_square,
    strand_counts,
    strand_odds_ratio,
    sum_of_rows,
)
from quire.rescore.genotyping.cohort_cpu import cohort_info
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS, PlacedReads, allele_groups, quantiles, tests_of
from quire.rescore.genotyping.sites import Site
from quire.rescore.haplotypes.likelihoods_cpu import RegionLikelihoods
from quire.rescore.parameters import MAXIMUM_GENOTYPES, MAXIMUM_GQ
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.rescore.records import variant_record
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled

_DIPLOID = 2
_FS, _SOR, _MQ, _QD = range(4)  # columns of Verdicts.figures


class PlainSite(NamedTuple):
    """A site with two alleles, and the index of its region."""

    region: int
    site: Site


class _Scored(NamedTuple):
    """The scored reads of some regions, end to end.

    Attributes:
        offsets: int64[regions + 1] into the reads.
        matrix_offsets: int64[regions + 1] into the matrices.
        likelihoods: of all reads; `matrix` holds each region's row by row.
        placed: all reads.
    """

    offsets: NDArray[np.int64]
    matrix_offsets: NDArray[np.int64]
    likelihoods: RegionLikelihoods
    placed: PlacedReads


class _Sites(NamedTuple):
    """Sites: region, span, carriers (bool, haplotypes of both alleles, end to end) and prior (float64[n, 2])."""

    region: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    carrier_offsets: NDArray[np.int64]
    carriers: NDArray[np.bool_]
    prior: NDArray[np.float64]


class _Rules(NamedTuple):
    """Arguments of `judge`, with ploidy as int64[1]."""

    ploidies: NDArray[np.int64]
    minimum_quality: float
    margin: int


class Verdicts(NamedTuple):
    """Results by site; the columns from `genotype` on are undefined for sites that are not called.

    Attributes:
        called: bool[n].
        quality: float64[n], QUAL.
        phreds: int64[n, genotypes], PL.
        depth: int64[n], reads that touch the site.
        allele_depths: int64[n, 2], AD.
        genotype: int64[n], number of the best genotype, NO_CALL if it is too uncertain.
        genotype_quality: int64[n], GQ.
        likeliest_count: int64[n], MLEAC.
        figures: float64[n, 4]: FS, SOR, MQ, QD; NaN if there is none.
        tests: float64[n, 3]: z of the rank sums, or p if `exact`; NaN if there is none.
        exact: bool[n, 3].
    """

    called: NDArray[np.bool_]
    quality: NDArray[np.float64]
    phreds: NDArray[np.int64]
    depth: NDArray[np.int64]
    allele_depths: NDArray[np.int64]
    genotype: NDArray[np.int64]
    genotype_quality: NDArray[np.int64]
    likeliest_count: NDArray[np.int64]
    figures: NDArray[np.float64]
    tests: NDArray[np.float64]
    exact: NDArray[np.bool_]


def is_plain(sites: Sequence[Site], ploidy: int) -> bool:
    """Return True if all sites of a region can be judged here."""
    few = ploidy + 1 <= MAXIMUM_GENOTYPES
    return few and all(len(site.alleles) == 2 and site.spanning_index < 0 for site in sites)


def judge(
    plain: Sequence[PlainSite],
    reads: RegionReads,
    scored: Sequence[tuple[RegionLikelihoods, PlacedReads]],
    ploidy: int,
    minimum_quality: float,
    margin: int,
) -> Verdicts:
    """Judge some sites of one sample, whose regions are indices into `scored`.

    A read must touch the site or at most `margin` bases around it. A called site has at least `minimum_quality`.
    """
    likelihoods, placed = [own for own, _ in scored], [own for _, own in scored]
    carriers = [site.carriers for _, site in plain]
    sites = _Sites(
        np.array([region for region, _ in plain], np.int64),
        np.array([site.start for _, site in plain], np.int64),
        np.array([site.end for _, site in plain], np.int64),
        offsets_from_lengths(np.array([own.size for own in carriers], np.int64)),
        np.concatenate([own.ravel() for own in carriers]),
        np.array([_prior(*map(len, site.alleles)) for _, site in plain]),
    )
    together = _Scored(
        offsets_from_lengths(np.array([len(own.start) for own in likelihoods], np.int64)),
        offsets_from_lengths(np.array([own.matrix.size for own in likelihoods], np.int64)),
        RegionLikelihoods(
            *(np.concatenate([own.ravel() for own in column]) for column in zip(*likelihoods, strict=True))
        ),
        PlacedReads._make([*map(np.concatenate, [*zip(*placed, strict=True)][:-1]), placed[0].positions]),
    )
    rules = _Rules(np.array([ploidy]), float(minimum_quality), margin)
    verdicts: Verdicts = _judge(sites, reads, together, rules)
    return verdicts


@lru_cache(1 << 12)
def _prior(reference: int, alternate: int) -> NDArray[np.float64]:
    """Return the prior of two alleles of these lengths."""
    return pseudocounts([bytes(reference), bytes(alternate)])


@compiled
def _judge(sites, reads, scored, rules):
    n = len(sites.start)
    result = Verdicts(
        np.zeros(n, np.bool_),
        np.empty(n),
        np.empty((n, genotype_count(rules.ploidies[0], 2)), np.int64),
        np.empty(n, np.int64),
        np.zeros((n, 2), np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n, 4)),
        np.empty((n, len(RANK_SUMS))),
        np.empty((n, len(RANK_SUMS)), np.bool_),
    )
    for i in range(n):
        _judge_one(sites, i, reads, scored, rules, result)
    return result


@compiled
def _judge_one(sites, i, reads, scored, rules, result):
    """Run `call_site`, `annotate` and `rank_sums` for site i."""
    region, ploidies, minimum_quality, margin = sites.region[i], rules.ploidies, rules.minimum_quality, rules.margin
    first, last = scored.offsets[region], scored.offsets[region + 1]
    carriers = sites.carriers[sites.carrier_offsets[i] : sites.carrier_offsets[i + 1]].reshape((2, -1))
    likelihoods, placed = scored.likelihoods, scored.placed
    matrix = likelihoods.matrix[scored.matrix_offsets[region] : scored.matrix_offsets[region + 1]]
    matrix = matrix.reshape((last - first, carriers.shape[1]))
    chosen = _touching(matrix, likelihoods, first, sites.start[i] - margin, sites.end[i] + margin)
    by_allele = marginalise(matrix[chosen - first], carriers)
    sample = np.zeros(len(chosen), np.int64)
    phreds = genotype_phreds(by_allele, sample, ploidies)
    nothing, _, expected = no_variant_log10(phreds / -10.0, ploidies, sites.prior[i], -1)
    quality = -10.0 * nothing + 0.0
    own, number, second = from_the_best(phreds)
    best = best_alleles(by_allele)
    for allele in best:
        if allele >= 0:
            result.allele_depths[i, allele] += 1
    result.quality[i], result.depth[i] = quality, len(chosen)
    copy_items(result.phreds[i], 0, own, 0, len(own))
    if quality < minimum_quality or not nothing + 1e-10 < -minimum_quality / 10:
        return
    result.called[i] = True
    certain = not (number == 0 and second < NO_CALL_PHRED)
    result.genotype[i] = number if certain else NO_CALL
    result.genotype_quality[i] = min(second, MAXIMUM_GQ) if certain else NO_CALL
    result.likeliest_count[i] = np.int64(np.floor(expected[1] + 0.5))
    source = likelihoods.source[chosen]
    table = strand_counts(best, np.ones(2, np.bool_), sample, reads.reverse[source], 1)
    result.figures[i, _FS] = fisher_strand(sum_of_rows(table, 2))
    result.figures[i, _SOR] = strand_odds_ratio(sum_of_rows(table, 0))
    result.figures[i, _MQ] = root_mean_square(reads.mapping_quality[source])
    depth = result.allele_depths[i].sum() or len(chosen)  # as in `annotations.variant_depth`
    result.figures[i, _QD] = min(quality / depth, MAXIMUM_QD) if certain and number > 0 and depth > 0 else np.nan
    placed = PlacedReads(source, placed.first_base[chosen], placed.size[chosen], placed.at[chosen], placed.positions)
    groups = allele_groups(best, np.arange(2))
    tests, exact = tests_of(reads, placed, groups, sites.start[i], sites.end[i])
    copy_items(result.tests[i], 0, tests, 0, len(tests))
    copy_items(result.exact[i], 0, exact, 0, len(exact))


@compiled
def _touching(matrix, likelihoods, first, start, end):
    """Return the reads over a span (int64), without those that no haplotype explains."""
    found = np.empty(len(matrix), np.int64)
    count = 0
    for row in range(len(matrix)):
        i = first + row
        modelled = likelihoods.usable[i] == 0 or not np.isnan(matrix[row, 0])
        if modelled and likelihoods.start[i] < end and likelihoods.end[i] > start:
            found[count] = i
            count += 1
    return found[:count]


def plain_record(contig: str, site: Site, verdicts: Verdicts, i: int, ploidy: int) -> VariantRecord:
    """Return the record of the called site i of `verdicts`."""
    phreds = verdicts.phreds[i]
    number, copies = int(verdicts.genotype[i]), int(verdicts.likeliest_count[i])
    members = (NO_CALL,) * ploidy if number == NO_CALL else genotype_members(ploidy, 2, number)
    called = 0 if number == NO_CALL else ploidy
    count = members.count(1)
    fisher, odds, mapping_quality, by_depth = verdicts.figures[i].tolist()
    found: dict[str, Value] = {
        "AC": [count],
        "AF": [count / called if called else 0.0],
        "AN": called,
        "DP": int(verdicts.depth[i]),
        "FS": fisher,
        "SOR": odds,
        **likeliest_frequencies([copies], called),
        **quantiles(verdicts.tests[i].tolist(), verdicts.exact[i].tolist()),
    }
    if ploidy == _DIPLOID:
        found |= _cohort_info(tuple(phreds.tolist()), number != NO_CALL)
    if mapping_quality == mapping_quality:
        found["MQ"] = mapping_quality
    if by_depth == by_depth:
        found["QD"] = by_depth
    call = Call(
        site=site,
        quality=float(verdicts.quality[i]),
        phreds=[phreds],
        genotypes=[members],
        genotype_qualities=[int(verdicts.genotype_quality[i])],
        allele_depths=verdicts.allele_depths[i : i + 1],
        likelihoods=np.empty((0, 2)),  # only `annotate` and `rank_sums` need them, whose results are `found`
        kept=[0, 1],
        likeliest_counts=[copies],
    )
    return variant_record(contig, call, found)


@lru_cache(1 << 16)
def _cohort_info(phreds: tuple[int, ...], is_called: bool) -> Mapping[str, float]:
    """Return `cohort_info` of one diploid sample."""
    return cohort_info(np.array([phreds], np.int64), is_called, 2)
