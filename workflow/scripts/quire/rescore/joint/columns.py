"""Records of gVCFs as columns: flat arrays, for storage and for compiled kernels.

A record has numbers of its own, and some for each sample of its file. A record that is more than a block also has a row
in the tables of details. Texts are numbers of entries of two lists: spellings (REF and ALT with a tab between them) and
phases (PGT:PID:PS).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.joint.gvcf import MISSING

HAS_VARIANT, IS_CALLED = 1, 2
"""Bits of `RecordColumns.flags`."""
STRANDS = 4


class RecordColumns(NamedTuple):
    """n records with s samples in all, e of them with details, which have d samples in all.

    Attributes:
        start, end: int32[n], positions that a record covers, 0-based, half-open.
        spelling: int32[n], number in the list of spellings.
        depth: int32[n], DP of INFO, or MISSING.
        first_sample: int32[n], the record's first row in the arrays of samples.
        details: int32[n], the record's row in the tables of details, or MISSING.
        ploidy, flags: uint8[s].
        quality, sample_depth: int32[s], GQ; MIN_DP, or DP without it; or MISSING.
        phred_first, phred_count, phreds: int32[s], int32[s] and int32[], PL: a span of `phreds`.
        squares: int64[e, 2], RAW_MQandDP; zeros if missing.
        rank_sums: float64[e, 3], RANK_SUMS; NaN if missing.
        detail_sample: int32[e], the record's first row in the arrays below.
        strands: int32[d, 4], SB; MISSING in all four if missing.
        phase: int32[d], number in the list of phases, or MISSING.
        depth_first, depth_count, depths: int32[d], int32[d] and int32[], AD: a span of `depths`.
    """

    start: NDArray[np.int32]
    end: NDArray[np.int32]
    spelling: NDArray[np.int32]
    depth: NDArray[np.int32]
    first_sample: NDArray[np.int32]
    details: NDArray[np.int32]
    ploidy: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    quality: NDArray[np.int32]
    sample_depth: NDArray[np.int32]
    phred_first: NDArray[np.int32]
    phred_count: NDArray[np.int32]
    phreds: NDArray[np.int32]
    squares: NDArray[np.int64]
    rank_sums: NDArray[np.float64]
    detail_sample: NDArray[np.int32]
    strands: NDArray[np.int32]
    phase: NDArray[np.int32]
    depth_first: NDArray[np.int32]
    depth_count: NDArray[np.int32]
    depths: NDArray[np.int32]


Rows = NDArray[np.int64] | slice  # a slice where rows are neighbours, since it needs no copy


class RecordPart(NamedTuple):
    """RecordColumns with the texts that they number."""

    columns: RecordColumns
    spellings: Sequence[str]
    phases: Sequence[str]


def new_columns(
    records: int, samples: int, phreds: int, details: int, detail_samples: int, depths: int
) -> RecordColumns:
    """Return columns with room for so many items."""
    arrays: list[Any] = [
        *(np.empty(records, np.int32) for _ in range(6)),
        *(np.empty(samples, np.uint8) for _ in range(2)),
        *(np.empty(samples, np.int32) for _ in range(4)),
        np.empty(phreds, np.int32),
        np.empty((details, 2), np.int64),
        np.empty((details, len(RANK_SUMS)), np.float64),
        np.empty(details, np.int32),
        np.empty((detail_samples, STRANDS), np.int32),
        *(np.empty(detail_samples, np.int32) for _ in range(3)),
        np.empty(depths, np.int32),
    ]
    return RecordColumns(*arrays)


def empty_part() -> RecordPart:
    """Return no records."""
    return RecordPart(new_columns(0, 0, 0, 0, 0, 0), [], [])


def take(part: RecordPart, rows: Rows) -> RecordPart:
    """Return some records of one file, ascending `rows`, and only their texts. Arrays may be views of the part's."""
    old = part.columns
    if not isinstance(rows, slice) and len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        rows = slice(int(rows[0]), int(rows[-1]) + 1)
    sample_counts = _counts(old.first_sample, len(old.ploidy))
    samples, first_sample = _spans(old.first_sample[rows], sample_counts[rows])
    phreds, phred_first = _spans(old.phred_first[samples], old.phred_count[samples])
    has_details = old.details[rows] != MISSING
    details = old.details[rows][has_details]
    detail_counts = _counts(old.detail_sample, len(old.phase))
    detail_samples, detail_sample = _spans(old.detail_sample[details], detail_counts[details])
    depths, depth_first = _spans(old.depth_first[detail_samples], old.depth_count[detail_samples])
    spelling, spellings = _used(old.spelling[rows], part.spellings)
    phase, phases = _used(old.phase[detail_samples], part.phases)
    return RecordPart(
        RecordColumns(
            old.start[rows],
            old.end[rows],
            spelling,
            old.depth[rows],
            first_sample,
            np.where(has_details, np.cumsum(has_details) - 1, MISSING).astype(np.int32),
            old.ploidy[samples],
            old.flags[samples],
            old.quality[samples],
            old.sample_depth[samples],
            phred_first,
            old.phred_count[samples],
            old.phreds[phreds],
            old.squares[details],
            old.rank_sums[details],
            detail_sample,
            old.strands[detail_samples],
            phase,
            depth_first,
            old.depth_count[detail_samples],
            old.depths[depths],
        ),
        spellings,
        phases,
    )


