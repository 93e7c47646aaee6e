"""Kernels that make records, step by step; `quire.align.records` calls them."""

from typing import NamedTuple

import numpy as np

from quire import sam
from quire.align.alignments.cpu import overlaps
from quire.sequence.cigar_cpu import element_of, length_of, operation_of
from quire.simd.bits import copy_items, with_room
from quire.simd.compiled import compiled, inlined
from quire.simd.decimals import write_number

_OPERATION_LETTERS = np.frombuffer(sam.CIGAR_LETTERS.encode(), np.uint8)
_COMMA, _SEMICOLON, _PLUS, _MINUS = (ord(letter) for letter in ",;+-")


class RecordFields(NamedTuple):
    """Arrays of the fields that every record has; see `quire.io.bam.encode.RecordBatch`."""

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


class RecordRows(NamedTuple):
    """The records of a batch in output order.

    Attributes:
        read: int64[n], the read of each record.
        row: int64[n], its row in `Reported`; -1 for an unmapped read.
    """

    read: np.ndarray
    row: np.ndarray


@compiled
def lay_out(rows, first, paired):
    """Return the `RecordRows` of the records, given the number of rows and the first row of each read."""
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
    return RecordRows(record_read, row)


@compiled
def fill_fields(reported, layout, reads, paired, fields):
    """Fill all fields except the edit distance; missing positions, scores and mate records stay -1."""
    record_read, row = layout
    # Unpack once: each access to a tuple inside the loop would count references of all its arrays.
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
                bits |= sam.FLAG_REVERSE
            quality[i], suboptimal[i] = qualities[chosen], suboptimal_scores[chosen]
            if chosen != first[read]:
                bits |= sam.FLAG_SUPPLEMENTARY
        else:
            bits |= sam.FLAG_UNMAPPED
        if paired:
            mate = read + half if read < half else read - half
            bits |= sam.FLAG_PAIRED | (sam.FLAG_FIRST_OF_PAIR if read < half else sam.FLAG_SECOND_OF_PAIR)
            mate_chosen = first[mate] if rows[mate] > 0 else np.int64(-1)
            mate_record[i] = primary_record[mate]
            if proper[read]:
                bits |= sam.FLAG_PROPER_PAIR
            if mate_chosen < 0:
                bits |= sam.FLAG_MATE_UNMAPPED
                if rows[read] > 0:  # an unmapped mate is placed at the read's primary alignment
                    mate_contig[i], mate_position[i] = contigs[first[read]], positions[first[read]]
            else:
                mate_contig[i], mate_position[i] = contigs[mate_chosen], positions[mate_chosen]
                if strands[mate_chosen]:
                    bits |= sam.FLAG_MATE_REVERSE
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
    """Return the primary record of each read, which is its first."""
    primary_record = np.empty(reads, np.int64)
    previous = np.int64(-1)
    for i in range(len(record_read)):
        if record_read[i] != previous:
            primary_record[record_read[i]] = i
        previous = record_read[i]
    return primary_record


@inlined
def _five_prime_end(positions, strands, axis_begin, axis_end, chosen):
    """Return the 0-based position on the contig of the read's first aligned base as sequenced."""
    return positions[chosen] + (axis_end[chosen] - axis_begin[chosen] - 1 if strands[chosen] else np.int64(0))


@compiled
def cigars(reported, read_offsets, layout, flag, alternate):
    """Return the CIGARs of all records, clips included (uint32[]), and their offsets (int64[n + 1]).

    Supplementary alignments are hard-clipped, except on alternate contigs (`alternate`: uint8[contigs], or empty).
    There reads stay whole as in bwa mem, since these alignments are other versions of the primary one.
    """
    record_read, row = layout
    offsets = np.zeros(len(record_read) + 1, np.int64)
    for i in range(len(record_read)):
        offsets[i + 1] = offsets[i] + (reported.cigar_length[row[i]] + 2 if row[i] >= 0 else 0)
    cigar = np.empty(offsets[-1], np.uint32)
    used = np.int64(0)
    for i in range(len(record_read)):
        chosen = row[i]
        if chosen >= 0:
            length = read_offsets[record_read[i] + 1] - read_offsets[record_read[i]]
            hard = flag[i] & sam.FLAG_SUPPLEMENTARY and not (len(alternate) > 0 and alternate[reported.contig[chosen]])
            clip = sam.CIGAR_HARD_CLIP if hard else sam.CIGAR_SOFT_CLIP
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
def supplementary_texts(reported, read_offsets, layout, fields, names, added):
    """Return the SA texts (contig,position,strand,CIGAR,MAPQ,NM;) and their offsets.

    Each record of a read lists the read's other records. Rows added by lifting over (`added`: uint8[rows], or empty)
    have no SA and are not listed.
    """
    record_read, row = layout
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
                text = with_room(text, used, used + 256 + 12 * operations + len(names.letters))
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
    """Write contig, position, strand and CIGAR of a row whose read has `length` bases; return the text's end."""
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
        text[used] = _OPERATION_LETTERS[sam.CIGAR_SOFT_CLIP]
        used += 1
    begin = reported.cigar_begin[chosen]
    for j in range(begin, begin + reported.cigar_length[chosen]):
        used = write_number(text, used, length_of(reported.cigar[j]))
        text[used] = _OPERATION_LETTERS[operation_of(reported.cigar[j])]
        used += 1
    if reported.read_end[chosen] < length:
        used = write_number(text, used, length - reported.read_end[chosen])
        text[used] = _OPERATION_LETTERS[sam.CIGAR_SOFT_CLIP]
        used += 1
    return used


@compiled
def alternate_shares(reported, read_offsets, layout, alternate):
    """Return the tag pa (float32[n]): the score relative to the best hit on an alternate contig; 0 for none.

    Records on the primary assembly have the tag (bwa's README-alt) if a better hit of the read on an alternate contig
    overlaps them. It is rounded to thousandths as in bwa mem.
    """
    record_read, row = layout
    shares = np.zeros(len(record_read), np.float32)
    for i in range(len(record_read)):
        read, chosen = record_read[i], row[i]
        if chosen < 0 or alternate[reported.contig[chosen]] != 0:
            continue
        length = read_offsets[read + 1] - read_offsets[read]
        best = np.int64(0)
        for other in range(reported.first[read], reported.first[read] + reported.rows[read]):
            beats = alternate[reported.contig[other]] != 0 and reported.score[other] > reported.score[chosen]
            if beats and overlaps(reported, chosen, other, length):
                best = max(best, np.int64(reported.score[other]))
        if best > 0:
            shares[i] = np.float32((2000 * np.int64(reported.score[chosen]) + best) // (2 * best)) / np.float32(1000)
    return shares


@compiled
def lifted_tags(lifted, row):
    """Return the tags om (int32[n], -1 for none) and lt (uint8[], offsets int64[n + 1]); empty if no row has any.

    `row` is the row of each record; -1 for an unmapped read.
    """
    starts = lifted.text_offsets
    count = len(row) if len(starts) > 0 else 0
    original_quality, offsets = np.full(count, -1, np.int32), np.zeros(count + 1 if count > 0 else 0, np.int64)
    for i in range(count):
        size = starts[row[i] + 1] - starts[row[i]] if row[i] >= 0 else np.int64(0)
        offsets[i + 1] = offsets[i] + size
    texts = np.empty(offsets[-1] if count > 0 else 0, np.uint8)
    for i in range(count):
        if row[i] >= 0:
            original_quality[i] = lifted.original_quality[row[i]]
            copy_items(texts, offsets[i], lifted.texts, starts[row[i]], starts[row[i] + 1])
    return original_quality, texts, offsets
