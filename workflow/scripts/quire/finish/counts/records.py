"""The kernel that counts what each record holds by itself. What samtools stats counts of a record, it counts the same.

Secondary records count by their flags only, supplementary ones by what is aligned, and a read's bases, qualities and
length once, by its primary record.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quire.finish.counts import ADAPTERS, BASE_CODES, GC_STEPS, GC_WINDOW, LARGEST_INSERT_SIZE, LONGEST_INDEL, QUALITIES
from quire.finish.counts.gc import window_bin
from quire.io.bam.decode import bases_begin, cigar_begin, cigar_element, qualities_begin
from quire.io.bam.layout import CODES_OF_BYTE, SIZE_BYTES
from quire.io.bam.tags import find_tags, next_mismatch
from quire.sam import (
    CIGAR_DELETION,
    CIGAR_DIFFERENT,
    CIGAR_EQUAL,
    CIGAR_HARD_CLIP,
    CIGAR_INSERTION,
    CIGAR_MASK,
    CIGAR_MATCH,
    CIGAR_SHIFT,
    CIGAR_SOFT_CLIP,
    CONSUMES_READ,
    CONSUMES_REFERENCE,
    FLAG_DUPLICATE,
    FLAG_FAILED_QUALITY_CHECK,
    FLAG_FIRST_OF_PAIR,
    FLAG_MATE_REVERSE,
    FLAG_MATE_UNMAPPED,
    FLAG_PAIRED,
    FLAG_REVERSE,
    FLAG_SECOND_OF_PAIR,
    FLAG_SECONDARY,
    FLAG_SUPPLEMENTARY,
    FLAG_UNMAPPED,
)
from quire.simd.bits import count_ones, load_bytes
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_above

NOT_IN_DEPTH = FLAG_UNMAPPED | FLAG_SECONDARY | FLAG_FAILED_QUALITY_CHECK | FLAG_DUPLICATE
"""Records that samtools depth leaves out."""
ALIGNED = 1 << CIGAR_MATCH | 1 << CIGAR_EQUAL | 1 << CIGAR_DIFFERENT
"""Operations under which bases stand over the reference."""
_NOT_PRIMARY = FLAG_SECONDARY | FLAG_SUPPLEMENTARY
_IN_CYCLES = ALIGNED | 1 << CIGAR_INSERTION | 1 << CIGAR_SOFT_CLIP | 1 << CIGAR_HARD_CLIP
_FIRST, _LAST, _OTHER = 0, 1, 2
_LEAST_SURE_MAPPING = 5  # flagstat's bound for mates on other contigs
_UNKNOWN = 4  # the code of an N
ONE, TWO, THREE, FOUR, LAST_QUALITY = map(np.uint64, (1, 2, 3, 4, QUALITIES - 1))


BLOCK = 256  # records that one step after another counts
_WORD_BASES = len(ADAPTERS["illumina"])
_FIELD = 16  # bits for a word's state: those of its bases, and one for a word that ends in the middle of a byte
_FIRST_CODES, _SECOND_CODES = (CODES_OF_BYTE & 7).astype(np.int64), (CODES_OF_BYTE >> 8 & 7).astype(np.int64)
_CYCLE = BASE_CODES * QUALITIES  # items of a cycle in the table of bases
_ROWS = (_FIRST_CODES * QUALITIES | _SECOND_CODES * QUALITIES << 16).astype(np.uint32)
"""uint32[256]: where in a cycle the rows of the two bases of a byte begin, that of the second in the upper half."""


def _fields(bits: int) -> int:
    """The same bits in the state of each word."""
    return sum(bits << _FIELD * number for number in range(len(ADAPTERS)))


def _steps(words: Sequence[str]) -> NDArray[np.uint64]:
    """What two bases of a byte leave of the state of all words (uint64[256]), for `_count_bases`.

    Bit j of a word's state says that the bases before are the word's up to its base j, the bit behind its last one that
    the word ended one base before (Shift-And: Baeza-Yates and Gonnet, CACM 35(10), 1992, with two letters a step).
    """
    places = [0] * 8  # by code: at which bases of the words it stands; an N is no base of any
    for number, word in enumerate(words):
        for at, letter in enumerate(word):
            places["ACGT".index(letter)] |= 1 << (_FIELD * number + at)
    begin, ended = _fields(1), _fields(1 << _WORD_BASES)
    pairs = zip(_FIRST_CODES.tolist(), _SECOND_CODES.tolist(), strict=True)
    return np.array([(places[one] << 1 | begin) & (places[two] | ended) for one, two in pairs], np.uint64)


_STEPS = np.array(  # as they were sequenced, and as a reverse record has them
    [
        _steps([*ADAPTERS.values()]),
        _steps([word[::-1].translate(str.maketrans("ACGT", "TGCA")) for word in ADAPTERS.values()]),
    ]
)
_BEGIN, _FOUND = np.uint64(_fields(3)), np.uint64(_fields(3 << _WORD_BASES - 1))
_LAST_BIT, _MIDDLE_BIT = _WORD_BASES - 1, _WORD_BASES
_NIBBLES = np.uint64(_fields(0x1111) | 0x1111 << 48)  # the lowest bit of sixteen bases


@inlined
def _whole_length(data, start, fields):
    """Length of the read, with the bases under H. One operation alone is that of the bases, which is known unread."""
    if fields.operations == 1 and fields.bases > 0:
        return np.int64(fields.bases)
    begin, length = cigar_begin(start, fields), np.int64(fields.bases)
    for k in range(np.int64(fields.operations)):
        element = cigar_element(data, begin, k)
        if element & CIGAR_MASK == CIGAR_HARD_CLIP:
            length += np.int64(element >> CIGAR_SHIFT)
    return length


@compiled
def count_records(records, groups, genome, target, counters):
    """Add records to the counters, whose cycles must suffice.

    A block of records is still in the cache when the next step comes.

    Args:
        records: `quire.io.bam.decode.Records`.
        groups: ReadGroups.
        genome: Genome.
        target: Target.
        counters: Counters.
    """
    data, starts, fixed = records.data, records.starts, records.fixed
    mismatches_at = np.empty((BLOCK, 2), np.int64)
    for first in range(0, len(starts), BLOCK):
        some = slice(first, min(first + BLOCK, len(starts)))
        _count_heads(data, starts[some], fixed[some], groups, counters, mismatches_at)
        _count_places(data, starts[some], fixed[some], genome, target, counters)
        _count_reads(data, starts[some], fixed[some], counters)
        _count_alignments(data, starts[some], fixed[some], mismatches_at, counters)


@compiled
def _count_heads(data, starts, fixed, groups, counters, mismatches_at):
    """Count flags, libraries and pairs; write where MD begins and ends to `mismatches_at`."""
    names, offsets, library_of = groups.names, groups.offsets, groups.library
    totals, flags, contigs, libraries = counters.totals, counters.flags, counters.contigs, counters.libraries
    other_contig, mapping_qualities = counters.other_contig, counters.mapping_qualities
    insert_sizes, group = counters.insert_sizes, 0
    for r in range(len(starts)):
        fields, start = fixed[r], starts[r]
        flag, bases = np.int64(fields.flag), np.int64(fields.bases)
        totals[0].records += 1
        flags[0, flag] += 1
        contig = np.int64(fields.contig)
        # A contig of -1 is the last row, as everywhere in NumPy.
        contigs[contig, 1 if flag & FLAG_UNMAPPED else 0] += 1
        end = start + SIZE_BYTES + np.int64(fields.block_size)
        distance, mismatches_at[r, 0], mismatches_at[r, 1], group = find_tags(
            data, qualities_begin(start, fields) + bases, end, names, offsets, group
        )
        _count_library(flag, libraries, library_of[group])
        if not flag & _NOT_PRIMARY:
            _count_flagstat(fields, flag, other_contig)
        if flag & FLAG_SECONDARY or bases == 0:
            continue
        flags[1, flag] += 1
        flags[2, flag] += bases
        if not flag & (FLAG_UNMAPPED | _NOT_PRIMARY):
            _count_pair(fields, flag, totals, mapping_qualities, insert_sizes)
        if not flag & FLAG_UNMAPPED:
            totals[0].edit_distances += distance


@compiled
def longest_read(data, starts, fixed):
    """Bases of the longest of some reads, those under H included."""
    longest = np.int64(0)
    for r in range(len(starts)):
        longest = max(longest, _whole_length(data, starts[r], fixed[r]))
    return longest


@inlined
def _mate_of(flag):
    """Which of the tables a read belongs to; one without a pair is a first."""
    if not flag & FLAG_PAIRED:
        return _FIRST
    first, second = flag & FLAG_FIRST_OF_PAIR, flag & FLAG_SECOND_OF_PAIR
    if first and not second:
        return _FIRST
    return _LAST if second and not first else _OTHER


@inlined
def _count_library(flag, libraries, library):
    """Picard's MarkDuplicates counts records so, and the table of duplicates."""
    row = libraries[library]
    duplicate = 1 if flag & FLAG_DUPLICATE else 0
    mapped = 0 if flag & FLAG_UNMAPPED else 1
    primary = 0 if flag & _NOT_PRIMARY else 1
    row.reads += primary
    row.mapped += primary & mapped
    row.duplicates += primary & duplicate
    if not mapped:
        row.unmapped += 1
    elif not primary:
        row.secondary_or_supplementary += 1
    elif flag & FLAG_PAIRED and not flag & FLAG_MATE_UNMAPPED:
        row.paired_examined += 1
        row.paired_duplicates += duplicate
    else:
        row.unpaired_examined += 1
        row.unpaired_duplicates += duplicate


