"""Divide the reference, or the regions to call, among calling jobs; refuse ploidies that do not fit it."""

from pathlib import Path

from quire.io.files import write_json_atomic
from quire.io.ploidy import read_ploidy_regions
from quire.reference import Reference
from quire.rescore.intervals import split
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and write the pieces."""
    reference = Reference.open(Path(job.input.reference).parent)
    contigs = list(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    islands = [
        (reference.contig_names[island["contig"]], island["start"], island["start"] + island["length"])
        for island in reference.manifest["islands"]
    ]
    if job.input.ploidy_regions:
        read_ploidy_regions(job.input.ploidy_regions, dict(contigs))
    pieces = split(contigs, islands, job.input.intervals or None, job.params.interval_size)
    write_json_atomic(job.output.pieces, {"pieces": pieces}, indent=None)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
