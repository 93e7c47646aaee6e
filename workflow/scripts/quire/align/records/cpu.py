"""The kernels that make records, step by step; `quire.align.records` calls them.

Of every record `record_read` (int64[n]) names its read and `row` (int64[n]) its row in `Reported`, -1 for an unmapped
read.
"""

from typing import NamedTuple

import numpy as np

from quire.align.records.texts import with_room, write_number
from quire.sam import (
    CIGAR_DELETION,
    CIGAR_HARD_CLIP,
    CIGAR_INSERTION,
    CIGAR_LETTERS,
    CIGAR_MATCH,
    CIGAR_SOFT_CLIP,
    FLAG_FIRST_OF_PAIR,
    FLAG_MATE_REVERSE,
    FLAG_MATE_UNMAPPED,
    FLAG_PAIRED,
    FLAG_PROPER_PAIR,
    FLAG_REVERSE,
    FLAG_SECOND_OF_PAIR,
    FLAG_SUPPLEMENTARY,
    FLAG_UNMAPPED,
)
from quire.sequence.cigar import element_of, length_of, operation_of
from quire.sequence.codes import LETTERS
from quire.sequence.words import code_at, packed_word
from quire.simd.bits import bytes_below_lowest_bit, load_bytes, one_a_byte, prefetch, reverse_complement
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind

_AHEAD = 16  # records whose text is asked for before its turn
_OPERATION_LETTERS = np.frombuffer(CIGAR_LETTERS.encode(), np.uint8)
_COMMA, _SEMICOLON, _PLUS, _MINUS, _CARET = (ord(letter) for letter in ",;+-^")


class RecordFields(NamedTuple):
    """What every record has one of: see `quire.io.bam.encode.RecordBatch`."""

    flag: np.ndarray
    contig: np.ndarray
    position: np.ndarray
    mapping_quality: np.ndarray
    mate_contig: np.ndarray
    mate_position: np.ndarray
    template_length: np.ndarray
    alignment_score: np.ndarray
    suboptimal_score: np.ndarray
    edit_distance: np.ndarray
    mate_record: np.ndarray


class RecordSequences(NamedTuple):
    """Reads as read (codes uint8[bases], offsets int64[n + 1]), the packed axis and its ambiguous spans."""

    codes: np.ndarray
    offsets: np.ndarray
    text: np.ndarray
    ambiguous: np.ndarray


class _AlignedRead(NamedTuple):
    """A read whose oriented bases from `place` on are aligned to the axis from `axis` to `axis_end` - 1.

    It was read as codes[begin:end]; with `reverse` the oriented read is their reverse complement.
    """

    codes: np.ndarray
    begin: int
    end: int
    reverse: bool
    place: int
    axis: int
    axis_end: int


@compiled
def lay_out(rows, first, paired):
    """Read and row (-1: unmapped) of every record, in output order."""
    reads = len(rows)
    count = 0
    for read in range(reads):
        count += max(rows[read], 1)
    record_read = np.empty(count, np.int64)
    row = np.empty(count, np.int64)
    used = 0
    half = reads // 2
    for step in range(reads):
        read = step
        if paired:
            read = (step >> 1) + (half if step & 1 else 0)
        if rows[read] == 0:
            record_read[used], row[used] = read, -1
            used += 1
        for number in range(first[read], first[read] + rows[read]):
            record_read[used], row[used] = read, number
            used += 1
    return record_read, row


@compiled
def fill_fields(reported, record_read, row, reads, paired, fields):
    """Fill all fields but the edit distance. Positions, scores and records that there are none of stay -1."""
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    flag, contig, position, quality, mate_contig, mate_position, template, score, suboptimal, _, mate_record = fields
    contigs, positions, scores, strands = reported.contig, reported.position, reported.score, reported.strand
    axis_begin, axis_end = reported.axis_begin, reported.axis_end
    first, rows, proper = reported.first, reported.rows, reported.proper
    qualities, suboptimal_scores = reported.quality, reported.suboptimal_score
    half = reads // 2
    primary_record = _primary_records(record_read, reads)
    for i in range(len(record_read)):
        read, chosen = record_read[i], row[i]
        bits = 0
        if chosen >= 0:
            contig[i], position[i] = contigs[chosen], positions[chosen]
            score[i] = scores[chosen]
            if strands[chosen]:
                bits |= FLAG_REVERSE
            quality[i], suboptimal[i] = qualities[chosen], suboptimal_scores[chosen]
            if chosen != first[read]:
                bits |= FLAG_SUPPLEMENTARY
        else:
            bits |= FLAG_UNMAPPED
        if paired:
            mate = read + half if read < half else read - half
            bits |= FLAG_PAIRED | (FLAG_FIRST_OF_PAIR if read < half else FLAG_SECOND_OF_PAIR)
            mate_chosen = first[mate] if rows[mate] > 0 else np.int64(-1)
            mate_record[i] = primary_record[mate]
            if proper[read]:
                bits |= FLAG_PROPER_PAIR
            if mate_chosen < 0:
                bits |= FLAG_MATE_UNMAPPED
                if rows[read] > 0:  # an unmapped mate is kept beside its mapped one's primary alignment
                    mate_contig[i], mate_position[i] = contigs[first[read]], positions[first[read]]
            else:
                mate_contig[i], mate_position[i] = contigs[mate_chosen], positions[mate_chosen]
                if strands[mate_chosen]:
                    bits |= FLAG_MATE_REVERSE
                if chosen < 0:
                    contig[i], position[i] = mate_contig[i], mate_position[i]
                elif contig[i] == mate_contig[i]:
                    begin = _five_prime_end(positions, strands, axis_begin, axis_end, chosen)
                    mate_begin = _five_prime_end(positions, strands, axis_begin, axis_end, mate_chosen)
                    if begin != mate_begin:  # the signed template length as bwa mem writes it
                        template[i] = mate_begin - begin + (1 if mate_begin > begin else -1)
        flag[i] = bits