@inlined
def _count_flagstat(fields, flag, other_contig):
    """What flagstat counts of a primary record that its flag alone does not tell."""
    if flag & FLAG_PAIRED and not flag & (FLAG_UNMAPPED | FLAG_MATE_UNMAPPED) and fields.mate_contig != fields.contig:
        failed = 1 if flag & FLAG_FAILED_QUALITY_CHECK else 0
        other_contig[failed, 0] += 1
        if fields.mapping_quality >= _LEAST_SURE_MAPPING:
            other_contig[failed, 1] += 1


@compiled
def _count_places(data, starts, fixed, genome, target, counters):
    """Count where mapped records lie: on the target, and in which of Picard's windows of GC content."""
    genome = borrowed(genome)
    first_interval, begins, ends = target.first, target.starts, target.ends
    totals, gc_reads = counters.totals, counters.gc_reads
    for r in range(len(starts)):
        fields, flag = fixed[r], np.int64(fixed[r].flag)
        if flag & FLAG_UNMAPPED:
            continue
        contig, position = np.int64(fields.contig), np.int64(fields.position)
        begin, length = cigar_begin(starts[r], fields), np.int64(0)
        for k in range(np.int64(fields.operations)):
            element = cigar_element(data, begin, k)
            if CONSUMES_REFERENCE >> np.int64(element & CIGAR_MASK) & 1:
                length += np.int64(element >> CIGAR_SHIFT)
        # Picard takes 1-based positions for 0-based ones here, and all mapped records with bases.
        window = position + length - GC_WINDOW if flag & FLAG_REVERSE else position + 1
        if window > 0 and fields.bases > 0:
            gc_bin = window_bin(genome, contig, window)
            if gc_bin >= 0:
                gc_reads[gc_bin] += 1
        if not flag & NOT_IN_DEPTH:
            totals[0].depth_reads += 1
            interval = first_above(ends, first_interval[contig], first_interval[contig + 1], position)
            if interval < first_interval[contig + 1] and begins[interval] < position + length:
                totals[0].depth_reads_on_target += 1


