"""The caller: from the reads of a piece of the genome to its VCF or gVCF."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from quire.device.backend import Backend
from quire.io import vcf
from quire.io.bam.indexing_cpu import NO_ENTRIES, IndexEntries
from quire.io.bed import Interval
from quire.io.bgzf_cpu import compress_blocks
from quire.io.fasta_index import fasta_to_decode
from quire.io.files import write_json_atomic
from quire.io.vcf_index_cpu import LineIndex
from quire.io.vcf_parts import write_indexed
from quire.kernels import load_stage
from quire.processes import in_processes
from quire.progress import Progress
from quire.rescore.engines import calling_engine, cells_of_depth
from quire.rescore.filters import definitions
from quire.rescore.gvcf.records import header_lines
from quire.rescore.intervals import cut_into_units
from quire.rescore.job import CallingJob, CallingRequest, Output, contigs_of, open_job
from quire.rescore.provenance import provenance
from quire.rescore.tally import Tally, sentence
from quire.rescore.units import FIELDS_OF, CalledUnit, call_unit

logger = logging.getLogger("quire.rescore")
LEVEL = 3  # of ISA-L; a gVCF is 12 % larger than by zlib at its default, which takes three times as long


def call_interval(request: CallingRequest) -> int:
    """Call a piece of the genome, write its VCF and its ledger, and return the number of variants."""
    with fasta_to_decode((given["bam"] for given in request.samples), request.fasta, request.part) as fasta:
        return _call_interval(request, fasta)


def _call_interval(request: CallingRequest, fasta: str | Path | None) -> int:
    """Call as above, with a FASTA that decodes CRAM."""
    files = fasta, request.ploidy_regions, request.alleles, request.primers
    job = open_job(request.output, request.reference_directory, request.samples, request.parameters, *files)
    units = cut_into_units(request.intervals)
    tally, variants = Tally([sample.name for sample in job.samples]), 0

    def called_units(job: CallingJob, index: LineIndex | None) -> Iterator[tuple[CalledUnit, IndexEntries]]:
        nonlocal variants
        load = partial(load_stage, "rescore", gvcf=job.output is Output.GVCF, dragen=job.parameters.dragen)
        progress = Progress(logger)
        found = in_processes(partial(_call_packed, job, index), units, request.threads, load)
        for done, (called, entries) in enumerate(found, 1):
            progress.tell_count(done, len(units), "windows called")
            variants += called.variants
            tally.add(called.tally)
            yield called, entries

    processes = min(request.threads, len(units))
    with calling_engine(request.device, partial(_expected_cells, job, request), processes) as (backend, engine):
        head, job = _header(job, request, backend), replace(job, engine=engine)
        if request.part_index is None:
            found = called_units(job, None)
            vcf.write_part_of_blocks(request.part, head, ((called.variants, called.text) for called, _ in found))
        else:
            index = LineIndex(head.splitlines(), request.part_index)
            found = called_units(job, index)
            write_indexed(request.part, request.part_index, head, index, ((called.text, own) for called, own in found))
    logger.info("%s", sentence(tally.regions))
    write_json_atomic(
        request.ledger,
        {
            "stage": "rescore",
            "intervals": [list(interval) for interval in request.intervals],
            "reads": tally.reads_by_name(),
            "regions": dict(tally.regions),
            "variants": variants,
        },
        indent=None,
    )
    return variants


def _call_packed(
    job: CallingJob, index: LineIndex | None, intervals: Sequence[Interval]
) -> tuple[CalledUnit, IndexEntries]:
    """Call a unit; return it with its text as BGZF blocks, and their entries of the index."""
    called = call_unit(job, intervals)
    if index is None:
        blocks, entries = compress_blocks(called.text, LEVEL).tobytes(), NO_ENTRIES
    else:
        blocks, entries = index.packed(called.text, LEVEL)
    return called._replace(text=blocks), entries


def _header(job: CallingJob, request: CallingRequest, backend: Backend) -> str:
    is_gvcf = job.output is Output.GVCF
    facts = {key: [str(sample.get(key, "")) for sample in request.samples] for key in ("ploidy", "sex")}
    settings = {
        **request.parameters,
        "ploidy_regions": request.ploidy_regions,
        "alleles": request.alleles,
        "primers": request.primers,
        **{key: ",".join(own if len({*own}) > 1 else own[:1]) for key, own in facts.items()},
        "gvcf": is_gvcf,
        "output": f"{job.samples[0].name}.g.vcf.gz" if is_gvcf else "all.vcf.gz",
    }
    extras = provenance("call", [sample["bam"] for sample in request.samples], settings, request.fasta)
    if is_gvcf:
        extras += [*header_lines(job.parameters.bands), *job.samples[0].ploidies.header_lines(), backend.to_vcf()]
    else:
        extras += [backend.to_vcf(), *definitions(job.filters)]
    names = [sample.name for sample in job.samples]
    return vcf.header(contigs_of(job.reference), names, FIELDS_OF[job.output], extras, job.reference.contig_checksums)


def _expected_cells(job: CallingJob, request: CallingRequest) -> float:
    """Estimate the cells of PairHMM from the compressed bytes of each sample."""
    bases = sum(end - start for _, start, end in request.intervals)
    sizes = (sum(sample.source.bytes_over(*interval) for interval in request.intervals) for sample in job.samples)
    return sum(cells_of_depth(size, bases) for size in sizes)
