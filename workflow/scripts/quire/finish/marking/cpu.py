"""Duplicate marking in Numba: one pass over the sorted BAM records, with two hash tables."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.buckets.cpu import LEFT_ALONE
from quire.buckets.layout import SPAN
from quire.errors import QuireError
from quire.finish.marking import DUPLICATE, LEAST_QUALITY, Marking
from quire.finish.marking.optical_cpu import is_better, mark_optical
from quire.io.bam.decode_cpu import Records, qualities_begin, unclipped
from quire.io.bam.layout import FIXED_BYTES, SIZE_BYTES
from quire.io.bam.tags_cpu import BYTES_OF_TYPE, end_of_text, text_tag
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

_R, _X = ord("R"), ord("X")
_BOTH_FORWARD, _BOTH_REVERSE, _FORWARD_REVERSE, _REVERSE_FORWARD = range(4)  # orientations of a pair
_NO_MC, _NO_MS, _TOO_LONG = -1, -2, -3
_FAULTS = {
    _NO_MC: "has no MC tag",
    _NO_MS: "has no ms tag",
    _TOO_LONG: f"spans more than {SPAN} bases of the reference",
}


class _Table(NamedTuple):
    """Hash table of the best record for each key.

    Attributes:
        own, mate, kind: int64[n], key of each record; records that agree in all three are compared.
        score: int64[n], score of each record.
        slots: int64[] with a power of two as length: the best record so far of a key; -1 for a free slot.
    """

    own: np.ndarray
    mate: np.ndarray
    kind: np.ndarray
    score: np.ndarray
    slots: np.ndarray


def _table(records: int) -> _Table:
    slots = np.full(1 << max(4, (2 * records).bit_length()), -1, np.int64)
    own, mate, kind, score = np.zeros((4, records), np.int64)
    return _Table(own, mate, kind, score, slots)


def mark(records: Records, library: NDArray[np.int32], source: str, marking: Marking) -> NDArray[np.uint8]:
    """Find the duplicates among records, all that may share a fragment, in the order of the sorted file.

    `library` (int32[n]) has the number of each record's library. The answer is 0, or DUPLICATE with the other bits of
    `quire.finish.marking` (uint8[n]).

    Raises:
        QuireError: if a record with a mapped mate lacks MC or ms, or a record spans SPAN bases or more.
    """
    n = len(records.starts)
    if not marking.is_wanted:
        return np.zeros(n, np.uint8)
    duplicate, pairs = np.zeros(n, np.bool_), _table(n)
    pairs.score[:] = -1  # stays for records that are not compared as pairs
    compared = by_umi(records, library) if marking.umis else library
    fault, at = _mark(records, compared, pairs, _table(n), duplicate)
    if fault:
        name = records.data[records.starts[at] + FIXED_BYTES :][: int(records.fixed["name_bytes"][at]) - 1]
        raise QuireError(f"{source}: record {name.tobytes().decode()} {_FAULTS[fault]}; align the unit again.")
    marks = duplicate.astype(np.uint8) * np.uint8(DUPLICATE)
    if marking.optical_distance is not None:
        mark_optical(records, pairs.score, _fragments(pairs), marking.optical_distance, marks)
    return marks


def by_umi(records: Records, library: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a number per record (int32[n]), equal for records of the same library (int32[n]) and the same RX.

    64-bit hashes of the UMIs are compared; collisions are negligibly rare.
    """
    _, umi = np.unique(_hashes_of_umis(*records), return_inverse=True)
    libraries = int(library.max(initial=0)) + 1
    _, group = np.unique(umi.astype(np.int64) * libraries + library, return_inverse=True)
    numbers: NDArray[np.int32] = group.astype(np.int32)
    return numbers


@compiled
def _hashes_of_umis(data, starts, fixed):
    """Return a hash of each record's RX (uint64[n]); 0 for records without one."""
    hashes = np.zeros(len(starts), np.uint64)
    for i in range(len(starts)):
        at = qualities_begin(starts[i], fixed[i]) + np.int64(fixed[i].bases)
        end = starts[i] + SIZE_BYTES + np.int64(fixed[i].block_size)
        begin, behind = text_tag(data, at, end, _R, _X)
        if begin >= 0:
            hashes[i] = hash_of_name(data, begin, behind)
    return hashes


