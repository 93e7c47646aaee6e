"""Extension with Numba: a comparison without gaps, then 32 banded alignments at a time, one in each vector lane.

A read with at most one mismatch on its diagonal needs no matrix, since no gapped or clipped path scores as much: a gap
costs at least 7, a mismatch 5, a clip at least 6. All other reads are aligned in a banded matrix, whose directions are
kept for the traceback.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import (
    AMBIGUOUS,
    BAND_STEP,
    END_BONUS,
    EXTENSION_TYPES,
    GAP_EXTEND,
    GAP_OPEN,
    MATCH,
    MISMATCH,
    ExtensionJobs,
    Extensions,
)
from quire.reads import Reads
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT
from quire.sequence.cigar_cpu import append_operation
from quire.sequence.words_cpu import packed_word
from quire.simd.bits import count_ones, with_room
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind
from quire.simd.vectors import add, bit_or, choose_equal, choose_greater, convert, load, splat, store

LANES = 32  # of int16, one AVX-512 register
_NEVER = -(1 << 14)  # far below any score: at most 1,024 bases and two bonuses
_PADDING = 8  # differs from all codes; ambiguous bases are 4
_STOP = 0
_DIAGONAL, _INSERTION, _DELETION = CIGAR_MATCH + 1, CIGAR_INSERTION + 1, CIGAR_DELETION + 1
_INSERTION_EXTENDS, _DELETION_EXTENDS = 4, 8
_PAIRS = np.uint64(0x5555555555555555)


class _Sequences(NamedTuple):
    """The arrays of `Reads` that the kernels read, the packed axis and its ambiguous spans."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    has_ambiguous: np.ndarray
    text: np.ndarray
    ambiguous: np.ndarray


class _Bands(NamedTuple):
    """Jobs that are aligned in bands, sorted by width and then length: int64[n] each."""

    job: np.ndarray
    width: np.ndarray
    length: np.ndarray  # of the read


class _Alignment(NamedTuple):
    """One alignment of a group.

    Attributes:
        job, lane: its job and its lane.
        origin: axis position of the first diagonal of the band, where row 0 begins.
        width, length: diagonals of the band, bases of the read.
    """

    job: int
    lane: int
    origin: int
    width: int
    length: int


class _Lanes(NamedTuple):
    """A group of alignments, one in each lane: uint8[rows, LANES], [rows + width, LANES], [rows, LANES], all flat."""

    query: np.ndarray
    target: np.ndarray
    bonus: np.ndarray  # of an alignment that ends in this row: END_BONUS in the last row of a read


class _Matrices(NamedTuple):
    """The banded matrices of a group, and the best cell of each lane.

    Attributes:
        directions: uint8[rows * width * LANES], the move into each cell.
        match, insertion: int16[(width + 1) * LANES], scores of the current row.
        best_score, best_row, best_column: int16[LANES].
    """

    directions: np.ndarray
    match: np.ndarray
    insertion: np.ndarray
    best_score: np.ndarray
    best_row: np.ndarray
    best_column: np.ndarray


def extend(jobs: ExtensionJobs, reads: Reads, text: np.ndarray, ambiguous: np.ndarray) -> Extensions:
    """Align each job's read inside its band.

    `text` is the packed axis (uint64[]), and `ambiguous` its spans that hold ambiguous bases (int64[m, 2]).
    """
    count = len(jobs.read)
    results = Extensions(*(np.zeros(count, dtype) for dtype in EXTENSION_TYPES))
    results.cigar_begin[:] = np.arange(count)
    sequences = _Sequences(
        reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, text, ambiguous
    )
    solved = _align_without_gaps(jobs, sequences, results)
    cigar = results.read_end.astype(np.uint32) << CIGAR_SHIFT | CIGAR_MATCH

    rest = np.flatnonzero(~solved)
    if len(rest):
        widths = jobs.diagonal_high[rest] - jobs.diagonal_low[rest] + 1
        widths = (widths + BAND_STEP - 1) // BAND_STEP * BAND_STEP
        lengths = reads.offsets[jobs.read[rest] + 1] - reads.offsets[jobs.read[rest]]
        order = np.argsort(widths << 16 | lengths, kind="stable")
        bands = _Bands(rest[order], widths[order], lengths[order])
        room = _room(int(lengths.max()), int(widths.max()))
        with_gaps = _align_in_bands(jobs, sequences, bands, results, *room)
        cigar = np.concatenate([cigar, with_gaps])
    return results._replace(cigar=cigar)


def _room(longest: int, widest: int) -> tuple[_Lanes, _Matrices]:
    """Allocate memory for a group of reads of at most `longest` bases in bands of at most `widest` diagonals."""
    lanes = _Lanes(
        np.empty(longest * LANES, np.uint8),
        np.empty((longest + widest) * LANES, np.uint8),
        np.empty(longest * LANES, np.uint8),
    )
    matrices = _Matrices(
        np.empty(longest * widest * LANES, np.uint8),
        np.empty((widest + 1) * LANES, np.int16),
        np.empty((widest + 1) * LANES, np.int16),
        np.empty(LANES, np.int16),
        np.empty(LANES, np.int16),
        np.empty(LANES, np.int16),
    )
    return lanes, matrices