@inlined
def _primary_records(record_read, reads):
    """The first record of each read, which is its primary one."""
    primary_record = np.empty(reads, np.int64)
    previous = np.int64(-1)
    for i in range(len(record_read)):
        if record_read[i] != previous:
            primary_record[record_read[i]] = i
        previous = record_read[i]
    return primary_record


@inlined
def _five_prime_end(positions, strands, axis_begin, axis_end, chosen):
    """Position on the contig of the first aligned base of the read as sequenced."""
    return positions[chosen] + (axis_end[chosen] - axis_begin[chosen] - 1 if strands[chosen] else np.int64(0))


@compiled
def cigars(reported, read_offsets, record_read, row, flag, alternate):
    """CIGAR of every record, clips included (uint32[]), and where each begins (int64[n + 1]).

    Supplementary alignments are clipped hard, but for those on alternate contigs (`alternate`: uint8[contigs], or
    none), whose reads stay whole as bwa mem leaves them: they are other versions of the primary one.
    """
    offsets = np.zeros(len(record_read) + 1, np.int64)
    for i in range(len(record_read)):
        offsets[i + 1] = offsets[i] + (reported.cigar_length[row[i]] + 2 if row[i] >= 0 else 0)
    cigar = np.empty(offsets[-1], np.uint32)
    used = np.int64(0)
    for i in range(len(record_read)):
        chosen = row[i]
        if chosen >= 0:
            length = read_offsets[record_read[i] + 1] - read_offsets[record_read[i]]
            hard = flag[i] & FLAG_SUPPLEMENTARY and not (len(alternate) > 0 and alternate[reported.contig[chosen]])
            clip = CIGAR_HARD_CLIP if hard else CIGAR_SOFT_CLIP
            if reported.read_begin[chosen] > 0:
                cigar[used] = element_of(reported.read_begin[chosen], clip)
                used += 1
            begin = reported.cigar_begin[chosen]
            for j in range(begin, begin + reported.cigar_length[chosen]):
                cigar[used] = reported.cigar[j]
                used += 1
            if reported.read_end[chosen] < length:
                cigar[used] = element_of(length - reported.read_end[chosen], clip)
                used += 1
        offsets[i + 1] = used
    return cigar[:used], offsets


@compiled
def differences(reported, sequences, record_read, row, edit_distance):
    """MD texts, and NM into `edit_distance`: ambiguous bases of either side are differences."""
    offsets = np.zeros(len(record_read) + 1, np.int64)
    md = np.empty(16 * len(record_read) + 64, np.uint8)
    used = np.int64(0)
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    axis_begin, axis_end, strand = reported.axis_begin, reported.axis_end, reported.strand
    read_begin, cigar, cigar_begin = reported.read_begin, reported.cigar, reported.cigar_begin
    cigar_length = reported.cigar_length
    codes, read_offsets, text, ambiguous = sequences
    for i in range(len(record_read)):
        chosen = row[i]
        if chosen >= 0:
            if i + _AHEAD < len(record_read) and row[i + _AHEAD] >= 0:
                prefetch(text, axis_begin[row[i + _AHEAD]] >> 5)
            first, last = axis_begin[chosen], axis_end[chosen]
            md = with_room(md, used + 4 * (last - first) + 16)
            aligned = _AlignedRead(
                codes, read_offsets[record_read[i]], read_offsets[record_read[i] + 1], strand[chosen] != 0,
                np.int64(read_begin[chosen]), first, last,
            )  # fmt: skip
            operations = cigar[cigar_begin[chosen] : cigar_begin[chosen] + cigar_length[chosen]]
            used, edit_distance[i] = _write_md(aligned, operations, text, ambiguous, md, used)
        offsets[i + 1] = used
    return md[:used], offsets


@inlined
def _code_of_read(read, place):
    """Code of the base at `place` of the oriented read; above 3 for N."""
    return np.int64(read.codes[read.end - 1 - place]) ^ 3 if read.reverse else np.int64(read.codes[read.begin + place])


