"""Depth of a finished sample over the target, in a separate job.

A change of the target then reruns only this job. If finishing depended on the target, the sample's units would have to
be mapped again, since their alignments are temporary.
"""

from pathlib import Path

from quire.finish.counts.outputs import write_target
from quire.io import samtools
from quire.io.fasta_index import indexed_fasta
from quire.io.files import scratch_directory
from quire.reference import Reference


def count_target(
    sample: str,
    alignments: str | Path,
    reference_directory: str | Path,
    reference_fasta: str | Path,
    intervals_bed: str | Path,
    output: str | Path,
    low_coverage: str | Path,
    low_depth: int,
    threads: int,
) -> None:
    """Count the depth of a sample's BAM or CRAM over the target (see `write_target`).

    Args:
        sample: name of the sample.
        alignments: the sample's BAM or CRAM; a CRAM is decoded to a temporary BAM in the folder of `output`.
        reference_directory: folder written by `quire.reference.build`.
        reference_fasta: plain, gzip or bgzip FASTA; needed for CRAM only.
        intervals_bed: BED file of the target.
        output: JSON file to write.
        low_coverage: bgzip BED file to write.
        low_depth: depth below which positions are listed in `low_coverage`.
        threads: threads of the job.

    Raises:
        InputError: if the BED or the alignments cannot be used.
    """
    alignments, output = Path(alignments), Path(output)
    reference = Reference.open(reference_directory)
    with scratch_directory(output.parent, f"{output.name}.counting") as scratch:
        bam = alignments
        if alignments.suffix == ".cram":
            bam = scratch / "decoded.bam"
            samtools.to_bam(alignments, bam, indexed_fasta(reference_fasta, scratch), threads)
        write_target(sample, bam, reference, intervals_bed, threads, output, Path(low_coverage), low_depth)
