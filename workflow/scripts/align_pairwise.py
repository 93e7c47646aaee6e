"""Align two sequences optimally: two regions of FASTA files to PAF and BAM."""

from pathlib import Path

from quire.pairwise.alignment import PairwiseInputs, PairwiseOutputs, PairwiseSettings, align_pair
from quire.run.exact_tools import fasta_and_region
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and align."""
    search = dict(job.params.search)
    query, query_region = fasta_and_region(search.pop("query"))
    target, target_region = fasta_and_region(search.pop("target"))
    align_pair(
        PairwiseInputs(
            query=Path(query), query_region=query_region or "", target=Path(target), target_region=target_region or ""
        ),
        PairwiseOutputs(
            paf=Path(job.output.paf),
            bam=Path(job.output.bam),
            summary=Path(job.output.summary),
            dots=Path(job.output.dots),
        ),
        PairwiseSettings(
            name=job.wildcards.search,
            **search.pop("scores"),
            **search,
            threads=job.threads,
            backend=job.params.device.backend,
            memory=job.params.device.memory,
        ),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
