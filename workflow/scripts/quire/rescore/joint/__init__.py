"""Joint genotyping of the gVCFs of a cohort into one VCF (GenotypeGVCFs).

All files are swept together, and only the current record of each is held, so memory does not grow with the genome.
At every position where some sample may have a variant, `merge` expresses all samples in the same alleles, `genotype`
decides which alleles are real and which samples have them, and `annotations` fills INFO.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from quire.io import vcf
from quire.io.bed import Interval
from quire.io.vcf import Fields, Value, VariantRecord
from quire.reference import Reference
from quire.rescore.filters import definitions, filtered, filters_of
from quire.rescore.genotyping import NO_CALL
from quire.rescore.job import contigs_of
from quire.rescore.joint.all_sites import (
    LOW_QUALITY,
    LOW_QUALITY_LINE,
    REFERENCE_QUALITY,
    Letters,
    ReferenceRun,
    between_variants,
)
from quire.rescore.joint.annotations import FIELDS, annotate
from quire.rescore.joint.genotype import JointCall, JointGenotype, call_joint_site
from quire.rescore.joint.inputs import Gvcf, GvcfRecord, open_gvcfs
from quire.rescore.joint.merge import JointSite, SampleAtSite, merge_site, unknown_sample
from quire.rescore.joint.sweep import Span, spans
from quire.rescore.joint.units import GvcfFiles, lines_of_units
from quire.rescore.phasing import BOTH, PHASE_KEYS, phased
from quire.rescore.provenance import provenance
from quire.rescore.records import shared_end

WITH_REFERENCE_FIELDS = Fields.of(info=FIELDS.info.values(), format=(*FIELDS.format.values(), REFERENCE_QUALITY))
"""The fields of a VCF of every position."""


class JointRequest(NamedTuple):
    """A piece of the genome to genotype.

    Attributes:
        reference_directory: directory written by the reference stage.
        gvcfs: bgzip with an index next to each; Quire's or GATK's, of one or more samples each.
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        part: bgzip VCF to write; every sample is a column, in the order of the files.
        minimum_quality: lowest QUAL (phred) of a variant that is written.
        header_extras: further header lines.
        fasta: the reference, to be named in the header.
        threads: processes that share the piece.
        filters: the validated block `rescore.filters`; None for no filters.
        all_sites: True to write every position, see `all_sites`.
    """

    reference_directory: str | Path
    gvcfs: Sequence[str | Path]
    intervals: Sequence[Interval]
    part: str | Path
    minimum_quality: float
    header_extras: Sequence[str] = ()
    fasta: str | Path | None = None
    threads: int = 1
    filters: Mapping[str, Mapping[str, Any]] | None = None
    all_sites: bool = False


def genotype_interval(request: JointRequest) -> int:
    """Genotype the samples of some gVCFs together in one piece of the genome.

    Returns:
        The number of records.

    Raises:
        InputError: a file that is not a complete gVCF of this reference, has no index, or repeats a sample.
        QuireError: a process was killed.
    """
    all_sites, minimum_quality = request.all_sites, request.minimum_quality
    reference = Reference.open(request.reference_directory)
    contigs = contigs_of(reference)
    files = GvcfFiles(request.gvcfs, dict(contigs))
    judged = filters_of(request.filters or {})
    fields = WITH_REFERENCE_FIELDS if all_sites else FIELDS
    settings = {"minimum_quality": minimum_quality, "emit": "all_sites" if all_sites else "variants"}
    extras = [
        *provenance("joint_genotype", settings, request.fasta),
        *request.header_extras,
        *definitions(judged),
        *([LOW_QUALITY_LINE] if all_sites else []),
    ]
    head = vcf.header(contigs, files.samples, fields, extras, reference.contig_checksums)

    def lines(opened: Sequence[Gvcf], unit: Sequence[Interval]) -> Iterator[str]:
        for contig, start, end in unit:
            if all_sites:
                letters = partial(_letters, reference, contig)
                for item in genotype_every_site(opened, contig, start, end, minimum_quality, letters):
                    if isinstance(item, ReferenceRun):
                        yield from item.lines(fields)
                    else:
                        yield filtered(item, judged, fields).line(fields)
            else:
                for record in genotype_span(opened, contig, start, end, minimum_quality):
                    yield filtered(record, judged, fields).line(fields)

    try:
        return vcf.write_part(request.part, head, lines_of_units(files, request.intervals, lines, request.threads))
    finally:
        files.close()


def _letters(reference: Reference, contig: str, start: int, end: int) -> str:
    return reference.sequence(contig, start, end).decode()


def check_gvcfs(reference_directory: str | Path, gvcfs: Sequence[str | Path], samples: Sequence[str]) -> None:
    """Check the gVCFs of further samples.

    Args:
        reference_directory: directory written by the reference stage.
        gvcfs: as in `JointRequest`.
        samples: names that the files must not have.

    Raises:
        InputError: as in `genotype_interval`.
    """
    reference = Reference.open(reference_directory)
    for gvcf in open_gvcfs(gvcfs, dict(contigs_of(reference)), dict.fromkeys(samples, "the sheet of samples")):
        gvcf.require_letters(reference.sequence)
        gvcf.close()


def genotype_span(
    gvcfs: Sequence[Gvcf], contig: str, start: int, end: int, minimum_quality: float
) -> Iterator[VariantRecord]:
    """Yield the records of a cohort's variants that start in [start, end) of a contig, in order."""
    deleted_to = -1  # last position that a written deletion removes
    # Deletions that reach into the span are genotyped too, since '*' may only be written for a deletion that is called.
    reach = _reach(gvcfs, contig, start)
    for span in spans(gvcfs, contig, reach, end):
        if span.is_site and span.start >= reach:
            site = _site(gvcfs, contig, span.start, span.reaching(span.start))
            call = call_joint_site(site, minimum_quality, site.start <= deleted_to)
            if call is not None:
                deleted_to = max(deleted_to, call.deletion_end)
                if site.start >= start and call.is_polymorphic:
                    yield joint_record(contig, call)


