"""Joint genotyping of the gVCFs of a cohort into one VCF (GenotypeGVCFs).

All files are swept together. Only the current record of each and its farthest deletion are held, so memory does not
grow with the genome. At every position where some sample may have a variant, `merge` expresses all samples in the same
alleles, `genotype` decides which alleles are real and which samples have them, and `annotations` fills INFO.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from quire.device.backend import cpu_only
from quire.errors import InputError
from quire.io import vcf
from quire.io.bed import Interval
from quire.io.vcf import Fields, Value, VariantRecord
from quire.processes import in_processes
from quire.reference import Reference
from quire.rescore.filters import definitions, filtered, filters_of
from quire.rescore.genotyping import NO_CALL
from quire.rescore.intervals import cut_at_multiples
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
from quire.rescore.joint.inputs import Gvcf, GvcfRecord, Span, open_gvcfs, spans
from quire.rescore.joint.merge import merge_site
from quire.rescore.phasing import BOTH, PHASE_KEYS, phased
from quire.rescore.provenance import provenance
from quire.rescore.records import shared_end

log = logging.getLogger("quire.rescore")
UNIT_BASES = 50_000  # bases that one process genotypes at a time, holding their lines
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
        backend: the backend that the configuration requests; the header says that this stage uses no card.
        fasta: the reference, to be named in the header.
        threads: processes that share the piece.
        filters: the validated block `rescore.filters`; None for no filters.
        all_sites: True to write every position, see `all_sites`.
        regions: BED of the intervals of all pieces, to be named in the header.
    """

    reference_directory: str | Path
    gvcfs: Sequence[str | Path]
    intervals: Sequence[Interval]
    part: str | Path
    minimum_quality: float
    backend: str = "auto"
    fasta: str | Path | None = None
    threads: int = 1
    filters: Mapping[str, Mapping[str, Any]] | None = None
    all_sites: bool = False
    regions: str = ""


def genotype_interval(request: JointRequest) -> int:
    """Genotype the samples of some gVCFs together in one piece of the genome; return the number of records.

    Raises:
        InputError: a file that is not a complete gVCF of this reference, has no index, or repeats a sample.
    """
    minimum_quality = request.minimum_quality
    reference = Reference.open(request.reference_directory)
    contigs = contigs_of(reference)
    files = _GvcfFiles(request.gvcfs, dict(contigs))
    judged = filters_of(request.filters or {})
    fields = WITH_REFERENCE_FIELDS if request.all_sites else FIELDS
    letters = reference.sequence if request.all_sites else None
    backend = cpu_only(request.backend, "joint genotyping")
    log.info("backend %s: %s", backend.name, backend.reason)
    emit = "all_sites" if request.all_sites else "variants"
    settings = {"minimum_quality": minimum_quality, "emit": emit, "intervals": request.regions, "output": "all.vcf.gz"}
    extras = [
        *provenance("joint", request.gvcfs, settings, request.fasta),
        backend.to_vcf(),
        *definitions(judged),
        *([LOW_QUALITY_LINE] if request.all_sites else []),
    ]
    head = vcf.header(contigs, files.samples, fields, extras, reference.contig_checksums)

    def lines(unit: Sequence[Interval]) -> list[str]:
        found: list[str] = []
        for contig, start, end in unit:
            for item in genotype_span(files.opened(), contig, (start, end), minimum_quality, letters):
                if isinstance(item, ReferenceRun):
                    found += item.lines(fields)
                else:
                    found.append(filtered(item, judged, fields).line(fields))
        return found

    units = cut_at_multiples(request.intervals, UNIT_BASES)
    with closing(files):
        return vcf.write_part(request.part, head, chain.from_iterable(in_processes(lines, units, request.threads)))


class _GvcfFiles:
    """gVCFs that each process opens itself, since forked processes would share the position of an open file."""

    def __init__(self, paths: Sequence[str | Path], contigs: Mapping[str, int]) -> None:
        self._paths, self._contigs = paths, contigs
        self._owner, self._opened = os.getpid(), open_gvcfs(paths, contigs, {})
        self.samples = [sample for gvcf in self._opened for sample in gvcf.samples]

    def opened(self) -> Sequence[Gvcf]:
        """Return the files, opened by this process."""
        if self._owner != os.getpid():
            self._owner, self._opened = os.getpid(), open_gvcfs(self._paths, self._contigs, {})
        return self._opened

    def close(self) -> None:
        """Close the files."""
        for gvcf in self._opened:
            gvcf.close()


def check_gvcfs(reference_directory: str | Path, gvcfs: Sequence[str | Path], samples: Sequence[str]) -> None:
    """Raise InputError for gVCFs that `genotype_interval` would refuse together with those of `samples`."""
    reference = Reference.open(reference_directory)
    for gvcf in open_gvcfs(gvcfs, dict(contigs_of(reference)), dict.fromkeys(samples, "the sheet of samples")):
        gvcf.require_letters(reference.sequence)
        gvcf.close()


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