@compiled
def _count_reads(data, starts, fixed, counters):
    """Count lengths, bases and qualities by cycle, and where adapters begin, of primary records with bases."""
    lengths, bases, adapters, gc_steps = counters.lengths, counters.bases, counters.adapters, counters.gc_steps
    table, cycles = bases.reshape(-1), bases.shape[1]
    for r in range(len(starts)):
        fields = fixed[r]
        if fields.flag & _NOT_PRIMARY or fields.bases == 0:
            continue
        start, mate = starts[r], _mate_of(np.int64(fields.flag))
        lengths[mate, _whole_length(data, start, fields)] += 1
        if mate == _OTHER:
            continue
        _count_bases(data, start, fields, table, mate * cycles * _CYCLE, adapters)
        count, strong = np.int64(fields.bases), _strong_bases(data, bases_begin(start, fields), fields.bases)
        first, last = strong * (GC_STEPS - 1) // count, min((strong + 1) * (GC_STEPS - 1) // count, GC_STEPS - 1)
        gc_steps[mate, first] += 1
        gc_steps[mate, last] -= 1


@inlined
def _strong_bases(data, begin, bases):
    """G and C of a record: C is 2 and G is 4 of the four bits of a base."""
    whole, at, strong = begin + (np.int64(bases) >> 1), np.int64(begin), np.int64(0)
    while at + 8 <= whole:
        strong += _strong_of(load_bytes(data, at))
        at += 8
    while at < whole:
        strong += _strong_of(np.uint64(data[at]))
        at += 1
    return strong + _strong_of(np.uint64(data[at]) >> FOUR) if bases & 1 else strong