@inlined
def _unclipped_mate(data, at, position):
    """Return the unclipped ends of the mate, from its position and its NUL-terminated CIGAR text at `at`."""
    low, high = position, position
    leading, number = True, np.int64(0)
    while data[at] != 0:
        letter = data[at]
        if 48 <= letter <= 57:
            number = number * 10 + (letter - 48)
        else:
            if letter == 83 or letter == 72:  # S, H
                if leading:
                    low -= number
                else:
                    high += number
            else:
                leading = False
                # M, D, N, =, X
                if letter == 77 or letter == 68 or letter == 78 or letter == 61 or letter == 88:
                    high += number
            number = np.int64(0)
        at += 1
    return low, high - 1


@inlined
def _find_tags(data, start, fields):
    """Return the offsets of the text of MC and of the type of ms; -1 for a missing tag."""
    at = qualities_begin(start, fields) + np.int64(fields.bases)
    end = start + SIZE_BYTES + np.int64(fields.block_size)
    mate_cigar = mate_score = np.int64(-1)
    while at + 3 < end:
        first, second, kind = data[at], data[at + 1], data[at + 2]
        if first == 77 and second == 67 and kind == 90:
            mate_cigar = at + 3
        if first == 109 and second == 115:
            mate_score = at + 2
        at += 3
        if kind == 90 or kind == 72:  # Z, H
            at = end_of_text(data, at, end) + 1
        elif kind == 66:  # B
            count = np.int64(0)
            for i in range(4):
                count |= np.int64(data[at + 1 + i]) << (8 * i)
            at += 5 + count * np.int64(BYTES_OF_TYPE[data[at]])
        else:
            at += np.int64(BYTES_OF_TYPE[kind])
    return mate_cigar, mate_score


@inlined
def _number(data, at):
    """Return the integer of a tag whose type is at offset `at`."""
    kind, value = data[at], np.int64(0)
    size = np.int64(BYTES_OF_TYPE[kind])
    for i in range(size):
        value |= np.int64(data[at + 1 + i]) << (8 * i)
    signed = kind == 99 or kind == 115 or kind == 105
    return value - (np.int64(1) << (8 * size)) if signed and value >> (8 * size - 1) else value


@inlined
def _sum_of_qualities(data, start, fields):
    """Return the sum of base qualities of at least LEAST_QUALITY."""
    begin, total = np.uint64(qualities_begin(start, fields)), np.uint32(0)
    for b in range(np.uint64(fields.bases)):  # unsigned, so that the loop is vectorised
        quality = data[begin + b]
        total += np.uint32(quality) if quality >= LEAST_QUALITY else np.uint32(0)
    return np.int64(total)


@inlined
def _has_mapped_mate(fields):
    """Return True if the record is paired and its mate is mapped."""
    return (
        fields.flag & sam.FLAG_PAIRED != 0
        and fields.flag & sam.FLAG_MATE_UNMAPPED == 0
        and not (fields.mate_contig == -1 and fields.mate_position == -1)
    )


@inlined
def _pair_key(data, start, fields, low, high, mate_cigar, library):
    """Return the key (own, mate, kind) of a record with a mapped mate (samtools' make_pair_key, MD_MODE_TEMPLATE)."""
    mate_low, mate_high = _unclipped_mate(data, mate_cigar, np.int64(fields.mate_position))
    reverse, mate_reverse = fields.flag & sam.FLAG_REVERSE != 0, fields.flag & sam.FLAG_MATE_REVERSE != 0
    first = fields.flag & sam.FLAG_FIRST_OF_PAIR != 0
    if fields.contig != fields.mate_contig:
        leftmost = fields.contig < fields.mate_contig
    elif reverse == mate_reverse:
        leftmost = high <= mate_high if reverse else low <= mate_low
    else:
        leftmost = high <= mate_low if reverse else low <= mate_high
    if reverse == mate_reverse:
        orientation = _BOTH_FORWARD if (reverse != first) == leftmost else _BOTH_REVERSE
        low_and_mate_high = leftmost
    else:
        orientation = _REVERSE_FORWARD if reverse == leftmost else _FORWARD_REVERSE
        low_and_mate_high = not reverse
    own, mate = (low, mate_high) if low_and_mate_high else (high, mate_low)
    kind = np.int64(library) << 8 | orientation << 1 | leftmost
    return _place(fields.contig, own), _place(fields.mate_contig, mate), kind


