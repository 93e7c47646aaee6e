"""The depth of a finished sample over the target: a job of its own, so that another target asks for no more than this.

The alignments of a unit are temporary: a target that finishing a sample depended on would have it mapped again.
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
    """Write what `write_target` counts of a sample's file.

    Args:
        sample: name.
        alignments: the sample's BAM or CRAM; a CRAM is decoded to a temporary BAM beside `output`.
        reference_directory: what `quire.reference.build` wrote.
        reference_fasta: plain, gzip or bgzip; needed for CRAM only.
        intervals_bed: the target.
        output: JSON; low_coverage: bgzip BED.
        low_depth: positions below it are listed in `low_coverage`.
        threads: of the job.

    Raises:
        InputError: the BED or the alignments cannot be used.
    """
    alignments, output = Path(alignments), Path(output)
    reference = Reference.open(reference_directory)
    with scratch_directory(output.parent, f"{output.name}.counting") as scratch:
        bam = alignments
        if alignments.suffix == ".cram":
            bam = scratch / "decoded.bam"
            samtools.to_bam(alignments, bam, indexed_fasta(reference_fasta, scratch), threads)
        write_target(sample, bam, reference, intervals_bed, threads, output, Path(low_coverage), low_depth)
