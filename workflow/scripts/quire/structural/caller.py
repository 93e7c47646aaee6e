"""The caller of structural variants: from the alignments of all samples to one VCF."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quire.finish.counts.sample import FinishedSample
from quire.finish.evidence_cpu import Evidence, read_evidence
from quire.io import samtools, vcf
from quire.io.fasta_index import indexed_fasta
from quire.io.files import scratch_directory, write_json_atomic
from quire.io.vcf import VariantRecord
from quire.io.vcf_parts import join
from quire.kernels import load_stage
from quire.processes import in_processes
from quire.reference.opening import file_address
from quire.rescore.job import CallingJob, Output, contigs_of, open_job
from quire.rescore.ploidy import PloidyMap
from quire.structural.content_cpu import content_of
from quire.structural.copies import SampleCopies, copies_of
from quire.structural.copies_plots import plots_of
from quire.structural.copies_records import CopyRecords
from quire.structural.counts import counts_of
from quire.structural.discovery import Sample, discover
from quire.structural.evidence_cpu import collect, pair_clusters
from quire.structural.gaps_cpu import Span
from quire.structural.junctions import End, Junction
from quire.structural.loci import merged, spans_of
from quire.structural.records import DEFINITIONS, FIELDS, ordered, records_of, with_absent, without_conflicts
from quire.structural.support import fragments_at

logger = logging.getLogger("quire.structural")
# Of the caller of small variants (`rescore.parameters`); reads across a junction near repeats are less sure of their
# place than others.
PARAMETERS = {
    "minimum_quality": 30,
    "minimum_mapping_quality": 5,
    "maximum_reads_per_start": 50,
    "minimum_support": 2,
    "long_indels": True,
    "error_model": "gatk",
}
JUNCTIONS_TOGETHER = 8
LEAST_PAIRS = 4  # that show a deletion to which no read is clipped
LOAD = partial(load_stage, "structural")


class StructuralRequest(NamedTuple):
    """A run of the caller.

    Attributes:
        reference_directory: directory written by the reference stage.
        samples: as in `rescore.job.CallingRequest`, and `evidence`: the file of finishing; without it, or without
            evidence in it, the alignments are read.
        output, output_index: the VCF (bgzip) and its index.
        fasta: the reference as FASTA.
        threads: threads, then processes, of the job.
        ploidy_regions: BED of other ploidies.
        plots: JSON of the points of the plots of copy numbers (`copies_plots`), or None.
        counts: JSON of the numbers of calls (`counts`), or None.
    """

    reference_directory: Path
    samples: Sequence[Mapping[str, Any]]
    output: Path
    output_index: Path
    fasta: Path
    threads: int
    ploidy_regions: str | Path | None = None
    plots: Path | None = None
    counts: Path | None = None


def call_structural(request: StructuralRequest) -> int:
    """Call the structural variants of all samples together, write the VCF, and return the number of records."""
    with scratch_directory(request.output.parent, f"{request.output.name}.decoded") as scratch:
        samples_given = _decoded(request, scratch)
        inputs = samples_given, PARAMETERS, None, request.ploidy_regions
        job = open_job(Output.VARIANTS, request.reference_directory, *inputs)
        samples = []
        for given, called in zip(samples_given, job.samples, strict=True):
            evidence = _evidence(request, job, given)
            samples.append(Sample(called.source, evidence))
            logger.info("%s: %d clips, %d unusual pairs", called.name, len(evidence.clips), len(evidence.pairs))
        junctions = _junctions(job, samples, request.threads)
        records = _records(job, samples, junctions, request.threads)
    copies = _copies(job, samples)
    records = ordered(CopyRecords(job.reference, copies).added_to(records), job.reference.contig_names)
    extras = [f"##reference={file_address(request.fasta)}", *DEFINITIONS]
    names = [sample.name for sample in job.samples]
    head = vcf.header(contigs_of(job.reference), names, FIELDS, extras, job.reference.contig_checksums, "4.4")
    if request.plots:
        write_json_atomic(request.plots, plots_of(job.reference, names, copies))
    if request.counts:
        write_json_atomic(request.counts, counts_of(records, names))
    with scratch_directory(request.output.parent, f"{request.output.name}.part") as scratch:
        vcf.write_part(scratch / "part.vcf.gz", head, (record.line(FIELDS) for record in records))
        return join([scratch / "part.vcf.gz"], request.output, request.output_index)


def _evidence(request: StructuralRequest, job: CallingJob, given: Mapping[str, Any]) -> Evidence:
    """Return the evidence of a sample: from its file, or from its alignments."""
    usual, evidence = read_evidence(given["evidence"], job.reference) if given.get("evidence") else (0, None)
    files = Path(given["bam"]), Path(request.reference_directory), Path(request.fasta)
    return evidence or collect(FinishedSample(given["sample"], *files), request.output, request.threads, usual)


def _decoded(request: StructuralRequest, scratch: Path) -> list[Mapping[str, Any]]:
    """Return the samples with BAMs: samtools would take long to decode a CRAM locus by locus."""
    samples, fasta = list(request.samples), None
    for number, given in enumerate(samples):
        if Path(given["bam"]).suffix == ".cram":
            fasta = fasta or indexed_fasta(request.fasta, scratch)
            bam = scratch / f"{number}.bam"
            samtools.to_bam(Path(given["bam"]), bam, fasta, request.threads)
            samtools.index(bam, Path(f"{bam}.csi"), "csi", request.threads)
            samples[number] = {**given, "bam": str(bam)}
    return samples


def _junctions(job: CallingJob, samples: Sequence[Sample], threads: int) -> list[Junction]:
    spans = spans_of([sample.evidence for sample in samples], len(job.reference.contig_names))
    found: list[Junction] = []
    for some in in_processes(partial(_discover, job, samples), spans, threads, LOAD):
        found += some
    for sample in samples:
        for contig, start, end in pair_clusters(sample.evidence, LEAST_PAIRS).tolist():
            found.append(Junction(End(contig, start, True), End(contig, end, False), imprecise=True))
    junctions = merged(found)
    logger.info("%d loci, %d junctions, %d of them distinct", len(spans), len(found), len(junctions))
    return junctions


def _discover(job: CallingJob, samples: Sequence[Sample], span: Span) -> list[Junction]:
    return discover(job.reference, samples, span, job.parameters, job.engine)


def _records(
    job: CallingJob, samples: Sequence[Sample], junctions: Sequence[Junction], threads: int
) -> list[VariantRecord]:
    numbered = [*enumerate(junctions)]
    units = [numbered[i : i + JUNCTIONS_TOGETHER] for i in range(0, len(numbered), JUNCTIONS_TOGETHER)]
    records: list[VariantRecord] = []
    for some in in_processes(partial(_genotype, job, samples), units, threads, LOAD):
        records += some
    return without_conflicts(ordered(records, job.reference.contig_names))


def _copies(job: CallingJob, samples: Sequence[Sample]) -> list[SampleCopies | None]:
    content = content_of(job.reference, samples[0].evidence.first_window)
    found = []
    for sample, called in zip(samples, job.samples, strict=True):
        copies = copies_of(job.reference, sample.evidence, content, called.ploidies)
        logger.info("%s: %s", called.name, copies.depth.text if copies else "no copy numbers by these reads")
        found.append(copies)
    return found


def _genotype(
    job: CallingJob, samples: Sequence[Sample], junctions: Sequence[tuple[int, Junction]]
) -> list[VariantRecord]:
    records: list[VariantRecord] = []
    for number, junction in junctions:
        ploidies = np.array([_ploidy(job, sample.ploidies, junction) for sample in job.samples], np.int64)
        present = [sample for sample, ploidy in zip(samples, ploidies, strict=True) if ploidy]
        if not present:
            continue
        fragments = fragments_at(job.reference, present, junction, job.parameters, job.engine)
        quality = job.parameters.minimum_quality
        made = records_of(job.reference, junction, fragments, ploidies[ploidies > 0], quality, f"quire.{number + 1}")
        records += [with_absent(record, ploidies) for record in made]
    return records


def _ploidy(job: CallingJob, ploidies: PloidyMap, junction: Junction) -> int:
    """Return a sample's ploidy at the first end of a junction; 0 if it lacks the contig of either end."""
    first, second = (
        ploidies.at(job.reference.contig_names[end.contig], end.position - end.right)
        for end in (junction.first, junction.second)
    )
    return first if second else 0
