"""Parsing of the records of a gVCF, from text to columns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.genotyping.allele_frequency_cpu import genotype_count
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.gvcf.records import RAW_MAPPING_QUALITY
from quire.rescore.joint.columns import HAS_VARIANT, IS_CALLED, STRANDS, RecordColumns, new_columns
from quire.rescore.joint.gvcf import FIRST_SAMPLE, MISSING
from quire.rescore.joint.values_cpu import (
    UNKNOWN,
    find_name,
    is_missing,
    name_table,
    next_mark,
    parse_number,
    parse_numbers,
    parse_real,
    stands,
)
from quire.simd.compiled import compiled, inlined

RECORDS, PHREDS, DETAILS, DEPTHS, SPELLINGS, PHASES = range(6)
"""Places of `Parsed.counts`."""
WRONG_COLUMNS, WRONG_POSITION, WRONG_VALUE, WRONG_ALLELE, NO_NON_REFERENCE, WRONG_FORMAT, WRONG_PHREDS = range(1, 8)
"""Faults of a record."""
PLAIN_SPELLINGS = 26
"""Numbers of spellings before this one are those of the alleles <letter> and <NON_REF>."""

_TAB, _LINE_END, _RETURN, _COLON, _SEMICOLON, _COMMA, _EQUAL, _DOT, _ZERO, _SLASH, _BAR = b"\t\n\r:;,=.0/|"
_STAR, _LOWER_CASE, _SMALL_A, _SMALL_Z = b"* az"
_LARGEST = (1 << 31) - 1
_LARGEST_SQUARES = 1 << 62
_LARGEST_PLOIDY = 255  # fits into a byte
_POSITION, _REFERENCE, _ALTERNATE, _INFO, _FORMAT = 1, 3, 4, 7, 8  # columns
_MOST_KEYS = 64  # of FORMAT
_NON_REFERENCE = np.frombuffer(b"<NON_REF>", np.uint8).copy()
_ASCII = 128

_GT, _DP, _GQ, _MIN_DP, _PS, _PL, _AD, _SB, _PGT, _PID = range(10)
_FORMAT_KEYS = name_table(("GT", "DP", "GQ", "MIN_DP", "PS", "PL", "AD", "SB", "PGT", "PID"))
_INFO_END, _INFO_DP, _INFO_SQUARES = range(3)  # the rank sums follow
_INFO_KEYS = name_table(("END", "DP", RAW_MAPPING_QUALITY, *RANK_SUMS))


class Parsed(NamedTuple):
    """Records of a text; arrays have room for as many as the text may have.

    Attributes:
        counts: int64[6], items that are used.
        spelling_spans: int64[n, 2], where REF and ALT begin and end in the text, of spellings that are not plain.
        phase_spans: int64[d, 3, 2], where PGT, PID and PS begin and end; the last may be missing.
        fault: int64[3], of the record that ended the parsing: kind or 0, and where the wrong text begins and ends.
    """

    counts: NDArray[np.int64]
    spelling_spans: NDArray[np.int64]
    phase_spans: NDArray[np.int64]
    fault: NDArray[np.int64]


def room_for(text: NDArray[np.uint8], samples: int) -> tuple[Parsed, RecordColumns]:
    """Return arrays for all records of a text of a gVCF of `samples` samples.

    Their `spelling` is a letter's number from A on for <letter> and <NON_REF>; PLAIN_SPELLINGS and more count
    `spelling_spans`. `phase` counts `phase_spans`.
    """
    n = int(np.count_nonzero(text == _LINE_END))
    values = len(text) // 2 + 1  # each has a letter and a mark
    columns = min(n * samples, values)
    parsed = Parsed(
        np.zeros(6, np.int64),
        np.empty((n, 2), np.int64),
        np.empty((columns, 3, 2), np.int64),
        np.zeros(3, np.int64),
    )
    return parsed, new_columns(n, columns, values, n, columns, values)


@compiled
def parse_lines(text, at, contig, samples, parsed, columns):
    """Parse the lines of a contig (its name as uint8[]) from `at` on, up to the first with a fault.

    Every line of `text` has an end. Return where the records end.
    """
    # Functions get few arrays, since a call costs a reference count for each.
    counts, fault = parsed.counts, parsed.fault
    ends = np.empty(FIRST_SAMPLE + samples, np.int64)  # of columns
    keys = np.empty(_MOST_KEYS, np.int64)  # of FORMAT
    info = np.zeros((len(_INFO_KEYS), 2), np.int64)  # where each value begins and ends
    values = np.zeros((len(_FORMAT_KEYS), 2), np.int64)
    numbers = np.empty(_PS + 1, np.int64)
    counts[:] = 0
    fault[:] = 0
    while at < len(text) and stands(text, at, contig) and text[at + len(contig)] == _TAB:
        i, detail = counts[RECORDS], counts[DETAILS]
        found, stop = _split_line(text, at, ends)
        position = parse_number(text, ends[_POSITION - 1] + 1, ends[_POSITION])
        if position == MISSING:
            return _fail(fault, WRONG_POSITION, ends[_POSITION - 1] + 1, ends[_POSITION], at)
        if found != len(ends):
            return _fail(fault, WRONG_COLUMNS, at, at, at)
        first, after = ends[_REFERENCE - 1] + 1, ends[_ALTERNATE]
        alleles = _count_alleles(text, first, after, fault)
        if alleles == 0:
            return at
        columns.start[i] = position - 1
        columns.end[i] = min(position - 1 + ends[_REFERENCE] - first, _LARGEST)
        columns.spelling[i] = PLAIN_SPELLINGS + counts[SPELLINGS]
        if alleles == 2 and ends[_REFERENCE] == first + 1:
            columns.spelling[i] = (text[first] | _LOWER_CASE) - _SMALL_A
        else:
            parsed.spelling_spans[counts[SPELLINGS], 0], parsed.spelling_spans[counts[SPELLINGS], 1] = first, after
            counts[SPELLINGS] += 1

        _split_info(text, ends[_INFO - 1] + 1, ends[_INFO], info)
        columns.depth[i] = MISSING
        for key in range(_INFO_SQUARES):
            is_end = key == _INFO_END and info[key, 0] > ends[_INFO - 1] + 1  # must have a value
            if is_end or not is_missing(text, info[key, 0], info[key, 1]):
                number = parse_number(text, info[key, 0], info[key, 1])
                if number == MISSING:
                    return _fail(fault, WRONG_VALUE, info[key, 0], info[key, 1], at)
                if key == _INFO_END:
                    columns.end[i] = number
                else:
                    columns.depth[i] = number
        is_right, squares, reads = _parse_squares(text, info[_INFO_SQUARES, 0], info[_INFO_SQUARES, 1])
        if not is_right:
            return _fail(fault, WRONG_VALUE, info[_INFO_SQUARES, 0], info[_INFO_SQUARES, 1], at)
        columns.squares[detail, 0], columns.squares[detail, 1] = squares, reads
        has_details = squares > 0 or reads > 0
        for test in range(len(RANK_SUMS)):
            first, after = info[_INFO_SQUARES + 1 + test, 0], info[_INFO_SQUARES + 1 + test, 1]
            columns.rank_sums[detail, test] = np.nan
            if not is_missing(text, first, after):
                is_right, columns.rank_sums[detail, test] = parse_real(text, first, after)
                if not is_right:
                    return _fail(fault, WRONG_VALUE, first, after, at)
                has_details = True

        known = _parse_keys(text, ends[_FORMAT - 1] + 1, ends[_FORMAT], keys)
        if known == 0:
            return _fail(fault, WRONG_FORMAT, at, at, at)
        columns.first_sample[i], columns.detail_sample[detail] = i * samples, detail * samples
        for sample in range(samples):
            row, own = i * samples + sample, detail * samples + sample
            _split_sample(text, ends[FIRST_SAMPLE - 1 + sample] + 1, ends[FIRST_SAMPLE + sample], keys, known, values)
            ploidy, flags = _parse_genotype(text, values[_GT, 0], values[_GT, 1], alleles)
            if ploidy > _LARGEST_PLOIDY:
                return _fail(fault, WRONG_VALUE, values[_GT, 0], values[_GT, 1], at)
            columns.ploidy[row], columns.flags[row] = ploidy, flags
            for key in range(_DP, _PS + 1):
                numbers[key] = MISSING
                if not is_missing(text, values[key, 0], values[key, 1]):
                    numbers[key] = parse_number(text, values[key, 0], values[key, 1])
                    if numbers[key] == MISSING:
                        return _fail(fault, WRONG_VALUE, values[key, 0], values[key, 1], at)
            columns.quality[row] = numbers[_GQ]
            columns.sample_depth[row] = numbers[_DP] if numbers[_MIN_DP] == MISSING else numbers[_MIN_DP]

            first, after = values[_PL, 0], values[_PL, 1]
            count = parse_numbers(text, first, after, columns.phreds, counts[PHREDS])
            if count == MISSING:
                return _fail(fault, WRONG_VALUE, first, after, at)
            if count and count != genotype_count(ploidy, alleles):
                return _fail(fault, WRONG_PHREDS, first, after, at)
            columns.phred_first[row], columns.phred_count[row] = counts[PHREDS], count
            counts[PHREDS] += count

            first, after = values[_AD, 0], values[_AD, 1]
            count = parse_numbers(text, first, after, columns.depths, counts[DEPTHS])
            if count == MISSING:
                return _fail(fault, WRONG_VALUE, first, after, at)
            columns.depth_first[own], columns.depth_count[own] = counts[DEPTHS], count
            counts[DEPTHS] += count
            has_details |= count > 0

            first, after = values[_SB, 0], values[_SB, 1]
            count = parse_numbers(text, first, after, columns.depths, counts[DEPTHS])  # as working space
            if count == MISSING:
                return _fail(fault, WRONG_VALUE, first, after, at)
            for place in range(STRANDS):
                columns.strands[own, place] = columns.depths[counts[DEPTHS] + place] if count == STRANDS else MISSING
            has_details |= count == STRANDS

            columns.phase[own] = MISSING
            if _has_phase(text, values):
                if not _is_ascii(text, values[_PGT, 0], values[_PGT, 1]) or not _is_ascii(
                    text, values[_PID, 0], values[_PID, 1]
                ):
                    return _fail(fault, WRONG_VALUE, values[_PGT, 0], values[_PID, 1], at)
                columns.phase[own] = counts[PHASES]
                parsed.phase_spans[counts[PHASES], 0] = values[_PGT]
                parsed.phase_spans[counts[PHASES], 1] = values[_PID]
                parsed.phase_spans[counts[PHASES], 2] = values[_PS]
                counts[PHASES] += 1
                has_details = True
        columns.details[i] = detail if has_details else MISSING
        counts[DETAILS] += has_details
        counts[RECORDS] += 1
        at = stop + 1
    return at


@inlined
def _fail(fault, kind, first, stop, at):
    fault[0], fault[1], fault[2] = kind, first, stop
    return at


@inlined
def _split_line(text, at, ends):
    """Write where columns end, and return their number and the end of the line."""
    columns = np.int64(0)
    while text[at] != _LINE_END:
        if text[at] == _TAB:
            if columns < len(ends):
                ends[columns] = at
            columns += 1
        at += 1
    stop = at - 1 if text[at - 1] == _RETURN else at
    for column in range(columns, len(ends)):
        ends[column] = stop
    return columns + 1, at


@inlined
def _count_alleles(text, at, stop, fault):
    """Return the number of alleles of REF and ALT, 0 for a fault."""
    alleles, others, first = 0, 0, at
    while at <= stop:
        after = at
        while after < stop and text[after] != _COMMA and text[after] != _TAB:
            after += 1
        is_other = alleles > 0 and after - at == len(_NON_REFERENCE) and stands(text, at, _NON_REFERENCE)
        is_star = alleles > 0 and after == at + 1 and text[at] == _STAR
        is_bases = after > at
        for place in range(at, after):
            is_bases &= _SMALL_A <= text[place] | _LOWER_CASE <= _SMALL_Z
        if not is_other and not is_star and not is_bases:
            return _fail(fault, WRONG_ALLELE, at, after, 0)
        others += is_other
        alleles += 1
        at = after + 1
    return alleles if others else _fail(fault, NO_NON_REFERENCE, first, stop, 0)


@inlined
def _split_info(text, at, end, values):
    """Write where the values of _INFO_KEYS begin and end; equal places for one that is missing."""
    for key in range(len(values)):
        values[key, 0], values[key, 1] = at, at
    while at < end:
        stop = next_mark(text, at, end, _SEMICOLON)
        equal = next_mark(text, at, stop, _EQUAL)
        key = find_name(_INFO_KEYS, text, at, equal)
        if key != UNKNOWN:
            values[key, 0], values[key, 1] = min(equal + 1, stop), stop
        at = stop + 1


@inlined
def _parse_squares(text, at, stop):
    """Parse the sum of squares and the number of reads; return False and zeros for a wrong text."""
    if is_missing(text, at, stop):
        return True, np.int64(0), np.int64(0)
    comma = next_mark(text, at, stop, _COMMA)
    if comma == at or comma + 1 >= stop:
        return False, np.int64(0), np.int64(0)
    has_squares, squares = parse_real(text, at, comma)
    has_reads, reads = parse_real(text, comma + 1, stop)
    if has_squares and has_reads and 0 <= squares < _LARGEST_SQUARES and 0 <= reads < _LARGEST_SQUARES:
        return True, np.int64(squares), np.int64(reads)
    return False, np.int64(0), np.int64(0)


@inlined
def _parse_keys(text, at, end, keys):
    """Write the keys of FORMAT and return their number, 0 if GT is missing or a key of _FORMAT_KEYS is there twice."""
    count, has_genotype = 0, False
    while at < end and count < len(keys):
        stop = next_mark(text, at, end, _COLON)
        keys[count] = find_name(_FORMAT_KEYS, text, at, stop)
        for earlier in range(count):
            if keys[earlier] != UNKNOWN and keys[earlier] == keys[count]:
                return 0
        has_genotype |= keys[count] == _GT
        count += 1
        at = stop + 1
    return count if has_genotype else 0


@inlined
def _split_sample(text, at, end, keys, count, values):
    """Write where the values of _FORMAT_KEYS begin and end; equal places for one that is missing."""
    for key in range(len(values)):
        values[key, 0], values[key, 1] = at, at
    for place in range(count):
        stop = next_mark(text, at, end, _COLON)
        if keys[place] != UNKNOWN:
            values[keys[place], 0], values[keys[place], 1] = at, stop
        at = min(stop + 1, end)


@inlined
def _parse_genotype(text, at, end, alleles):
    """Return ploidy and flags of GT; a ploidy above the largest for a wrong one."""
    flags, ploidy = IS_CALLED, 0
    while at <= end:
        stop = at
        while stop < end and text[stop] != _SLASH and text[stop] != _BAR:
            stop += 1
        allele = parse_number(text, at, stop)
        if stop == at + 1 and text[at] == _DOT:
            flags &= ~IS_CALLED
        elif allele == MISSING or allele >= alleles:
            return _LARGEST_PLOIDY + 1, 0
        elif allele > 0:
            flags |= HAS_VARIANT
        ploidy += 1
        at = stop + 1
    return ploidy, flags


@inlined
def _has_phase(text, values):
    """Return True for a PGT with an allele and a PID."""
    has_allele = False
    for place in range(values[_PGT, 0], values[_PGT, 1]):
        has_allele |= _ZERO <= text[place] <= _ZERO + 9
    return has_allele and not is_missing(text, values[_PID, 0], values[_PID, 1])


@inlined
def _is_ascii(text, at, stop):
    result = True
    for place in range(at, stop):
        result &= text[place] < _ASCII
    return result