def join(parts: Sequence[RecordPart]) -> RecordPart:
    """Return the records of all parts, one after another."""
    spellings: dict[str, int] = {}
    phases: list[str] = []
    shifts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in RecordColumns._fields}
    base = dict.fromkeys(("samples", "details", "detail_samples", "phreds", "depths", "phases"), 0)
    for own, texts, own_phases in parts:
        numbers = np.array([spellings.setdefault(text, len(spellings)) for text in texts], np.int32)
        shifts["spelling"].append(numbers[own.spelling])
        for name, kind in _NUMBERS_OF.items():
            values = getattr(own, name)
            shifts[name].append(np.where(values == MISSING, MISSING, values + np.int32(base[kind])))
        base["samples"] += len(own.ploidy)
        base["details"] += len(own.squares)
        base["detail_samples"] += len(own.phase)
        base["phreds"] += len(own.phreds)
        base["depths"] += len(own.depths)
        base["phases"] += len(own_phases)
        phases += own_phases
    joined = (
        np.concatenate(shifts[name] or [getattr(part.columns, name) for part in parts])
        for name in RecordColumns._fields
    )
    return RecordPart(RecordColumns(*joined), list(spellings), phases)


# RecordColumns that are row numbers, and what they number.
_NUMBERS_OF = {
    "first_sample": "samples",
    "details": "details",
    "phred_first": "phreds",
    "detail_sample": "detail_samples",
    "phase": "phases",
    "depth_first": "depths",
}


def _spans(first: NDArray[np.int32], counts: NDArray[np.int32]) -> tuple[Rows, NDArray[np.int32]]:
    """Return the rows first, ..., first + count - 1 of all items, and where each item then begins.

    Spans do not overlap and are in order.
    """
    offsets = offsets_from_lengths(counts)
    begins = offsets[:-1].astype(np.int32)
    total = int(offsets[-1])
    if not total or int(first[-1] + counts[-1] - first[0]) == total:
        start = int(first[0]) if total else 0
        return slice(start, start + total), begins
    return np.repeat(first - begins, counts) + np.arange(total), begins


def _counts(first: NDArray[np.int32], total: int) -> NDArray[np.int32]:
    return np.diff(first, append=np.int32(total))


def _used(numbers: NDArray[np.int32], texts: Sequence[str]) -> tuple[NDArray[np.int32], list[str]]:
    """Return new numbers, and only the texts that are used."""
    used = np.flatnonzero(np.bincount(numbers[numbers != MISSING], minlength=len(texts)))
    renumbered = np.full(len(texts) + 1, MISSING, np.int32)  # the last for MISSING
    renumbered[used] = np.arange(len(used))
    return renumbered[numbers], [texts[number] for number in used.tolist()]
