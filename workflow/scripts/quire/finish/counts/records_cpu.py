"""Kernel for the counts that depend on one record alone (not on depth); its figures equal those of samtools stats.

Secondary records contribute their flags only, supplementary ones also their alignment. Bases, qualities and length of a
read are counted once, from its primary record.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.finish.counts import ADAPTERS, BASE_CODES, GC_STEPS, GC_WINDOW, LARGEST_INSERT_SIZE, LONGEST_INDEL, QUALITIES
from quire.finish.counts.gc_cpu import window_bin
from quire.io.bam.decode_cpu import bases_begin, cigar_begin, cigar_element, qualities_begin
from quire.io.bam.layout import CODES_OF_BYTE, SIZE_BYTES
from quire.io.bam.tags_cpu import find_tags, next_mismatch
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_above

NOT_IN_DEPTH = sam.FLAG_UNMAPPED | sam.FLAG_SECONDARY | sam.FLAG_FAILED_QUALITY_CHECK | sam.FLAG_DUPLICATE
"""Flags of the records that samtools depth leaves out."""
ALIGNED = 1 << sam.CIGAR_MATCH | 1 << sam.CIGAR_EQUAL | 1 << sam.CIGAR_DIFFERENT
"""CIGAR operations that align bases with the reference."""
_NOT_PRIMARY = sam.FLAG_SECONDARY | sam.FLAG_SUPPLEMENTARY
_IN_CYCLES = ALIGNED | 1 << sam.CIGAR_INSERTION | 1 << sam.CIGAR_SOFT_CLIP | 1 << sam.CIGAR_HARD_CLIP
_FIRST, _LAST, _OTHER = 0, 1, 2
_LEAST_SURE_MAPPING = 5  # flagstat's bound for mates on other contigs
_UNKNOWN = 4  # the code of an N
_ONE, _TWO, _LAST_QUALITY = np.uint64(1), np.uint64(2), np.uint64(QUALITIES - 1)
BLOCK = 256  # records that pass through all steps while they are in the cache
_WORD_BASES = len(ADAPTERS["illumina"])
_STRONG = sum(np.isin(CODES_OF_BYTE >> shift & 7, (1, 2)).astype(np.uint8) for shift in (0, 8))  # G and C of a byte
_CYCLE = BASE_CODES * QUALITIES  # items of a cycle in the table of bases


def _places(words: Sequence[str]) -> NDArray[np.uint64]:
    """Return by code of a base (uint64[8]) where it stands in the words, one bit per base; an N is in no word."""
    places = np.zeros(8, np.uint64)
    for number, letter in enumerate("".join(words)):
        places["ACGT".index(letter)] |= _ONE << np.uint64(number)
    return places


_PLACES = np.array(  # of the words as sequenced, and reverse-complemented for reverse records
    [
        _places([*ADAPTERS.values()]),
        _places([word[::-1].translate(str.maketrans("ACGT", "TGCA")) for word in ADAPTERS.values()]),
    ]
)
_BEGINS = np.uint64(sum(1 << _WORD_BASES * number for number in range(len(ADAPTERS))))
_ENDS = _BEGINS << np.uint64(_WORD_BASES - 1)


@inlined
def _whole_length(data, start, fields):
    """Return the length of the read with hard-clipped bases."""
    begin, length = cigar_begin(start, fields), np.int64(fields.bases)
    for k in range(np.int64(fields.operations)):
        element = cigar_element(data, begin, k)
        if element & sam.CIGAR_MASK == sam.CIGAR_HARD_CLIP:
            length += np.int64(element >> sam.CIGAR_SHIFT)
    return length


@compiled
def count_records(records, groups, genome, target, counters):
    """Add `records` to `counters`, which must have enough cycles for the longest read.

    Records are processed in blocks, so that a block is still in the cache in the next step.
    """
    data, starts, fixed = records.data, records.starts, records.fixed
    mismatches_at = np.empty((BLOCK, 2), np.int64)
    for first in range(0, len(starts), BLOCK):
        some = slice(first, first + BLOCK)
        _count_heads(data, starts[some], fixed[some], groups, counters, mismatches_at)
        _count_places(data, starts[some], fixed[some], genome, target, counters)
        _count_reads(data, starts[some], fixed[some], counters)
        _count_alignments(data, starts[some], fixed[some], mismatches_at, counters)


@compiled
def _count_heads(data, starts, fixed, groups, counters, mismatches_at):
    """Count flags, libraries and pairs; store start and end of each MD tag in `mismatches_at`."""
    names, offsets, library_of = groups.names, groups.offsets, groups.library
    totals, flags, contigs, libraries = counters.totals, counters.flags, counters.contigs, counters.libraries
    other_contig, mapping_qualities = counters.other_contig, counters.mapping_qualities
    insert_sizes, group = counters.insert_sizes, 0
    for r in range(len(starts)):
        fields, start = fixed[r], starts[r]
        flag, bases = np.int64(fields.flag), np.int64(fields.bases)
        contig = np.int64(fields.contig)
        # Contig -1 indexes the last row.
        contigs[contig, 1 if flag & sam.FLAG_UNMAPPED else 0] += 1
        end = start + SIZE_BYTES + np.int64(fields.block_size)
        distance, mismatches_at[r, 0], mismatches_at[r, 1], group = find_tags(
            data, qualities_begin(start, fields) + bases, end, names, offsets, group
        )
        libraries[library_of[group], flag] += 1
        # flagstat's lines that need more than the flag.
        pair_is_mapped = flag & sam.FLAG_PAIRED and not flag & (
            sam.FLAG_UNMAPPED | sam.FLAG_MATE_UNMAPPED | _NOT_PRIMARY
        )
        if pair_is_mapped and fields.mate_contig != fields.contig:
            failed = 1 if flag & sam.FLAG_FAILED_QUALITY_CHECK else 0
            other_contig[failed, 0] += 1
            other_contig[failed, 1] += fields.mapping_quality >= _LEAST_SURE_MAPPING
        if flag & sam.FLAG_SECONDARY or bases == 0:
            continue
        flags[0, flag] += 1
        flags[1, flag] += bases
        if not flag & (sam.FLAG_UNMAPPED | _NOT_PRIMARY):
            _count_pair(fields, flag, totals, mapping_qualities, insert_sizes)
        if not flag & sam.FLAG_UNMAPPED:
            totals[0].edit_distances += distance


@compiled
def longest_read(data, starts, fixed):
    """Return the length of the longest read, with hard-clipped bases."""
    longest = np.int64(0)
    for r in range(len(starts)):
        longest = max(longest, _whole_length(data, starts[r], fixed[r]))
    return longest


@inlined
def _mate_of(flag):
    """Return the table of a read; an unpaired read counts as a first mate."""
    if not flag & sam.FLAG_PAIRED:
        return _FIRST
    first, second = flag & sam.FLAG_FIRST_OF_PAIR, flag & sam.FLAG_SECOND_OF_PAIR
    if first and not second:
        return _FIRST
    return _LAST if second and not first else _OTHER


@compiled
def _count_places(data, starts, fixed, genome, target, counters):
    """Count mapped records on the target and by the GC content of Picard's window."""
    genome = borrowed(genome)
    first_interval, begins, ends = target.first, target.starts, target.ends
    totals, gc_reads = counters.totals, counters.gc_reads
    for r in range(len(starts)):
        fields, flag = fixed[r], np.int64(fixed[r].flag)
        if flag & sam.FLAG_UNMAPPED:
            continue
        contig, position = np.int64(fields.contig), np.int64(fields.position)
        begin, length = cigar_begin(starts[r], fields), np.int64(0)
        for k in range(np.int64(fields.operations)):
            element = cigar_element(data, begin, k)
            if sam.CONSUMES_REFERENCE >> np.int64(element & sam.CIGAR_MASK) & 1:
                length += np.int64(element >> sam.CIGAR_SHIFT)
        # Picard uses 1-based positions as 0-based ones here, and counts all mapped records with bases.
        window = position + length - GC_WINDOW if flag & sam.FLAG_REVERSE else position + 1
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
    """Count lengths, bases and qualities by cycle, and starts of adapters, in primary records with bases."""
    lengths, bases, adapters, gc_steps = counters.lengths, counters.bases, counters.adapters, counters.gc_steps
    table, cycles = bases.reshape(-1), bases.shape[1]
    first_cycles = np.empty(len(adapters), np.int64)
    for r in range(len(starts)):
        fields = fixed[r]
        if fields.flag & _NOT_PRIMARY or fields.bases == 0:
            continue
        start, mate = starts[r], _mate_of(np.int64(fields.flag))
        lengths[mate, _whole_length(data, start, fields)] += 1
        if mate == _OTHER:
            continue
        strong = _count_bases(data, start, fields, table, mate * cycles * _CYCLE, first_cycles)
        for number in range(len(adapters)):
            if first_cycles[number] < fields.bases:
                adapters[number, first_cycles[number]] += 1
        count = np.int64(fields.bases)
        first, last = strong * (GC_STEPS - 1) // count, min((strong + 1) * (GC_STEPS - 1) // count, GC_STEPS - 1)
        gc_steps[mate, first] += 1
        gc_steps[mate, last] -= 1