def genotype_every_site(
    gvcfs: Sequence[Gvcf], contig: str, start: int, end: int, minimum_quality: float, letters: Letters
) -> Iterator[VariantRecord | ReferenceRun]:
    """Yield every position of [start, end) of a contig, in order: variants as `genotype_span` does, and all others."""
    deleted_to = -1

    def deletion_at(position: int, reaching: Sequence[GvcfRecord | None], letter: str) -> VariantRecord | None:
        site = _site(gvcfs, contig, position, reaching, letter)
        call = call_joint_site(site, minimum_quality, position <= deleted_to, deletions_alone=True)
        if call is None or not call.is_polymorphic:
            return None
        return replace(joint_record(contig, call), filters=(LOW_QUALITY,))

    nothing = Span(start, end, False, [None] * len(gvcfs))
    reach = _reach(gvcfs, contig, start)
    written = start  # all positions before it are written
    for span in spans(gvcfs, contig, reach, end):
        if span.start > written:  # before the first record
            yield from between_variants(contig, nothing, written, span.start, gvcfs, letters, deletion_at)
        written = max(written, span.start)
        if span.is_site and span.start >= reach:
            site = _site(gvcfs, contig, span.start, span.reaching(span.start))
            call = call_joint_site(site, minimum_quality, site.start <= deleted_to)
            if call is not None:
                deleted_to = max(deleted_to, call.deletion_end)
                if site.start >= start and call.is_polymorphic:
                    yield joint_record(contig, call)
                    written += 1
        if written < min(span.end, end):
            yield from between_variants(contig, span, written, min(span.end, end), gvcfs, letters, deletion_at)
            written = min(span.end, end)
    if written < end:
        yield from between_variants(contig, nothing, written, end, gvcfs, letters, deletion_at)


def _reach(gvcfs: Sequence[Gvcf], contig: str, start: int) -> int:
    """Return the last position up to `start` that no earlier variant spans; later sites depend on no site before it."""
    # In a chain of deletions, each decides whether '*' may be written at the next.
    while (before := _first_reaching(gvcfs, contig, start)) < start:
        start = before
    return start


def _first_reaching(gvcfs: Sequence[Gvcf], contig: str, position: int) -> int:
    """Return the first start of the variants that span a position; the position itself if there are none."""
    reaching = [
        record.start for gvcf in gvcfs for record in gvcf.records(contig, position, position + 1) if record.is_variant
    ]
    return min([position, *reaching])


def _site(
    gvcfs: Sequence[Gvcf],
    contig: str,
    position: int,
    reaching: Sequence[GvcfRecord | None],
    letter: str | None = None,
) -> JointSite:
    """Merge all samples at a position, from the records that span it."""
    sizes = [len(gvcf.samples) for gvcf in gvcfs]
    site = merge_site(position, reaching, sizes, letter)
    if None not in reaching:
        return site
    # For samples without a record, only the ploidy is known, if the header of their file gives it.
    samples: list[SampleAtSite | None] = list(site.samples)
    at = 0
    for gvcf, record, size in zip(gvcfs, reaching, sizes, strict=True):
        if record is None and gvcf.ploidies is not None:
            samples[at : at + size] = [unknown_sample(gvcf.ploidies.at(contig, position))] * size
        at += size
    return replace(site, samples=samples)


def joint_record(contig: str, call: JointCall) -> VariantRecord:
    """Return the record of a call."""
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
    """Return FORMAT of a sample, with phase fields if any sample of the site has a phase."""
    phase = genotype.phase
    members = phased(genotype.alleles, alleles, phase.genotype) if phase else genotype.alleles
    if phase and genotype.alleles[0] == genotype.alleles[1] > 0:
        phase = phase._replace(genotype=BOTH)
    return {
        "GT": ("|" if phase else "/").join("." if allele == NO_CALL else str(allele) for allele in members) or ".",
        "AD": list(genotype.allele_depths) or None,
        "DP": genotype.depth,
        "GQ": genotype.quality,
        "PL": None if genotype.phreds is None else genotype.phreds.tolist(),
        **(phase.values if phase else dict.fromkeys(PHASE_KEYS) if is_phased else {}),
    }
