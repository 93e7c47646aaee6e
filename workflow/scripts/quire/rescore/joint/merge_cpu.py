"""The likelihoods of all samples of a site for its merged alleles.

Genotypes of ploidy P over A alleles are numbered as in the VCF specification. A genotype of the site's alleles has the
likelihood of the genotype of those alleles of the sample's record that represent them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.genotyping.allele_frequency_cpu import binomial, genotype_count
from quire.rescore.joint.columns import HAS_VARIANT
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled, inlined

_TWO_OTHERS = 10  # PL of two alternates as a multiple of that of one, for a record with GQ only (ReblockGVCF)


class Picked(NamedTuple):
    """The record of each sample at a site, and how the record's alleles represent the site's.

    Attributes:
        record: int32[samples], -1 for none.
        sample: int32[samples], the sample's number in its file.
        ploidy: int64[samples], of a sample without a record.
        way: int32[samples], the row of the tables below.
        allele: int64[ways, alleles], the record's allele that represents each of the site's.
        stars: int64[ways, n], if a record has several deletions over the site: all alleles that '*' may stand for; -1
            fills the rest.
        star: the site's allele '*', or -1.
    """

    record: NDArray[np.int32]
    sample: NDArray[np.int32]
    ploidy: NDArray[np.int64]
    way: NDArray[np.int32]
    allele: NDArray[np.int64]
    stars: NDArray[np.int64]
    star: int


class Likelihoods(NamedTuple):
    """Values of all samples for the alleles of a site.

    Attributes:
        row, detail: int64[samples], the sample's rows in the arrays of `RecordColumns` for samples and for samples with
            details; -1 without a record, and without details.
        ploidies: int64[samples].
        offsets, phreds: int64[samples + 1] and int64[], PL of each sample; none if unknown.
        depths: int64[samples, alleles], AD.
        has_depths: bool[samples], False for a sample without AD.
    """

    row: NDArray[np.int64]
    detail: NDArray[np.int64]
    ploidies: NDArray[np.int64]
    offsets: NDArray[np.int64]
    phreds: NDArray[np.int64]
    depths: NDArray[np.int64]
    has_depths: NDArray[np.bool_]


@compiled
def spell(columns, picked):
    """Return the values of all samples, and the depth of the site: arrays as in `Likelihoods`, and a number."""
    samples, alleles = len(picked.record), picked.allele.shape[1]
    row, detail = np.full(samples, -1, np.int64), np.full(samples, -1, np.int64)
    ploidies = picked.ploidy.copy()
    offsets = np.zeros(samples + 1, np.int64)
    for c in range(samples):
        offsets[c + 1] = offsets[c]
        if picked.record[c] >= 0:
            row[c] = np.int64(columns.first_sample[picked.record[c]]) + picked.sample[c]
            ploidies[c] = columns.ploidy[row[c]]
            if columns.phred_count[row[c]] > 0 or _has_quality_alone(columns, row[c]):
                offsets[c + 1] += genotype_count(ploidies[c], alleles)
    phreds = np.empty(offsets[samples], np.int64)
    depths, has_depths = np.zeros((samples, alleles), np.int64), np.zeros(samples, np.bool_)
    own = np.empty(alleles, np.int64)
    members = np.zeros(256, np.int64)
    total = np.int64(0)
    for c in range(samples):
        if row[c] < 0:
            continue
        record = picked.record[c]
        if columns.depth[record] < 0:
            total += max(columns.sample_depth[row[c]], 0)
        elif picked.sample[c] == 0:
            total += columns.depth[record]
        copy_items(own, 0, picked.allele[picked.way[c]], 0, alleles)
        if columns.phred_count[row[c]] > 0:
            first = np.int64(columns.phred_first[row[c]])
            if picked.star > 0:
                _choose_star(columns, picked, row[c], picked.way[c], first, ploidies[c], own)
            map_genotypes(columns.phreds[first:], own, ploidies[c], members, phreds[offsets[c] : offsets[c + 1]])
        elif offsets[c + 1] > offsets[c]:
            _by_quality(np.int64(columns.quality[row[c]]), alleles, phreds[offsets[c] : offsets[c + 1]])
        if columns.details[record] >= 0:
            at = np.int64(columns.detail_sample[columns.details[record]]) + picked.sample[c]
            detail[c] = at
            count = columns.depth_count[at]
            has_depths[c] = count > 0
            for a in range(alleles):
                if own[a] < count:
                    depths[c, a] = columns.depths[columns.depth_first[at] + own[a]]
    return row, detail, ploidies, offsets, phreds, depths, has_depths, total


@inlined
def _has_quality_alone(columns, row):
    """Return True for a diploid sample that has the reference, with GQ and without PL."""
    return not columns.flags[row] & HAS_VARIANT and columns.quality[row] >= 0 and columns.ploidy[row] == 2


@inlined
def _choose_star(columns, picked, row, way, first, ploidy, own):
    """Among several deletions over the site, let the one whose homozygous genotype is the most likely be '*'."""
    least = np.int64(-1)
    for place in range(picked.stars.shape[1]):
        allele = picked.stars[way, place]
        if allele >= 0:
            phred = np.int64(columns.phreds[first + genotype_count(ploidy, allele + 1) - 1])
            if least < 0 or phred < least:
                least = phred
                own[picked.star] = allele


@compiled
def map_genotypes(phreds, own, ploidy, members, result):
    """Write the PL of each genotype of new alleles to `result`.

    Args:
        phreds: int[], PL of the genotypes of the old alleles.
        own: int64[alleles], the old allele of each new one; several may be the same.
        ploidy: number of alleles of a genotype.
        members: int64[], working space for as many numbers.
        result: int64[genotypes].
    """
    members[:ploidy] = 0
    old = np.empty(ploidy, np.int64)
    for g in range(len(result)):
        for place in range(ploidy):  # insertion sort
            allele = own[members[place]]
            at = place
            while at > 0 and old[at - 1] > allele:
                old[at] = old[at - 1]
                at -= 1
            old[at] = allele
        number = np.int64(0)
        for place in range(ploidy):
            number += binomial(old[place] + place, place + 1)
        result[g] = phreds[number]
        next_genotype(members, ploidy, len(own))


@inlined
def next_genotype(members, ploidy, alleles):
    """Change the sorted alleles of a genotype to those of the next one in VCF order."""
    for place in range(ploidy):
        limit = members[place + 1] if place + 1 < ploidy else alleles - 1
        if members[place] < limit:
            members[place] += 1
            members[:place] = 0
            return


@inlined
def _by_quality(quality, alleles, result):
    """Approximate the PLs of a diploid reference genotype by GQ (makeApproximateDiploidLog10LikelihoodsFromGQ)."""
    at = 0
    for second in range(alleles):
        for first in range(second + 1):
            copies = np.int64(first == 0) + np.int64(second == 0)
            result[at] = 0 if copies == 2 else quality if copies == 1 else quality * _TWO_OTHERS
            at += 1
