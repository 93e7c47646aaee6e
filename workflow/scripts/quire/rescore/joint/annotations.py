"""INFO of a cohort's site, from the called genotypes and the counts of reads in the gVCFs.

Follows GATK's annotator classes of the same names (ExcessHet, InbreedingCoeff, RMSMappingQuality, QualByDepth, ...).
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import Fields, Value
from quire.rescore.genotyping.annotations_cpu import MAXIMUM_QD, fisher_strand, likeliest_frequencies, strand_odds_ratio
from quire.rescore.genotyping.cohort_cpu import cohort_info
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.joint.genotype import Genotypes, JointCall
from quire.rescore.joint.gvcf import MISSING
from quire.rescore.phasing import FIELDS as PHASE_FIELDS
from quire.rescore.records import FIELDS as VARIANT_FIELDS

_FEWEST_STRANDS = {"FS": 2, "SOR": 0}  # a sample counts if it has more clear reads than this

FIELDS = Fields.of(
    info=VARIANT_FIELDS.info.values(),
    format=(*VARIANT_FIELDS.format.values(), *PHASE_FIELDS),
)
"""The fields of joint genotyping."""


def annotate(call: JointCall) -> dict[str, Value]:
    """Return the INFO fields of a call in the order of FIELDS; fields without data are left out."""
    genotypes, columns = call.genotypes, call.site.window.columns
    members = genotypes.alleles[genotypes.is_called]
    called = int((members >= 0).sum())
    counts = np.bincount(members[members >= 0], minlength=len(call.alleles))[1:].tolist()
    info: dict[str, Value] = {
        "AC": counts,
        "AF": [count / called if called else 0.0 for count in counts],
        "AN": called,
        "DP": call.site.depth,
    }
    detail = call.site.samples.detail
    tables = columns.strands[detail[detail >= 0]]
    tables = tables[tables[:, 0] != MISSING]
    if len(tables):
        info["FS"] = fisher_strand(_strand_sum(tables, _FEWEST_STRANDS["FS"]))
        info["SOR"] = strand_odds_ratio(_strand_sum(tables, _FEWEST_STRANDS["SOR"]))
    details = columns.details[call.site.records]
    details = details[details != MISSING]
    for key, values in zip(RANK_SUMS, columns.rank_sums[details].T, strict=True):
        known = np.sort(values[~np.isnan(values)])
        if len(known):
            info[key] = float(known[len(known) // 2])
    squares, reads = columns.squares[details].sum(axis=0).tolist()
    if reads:
        info["MQ"] = sqrt(squares / reads)
    depth = _variant_depth(genotypes)
    if depth:
        info["QD"] = float(min(call.quality / depth, MAXIMUM_QD))
    info |= likeliest_frequencies(call.likeliest_counts, called)
    diploid = genotypes.has_phreds & (genotypes.ploidies == 2)
    first = genotypes.offsets[:-1][diploid]
    number = len(call.alleles) * (len(call.alleles) + 1) // 2
    phreds = genotypes.phreds[first[:, None] + np.arange(number)]
    info |= cohort_info(phreds, bool(genotypes.is_called[diploid].any()), len(call.alleles))
    return {key: info[key] for key in FIELDS.info if key in info}


def _strand_sum(tables: NDArray[np.int32], minimum: int) -> tuple[int, int, int, int]:
    a, b, c, d = tables[tables.sum(axis=1) > minimum].sum(axis=0, dtype=np.int64).tolist()
    return a, b, c, d


def _variant_depth(genotypes: Genotypes) -> int:
    """Return the depth of the samples with a variant genotype (QualByDepth.getDepth)."""
    has_variant = (genotypes.alleles > 0).any(axis=1)
    depths = genotypes.depths[has_variant]
    own = depths.sum(axis=1)
    restricted = int(own[own - depths[:, 0] > 1].sum())
    return restricted or int(np.where(own > 0, own, np.maximum(genotypes.depth[has_variant], 0)).sum())