@inlined
def _strong_of(word):
    """G and C among the bases of a word (uint64), four bits each."""
    return count_ones((word >> ONE ^ word >> TWO) & ~(word | word >> THREE) & _NIBBLES)


@inlined
def _count_bases(data, start, fields, table, at, adapters):
    """Bases and qualities by cycle, as the record has them at the cycles in which they were sequenced; adapters.

    Args:
        table: int64[], `Counters.bases` flat; at: where the read's mate begins in it.
    """
    count, reverse = np.int64(fields.bases), 1 if fields.flag & FLAG_REVERSE else 0
    # Unsigned indices need no test for negative ones, which would take longer than the counting; they wrap around.
    step = np.uint64(-_CYCLE if reverse else _CYCLE)
    at = np.uint64(at + (count - 1) * _CYCLE if reverse else at)
    place, quality = np.uint64(bases_begin(start, fields)), np.uint64(qualities_begin(start, fields))
    state = np.uint64(0)
    first_illumina = first_nextera = first_poly_g = count  # cycles; `count` where there is none
    for k in range(np.uint64(count) >> ONE):
        letters = data[place + k]
        rows = _ROWS[letters]
        table[at + np.uint64(rows & 0xFFFF) + min(np.uint64(data[quality]), LAST_QUALITY)] += 1
        at += step
        table[at + np.uint64(rows >> 16) + min(np.uint64(data[quality + ONE]), LAST_QUALITY)] += 1
        at += step
        quality += TWO
        state = (state << TWO | _BEGIN) & _STEPS[reverse, letters]
        if state & _FOUND:
            last = 2 * np.int64(k) + 1
            first_illumina = min(first_illumina, _begin_of_word(state, 0, last, count, reverse))
            first_nextera = min(first_nextera, _begin_of_word(state, 1, last, count, reverse))
            first_poly_g = min(first_poly_g, _begin_of_word(state, 2, last, count, reverse))
    if count & 1:
        letters = data[place + np.uint64(count >> 1)] & 0xF0  # the second base is none
        table[at + np.uint64(_ROWS[letters] & 0xFFFF) + min(np.uint64(data[quality]), LAST_QUALITY)] += 1
        state = (state << TWO | _BEGIN) & _STEPS[reverse, letters]
        first_illumina = min(first_illumina, _begin_of_word(state, 0, count, count, reverse))
        first_nextera = min(first_nextera, _begin_of_word(state, 1, count, count, reverse))
        first_poly_g = min(first_poly_g, _begin_of_word(state, 2, count, count, reverse))
    if first_illumina < count:
        adapters[0, first_illumina] += 1
    if first_nextera < count:
        adapters[1, first_nextera] += 1
    if first_poly_g < count:
        adapters[2, first_poly_g] += 1


@inlined
def _begin_of_word(state, number, last, count, reverse):
    """The first cycle at which a word that a state tells of begins, `count` if none does.

    last: number of the second base of the byte that led to the state.
    """
    ended = state >> np.uint64(_FIELD * number)
    begin = count
    for back in range(2):
        if ended >> np.uint64(_MIDDLE_BIT if back else _LAST_BIT) & ONE:
            # A word ends here; sequenced backwards it begins here.
            at = last - back
            begin = min(begin, count - 1 - at if reverse else at - (_WORD_BASES - 1))
    return begin


