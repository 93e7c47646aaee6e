"""Samples brought together after they were called: the gVCFs of a cohort to one VCF (GenotypeGVCFs).

The files are swept side by side, each holding one record at a time, so that memory does not grow with the genome, and
with samples by one record each. At every position where some sample may have a variant, `merge` spells what all samples
say in the same alleles, `genotype` decides which alleles are real and who has them, `annotations` fills INFO.
"""

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path

from quire.io import vcf
from quire.io.bed import Interval
from quire.io.vcf import Value, VariantRecord
from quire.reference import Reference
from quire.rescore.caller import contigs_of
from quire.rescore.genotyping import NO_CALL
from quire.rescore.joint.annotations import FIELDS, annotate
from quire.rescore.joint.genotype import JointCall, JointGenotype, call_joint_site
from quire.rescore.joint.inputs import Gvcf, GvcfRecord, open_gvcfs
from quire.rescore.joint.merge import JointSite, merge_site
from quire.rescore.phasing import BOTH, PHASE_KEYS, phased
from quire.rescore.records import shared_end


def genotype_interval(
    reference_directory: str | Path,
    gvcfs: Sequence[str | Path],
    intervals: Sequence[Interval],
    output_vcf_part: str | Path,
    minimum_quality: float,
    header_extras: Sequence[str] = (),
) -> int:
    """Genotype the samples of some gVCFs together in one piece of the genome.

    Args:
        reference_directory: of the reference stage.
        gvcfs: bgzip with an index beside each; Quire's or GATK's, of one or more samples each.
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        output_vcf_part: bgzip VCF to write; every sample is a column, in the order of the files.
        minimum_quality: QUAL (phred) from which a variant is written.
        header_extras: further header lines.

    Returns:
        The number of variants.

    Raises:
        InputError: a file that is no whole gVCF of this reference, has no index, or repeats a sample.
    """
    reference = Reference.open(reference_directory)
    contigs = contigs_of(reference)
    opened = open_gvcfs(gvcfs, dict(contigs), {})
    head = vcf.header(contigs, [sample for gvcf in opened for sample in gvcf.samples], FIELDS, header_extras)
    records = (record for interval in intervals for record in genotype_span(opened, *interval, minimum_quality))
    try:
        return vcf.write_part(output_vcf_part, head, (record.line(FIELDS) for record in records))
    finally:
        for gvcf in opened:
            gvcf.close()


def check_gvcfs(reference_directory: str | Path, gvcfs: Sequence[str | Path], samples: Sequence[str]) -> None:
    """Open gVCFs that are to join some samples.

    Args:
        reference_directory: of the reference stage.
        gvcfs: as of `genotype_interval`.
        samples: names that the files must not have.

    Raises:
        InputError: as of `genotype_interval`.
    """
    reference = Reference.open(reference_directory)
    for gvcf in open_gvcfs(gvcfs, dict(contigs_of(reference)), dict.fromkeys(samples, "the sheet of samples")):
        gvcf.close()


def genotype_span(
    gvcfs: Sequence[Gvcf], contig: str, start: int, end: int, minimum_quality: float
) -> Iterator[VariantRecord]:
    """Records of the variants of a cohort that start in [start, end) of a contig, in order."""
    deleted_to = -1  # last position that a written deletion takes away
    # Deletions that reach into the span are judged too: only then may '*' stand for them.
    for site in sites(gvcfs, contig, _reach(gvcfs, contig, start), end):
        call = call_joint_site(site, minimum_quality, site.start <= deleted_to)
        if call is not None:
            deleted_to = max(deleted_to, call.deletion_end)
            if site.start >= start and call.is_polymorphic:
                yield joint_record(contig, call)


def _reach(gvcfs: Sequence[Gvcf], contig: str, start: int) -> int:
    """The first position before `start` at which a variant starts that reaches it; `start` itself without one."""
    reaching = [
        record.start for gvcf in gvcfs for record in gvcf.records(contig, start, start + 1) if record.is_variant
    ]
    return min([start, *reaching])


def sites(gvcfs: Sequence[Gvcf], contig: str, start: int, end: int) -> Iterator[JointSite]:
    """Every position of [start, end) at which a gVCF names an allele, with what all samples say of it.

    Of a sample counts the record that started last, if it reaches the position.
    """
    sizes = [len(gvcf.samples) for gvcf in gvcfs]
    current: list[GvcfRecord | None] = [None] * len(gvcfs)

    def numbered(number: int) -> Iterator[tuple[int, int, GvcfRecord]]:
        for record in gvcfs[number].records(contig, start, end):
            yield record.start, number, record

    position, is_site = -1, False
    for at, number, record in heapq.merge(*map(numbered, range(len(gvcfs))), key=lambda item: item[:2]):
        if at != position:
            if is_site and position >= start:
                yield _site(position, current, sizes)
            position, is_site = at, False
        current[number] = record
        is_site = is_site or record.is_variant
    if is_site and position >= start:
        yield _site(position, current, sizes)


def _site(position: int, current: Sequence[GvcfRecord | None], sizes: Sequence[int]) -> JointSite:
    reaching = [record if record is not None and record.end > position else None for record in current]
    return merge_site(position, reaching, sizes)


def joint_record(contig: str, call: JointCall) -> VariantRecord:
    """The record of a call."""
    shared = shared_end(call.alleles)
    is_phased = any(genotype.phase for genotype in call.genotypes)
    return VariantRecord(
        contig=contig,
        start=call.site.start,
        alleles=tuple(a if a == vcf.SPANNING_DELETION else a[: len(a) - shared] for a in call.alleles),
        quality=call.quality,
        filters=(),
        info=annotate(call),
        samples=[_values(genotype, call.alleles, is_phased) for genotype in call.genotypes],
    )


def _values(genotype: JointGenotype, alleles: Sequence[str], is_phased: bool) -> dict[str, Value]:
    """FORMAT of a sample, with its phase where any sample of the site has one."""
    phase = genotype.phase
    members = phased(genotype.alleles, alleles, phase.genotype) if phase else genotype.alleles
    if phase and genotype.alleles[0] == genotype.alleles[1] > 0:
        phase = phase._replace(genotype=BOTH)
    return {
        "GT": ("|" if phase else "/").join("." if allele == NO_CALL else str(allele) for allele in members),
        "AD": list(genotype.allele_depths) or None,
        "DP": genotype.depth,
        "GQ": genotype.quality,
        "PL": None if genotype.phreds is None else genotype.phreds.tolist(),
        **(phase.values if phase else dict.fromkeys(PHASE_KEYS) if is_phased else {}),
    }
