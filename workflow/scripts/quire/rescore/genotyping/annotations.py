"""INFO fields that are commonly used for filtering, as GATK's annotator classes compute them.

FisherStrand (FS), StrandOddsRatio (SOR), QualByDepth (QD), RMSMappingQuality (MQ), Coverage (DP), and allele counts.
"""

import numpy as np

from quire.io.vcf import Value
from quire.rescore.genotyping import NO_CALL, Call, best_alleles
from quire.rescore.genotyping.cohort import DiploidSample, cohort_info
from quire.rescore.genotyping.strands import fisher_strand, strand_counts, strand_odds_ratio, sum_of_rows
from quire.simd.compiled import compiled

MAXIMUM_QD = 35.0  # GATK replaces larger values by random numbers around 30; here they are set to the limit


def annotate(call: Call, sample: np.ndarray, reverse: np.ndarray, mapping_quality: np.ndarray) -> dict[str, Value]:
    """Return the INFO fields of a call, by their keys in `quire.rescore.records.FIELDS`.

    The arrays hold sample, strand (1 for reverse) and mapping quality of each read that touches the site.
    """
    alleles = range(1, len(call.kept))
    called = [allele for genotype in call.genotypes for allele in genotype if allele != NO_CALL]
    counts = [called.count(a) for a in alleles]
    table = strand_table(call, sample, reverse)
    info: dict[str, Value] = {
        "AC": counts,
        "AF": [count / len(called) if called else 0.0 for count in counts],
        "AN": len(called),
        "DP": len(sample),
        "FS": fisher_strand(sum_of_rows(table, 2)),
        **likeliest_frequencies(call.likeliest_counts, len(called)),
        **cohort_info(
            [
                DiploidSample(phreds, NO_CALL not in genotype)
                for phreds, genotype in zip(call.phreds, call.genotypes, strict=True)
                if len(genotype) == 2
            ],
            len(call.kept),
        ),
    }
    if len(mapping_quality):
        info["MQ"] = root_mean_square(mapping_quality)
    depth = variant_depth(call, sample)
    if depth:
        info["QD"] = float(min(call.quality / depth, MAXIMUM_QD))
    info["SOR"] = strand_odds_ratio(sum_of_rows(table, 0))
    return info


@compiled
def root_mean_square(qualities):
    """Return the root mean square of mapping qualities; NaN if there are none."""
    if len(qualities) == 0:
        return np.nan
    total = np.int64(0)
    for quality in qualities:
        total += np.int64(quality) * np.int64(quality)
    return np.sqrt(total / len(qualities))


def likeliest_frequencies(counts: list[int], called: int) -> dict[str, Value]:
    """Return MLEAC and MLEAF from the likeliest copies of each alternate and the number of called alleles."""
    return {"MLEAC": counts, "MLEAF": [min(1.0, count / called) if called else None for count in counts]}


def strand_table(call: Call, sample: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Count clear reads for the reference and for any written alternate, forward and reverse (int64[samples, 4])."""
    kept = np.zeros(call.likelihoods.shape[1], np.bool_)
    kept[call.kept] = True
    table: np.ndarray = strand_counts(best_alleles(call.likelihoods), kept, sample, reverse, len(call.genotypes))
    return table


def variant_depth(call: Call, sample: np.ndarray) -> int:
    """Return the depth of the samples with a variant genotype (QualByDepth.getDepth)."""
    depth, restricted = 0, 0
    for s, genotype in enumerate(call.genotypes):
        if not any(allele > 0 for allele in genotype):
            continue
        own = int(call.allele_depths[s].sum())
        if own == 0:
            depth += int((sample == s).sum())
            continue
        if own - int(call.allele_depths[s, 0]) > 1:
            restricted += own
        depth += own
    return restricted or depth
