"""The reads of a sample: fetched from its BAM or CRAM in bulk, filtered, thinned, and stored in columns."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode_cpu import name_hashes
from quire.io.bam.reader_cpu import SPAN_OF_INDEX
from quire.io.bam.regions import IndexedAlignments
from quire.io.primers import Primers
from quire.rescore.parameters import CallingParameters
from quire.rescore.reads.aligned_cpu import AlignedReads, aligned_reads
from quire.rescore.reads.filters_cpu import THINNED, USED, count_verdicts, judge, thinned_out
from quire.rescore.trace import tell

# Reads are fetched from this far left of a span, so that a thinned position always sees all reads that start there.
FETCH_MARGIN = 1280
LEAST_COMPRESSED = 10  # bytes of a record in a BAM with very similar reads; usually about 100
_TELLING_READS = 20_000  # enough reads to estimate the bytes of a record, since an index has a resolution of 16 kb


class ReadSource(IndexedAlignments):
    """An indexed BAM or CRAM of one sample.

    Attributes:
        primers: by contig; their bases at the ends of fragments are left out.
    """

    primers: Mapping[str, Primers] = MappingProxyType({})
    _compressed = LEAST_COMPRESSED  # bytes of a record, a low estimate

    def estimated_reads(self, contig: str, start: int, end: int) -> int | None:
        """Estimate the number of reads that start in a span, rather too high; None if the index does not give sizes."""
        size = self.compressed_bytes(contig, start, end)
        return None if size is None else size // self._compressed

    def fetch(
        self, contig: str, start: int, end: int, owned: NDArray[np.int64], parameters: CallingParameters
    ) -> tuple[AlignedReads, NDArray[np.int64]]:
        """Fetch the reads that overlap [start, end) and pass the filters.

        Reads whose alignment starts in the spans `owned` (int64[n, 2], in order) are counted (int64 for each name of
        FILTERS). A contig that the file does not have gives no reads.
        """
        records = self.records(contig, max(0, start - FETCH_MARGIN), end)
        positions = records.fixed["position"]
        if len(positions) >= _TELLING_READS:
            # Take half of the bytes per record seen here, since reads may be more similar elsewhere. Records before the
            # span in the index's first window were not read, so only windows that begin in the span count.
            size = self.compressed_bytes(contig, start + SPAN_OF_INDEX - 1, end) or 0
            if size > 0:
                self._compressed = max(size // len(positions) // 2, LEAST_COMPRESSED)
        verdicts = judge(records.data, records.starts, records.fixed, parameters.minimum_mapping_quality)
        used = np.flatnonzero(verdicts == USED)
        hashes = name_hashes(records, used)
        dropped = thinned_out(positions[used], hashes, parameters.maximum_reads_per_start)
        verdicts[used[dropped]] = THINNED
        primers = self.primers.get(contig)
        reads = aligned_reads(records, np.delete(used, dropped), np.delete(hashes, dropped), primers)
        tell("reads", source=self, records=records, verdicts=verdicts, reads=reads)
        return reads, count_verdicts(verdicts, positions, owned)