@inlined
def mismatches(packed, word, length, text, position, limit):
    """Count the bases in which a packed read differs from the axis from `position` on; stop above `limit`."""
    found = 0
    for begin in range(0, length, 32):
        difference = packed[word + (begin >> 5)] ^ packed_word(text, position + begin)
        difference = (difference | (difference >> np.uint64(1))) & _PAIRS
        if length - begin < 32:
            difference &= (np.uint64(1) << np.uint64(2 * (length - begin))) - np.uint64(1)
        found += count_ones(difference)
        if found > limit:
            break
    return found


@compiled
def _align_without_gaps(jobs, sequences, results):
    """Fill the results of jobs with at most one mismatch on their diagonal; return True for each of them (bool[n])."""
    read, strand, diagonal, _, _, axis_low, axis_high = borrowed(jobs)
    offsets, _, word_offsets, packed, has_ambiguous, text, ambiguous = borrowed(sequences)
    score, _, read_end, axis_begin, axis_end, _, cigar_length, _ = borrowed(results)
    solved = np.zeros(len(read), np.bool_)
    for job in range(len(read)):
        r = read[job]
        length = offsets[r + 1] - offsets[r]
        position = diagonal[job]
        if has_ambiguous[r] or length == 0 or position < axis_low[job] or position + length > axis_high[job]:
            continue
        span = first_behind(ambiguous, position)
        if span < len(ambiguous) and ambiguous[span, 0] < position + length:
            continue
        found = mismatches(packed[strand[job]], word_offsets[r], length, text, position, 1)
        if found > 1:
            continue
        solved[job] = True
        score[job] = length * MATCH + found * (MISMATCH - MATCH)
        read_end[job] = length
        axis_begin[job] = position
        axis_end[job] = position + length
        cigar_length[job] = 1
    return solved


@compiled
def _align_in_bands(jobs, sequences, bands, results, lanes, matrices):
    """Align jobs in groups of LANES; return their CIGAR operations, which `extend` places after one of each job."""
    order, widths, lengths = bands
    jobs, sequences, results = borrowed(jobs), borrowed(sequences), borrowed(results)
    lanes, matrices = borrowed(lanes), borrowed(matrices)
    longest = lengths.max()
    cigar = np.empty(len(order) * 8 + 2 * LANES * longest, np.uint32)
    used = np.int64(0)
    first = 0
    while first < len(order):
        last = first
        while last < len(order) and last - first < LANES and widths[last] == widths[first]:
            last += 1
        rows, width = lengths[last - 1], widths[first]
        _fill_lanes(jobs, sequences, order[first:last], rows, width, lanes)
        _fill_matrices(lanes, rows, width, matrices)
        cigar = with_room(cigar, used, used + 2 * LANES * longest)
        for lane in range(last - first):
            job = order[first + lane]
            alignment = _Alignment(job, lane, jobs.diagonal_low[job], width, lengths[first + lane])
            results.cigar_begin[job] = len(jobs.read) + used
            used = _trace(matrices, alignment, cigar, used, results)
        first = last
    return cigar[:used]


@compiled
def _fill_lanes(jobs, sequences, group, rows, width, lanes):
    """Write the reads, references and end bonuses of a group of jobs to its lanes, padded to equal lengths."""
    read, strand, _, diagonal_low, _, axis_low, axis_high = jobs
    offsets, codes, _, _, _, text, ambiguous = sequences
    query, target, bonus = lanes
    query[: rows * LANES] = _PADDING
    target[: (rows + width) * LANES] = _PADDING
    bonus[: rows * LANES] = 0
    for lane in range(len(group)):
        job = group[lane]
        r = read[job]
        length = offsets[r + 1] - offsets[r]
        begin = offsets[r]
        # Unsigned, since Numba checks signed indices for negative values.
        oriented, place = codes[strand[job]], np.uint64(lane)
        for i in range(np.uint64(begin), np.uint64(begin + length)):
            query[place] = oriented[i]
            place += np.uint64(LANES)
        bonus[(length - 1) * LANES + lane] = END_BONUS
        origin = diagonal_low[job]
        low = max(axis_low[job], origin)
        high = min(axis_high[job], origin + length + width - 1)
        place = np.uint64((low - origin) * LANES + lane)
        for first in range(low, high, 32):
            word = packed_word(text, first)
            for _ in range(min(np.int64(32), high - first)):
                target[place] = np.uint8(word & np.uint64(3))
                word >>= np.uint64(2)
                place += np.uint64(LANES)
        span = first_behind(ambiguous, low)
        while span < len(ambiguous) and ambiguous[span, 0] < high:
            for position in range(max(low, ambiguous[span, 0]), min(high, ambiguous[span, 1])):
                target[(position - origin) * LANES + lane] = 4
            span += 1


