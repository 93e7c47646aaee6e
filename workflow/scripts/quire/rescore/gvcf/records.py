"""Fields and header of a gVCF, and the record of a variant with `<NON_REF>`."""

from collections.abc import Mapping, Sequence

from quire.io.vcf import NON_REFERENCE, Field, Fields, Value, VariantRecord
from quire.rescore.genotyping import NO_CALL
from quire.rescore.genotyping.annotations_cpu import likeliest_frequencies
from quire.rescore.genotyping.cohort_cpu import cohort_info
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.gvcf.blocks_cpu import band_lines
from quire.rescore.gvcf.variants_cpu import GvcfCall
from quire.rescore.phasing import FIELDS as PHASE_FIELDS
from quire.rescore.phasing import Phase, phased
from quire.rescore.records import FIELDS as VARIANT_FIELDS
from quire.rescore.records import allele_text, trim_right

RAW_MAPPING_QUALITY = "RAW_MQandDP"
FIELDS = Fields.of(
    info=(
        *(VARIANT_FIELDS.info[key] for key in ("DP", "ExcessHet", "MLEAC", "MLEAF", *RANK_SUMS)),
        Field("END", "1", "Integer", "Last position of the block, 1-based"),
        Field(RAW_MAPPING_QUALITY, "2", "Integer", "Sum of the reads' squared mapping qualities, and their number"),
    ),
    format=(
        *VARIANT_FIELDS.format.values(),
        *PHASE_FIELDS,
        Field("MIN_DP", "1", "Integer", "Least depth of a position of the block"),
        Field(
            "SB", "4", "Integer", "Clear reads for the reference forward, reverse, for other alleles forward, reverse"
        ),
    ),
)


def header_lines(bands: Sequence[int]) -> list[str]:
    """Return the header lines of a gVCF that do not define INFO or FORMAT."""
    means = "Any allele that is not named at the position"
    return [f'##ALT=<ID={NON_REFERENCE[1:-1]},Description="{means}">', *band_lines(bands)]


def gvcf_record(contig: str, call: GvcfCall, rank_sums: Mapping[str, float], phase: Phase | None) -> VariantRecord:
    """Return the record of a call; `phase` is None if it is in phase with no other."""
    alleles = [allele_text(allele) for allele in trim_right(call.site.alleles)]
    depths = call.allele_depths.tolist()
    genotype = phased(call.genotype, [*alleles, NON_REFERENCE], phase.genotype) if phase else call.genotype
    called = [allele for allele in call.genotype if allele != NO_CALL]
    info = {
        "DP": call.depth,
        RAW_MAPPING_QUALITY: [call.squared_mapping_quality, call.depth],
        **rank_sums,
        **likeliest_frequencies(call.likeliest_counts, len(called)),
    }
    if len(genotype) == 2:
        info |= cohort_info(call.phreds[None], bool(called), len(alleles) + 1)
    values: dict[str, Value] = {
        "GT": ("|" if phase else "/").join("." if allele == NO_CALL else str(allele) for allele in genotype),
        "AD": [*depths, 0],
        "DP": sum(depths),
        "GQ": call.genotype_quality,
        "PL": call.phreds.tolist(),
        **(phase.values if phase else {}),
        "SB": call.strands.tolist(),
    }
    return VariantRecord(
        contig=contig,
        start=call.site.start,
        alleles=(*alleles, NON_REFERENCE),
        quality=call.quality,
        filters=None,
        info={key: info[key] for key in FIELDS.info if key in info},
        samples=[values],
    )
