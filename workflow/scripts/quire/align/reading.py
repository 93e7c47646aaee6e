"""Reading ahead of a unit's reads, which begins when the job starts."""

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

BATCHES_AHEAD = 3  # also while a card is opened and the index is copied


class UnitReads:
    """The reads of a unit, read ahead by a thread.

    Attributes:
        reads_per_batch: reads or pairs in a batch.
        records: counts of the alignment records read so far (BAM and CRAM inputs).
        clipped: counts of the reads clipped so far.
        batches: the batches, with UMIs and clipped ends.
    """

    def __init__(
        self, inputs: UnitInputs, reads_per_batch: int, clipping: Clipping, umis: bool, temporary: Path, threads: int
    ) -> None:
        """Start reading.

        Args:
            inputs: inputs of the unit.
            reads_per_batch: reads or pairs in a batch.
            clipping: ends of reads that are not mapped.
            umis: True if the names end in UMIs.
            temporary: folder for temporary files (see `quire.io.alignment_reads`).
            threads: number of threads for files of alignments.
        """
        self.reads_per_batch, self.records, self.clipped = reads_per_batch, RecordCounts(), ClippedCounts(clipping)

        def reading() -> Iterator[PairBatch]:
            batches = inputs.reads.batches(reads_per_batch, self.records, inputs.fasta, temporary, threads)
            # Close explicitly, since a failure's traceback would keep the generator and its copy of a BAM file alive.
            with closing(batches) as found:
                named = with_umis(found) if umis else found
                yield from clip_ends(named, self.clipped) if self.clipped.counts else named

        self.batches = ahead(reading, BATCHES_AHEAD)

    def close(self) -> None:
        """Stop the threads that read."""
        self.batches.close()
