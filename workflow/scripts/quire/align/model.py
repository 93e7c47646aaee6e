"""Arrays that the steps of mapping exchange, on the host or (with the same shapes) on a card."""

from typing import NamedTuple

import numpy as np


class Alignments(NamedTuple):
    """The m alignments of n reads; read r has alignments [offsets[r], offsets[r + 1]), best first.

    They are ordered by assembly (primary before alternate contigs), descending score, hash(read name, axis position),
    axis position and strand.

    Attributes:
        offsets: int64[n + 1], first alignment of each read.
        read: int32[m]; strand: uint8[m]; score: int32[m].
        read_begin, ..., axis_end, cigar_begin, cigar_length, cigar: [m], as in `Extensions`.
        contig: int32[m]; position: int64[m], 0-based on the contig.
    """

    offsets: np.ndarray
    read: np.ndarray
    strand: np.ndarray
    score: np.ndarray
    read_begin: np.ndarray
    read_end: np.ndarray
    axis_begin: np.ndarray
    axis_end: np.ndarray
    contig: np.ndarray
    position: np.ndarray
    cigar_begin: np.ndarray
    cigar_length: np.ndarray
    cigar: np.ndarray


ROW_TYPES = {  # of the columns that `Alignments` and `Reported` have both
    "strand": np.uint8,
    "score": np.int32,
    "read_begin": np.int32,
    "read_end": np.int32,
    "axis_begin": np.int64,
    "axis_end": np.int64,
    "contig": np.int32,
    "position": np.int64,
    "cigar_begin": np.int64,
    "cigar_length": np.int32,
}


class Selection(NamedTuple):
    """The alignments of n reads that are reported.

    Attributes:
        primary: int64[n], index into the alignments; -1 for an unmapped read.
        quality: uint8[n], mapping quality of the primary alignment.
        suboptimal_score: int32[n], score of the best competing alignment (tag XS); 0 for none.
        proper: bool[n], True if the read and its mate form a proper pair.
        supplementary: int64[n, MOST_SUPPLEMENTARY], indices of supplementary alignments, padded with -1.
        supplementary_quality: uint8[n, MOST_SUPPLEMENTARY], their mapping qualities.
        supplementary_suboptimal_score: int32[n, MOST_SUPPLEMENTARY], as `suboptimal_score`.
    """

    primary: np.ndarray
    quality: np.ndarray
    suboptimal_score: np.ndarray
    proper: np.ndarray
    supplementary: np.ndarray
    supplementary_quality: np.ndarray
    supplementary_suboptimal_score: np.ndarray


class Reported(NamedTuple):
    """The reported alignments of n reads in m rows: for each read the primary one, then the supplementary ones.

    Attributes:
        first: int64[n], row of the primary alignment.
        rows: int32[n], number of rows of the read; 0 for an unmapped one.
        proper: bool[n], True if the read and its mate form a proper pair.
        quality: uint8[m], mapping quality.
        suboptimal_score: int32[m], score of the best competing alignment (tag XS); 0 for none.
        strand, ..., cigar_length: [m], as in `Alignments`; cigar: uint32[], operations of these rows.
        all_rows: int32[n], rows of the read including the rivals that follow the reported ones (see
            `quire.align.lift_over`); empty if no places are lifted over.
        rank: int32[m], index of the row among the alignments of its read; empty if `all_rows` is.
    """

    first: np.ndarray
    rows: np.ndarray
    proper: np.ndarray
    quality: np.ndarray
    suboptimal_score: np.ndarray
    strand: np.ndarray
    score: np.ndarray
    read_begin: np.ndarray
    read_end: np.ndarray
    axis_begin: np.ndarray
    axis_end: np.ndarray
    contig: np.ndarray
    position: np.ndarray
    cigar_begin: np.ndarray
    cigar_length: np.ndarray
    cigar: np.ndarray
    all_rows: np.ndarray
    rank: np.ndarray
