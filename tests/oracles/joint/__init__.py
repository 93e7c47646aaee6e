"""Joint genotyping record by record in plain Python, straight from the text of indexed gVCFs.

All files are swept together. Only the current record of each and its farthest deletion are held, so memory does not
grow with the genome. At every position where some sample may have a variant, `merge` expresses all samples in the same
alleles, `genotype` decides which alleles are real and which samples have them, and `annotations` fills INFO.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from quire.errors import InputError
from quire.io import vcf
from quire.io.vcf import Value, VariantRecord
from quire.rescore.genotyping import NO_CALL
from quire.rescore.phasing import PHASE_KEYS, phased
from quire.rescore.records import shared_end

from tests.oracles.joint.all_sites import LOW_QUALITY, Letters, ReferenceRun, between_variants
from tests.oracles.joint.annotations import annotate
from tests.oracles.joint.genotype import JointCall, JointGenotype, call_joint_site
from tests.oracles.joint.inputs import Gvcf, GvcfRecord, Span, spans
from tests.oracles.joint.merge import merge_site

BOTH = "1|1"  # PGT of two copies of an alternate


def genotype_span(
    gvcfs: Sequence[Gvcf], contig: str, within: tuple[int, int], minimum_quality: float, letters: Letters | None
) -> Iterator[VariantRecord | ReferenceRun]:
    """Yield the variants of a cohort that start in a span of a contig, in order, with `letters` all positions.

    `within` is the span, 0-based, half-open; `minimum_quality` the lowest QUAL of a variant.

    Raises:
        InputError: a record has a wrong value.
    """
    try:
        yield from _genotyped(gvcfs, contig, within, minimum_quality, letters)
    except (ValueError, LookupError, ArithmeticError) as error:
        # Values are parsed when a site needs them; the record is looked for only now.
        for gvcf in gvcfs:
            for record in gvcf.records(contig, *within):
                record.require_valid()
        raise InputError(
            f"{', '.join(gvcf.path for gvcf in gvcfs)}: a record at {contig}:{within[0] + 1}-{within[1]} has a wrong "
            f"value ({error}); make the gVCFs again."
        ) from error


def _genotyped(
    gvcfs: Sequence[Gvcf], contig: str, within: tuple[int, int], minimum_quality: float, letters: Letters | None
) -> Iterator[VariantRecord | ReferenceRun]:
    """Yield the items of `genotype_span`."""
    start, end = within
    deleted_to = -1  # last position that a written deletion removes

    def deletion_at(position: int, reaching: Sequence[GvcfRecord | None], letter: str) -> VariantRecord | None:
        site = merge_site(contig, position, reaching, gvcfs, letter)
        call = call_joint_site(site, minimum_quality, position <= deleted_to, deletions_alone=True)
        if call is None or not call.is_polymorphic:
            return None
        return replace(joint_record(contig, call), filters=(LOW_QUALITY,))

    nothing = Span(start, end, False, *[[None] * len(gvcfs)] * 2)
    written = start  # all positions before it are written
    # Deletions that reach into the span are genotyped too, since '*' may only be written for a deletion that is called.
    reach = _reach(gvcfs, contig, start)
    for span in spans(gvcfs, contig, reach, end):
        if letters is not None and span.start > written:  # before the first record
            yield from between_variants(contig, nothing, (written, span.start), gvcfs, letters, deletion_at)
        written = max(written, span.start)
        if span.is_site and span.start >= reach:
            site = merge_site(contig, span.start, span.reaching(span.start), gvcfs)
            call = call_joint_site(site, minimum_quality, site.start <= deleted_to)
            if call is not None:
                longest = max(len(call.alleles[0]) - len(allele) for allele in call.alleles)
                deleted_to = max(deleted_to, site.start + longest if longest else -1)
                if site.start >= start and call.is_polymorphic:
                    yield joint_record(contig, call)
                    written += 1
        after = min(span.end, end)
        if letters is not None and written < after:
            yield from between_variants(contig, span, (written, after), gvcfs, letters, deletion_at)
        written = max(written, after)
    if letters is not None and written < end:
        yield from between_variants(contig, nothing, (written, end), gvcfs, letters, deletion_at)


def _reach(gvcfs: Sequence[Gvcf], contig: str, start: int) -> int:
    """Return the last position up to `start` that no earlier variant spans; later sites depend on no site before it."""
    # In a chain of deletions, each decides whether '*' may be written at the next.
    while True:
        spanning = (record for gvcf in gvcfs for record in gvcf.records(contig, start, start + 1) if record.is_variant)
        before = min((record.start for record in spanning), default=start)
        if before >= start:
            return start
        start = before


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
