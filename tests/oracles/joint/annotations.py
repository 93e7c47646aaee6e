"""INFO of a cohort's site, from the called genotypes and the counts of reads in the gVCFs.

Follows GATK's annotator classes of the same names (ExcessHet, InbreedingCoeff, RMSMappingQuality, QualByDepth, ...).
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from quire.io.vcf import Fields, Value
from quire.rescore.genotyping.annotations_cpu import MAXIMUM_QD, fisher_strand, likeliest_frequencies, strand_odds_ratio
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.gvcf.records import RAW_MAPPING_QUALITY
from quire.rescore.phasing import FIELDS as PHASE_FIELDS
from quire.rescore.records import FIELDS as VARIANT_FIELDS

from tests.oracles.joint.cohort import DiploidSample, cohort_info
from tests.oracles.joint.genotype import JointCall, JointGenotype
from tests.oracles.joint.inputs import GvcfRecord

_FEWEST_STRANDS = {"FS": 2, "SOR": 0}  # a sample counts if it has more clear reads than this

FIELDS = Fields.of(
    info=VARIANT_FIELDS.info.values(),
    format=(*VARIANT_FIELDS.format.values(), *PHASE_FIELDS),
)
"""The fields of joint genotyping."""


def annotate(call: JointCall) -> dict[str, Value]:
    """Return the INFO fields of a call in the order of FIELDS; fields without data are left out."""
    called = [allele for genotype in call.genotypes if genotype.is_called for allele in genotype.alleles]
    counts = [called.count(a) for a in range(1, len(call.alleles))]
    info: dict[str, Value] = {
        "AC": counts,
        "AF": [count / len(called) if called else 0.0 for count in counts],
        "AN": len(called),
        "DP": call.site.depth,
    }
    tables = [g.source.strands for g in call.genotypes if g.source.strands is not None]
    if tables:
        info["FS"] = fisher_strand(_strand_sum(tables, _FEWEST_STRANDS["FS"]))
        info["SOR"] = strand_odds_ratio(_strand_sum(tables, _FEWEST_STRANDS["SOR"]))
    for key in RANK_SUMS:
        values = sorted(float(record.info[key]) for record in call.site.records if record.info.get(key))
        if values:
            info[key] = values[len(values) // 2]
    quality = _mapping_quality(call.site.records)
    if quality is not None:
        info["MQ"] = quality
    depth = _variant_depth(call.genotypes)
    if depth:
        info["QD"] = float(min(call.quality / depth, MAXIMUM_QD))
    info |= likeliest_frequencies(call.likeliest_counts, len(called))
    diploid = [g for g in call.genotypes if len(g.alleles) == 2]
    likely = [DiploidSample(g.phreds, g.is_called) for g in diploid if g.phreds is not None]
    info |= cohort_info(likely, len(call.alleles))
    return {key: info[key] for key in FIELDS.info if key in info}


def _strand_sum(tables: Sequence[tuple[int, int, int, int]], minimum: int) -> tuple[int, int, int, int]:
    a, b, c, d = np.array([table for table in tables if sum(table) > minimum] or [(0,) * 4]).sum(axis=0).tolist()
    return a, b, c, d


def _mapping_quality(records: Sequence[GvcfRecord]) -> float | None:
    """Return the root mean square of mapping qualities over the records that give their sum of squares."""
    squares, reads = 0, 0
    for record in records:
        text = record.info.get(RAW_MAPPING_QUALITY)
        if text:
            square, count = text.split(",")
            squares, reads = squares + int(float(square)), reads + int(count)
    return sqrt(squares / reads) if reads else None


def _variant_depth(genotypes: Sequence[JointGenotype]) -> int:
    """Return the depth of the samples with a variant genotype (QualByDepth.getDepth)."""
    depth, restricted = 0, 0
    for genotype in genotypes:
        if any(allele > 0 for allele in genotype.alleles):
            own = sum(genotype.allele_depths)
            if own - (genotype.allele_depths or (0,))[0] > 1:
                restricted += own
            depth += own or genotype.depth or 0
    return restricted or depth
