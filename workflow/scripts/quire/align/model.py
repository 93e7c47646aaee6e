"""What the steps of mapping hand to each other: flat arrays, on the host or (of the same shapes) on a card."""

from typing import NamedTuple

import numpy as np


class Alignments(NamedTuple):
    """Alignments of n reads, m in all; those of read r stand in [offsets[r], offsets[r + 1]), best first.

    Order: those on the primary assembly before those on alternate contigs, then score, then hash(read name, axis
    position), then axis position, then strand.

    Attributes:
        offsets: int64[n + 1].
        read: int32[m]; strand: uint8[m]; score: int32[m].
        read_begin, read_end: int32[m], half-open in the oriented read.
        axis_begin, axis_end: int64[m]; contig: int32[m]; position: int64[m], on the contig.
        cigar_begin: int64[m], cigar_length: int32[m], in `cigar`: uint32[], operations M, I, D as in BAM.
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


class Selection(NamedTuple):
    """What is reported of n reads.

    Attributes:
        primary: int64[n], index into the alignments, -1 for an unmapped read.
        quality: uint8[n], mapping quality of the primary alignment.
        suboptimal_score: int32[n], of the best competing alignment (tag XS), 0 for none.
        proper: bool[n], whether the read and its mate form a proper pair.
        supplementary: int64[n, MOST_SUPPLEMENTARY], indices of supplementary alignments, -1 filled.
        supplementary_quality: uint8 and supplementary_suboptimal_score: int32, likewise.
    """

    primary: np.ndarray
    quality: np.ndarray
    suboptimal_score: np.ndarray
    proper: np.ndarray
    supplementary: np.ndarray
    supplementary_quality: np.ndarray
    supplementary_suboptimal_score: np.ndarray


class Reported(NamedTuple):
    """What records need of n reads: m rows, each read's primary alignment and then its supplementary ones.

    Attributes:
        first: int64[n], row of the primary alignment; rows: int32[n], how many the read has, 0 for an unmapped one.
        proper: bool[n], whether the read and its mate form a proper pair.
        quality: uint8[m], mapping quality.
        suboptimal_score: int32[m], of the best competing alignment (tag XS), 0 for none.
        strand, ..., cigar_length: [m], as in `Alignments`; cigar: uint32[], the operations of these rows.
        all_rows: int32[n], rows of the read with those behind the reported ones that `quire.align.lift_over` compares
            them with; empty where there are none.
        rank: int32[m], place of the row among the alignments of its read; empty where `all_rows` is.
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