@inlined
def _count_bases(data, start, fields, table, at, first_cycles):
    """Count a record's bases and qualities by the cycle in which they were sequenced; return the number of G and C.

    `table` is `Counters.bases`, flattened (int64[]); the table of the read's mate begins at `at`. The first cycle of
    each adapter is written to `first_cycles` (int64[ADAPTERS]); the number of bases if it is not in the read. Bit j of
    an adapter's state is set if the last bases equal it up to its base j (Shift-And: Baeza-Yates and Gonnet, CACM
    35(10), 1992).
    """
    count, reverse = np.int64(fields.bases), 1 if fields.flag & sam.FLAG_REVERSE else 0
    # Unsigned indices wrap around; a test for negative indices would take longer than the counting itself.
    step = np.uint64(-_CYCLE if reverse else _CYCLE)
    at = np.uint64(at + (count - 1) * _CYCLE if reverse else at)
    letters, qualities = np.uint64(bases_begin(start, fields)), np.uint64(qualities_begin(start, fields))
    state, strong = np.uint64(0), np.int64(0)
    first_cycles[:] = count
    for k in range(np.uint64(count) >> _ONE):  # a byte at a time
        byte, quality = data[letters + k], qualities + _TWO * k
        first, second = np.uint64(CODES_OF_BYTE[byte] & 7), np.uint64(CODES_OF_BYTE[byte] >> 8)
        _count_base(table, at, first, data[quality])
        _count_base(table, at + step, second, data[quality + _ONE])
        at += _TWO * step
        strong += np.int64(_STRONG[byte])
        before = (state << _ONE | _BEGINS) & _PLACES[reverse, first]
        state = (before << _ONE | _BEGINS) & _PLACES[reverse, second]
        if (before | state) & _ENDS:
            _note_ends(before, 2 * np.int64(k), count, reverse, first_cycles)
            _note_ends(state, 2 * np.int64(k) + 1, count, reverse, first_cycles)
    if count & 1:
        byte = data[letters + np.uint64(count >> 1)] & 0xF0  # without the padding
        code = np.uint64(CODES_OF_BYTE[byte] & 7)
        _count_base(table, at, code, data[qualities + np.uint64(count - 1)])
        strong += np.int64(_STRONG[byte])
        _note_ends((state << _ONE | _BEGINS) & _PLACES[reverse, code], count - 1, count, reverse, first_cycles)
    return strong


