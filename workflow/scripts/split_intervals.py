"""Divide the reference, or the regions to call, among calling jobs; refuse other files that do not fit it."""

from pathlib import Path

from quire.io.files import write_json_atomic
from quire.io.ploidy import read_ploidy_regions
from quire.io.primers import read_primers
from quire.reference import Reference
from quire.rescore.given import read_given_alleles
from quire.rescore.intervals import pieces_of
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    reference = Reference.open(Path(job.input.reference).parent)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    if job.input.ploidy_regions:
        read_ploidy_regions(job.input.ploidy_regions, lengths)
    if job.input.primers:
        read_primers(job.input.primers, lengths)
    read_given_alleles(job.input.alleles or None, reference)
    pieces = pieces_of(reference, job.input.intervals or None, job.params.interval_size)
    write_json_atomic(job.output.pieces, {"pieces": pieces}, indent=None)
