"""The reads of a unit on their way to the mapper: read ahead of it, FASTQ from the first moment of a job on."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from quire.align.read_ends import ClippedCounts, Clipping
from quire.align.read_ends.cpu import clip_ends
from quire.align.umis import with_umis
from quire.align.unit_files import UnitInputs
from quire.io.ahead import ahead
from quire.io.bam.reads import RecordCounts
from quire.reads import PairBatch

BATCHES_AHEAD = 3  # while a card is opened and the index copied, too


class UnitReads:
    """The reads of a unit; a thread begins to read them at once.

    Attributes:
        reads_per_batch: reads or pairs of a batch.
        records: read of files of alignments so far.
        clipped: what was clipped so far.
        batches: of reads, with their UMIs, their ends clipped.
    """

    def __init__(
        self, inputs: UnitInputs, reads_per_batch: int, clipping: Clipping, umis: bool, temporary: Path, threads: int
    ) -> None:
        """Begin to read.

        Args:
            inputs: whose reads.
            reads_per_batch: reads or pairs of a batch.
            clipping: which ends of reads are not mapped.
            umis: whether names end in UMIs.
            temporary, threads: for files of alignments, see `quire.io.alignment_reads`.
        """
        self.reads_per_batch, self.records, self.clipped = reads_per_batch, RecordCounts(), ClippedCounts(clipping)

        def reading() -> Iterator[PairBatch]:
            batches = inputs.reads.batches(reads_per_batch, self.records, inputs.fasta, temporary, threads)
            # Closed here, since a failure's traceback would keep it, and with it its copy of a BAM file.
            with closing(batches) as found:
                named = with_umis(found) if umis else found
                yield from clip_ends(named, self.clipped) if self.clipped.counts else named

        self.batches = ahead(reading, BATCHES_AHEAD)

    def close(self) -> None:
        """Let the threads end that read."""
        self.batches.close()
