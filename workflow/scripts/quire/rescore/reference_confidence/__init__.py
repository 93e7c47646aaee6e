"""The confidence that a sample carries only the reference, for every position without a variant.

As in ReferenceConfidenceModel, the reads over every position are tested for two things. The first is a substitution:
each base is evidence for the reference or for any other allele, by its quality. The second is an indel that starts
there: a read counts as evidence against it only if no indel of up to ten bases explains the read as well as its
alignment does. The less confident result is written.

`columns` lays reads out against the reference, as clipped or after realignment.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.reference_confidence.cpu import span_confidence
from quire.rescore.reference_confidence.model import base_table, indel_table


class ReadColumns(NamedTuple):
    """Reads of several spans, with one column per reference position; inserted bases have no column.

    Attributes:
        span_offsets: int64[spans + 1] into the reads.
        start: int64[reads], position of the first column.
        query_length: int64[reads], bases of the read, inserted ones included.
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
    """The confidence at every position of some spans, end to end.

    Attributes:
        depth: int32[positions], reads that are evidence for or against the reference.
        phreds: int32[positions, ploidy + 1], PL of the genotypes with 0, 1, ... other alleles; the first is always 0.
    """

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
    """Return the confidence at every position of some spans (int64[n, 2], 0-based, half-open).

    Reads are cut to the `padded` spans; those shifted by an indel are compared with the reference within them. The
    codes of `reference` begin at `low`.
    """
    return Confidence(*span_confidence(reads, spans, padded, reference, low, base_table(ploidy), indel_table(ploidy)))
