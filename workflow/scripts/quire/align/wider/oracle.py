"""The wider band of one alignment in plain Python; see `quire.align.wider` for the rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from quire.algorithms.extension import BAND_STEP, END_BONUS, GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH
from quire.align.parameters import (
    LARGEST_GAP,
    NEAR_BEST,
    OUTER_BASES,
    OUTER_DIFFERENCES,
    SHORTEST_CLIP,
    SHORTEST_SCORE,
)


@dataclass
class Aligned:
    """An alignment and its band (diagonals, inclusive); the other fields are as in `Extensions`."""

    score: int
    read_begin: int
    read_end: int
    axis_begin: int
    axis_end: int
    diagonal_low: int
    diagonal_high: int


def wider_band(
    read: Sequence[int], axis: Sequence[int], axis_low: int, axis_high: int, aligned: Aligned, best: int
) -> tuple[int, int] | None:
    """Return first and last diagonal of the band in which to realign a read; None if it is not realigned.

    Args:
        read: codes 0..3 of the oriented read.
        axis: codes 0..3 of the whole axis.
        axis_low: begin of the part of the axis that may be used.
        axis_high: its end.
        aligned: the alignment.
        best: score of the read's best alignment on the primary assembly.
    """
    low, high = aligned.diagonal_low, aligned.diagonal_high
    while (high - low + 1) % BAND_STEP:  # as extension widens it
        high += 1
    if aligned.score < SHORTEST_SCORE:
        return None
    chosen = []
    for side, own, clip in (
        (-1, aligned.axis_begin - aligned.read_begin, aligned.read_begin),
        (1, aligned.axis_end - aligned.read_end, len(read) - aligned.read_end),
    ):
        if clip < SHORTEST_CLIP:
            continue
        values = {}
        for diagonal in range(own - LARGEST_GAP, own + LARGEST_GAP + 1):
            gap = abs(diagonal - own)
            is_deletion = (diagonal - own) * side > 0
            matched = clip if is_deletion else clip - gap
            places = range(matched) if side < 0 else range(len(read) - matched, len(read))
            if low <= diagonal <= high or matched < OUTER_BASES:
                continue
            if not all(axis_low <= diagonal + place < axis_high for place in places):
                continue
            differs = [read[place] != axis[diagonal + place] for place in places]
            outer = differs[:OUTER_BASES] if side < 0 else differs[-OUTER_BASES:]
            if sum(outer) <= OUTER_DIFFERENCES:
                score = sum(MISMATCH if differing else MATCH for differing in differs)
                values[diagonal] = score + END_BONUS + GAP_OPEN + gap * GAP_EXTEND
        if values:
            diagonal = max(values, key=lambda diagonal: (values[diagonal], -diagonal))
            if values[diagonal] > 0 and aligned.score + values[diagonal] >= best - NEAR_BEST:
                chosen.append(diagonal)
    return (min(low, *chosen), max(high, *chosen)) if chosen else None
