"""Gather the parts of the VCF into one, with its index, and count its variants on the way."""

from pathlib import Path

from quire.io.files import write_json_atomic
from quire.io.pedigree import read_pedigree
from quire.io.vcf import read_head
from quire.io.vcf_parts import join
from quire.reference import Reference
from quire.rescore.counting import counting_pool
from quire.rescore.ledgers import gather_ledgers
from quire.rescore.ploidy import ploidies_of_samples
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    people = read_pedigree(job.input.pedigree) if job.input.pedigree else []
    reference = Reference.open(Path(job.input.reference).parent)
    ploidies = ploidies_of_samples(job.params.samples, job.input.ploidy_regions or None, reference)
    with counting_pool(read_head(job.input.parts[0]), job.threads, people, ploidies) as counting:
        variants = join(job.input.parts, job.output.variants, job.output.index, counting.add)
    write_json_atomic(job.output.counts, counting.counter.content(), indent=None)
    gather_ledgers(job.input.ledgers, job.output.ledger, variants)