@inlined
def _compare_eight(read, place, text, axis):
    """Eight bases of the oriented read from `place` on, a byte each, XOR those of the axis from `axis` on."""
    reference = one_a_byte(packed_word(text, axis) & np.uint64(0xFFFF))
    if read.reverse:
        bases = reverse_complement(load_bytes(read.codes, np.int64(read.end - 8 - place)))
    else:
        bases = load_bytes(read.codes, np.int64(read.begin + place))
    return bases ^ reference


@inlined
def _equal_bases(read, place, text, axis, most):
    """How many bases of the oriented read from `place` on are those of the axis, found by eight at a time.

    At most `most` are looked at, in whole eights; what the search ends at may still be equal.
    """
    equal = np.int64(0)
    while most - equal >= 8:
        differing = _compare_eight(read, place + equal, text, axis + equal)
        if differing:
            return equal + bytes_below_lowest_bit(differing)
        equal += 8
    return equal


@inlined
def _write_md(read, operations, text, ambiguous, md, used):
    """Write one MD text from md[used] on; returns its end and the edit distance."""
    place, axis = read.place, read.axis
    span = first_behind(ambiguous, axis)
    some_ambiguous = span < len(ambiguous) and ambiguous[span, 0] < read.axis_end
    edits, run = np.int64(0), np.int64(0)
    for j in range(len(operations)):
        operation = operation_of(operations[j])
        length = length_of(operations[j])
        if operation == CIGAR_INSERTION:
            place += length
            edits += length
            continue
        if operation == CIGAR_DELETION:
            used = write_number(md, used, run)
            run = np.int64(0)
            md[used] = _CARET
            used += 1
            edits += length
        end = axis + length
        while axis < end:
            if operation == CIGAR_MATCH and not some_ambiguous:
                equal = _equal_bases(read, place, text, axis, end - axis)
                run += equal
                place += equal
                axis += equal
                if axis == end:
                    break
            code = np.int64(code_at(text, axis))
            if some_ambiguous:
                span = first_behind(ambiguous, axis)
                if span < len(ambiguous) and ambiguous[span, 0] <= axis:
                    code = np.int64(4)
            if operation == CIGAR_DELETION:
                md[used] = LETTERS[code]
                used += 1
            else:
                if code == _code_of_read(read, place) and code < 4:
                    run += 1
                else:
                    used = write_number(md, used, run)
                    run = np.int64(0)
                    md[used] = LETTERS[code]
                    used += 1
                    edits += 1
                place += 1
            axis += 1
    return write_number(md, used, run), edits


@compiled
def supplementary_texts(reported, read_offsets, record_read, row, fields, names, added):
    """SA texts: of every record of a read with several, the other records (contig,position,strand,CIGAR,MAPQ,NM;).

    Rows that were added by lifting over (`added`: uint8[rows], or none) have no SA and stand in none.
    """
    count = len(record_read)
    offsets = np.zeros(count + 1, np.int64)
    text = np.empty(1024, np.uint8)
    used = np.int64(0)
    first = 0
    while first < count:
        last = first + 1
        while last < count and record_read[last] == record_read[first]:
            last += 1
        for i in range(first, last):
            for other in range(first, last):
                if last - first == 1 or other == i or (len(added) > 0 and (added[row[i]] or added[row[other]])):
                    continue
                length = read_offsets[record_read[i] + 1] - read_offsets[record_read[i]]
                operations = reported.cigar_length[row[other]]
                text = with_room(text, used + 256 + 12 * operations + len(names.letters))
                used = _write_place(reported, row[other], length, names, text, used)
                text[used] = _COMMA
                used = write_number(text, used + 1, np.int64(fields.mapping_quality[other]))
                text[used] = _COMMA
                used = write_number(text, used + 1, np.int64(fields.edit_distance[other]))
                text[used] = _SEMICOLON
                used += 1
            offsets[i + 1] = used
        first = last
    return text[:used], offsets


@inlined
def _write_place(reported, chosen, length, names, text, used):
    """Write contig, position, strand and CIGAR of a row whose read has `length` bases; returns their end."""
    contig = reported.contig[chosen]
    for j in range(names.offsets[contig], names.offsets[contig + 1]):
        text[used] = names.letters[j]
        used += 1
    text[used] = _COMMA
    used = write_number(text, used + 1, reported.position[chosen] + 1)
    text[used], text[used + 1], text[used + 2] = _COMMA, _MINUS if reported.strand[chosen] else _PLUS, _COMMA
    used += 3
    if reported.read_begin[chosen] > 0:
        used = write_number(text, used, np.int64(reported.read_begin[chosen]))
        text[used] = _OPERATION_LETTERS[CIGAR_SOFT_CLIP]
        used += 1
    begin = reported.cigar_begin[chosen]
    for j in range(begin, begin + reported.cigar_length[chosen]):
        used = write_number(text, used, length_of(reported.cigar[j]))
        text[used] = _OPERATION_LETTERS[operation_of(reported.cigar[j])]
        used += 1
    if reported.read_end[chosen] < length:
        used = write_number(text, used, length - reported.read_end[chosen])
        text[used] = _OPERATION_LETTERS[CIGAR_SOFT_CLIP]
        used += 1
    return used