@inlined
def _all(value):
    """Return an int16 in every lane."""
    return splat(np.int16(value), LANES)


@inlined
def _widened(array, index):
    """Return lanes of a uint8 array as int16."""
    return convert(load(array, index, LANES), np.int16)


@compiled
def _fill_matrices(lanes, rows, width, matrices):
    """Fill the banded matrices of LANES alignments; row = base of the read, column = diagonal of the band."""
    query, target, bonus = lanes
    directions, match, insertion, best_score, best_row, best_column = matrices
    zero, one, two, three = _all(0), _all(1), _all(2), _all(3)
    agree, differ, unclear, never = _all(MATCH), _all(MISMATCH), _all(AMBIGUOUS), _all(_NEVER)
    no_padding, open_gap, longer_gap = _all(_PADDING - 1), _all(GAP_OPEN + GAP_EXTEND), _all(GAP_EXTEND)
    insertion_extends, deletion_extends = _all(_INSERTION_EXTENDS), _all(_DELETION_EXTENDS)
    for column in range(width + 1):
        store(match, column * LANES, _all(END_BONUS))
        store(insertion, column * LANES, never)
    top, top_row, top_column = zero, zero, zero
    for row in range(rows):
        deletion = never
        base = _widened(query, row * LANES)
        reward = _widened(bonus, row * LANES)
        for column in range(width):
            letter = _widened(target, (row + column) * LANES)
            either = bit_or(base, letter)
            substitution = choose_equal(base, letter, agree, differ)
            substitution = choose_greater(either, three, unclear, substitution)
            substitution = choose_greater(either, no_padding, never, substitution)
            inserted = load(insertion, (column + 1) * LANES, LANES)
            value = add(load(match, column * LANES, LANES), substitution)
            move = choose_greater(inserted, value, two, one)
            value = choose_greater(inserted, value, inserted, value)
            move = choose_greater(deletion, value, three, move)
            value = choose_greater(deletion, value, deletion, value)
            move = choose_greater(value, zero, move, zero)
            value = choose_greater(value, zero, value, zero)
            store(match, column * LANES, value)

            rewarded = choose_greater(value, zero, add(value, reward), zero)
            top_row = choose_greater(rewarded, top, _all(row), top_row)
            top_column = choose_greater(rewarded, top, _all(column), top_column)
            top = choose_greater(rewarded, top, rewarded, top)

            opened = add(value, open_gap)
            longer = add(inserted, longer_gap)
            move = bit_or(move, choose_greater(longer, opened, insertion_extends, zero))
            store(insertion, column * LANES, choose_greater(longer, opened, longer, opened))
            longer = add(deletion, longer_gap)
            move = bit_or(move, choose_greater(longer, opened, deletion_extends, zero))
            deletion = choose_greater(longer, opened, longer, opened)
            store(directions, (row * width + column) * LANES, convert(move, np.uint8))
    store(best_score, 0, top)
    store(best_row, 0, top_row)
    store(best_column, 0, top_column)


@inlined
def _trace(matrices, alignment, cigar, used, results):
    """Trace the path to the best cell of a lane, write its operations from `used` on, and return their end."""
    job, lane, origin, width, length = alignment
    score, read_begin, read_end, axis_begin, axis_end, _, cigar_length, _ = results
    directions, best_score = matrices.directions, matrices.best_score[lane]
    if best_score <= 0:
        return used
    row, column = np.int64(matrices.best_row[lane]), np.int64(matrices.best_column[lane])
    read_end[job] = row + 1
    axis_end[job] = origin + row + column + 1
    state = _STOP
    begin = used
    while row >= 0:
        move = np.int64(directions[(row * width + column) * LANES + lane])
        if state == _STOP:
            state = move & 3
            if state == _STOP:
                break
        operation = state - 1
        if state == _DIAGONAL:
            row -= 1
            state = _STOP
        elif state == _INSERTION:
            row -= 1
            column += 1
            if not directions[(row * width + column) * LANES + lane] & _INSERTION_EXTENDS:
                state = _STOP
        else:
            column -= 1
            if not directions[(row * width + column) * LANES + lane] & _DELETION_EXTENDS:
                state = _STOP
        used = append_operation(cigar, begin, used, operation)
    for i in range((used - begin) >> 1):
        cigar[begin + i], cigar[used - 1 - i] = cigar[used - 1 - i], cigar[begin + i]
    read_begin[job] = row + 1
    axis_begin[job] = origin + row + column + 1
    cigar_length[job] = used - begin
    reached = (END_BONUS if row + 1 == 0 else 0) + (END_BONUS if read_end[job] == length else 0)
    score[job] = best_score - reached
    return used
