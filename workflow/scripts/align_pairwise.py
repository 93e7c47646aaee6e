"""Align two sequences optimally: two regions of FASTA files to PAF and BAM."""

from pathlib import Path

from quire.pairwise.alignment import PairwiseOutputs, PairwiseSettings, align_pair
from quire.run.exact_tools import settings_of
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    settings = settings_of(job)
    align_pair(
        settings.pop("query"),
        settings.pop("target"),
        PairwiseOutputs(
            paf=Path(job.output.paf),
            bam=Path(job.output.bam),
            summary=Path(job.output.summary),
            dots=Path(job.output.dots),
        ),
        PairwiseSettings(**settings.pop("scores"), **settings),
    )
