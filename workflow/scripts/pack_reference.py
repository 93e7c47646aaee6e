"""Pack the reference: FASTA to islands, axis and pages."""

from pathlib import Path

from quire import reference
from quire.io.bai import require_index_fits
from quire.io.bed import require_names
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    alignments = job.params.alignments

    def check_contigs(names, lengths):
        """Refuse contigs that the files of samples cannot hold."""
        if alignments.format is not None:  # there are samples
            require_names(names)
        require_index_fits(alignments.format, alignments.index_format, names, lengths)

    folder, mask = Path(job.output.manifest).parent, job.input.mask or None
    reference.build(job.input.fasta, folder, job.params.page_size, check_contigs, mask)