@inlined
def _count_base(table, at, code, quality):
    """Count a base and its quality in the cycle at `at`."""
    table[at + code * np.uint64(QUALITIES) + min(np.uint64(quality), _LAST_QUALITY)] += 1


@inlined
def _note_ends(state, base, count, reverse, first_cycles):
    """Note the adapters that end at a base; in a reverse record they begin there."""
    cycle = count - 1 - base if reverse else base - (_WORD_BASES - 1)
    for number in range(len(first_cycles)):
        if state >> np.uint64(_WORD_BASES * (number + 1) - 1) & _ONE:
            first_cycles[number] = min(first_cycles[number], cycle)


@inlined
def _count_pair(fields, flag, totals, mapping_qualities, insert_sizes):
    """Count mapping quality and insert size of a primary mapped record with bases."""
    quality = np.int64(fields.mapping_quality)
    if not flag & NOT_IN_DEPTH:
        mapping_qualities[quality] += 1
    if quality == 0:
        totals[0].mapping_quality_zero += 1
    if not flag & sam.FLAG_PAIRED or flag & sam.FLAG_MATE_UNMAPPED:
        return
    same = fields.contig == fields.mate_contig
    if not same:
        totals[0].mates_on_other_contigs += 1
    size = min(abs(np.int64(fields.template_length)), LARGEST_INSERT_SIZE)
    if size > 0 or same:
        insert_sizes[_orientation(fields, flag), size] += 1


