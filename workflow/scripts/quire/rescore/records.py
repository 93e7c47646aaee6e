"""Records of the VCF from calls: alleles as letters, and the fields of INFO and FORMAT."""

from collections.abc import Mapping, Sequence

from quire.io.vcf import SPANNING_DELETION, Field, Fields, Value, VariantRecord
from quire.rescore.genotyping import NO_CALL, Call
from quire.rescore.genotyping.cohort_cpu import FIELDS as COHORT_FIELDS
from quire.rescore.genotyping.rank_sums_cpu import FIELDS as RANK_SUM_FIELDS
from quire.rescore.genotyping.sites import SPANNING
from quire.sequence.codes import LETTERS

_LETTERS = bytes.maketrans(bytes(range(len(LETTERS))), LETTERS.tobytes())

FIELDS = Fields.of(
    info=sorted(
        [
            *COHORT_FIELDS,
            *RANK_SUM_FIELDS,
            Field("AC", "A", "Integer", "Copies of each alternate allele in called genotypes"),
            Field("AF", "A", "Float", "Frequency of each alternate allele in called genotypes", ".3g"),
            Field("AN", "1", "Integer", "Number of alleles in called genotypes"),
            Field("DP", "1", "Integer", "Reads over the site, all samples"),
            Field("FS", "1", "Float", "Phred p-value of Fisher's exact test for strand bias", ".3f"),
            Field("MQ", "1", "Float", "Root mean square of the reads' mapping qualities", ".2f"),
            Field("QD", "1", "Float", "QUAL by depth of the samples with the variant, at most 35", ".2f"),
            Field("SOR", "1", "Float", "Symmetric odds ratio of strand bias", ".3f"),
            Field("MLEAC", "A", "Integer", "Likeliest copies of each alternate allele, by expectation maximisation"),
            Field("MLEAF", "A", "Float", "Frequency of each alternate allele by MLEAC", ".3g"),
        ],
        key=lambda field: field.key.lower(),
    ),
    format=(
        Field("GT", "1", "String", "Genotype"),
        Field("AD", "R", "Integer", "Reads that clearly support each allele"),
        Field("DP", "1", "Integer", "Reads that clearly support any allele"),
        Field("GQ", "1", "Integer", "Genotype quality, phred, at most 99"),
        Field("PL", "G", "Integer", "Phred-scaled genotype likelihoods, the best at 0"),
    ),
)
"""The fields of a variant."""


def variant_record(contig: str, call: Call, info: Mapping[str, Value]) -> VariantRecord:
    """Return the record of a call; `info` is from `annotate` and `rank_sums`, in any order."""
    return VariantRecord(
        contig=contig,
        start=call.site.start,
        alleles=tuple(allele_text(allele) for allele in trim_right(call.site.alleles)),
        quality=call.quality,
        filters=(),
        info={key: info[key] for key in FIELDS.info if key in info},
        samples=[_genotype(call, sample) for sample in range(len(call.genotypes))],
    )


def _genotype(call: Call, sample: int) -> dict[str, Value]:
    """Return the values of FORMAT of a sample."""
    depths = call.allele_depths[sample].tolist()
    quality = call.genotype_qualities[sample]
    return {
        "GT": "/".join("." if allele == NO_CALL else str(allele) for allele in call.genotypes[sample]),
        "AD": depths,
        "DP": sum(depths),
        "GQ": None if quality == NO_CALL else quality,
        "PL": call.phreds[sample].tolist(),
    }


def trim_right(alleles: Sequence[bytes]) -> list[bytes]:
    """Remove the bases that all alleles end with; one base always stays, and SPANNING is not changed."""
    shared = shared_end([allele for allele in alleles if allele != SPANNING])
    return [allele if allele == SPANNING else allele[: len(allele) - shared] for allele in alleles]


def shared_end(alleles: Sequence[bytes] | Sequence[str]) -> int:
    """Count the bases that all alleles end with, leaving at least one base; SPANNING_DELETION is ignored."""
    real = [allele for allele in alleles if allele != SPANNING_DELETION]
    shared = 0
    while shared < min(map(len, real)) - 1 and len({allele[-1 - shared] for allele in real}) == 1:
        shared += 1
    return shared


def allele_text(allele: bytes) -> str:
    """Return an allele as a VCF spells it."""
    return SPANNING_DELETION if allele == SPANNING else allele.translate(_LETTERS).decode()
