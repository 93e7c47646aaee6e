"""Share the reference out among calling jobs; hold the regions and the truth against its contigs."""

from pathlib import Path

from quire.io.files import write_json_atomic
from quire.job import run_job
from quire.reference import Reference
from quire.report.known_variants import require_known_contigs
from quire.rescore.intervals import read_bed, split


def main(job) -> None:
    """Unpack the job, check the files that name contigs, and write the pieces."""
    reference = Reference.open(Path(job.input.reference).parent)
    contigs = list(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    islands = [
        (reference.contig_names[island["contig"]], island["start"], island["start"] + island["length"])
        for island in reference.manifest["islands"]
    ]
    if job.input.truth:
        require_known_contigs(job.input.truth, reference.contig_names)
    if job.input.truth_regions:
        read_bed(job.input.truth_regions, dict(contigs))
    write_json_atomic(job.output.pieces, split(contigs, islands, job.input.intervals or None, job.params.interval_size))


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
