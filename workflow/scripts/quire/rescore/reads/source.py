"""The reads of a sample by region: fetched from its BAM or CRAM in bulk, filtered, thinned, and made into columns."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode import Records, name_hashes
from quire.io.bam.reader import SPAN_OF_INDEX
from quire.io.bam.regions import IndexedAlignments
from quire.rescore.parameters import CallingParameters
from quire.rescore.reads.aligned import AlignedReads, aligned_reads
from quire.rescore.reads.filters import THINNED, USED, count_verdicts, judge, thinned_out
from quire.rescore.trace import tell

# Reads are fetched this far left of what is asked, so that positions thinned by coverage always see all their reads.
FETCH_MARGIN = 1280
LEAST_COMPRESSED = 10  # bytes of a record in a BAM where reads are much alike; usual ones take about 100
_TELLING_READS = 20_000  # so many tell how many bytes a record takes in this file; an index tells them by 16 kb


class ReadSource:
    """An indexed BAM or CRAM of one sample.

    Attributes:
        contigs: lengths by name.
        samples: of each read group by its name; None for one that names no sample.
    """

    def __init__(self, path: str | Path, fasta: str | Path | None = None) -> None:
        """Open the file; see `IndexedAlignments`."""
        self._alignments = IndexedAlignments(path, fasta)
        self._compressed = LEAST_COMPRESSED  # bytes of a record, rather too few
        self.contigs = self._alignments.contigs
        self.samples = self._alignments.samples

    def bytes_over(self, contig: str, start: int, end: int) -> int:
        """About how many bytes of compressed BAM hold the reads over a span."""
        return self._alignments.bytes_over(contig, start, end)

    def estimated_reads(self, contig: str, start: int, end: int) -> int | None:
        """About how many reads start in a span, rather too many; None where the index does not tell."""
        size = self._alignments.compressed_bytes(contig, start, end)
        return None if size is None else size // self._compressed

    def records(self, contig: str, start: int, end: int) -> Records:
        """The file's own records that overlap [start, end); see `IndexedAlignments.records`."""
        return self._alignments.records(contig, start, end)

    def fetch(
        self, contig: str, start: int, end: int, owned: NDArray[np.int64], parameters: CallingParameters
    ) -> tuple[AlignedReads, NDArray[np.int64]]:
        """Reads that overlap [start, end), filtered.

        Args:
            contig: name in the reference; a contig that the file does not have gives no reads.
            start, end: 0-based, half-open.
            owned: int64[n, 2], reads whose alignment starts in these spans, in order, are counted.
            parameters: thresholds.

        Returns:
            The reads, and int64 counts per name of `FILTERS` of the owned ones.

        Raises:
            InputError: the file is damaged.
        """
        records = self._alignments.records(contig, max(0, start - FETCH_MARGIN), end)
        positions = records.fixed["position"]
        if len(positions) >= _TELLING_READS:
            # Half of what they took here: elsewhere reads may be more alike. What stands before the span in the index's
            # first window was not read: only windows that begin in it count.
            size = self._alignments.compressed_bytes(contig, start + SPAN_OF_INDEX - 1, end) or 0
            if size > 0:
                self._compressed = max(size // len(positions) // 2, LEAST_COMPRESSED)
        verdicts = judge(records, parameters.minimum_mapping_quality)
        used = np.flatnonzero(verdicts == USED)
        hashes = name_hashes(records, used)
        dropped = thinned_out(positions[used], hashes, parameters.maximum_reads_per_start)
        verdicts[used[dropped]] = THINNED
        reads = aligned_reads(records, np.delete(used, dropped), np.delete(hashes, dropped))
        tell("reads", source=self, records=records, verdicts=verdicts, reads=reads)
        return reads, count_verdicts(verdicts, positions, owned)
