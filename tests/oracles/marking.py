"""Reference implementation of duplicate marking: group equal records and keep the best of each group."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pysam
from quire.finish.marking import LEAST_QUALITY

_LEFT_ALONE = 0x100 | 0x800 | 0x4 | 0x200  # secondary, supplementary, unmapped, failed


def duplicates(records: Sequence[pysam.AlignedSegment], library: Sequence[int]) -> list[bool]:
    """Return for each record whether it is a duplicate.

    Args:
        records: records in the order of the sorted file.
        library: number of each record's library.
    """
    compared = [
        i for i, r in enumerate(records) if not (r.is_secondary or r.is_supplementary or r.is_unmapped or r.is_qcfail)
    ]
    marked = [False] * len(records)
    fragments, ends = defaultdict(list), defaultdict(list)
    for i in compared:
        record = records[i]
        low, high = _ends(record.reference_start, record.cigarstring)
        ends[library[i], record.reference_id, record.is_reverse, high if record.is_reverse else low].append(i)
        if _has_mate(record):
            fragments[library[i], _fragment(record, low, high)].append(i)
    for group in fragments.values():
        order = sorted(group, key=lambda i: (-_score(records[i]) - _mate_score(records[i]), records[i].query_name))
        for i in order[1:]:
            marked[i] = True
    for group in ends.values():
        alone = [i for i in group if not _has_mate(records[i])]
        # max() returns the first of equal records.
        stays = max(alone, key=lambda i: _score(records[i])) if len(alone) == len(group) else None
        for i in alone:
            marked[i] = i != stays
    return marked


def optical_duplicates(records: Sequence[pysam.AlignedSegment], library: Sequence[int], distance: int) -> list[bool]:
    """Return for each record whether it is an optical duplicate (`quire.finish.marking.optical_cpu`).

    Args:
        records: records in the order of the sorted file.
        library: number of each record's library.
        distance: most pixels in x and in y.
    """
    fragments, optical = defaultdict(list), [False] * len(records)
    for i, record in enumerate(records):
        if record.flag & _LEFT_ALONE == 0 and _has_mate(record):
            low, high = _ends(record.reference_start, record.cigarstring)
            fragments[library[i], _fragment(record, low, high)].append(i)
    for group in fragments.values():
        order = sorted(group, key=lambda i: (-_score(records[i]) - _mate_score(records[i]), records[i].query_name))
        spots = [_spot(str(records[i].query_name)) for i in order]
        for k, spot in enumerate(spots):
            optical[order[k]] = spot is not None and any(
                better is not None
                and better[0] == spot[0]
                and max(abs(better[1] - spot[1]), abs(better[2] - spot[2])) <= distance
                for better in spots[:k]
            )
    return optical


def _spot(name: str) -> tuple[str, int, int] | None:
    """Return the name before the coordinates, x and y; None if the name has no coordinates."""
    parts = name.split(":")
    x = {4: 2, 5: 3, 7: 5, 8: 5}.get(len(parts))
    if x is None or not re.match(r"-?\d", parts[x]) or not re.match(r"-?\d", parts[x + 1]):
        return None
    numbers = [int(re.match(r"-?\d+", part).group()) for part in parts[x : x + 2]]  # type: ignore[union-attr]
    return ":".join(parts[:x]), numbers[0], numbers[1]


def _has_mate(record: pysam.AlignedSegment) -> bool:
    elsewhere = (record.next_reference_id, record.next_reference_start) != (-1, -1)
    return record.is_paired and not record.mate_is_unmapped and elsewhere


def _score(record: pysam.AlignedSegment) -> int:
    return sum(quality for quality in record.query_qualities or () if quality >= LEAST_QUALITY)


def _mate_score(record: pysam.AlignedSegment) -> int:
    return int(str(record.get_tag("ms")))


def _ends(position: int, cigar: str | None) -> tuple[int, int]:
    """Return the unclipped first and last position."""
    elements = [(int(length), letter) for length, letter in re.findall(r"(\d+)(\D)", cigar or "")]
    inner = [k for k, (_, letter) in enumerate(elements) if letter not in "SH"]
    before = sum(length for length, letter in elements[: inner[0]])
    behind = sum(length for length, letter in elements[inner[-1] + 1 :])
    span = sum(length for length, letter in elements if letter in "MDN=X")
    return position - before, position + span + behind - 1


def _fragment(record: pysam.AlignedSegment, low: int, high: int) -> tuple[Any, ...]:
    """Return the key that records of one fragment share."""
    mate_low, mate_high = _ends(record.next_reference_start, str(record.get_tag("MC")))
    forward, mate_forward = record.is_forward, record.mate_is_forward
    here, there = (record.reference_id, low if forward else high), (record.next_reference_id, 0)
    inner_or_outer = mate_low if not forward else mate_high
    if forward == mate_forward:
        left = low <= mate_low if forward else high <= mate_high
    else:
        left = here[1] <= inner_or_outer
    if record.reference_id != record.next_reference_id:
        left = record.reference_id < record.next_reference_id
    if forward == mate_forward:
        kind = "FF" if (forward == record.is_read1) == left else "RR"
        own, mate = (low, mate_high) if left else (high, mate_low)
    else:
        kind = "FR" if forward == left else "RF"
        own, mate = (low, mate_high) if forward else (high, mate_low)
    return record.reference_id, own, there[0], mate, kind, left
