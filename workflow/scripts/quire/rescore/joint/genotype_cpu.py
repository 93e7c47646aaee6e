"""Genotypes of all samples of a site for the alleles that are kept."""

import numpy as np

from quire.rescore.genotyping import NO_CALL
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count
from quire.rescore.joint.columns import HAS_VARIANT
from quire.rescore.joint.gvcf import MISSING
from quire.rescore.joint.merge_cpu import map_genotypes, next_genotype
from quire.rescore.parameters import MAXIMUM_GQ
from quire.simd.compiled import compiled


@compiled
def subset(offsets, phreds, ploidies, kept):
    """Return the PLs of the genotypes of some alleles, each sample's best at 0: int64[samples + 1], int64[].

    `offsets`, `phreds` and `ploidies` are those of `Likelihoods`, `kept` (int64[]) the alleles, ascending.
    """
    new = np.zeros_like(offsets)
    for c in range(len(ploidies)):
        new[c + 1] = new[c] + (genotype_count(ploidies[c], len(kept)) if offsets[c + 1] > offsets[c] else 0)
    result = np.empty(new[len(ploidies)], np.int64)
    members = np.empty(256, np.int64)
    for c in range(len(ploidies)):
        own = result[new[c] : new[c + 1]]
        if len(own):
            map_genotypes(phreds[offsets[c] : offsets[c + 1]], kept, ploidies[c], members, own)
            own -= own.min()
    return new, result


@compiled
def genotype(columns, samples, offsets, phreds, kept):
    """Genotype all samples; equal likelihoods give no call.

    Args:
        columns: `RecordColumns`.
        samples: `Likelihoods` of all alleles.
        offsets: int64[samples + 1], see `phreds`.
        phreds: int64[], PLs of the kept alleles, from `subset`.
        kept: int64[], the alleles that are kept, ascending.

    Returns:
        bool[samples] True for a sample with PL; int16[samples, ploidy] alleles of each genotype, ascending, NO_CALL
        without a call and after the last; int64[samples] GQ and DP, or MISSING; int64[samples, kept] AD; bool[samples]
        True for a sample with AD.
    """
    number = len(samples.ploidies)
    alleles = np.full((number, max(1, samples.ploidies.max())), NO_CALL, np.int16)
    quality, depth = np.full(number, MISSING, np.int64), np.full(number, MISSING, np.int64)
    depths, has_depths = np.zeros((number, len(kept)), np.int64), np.zeros(number, np.bool_)
    has_phreds = np.zeros(number, np.bool_)
    members = np.empty(256, np.int64)
    for c in range(number):
        row = samples.row[c]
        if row < 0:
            continue
        own_depth = np.int64(columns.sample_depth[row])
        own = phreds[offsets[c] : offsets[c + 1]]
        if len(own) == 0:
            depth[c] = own_depth
            continue
        if not columns.flags[row] & HAS_VARIANT and columns.quality[row] == 0 and own_depth <= 0:
            continue  # no reads
        depth[c], has_phreds[c] = own_depth, True
        best = own.argmin()
        second = np.int64(MAXIMUM_GQ)
        for g in range(len(own)):
            if g != best:
                second = min(second, own[g])
        if best != 0 or second != 0:
            quality[c] = second
            members[: samples.ploidies[c]] = 0
            for _ in range(best):
                next_genotype(members, samples.ploidies[c], len(kept))
            for place in range(samples.ploidies[c]):
                alleles[c, place] = members[place]
        if samples.has_depths[c]:
            has_depths[c] = True
            for a in range(len(kept)):
                depths[c, a] = samples.depths[c, kept[a]]
        elif own_depth > 0:
            has_depths[c] = True
            depths[c, 0] = own_depth
    return has_phreds, alleles, quality, depth, depths, has_depths