@inlined
def _place(contig, position):
    """Combine contig and position into one number; the position may lie before the start or after the end."""
    return np.int64(contig) * (np.int64(1) << 33) + position


@inlined
def _slot(table, i):
    """Find the slot of the record that agrees with record i, or the free slot for i."""
    own, mate, kind, slots = table.own, table.mate, table.kind, table.slots
    mask = np.uint64(len(slots) - 1)
    value = np.uint64(own[i]) * np.uint64(0x9E3779B97F4A7C15)
    value ^= np.uint64(mate[i]) * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(kind[i])
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    at = (value ^ (value >> np.uint64(32))) & mask
    while slots[at] >= 0:
        k = slots[at]
        if own[k] == own[i] and mate[k] == mate[i] and kind[k] == kind[i]:
            break
        at = (at + np.uint64(1)) & mask
    return at


@compiled
def _fragments(pairs):
    """Return the best record of each record's fragment (int64[n]); -1 for records not compared as pairs."""
    pairs = borrowed(pairs)
    best = np.full(len(pairs.score), -1, np.int64)
    for i in range(len(best)):
        if pairs.score[i] >= 0:
            best[i] = pairs.slots[_slot(pairs, i)]
    return best


@compiled
def _mark(records, library, pairs, ends, duplicate):
    """Fill `duplicate` and two tables, of pairs and of 5' ends; return the fault and number of a record, or 0, 0."""
    data, starts, fixed = records.data, records.starts, records.fixed
    pairs, ends = borrowed(pairs), borrowed(ends)
    for i in range(len(starts)):
        fields = fixed[i]
        if fields.flag & LEFT_ALONE:
            continue
        low, high = unclipped(data, starts[i], fields)
        if high - low >= SPAN:
            return _TOO_LONG, i
        reverse = fields.flag & sam.FLAG_REVERSE != 0
        ends.score[i] = _sum_of_qualities(data, starts[i], fields)
        ends.own[i] = _place(fields.contig, high if reverse else low)
        ends.kind[i] = np.int64(library[i]) << 1 | reverse
        if _has_mapped_mate(fields):
            mate_cigar, mate_score = _find_tags(data, starts[i], fields)
            if mate_cigar < 0:
                return _NO_MC, i
            if mate_score < 0:
                return _NO_MS, i
            pairs.score[i] = ends.score[i] + _number(data, mate_score)
            key = _pair_key(data, starts[i], fields, low, high, mate_cigar, library[i])
            pairs.own[i], pairs.mate[i], pairs.kind[i] = key
            _compete_as_pair(data, starts, pairs, i, duplicate)
        _compete_by_end(fixed, ends, i, duplicate)
    return 0, 0


@inlined
def _rival(table, i):
    """Return record i's slot and the best record in it so far; -1 if the slot was free and is now that of i."""
    slots = table.slots
    slot = _slot(table, i)
    best = slots[slot]
    if best < 0:
        slots[slot] = i
    return slot, best


@inlined
def _compete_as_pair(data, starts, table, i, duplicate):
    """Compare record i with the best record of its fragment so far, and mark the worse of the two."""
    slots = table.slots
    slot, k = _rival(table, i)
    if k >= 0:
        better = is_better(data, starts, table.score, i, k)
        duplicate[k if better else i] = True
        if better:
            slots[slot] = i


@inlined
def _compete_by_end(fixed, table, i, duplicate):
    """Compare record i with the best record of its 5' end so far; a record with a mapped mate is not marked here."""
    score, slots = table.score, table.slots
    slot, k = _rival(table, i)
    if k < 0:
        return
    with_mate, other_with_mate = _has_mapped_mate(fixed[i]), _has_mapped_mate(fixed[k])
    if with_mate and other_with_mate:
        return
    better = with_mate or (not other_with_mate and score[i] > score[k])
    duplicate[k if better else i] = True
    if better:
        slots[slot] = i
