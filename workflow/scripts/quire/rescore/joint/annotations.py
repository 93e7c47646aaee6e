"""INFO of a cohort's site: what the called genotypes say, and what the gVCFs counted of their reads.

The annotator classes of GATK by the same names (ExcessHet, InbreedingCoeff, RMSMappingQuality, QualByDepth, ...).
"""

from collections.abc import Sequence
from math import log10, sqrt

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import Field, Fields, Value
from quire.rescore.genotyping.annotations import MAXIMUM_QD, fisher_strand, strand_odds_ratio
from quire.rescore.gvcf.records import RAW_MAPPING_QUALITY
from quire.rescore.joint.genotype import JointCall, JointGenotype
from quire.rescore.joint.inputs import GvcfRecord
from quire.rescore.records import FIELDS as VARIANT_FIELDS

RANK_SUMS = ("BaseQRankSum", "MQRankSum", "ReadPosRankSum")
FEWEST_FOR_INBREEDING = 10  # samples with genotypes (InbreedingCoeff.MIN_SAMPLES)
_FEWEST_STRANDS = {"FS": 2, "SOR": 0}  # a sample's clear reads must be more
_SMALLEST_P = 1e-16  # of ExcessHet

FIELDS = Fields.of(
    info=sorted(
        [
            *VARIANT_FIELDS.info.values(),
            Field("BaseQRankSum", "1", "Float", "Z of Wilcoxon's rank sum test of base qualities by allele", ".3f"),
            Field("ExcessHet", "1", "Float", "Phred p-value of more heterozygous samples than expected", ".4f"),
            Field("InbreedingCoeff", "1", "Float", "1 less the share of expected heterozygous samples", ".4f"),
            Field("MQRankSum", "1", "Float", "Z of Wilcoxon's rank sum test of mapping qualities by allele", ".3f"),
            Field("ReadPosRankSum", "1", "Float", "Z of Wilcoxon's rank sum test of positions in reads", ".3f"),
        ],
        key=lambda field: field.key.lower(),
    ),
    format=VARIANT_FIELDS.format.values(),
)
"""What joint genotyping writes."""


def annotate(call: JointCall) -> dict[str, Value]:
    """INFO fields of a call in the order of FIELDS; those without data are left out."""
    called = [allele for genotype in call.genotypes if genotype.is_called for allele in genotype.alleles]
    counts = [called.count(a) for a in range(1, len(call.alleles))]
    info: dict[str, Value] = {
        "AC": counts,
        "AF": [count / len(called) if called else 0.0 for count in counts],
        "AN": len(called),
        "DP": call.site.depth,
    }
    tables = [g.source.strands for g in call.genotypes if g.source is not None and g.source.strands is not None]
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
    info |= _cohort(call)
    return {key: info[key] for key in FIELDS.info if key in info}


def _strand_sum(tables: Sequence[tuple[int, int, int, int]], minimum: int) -> tuple[int, int, int, int]:
    a, b, c, d = np.array([table for table in tables if sum(table) > minimum] or [(0,) * 4]).sum(axis=0).tolist()
    return a, b, c, d


def _mapping_quality(records: Sequence[GvcfRecord]) -> float | None:
    """Root mean square over the reads of all records that give their sum of squares."""
    squares, reads = 0, 0
    for record in records:
        text = record.info.get(RAW_MAPPING_QUALITY)
        if text:
            square, count = text.split(",")
            squares, reads = squares + int(float(square)), reads + int(count)
    return sqrt(squares / reads) if reads else None


def _variant_depth(genotypes: Sequence[JointGenotype]) -> int:
    """Depth of the samples with a variant genotype (QualByDepth.getDepth)."""
    depth, restricted = 0, 0
    for genotype in genotypes:
        if any(allele > 0 for allele in genotype.alleles):
            own = sum(genotype.allele_depths)
            if own - (genotype.allele_depths or (0,))[0] > 1:
                restricted += own
            depth += own or genotype.depth or 0
    return restricted or depth


def _cohort(call: JointCall) -> dict[str, Value]:
    """ExcessHet and InbreedingCoeff over the diploid samples with likelihoods."""
    likely = [
        (_three_classes(g.phreds, len(call.alleles)), g.is_called)
        for g in call.genotypes
        if g.phreds is not None and len(g.alleles) == 2
    ]
    info: dict[str, Value] = {}
    if any(is_called for _, is_called in likely):
        references = heterozygous = others = 0
        for (reference, het, other), _ in likely:
            references += int(reference + 0.5)
            heterozygous += int(het + 0.5) if reference != het else 0
            others += int(other + 0.5) if other != het else 0
        p = excess_heterozygosity(heterozygous, references, others)
        info["ExcessHet"] = -10 * log10(p) + 0.0 if p >= 10e-60 else -10 * log10(_SMALLEST_P)
    if len(likely) >= FEWEST_FOR_INBREEDING:
        sums = np.array([classes for classes, _ in likely]).sum(axis=0)
        p = (2 * sums[0] + sums[1]) / (2 * sums.sum())
        expected = 2 * p * (1 - p) * len(likely)
        if expected > 0:
            info["InbreedingCoeff"] = float(1 - sums[1] / expected)
    return info


def _three_classes(phreds: NDArray[np.int64], alleles: int) -> tuple[float, float, float]:
    """Probabilities of two, one and no copy of the reference (GenotypeUtils.computeDiploidGenotypeCounts).

    With several other alleles, those of the best genotype's; one without the reference counts whole.
    """
    shares = 10.0 ** (phreds / -10.0)
    shares /= shares.sum()
    het, other = 1, 2
    if alleles > 2:
        firsts = [a * (a + 1) // 2 for a in range(1, alleles)]  # number of the genotype 0/a
        best = int(shares.argmax())
        if best and best not in firsts:
            return 0.0, 0.0, 1.0
        het = max(firsts, key=lambda g: shares[g])
        other = het + firsts.index(het) + 1
    total = shares[0] + shares[het] + shares[other]
    return float(shares[0] / total), float(shares[het] / total), float(shares[other] / total)


def excess_heterozygosity(heterozygous: int, references: int, others: int) -> float:
    """P of at least so many heterozygous samples under Hardy-Weinberg (Wigginton, Cutler and Abecasis 2005).

    Args:
        heterozygous, references, others: samples with one, two and no copies of the reference.
    """
    samples = heterozygous + references + others
    rare = 2 * min(references, others) + heterozygous
    if not rare:
        return 1.0
    weights = np.zeros(rare + 1)
    middle = rare * (2 * samples - rare) // (2 * samples - 1)
    middle += (middle - rare) % 2
    weights[middle] = 1.0
    for step in (-2, 2):
        now = middle
        while 0 <= now + step <= rare:
            homozygous = (rare - now) // 2
            common = samples - now - homozygous
            if step < 0:
                factor = now * (now - 1) / (4.0 * (homozygous + 1) * (common + 1))
            else:
                factor = 4.0 * homozygous * common / ((now + 2.0) * (now + 1.0))
            weights[now + step] = weights[now] * factor
            if weights[now + step] < _SMALLEST_P:
                weights[now + step] = 0.0
                break
            now += step
    return float(min(1.0, weights[heterozygous:].sum() / weights.sum()))
