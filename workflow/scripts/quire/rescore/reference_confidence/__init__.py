"""How sure a sample is to carry only the reference, position by position where it has no variant.

ReferenceConfidenceModel: at every position two questions are asked of the reads over it. Is another base here: each
base speaks for the reference or for any other allele, by its quality. Could an indel start here: only a read that no
indel of up to ten bases would explain as well as its alignment does counts. The less confident answer is written.

`oracle` says the same in plain Python; `columns` lays reads out against the reference, as clipped or after realignment.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.reference_confidence.cpu import span_confidence
from quire.rescore.reference_confidence.model import base_table, indel_table


class ReadColumns(NamedTuple):
    """Reads of several spans, one column per reference position; inserted bases have none.

    Attributes:
        span_offsets: int64[spans + 1] into the reads.
        start: int64[reads], position of the first column.
        query_length: int64[reads], bases of the read, inserted ones too.
        column_offsets: int64[reads + 1].
        bases: uint8 per column, codes A0 C1 G2 T3 N4 or DELETED.
        qualities: uint8 phred per column, 0 where DELETED.
        before_indel: uint8 per column, 1 where an insertion or a deletion follows.
    """

    span_offsets: NDArray[np.int64]
    start: NDArray[np.int64]
    query_length: NDArray[np.int64]
    column_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    before_indel: NDArray[np.uint8]


class Confidence(NamedTuple):
    """What the reads say at every position of some spans, the spans end to end.

    Attributes:
        offsets: int64[spans + 1] into the positions.
        depth: int32[positions], reads that speak for the reference or against it.
        phreds: int32[positions, ploidy + 1], PL of the genotypes with 0, 1, ... other alleles; the first is always 0.
    """

    offsets: NDArray[np.int64]
    depth: NDArray[np.int32]
    phreds: NDArray[np.int32]


def reference_confidence(
    reads: ReadColumns,
    spans: NDArray[np.int64],
    padded: NDArray[np.int64],
    reference: NDArray[np.uint8],
    low: int,
    ploidy: int,
) -> Confidence:
    """Confidence at every position of some spans.

    Args:
        reads: of every span, cut to its padded span.
        spans: int64[n, 2], 0-based, half-open.
        padded: int64[n, 2], around the spans; what an indel might shift is looked for in here.
        reference: uint8 codes from position `low` on, covering the padded spans.
        low: position of the first code.
        ploidy: of the sample.
    """
    return Confidence(*span_confidence(reads, spans, padded, reference, low, base_table(ploidy), indel_table(ploidy)))