@inlined
def _orientation(fields, flag):
    """Return the orientation as in samtools stats: 0 inward, 1 outward, 2 other."""
    reverse = (flag & sam.FLAG_REVERSE) != 0
    if reverse == ((flag & sam.FLAG_MATE_REVERSE) != 0):
        return 2
    first = (flag & sam.FLAG_FIRST_OF_PAIR) != 0
    behind = np.int64(fields.mate_position) - np.int64(fields.position)
    before_mate = behind >= 0 if first else behind <= 0
    return 0 if before_mate == (first != reverse) else 1


@compiled
def _count_alignments(data, starts, fixed, mismatches_at, counters):
    """Count aligned bases, indels by cycle and length, and mismatches by cycle and quality, of primary records."""
    totals, indels = counters.totals, counters.indels
    indel_lengths, mismatches = counters.indel_lengths, counters.mismatches
    for r in range(len(starts)):
        fields, start = fixed[r], starts[r]
        if fields.flag & (sam.FLAG_SECONDARY | sam.FLAG_UNMAPPED) or fields.bases == 0:
            continue
        begin, bases = cigar_begin(start, fields), np.int64(fields.bases)
        letters, qualities = bases_begin(start, fields), qualities_begin(start, fields)
        whole, flag = _whole_length(data, start, fields), np.int64(fields.flag)
        reverse, mate = flag & sam.FLAG_REVERSE, _mate_of(flag)
        cycle = np.int64(0)  # base of the whole read, hard-clipped bases included, for the mismatches
        read = np.int64(0)  # base of the record
        matched = np.int64(0)  # aligned bases so far, as MD counts them
        md_end = mismatches_at[r, 1]
        md, next_at = next_mismatch(data, mismatches_at[r, 0], md_end, np.int64(0))
        for k in range(np.int64(fields.operations)):
            element = cigar_element(data, begin, k)
            operation, length = np.int64(element & sam.CIGAR_MASK), np.int64(element >> sam.CIGAR_SHIFT)
            if operation == sam.CIGAR_INSERTION and length > 0:
                totals[0].aligned_bases += length
                if mate != _OTHER:
                    indels[mate, bases - read - length if reverse else read] += 1
                if length <= LONGEST_INDEL:
                    indel_lengths[0, length - 1] += 1
            elif operation == sam.CIGAR_DELETION and length > 0:
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
                    elif data[md] != 78:  # no mismatch if the reference has an N
                        mismatches[at, 1 + min(np.int64(data[qualities + base]), QUALITIES - 1)] += 1
                    md, next_at = next_mismatch(data, md + 1, md_end, next_at + 1)
                matched += length
            if sam.CONSUMES_READ >> operation & 1:
                read += length
            if _IN_CYCLES >> operation & 1:
                cycle += length