@inlined
def _count_pair(fields, flag, totals, mapping_qualities, insert_sizes):
    """Mapping quality and insert size of a primary mapped record with bases."""
    quality = np.int64(fields.mapping_quality)
    if not flag & NOT_IN_DEPTH:
        mapping_qualities[quality] += 1
    if quality == 0:
        totals[0].mapping_quality_zero += 1
    if not flag & FLAG_PAIRED or flag & FLAG_MATE_UNMAPPED:
        return
    same = fields.contig == fields.mate_contig
    if not same:
        totals[0].mates_on_other_contigs += 1
    size = min(abs(np.int64(fields.template_length)), LARGEST_INSERT_SIZE)
    if size > 0 or same:
        insert_sizes[_orientation(fields, flag), size] += 1


@inlined
def _orientation(fields, flag):
    """Inward 0, outward 1, other 2, as samtools stats has them."""
    reverse = (flag & FLAG_REVERSE) != 0
    if reverse == ((flag & FLAG_MATE_REVERSE) != 0):
        return 2
    first = (flag & FLAG_FIRST_OF_PAIR) != 0
    behind = np.int64(fields.mate_position) - np.int64(fields.position)
    before_mate = behind >= 0 if first else behind <= 0
    return 0 if before_mate == (first != reverse) else 1


@compiled
def _count_alignments(data, starts, fixed, mismatches_at, counters):
    """Count aligned bases, indels and mismatches of mapped records with bases; skip secondary ones."""
    counters = borrowed(counters)
    for r in range(len(starts)):
        if not fixed[r].flag & (FLAG_SECONDARY | FLAG_UNMAPPED) and fixed[r].bases > 0:
            _count_alignment(data, starts[r], fixed[r], mismatches_at[r, 0], mismatches_at[r, 1], counters)


@inlined
def _count_alignment(data, start, fields, md, md_end, counters):
    """Count aligned bases, indels by cycle and length, and mismatches by cycle and quality, of a mapped record."""
    totals, indels = counters.totals, counters.indels
    indel_lengths, mismatches = counters.indel_lengths, counters.mismatches
    begin, bases = cigar_begin(start, fields), np.int64(fields.bases)
    letters, qualities = bases_begin(start, fields), qualities_begin(start, fields)
    whole, flag = _whole_length(data, start, fields), np.int64(fields.flag)
    reverse, mate = flag & FLAG_REVERSE, _mate_of(flag)
    cycle = np.int64(0)  # along the record, with the bases under H: as the mismatches count
    read = np.int64(0)  # base of the record
    matched = np.int64(0)  # bases over the reference so far, as MD counts them
    md, next_at = next_mismatch(data, md, md_end, np.int64(0))
    for k in range(np.int64(fields.operations)):
        element = cigar_element(data, begin, k)
        operation, length = np.int64(element & CIGAR_MASK), np.int64(element >> CIGAR_SHIFT)
        if operation == CIGAR_INSERTION and length > 0:
            totals[0].aligned_bases += length
            if mate != _OTHER:
                indels[mate, bases - read - length if reverse else read] += 1
            if length <= LONGEST_INDEL:
                indel_lengths[0, length - 1] += 1
        elif operation == CIGAR_DELETION and length > 0:
            at = bases - read - 1 if reverse else read - 1
            if at >= 0:
                if mate != _OTHER:
                    indels[2 + mate, at] += 1
                if length <= LONGEST_INDEL:
                    indel_lengths[1, length - 1] += 1
        elif ALIGNED >> operation & 1:
            totals[0].aligned_bases += length
            while next_at < matched + length:
                offset = next_at - matched
                base, at = read + offset, cycle + offset
                at = whole - at - 1 if reverse else at
                code = CODES_OF_BYTE[data[letters + (base >> 1)]] >> (8 * (base & 1)) & 7
                if code == _UNKNOWN:
                    mismatches[at, 0] += 1
                elif data[md] != 78:  # where the reference has an N there is no mismatch
                    mismatches[at, 1 + min(np.int64(data[qualities + base]), QUALITIES - 1)] += 1
                md, next_at = next_mismatch(data, md + 1, md_end, next_at + 1)
            matched += length
        if CONSUMES_READ >> operation & 1:
            read += length
        if _IN_CYCLES >> operation & 1:
            cycle += length
