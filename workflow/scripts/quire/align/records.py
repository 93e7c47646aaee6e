"""From what is reported to alignment records: flags, mates, CIGAR, NM, MD and SA, in flat arrays for the BAM assembler.

Records stand in the order of the reads (mate 1 of a pair, its supplementary alignments, mate 2, its supplementary
ones).
"""

import numpy as np
from numba import njit

from quire.algorithms.extension import CIGAR_D, CIGAR_H, CIGAR_I, CIGAR_M, CIGAR_S
from quire.algorithms.extension.cpu import first_ambiguous_after
from quire.align.model import Reported
from quire.batch import pack_bytes
from quire.device.bits import bytes_below_lowest_bit, load_bytes, one_a_byte, prefetch, reverse_complement
from quire.io.bam import RecordBatch
from quire.oriented.cpu import code_at, packed_word

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, REVERSE, MATE_REVERSE, FIRST, LAST = (1 << bit for bit in range(8))
SUPPLEMENTARY = 0x800
_AHEAD = 16  # records whose text is asked for before its turn
_LETTERS = np.frombuffer(b"ACGTN", np.uint8)


def build_records(reported: Reported, codes: np.ndarray, offsets: np.ndarray, paired: bool, reference) -> RecordBatch:
    """Records of a batch.

    Args:
        reported: what is reported of its reads.
        codes, offsets: uint8[bases], int64[n + 1]: the reads as read, codes 0..3 and 4 for N.
        paired: whether they are mates r and n + r of n pairs.
        reference: `quire.reference.Reference`.
    """
    reads = len(offsets) - 1
    source, row = _lay_out(reported.rows, reported.first, paired)
    count = len(source)
    integers = np.full((8, count), -1, np.int32)
    flag = np.zeros(count, np.uint16)
    quality = np.zeros(count, np.uint8)
    mate_record = np.full(count, -1, np.int64)
    _fill(reported, source, row, reads, paired, integers, flag, quality, mate_record)
    cigar, cigar_offsets = _cigars(reported, offsets, source, row, flag)
    md, md_offsets = _differences(reported, offsets, codes, reference.text, reference.ambiguous,
                                  source, row, integers[7])  # fmt: skip
    sa, sa_offsets = _supplementary_texts(reported, offsets, source, row, quality, integers,
                                          *pack_bytes([name.encode() for name in reference.contig_names]))  # fmt: skip
    pairs = reads // 2 if paired else reads
    contig, position, mate_contig, mate_position, template, score, second, edits = integers
    return RecordBatch(
        mate=(source >= pairs).astype(np.uint8),
        read=np.where(source >= pairs, source - pairs, source),
        flag=flag,
        contig=contig,
        position=position,
        mapping_quality=quality,
        cigar=cigar,
        cigar_offsets=cigar_offsets,
        mate_contig=mate_contig,
        mate_position=mate_position,
        template_length=template,
        alignment_score=score,
        suboptimal_score=second,
        edit_distance=edits,
        md=md,
        md_offsets=md_offsets,
        mate_record=mate_record,
        sa=sa,
        sa_offsets=sa_offsets,
    )


@njit(cache=True, nogil=True)
def _lay_out(rows, first, paired):
    """Read and row (-1: unmapped) of every record, in output order."""
    reads = len(rows)
    count = 0
    for read in range(reads):
        count += max(rows[read], 1)
    source = np.empty(count, np.int64)
    row = np.empty(count, np.int64)
    used = 0
    half = reads // 2
    for step in range(reads):
        read = step
        if paired:
            read = (step >> 1) + (half if step & 1 else 0)
        if rows[read] == 0:
            source[used], row[used] = read, -1
            used += 1
        for number in range(first[read], first[read] + rows[read]):
            source[used], row[used] = read, number
            used += 1
    return source, row


@njit(cache=True, nogil=True)
def _fill(reported, source, row, reads, paired, integers, flag, quality, mate_record):
    contig, position, mate_contig, mate_position, template, score, second, _ = integers
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    contigs, positions, scores, strands = reported.contig, reported.position, reported.score, reported.strand
    axis_begin, axis_end = reported.axis_begin, reported.axis_end
    first, rows, qualities, seconds, proper = (
        reported.first, reported.rows, reported.quality, reported.second, reported.proper
    )  # fmt: skip
    half = reads // 2
    primary_record = np.empty(reads, np.int64)
    previous = np.int64(-1)
    for i in range(len(source)):
        if source[i] != previous:
            primary_record[source[i]] = i
        previous = source[i]
    for i in range(len(source)):
        read, chosen = source[i], row[i]
        bits = 0
        template[i] = 0
        if chosen >= 0:
            contig[i], position[i] = contigs[chosen], positions[chosen]
            score[i] = scores[chosen]
            if strands[chosen]:
                bits |= REVERSE
            quality[i], second[i] = qualities[chosen], seconds[chosen]
            if chosen != first[read]:
                bits |= SUPPLEMENTARY
        else:
            bits |= UNMAPPED
        if paired:
            mate = read + half if read < half else read - half
            bits |= PAIRED | (FIRST if read < half else LAST)
            mate_chosen = first[mate] if rows[mate] > 0 else np.int64(-1)
            mate_record[i] = primary_record[mate]
            if proper[read]:
                bits |= PROPER
            if mate_chosen < 0:
                bits |= MATE_UNMAPPED
                if rows[read] > 0:  # an unmapped mate is kept beside its mapped one's primary alignment
                    mate_contig[i], mate_position[i] = contigs[first[read]], positions[first[read]]
            else:
                mate_contig[i], mate_position[i] = contigs[mate_chosen], positions[mate_chosen]
                if strands[mate_chosen]:
                    bits |= MATE_REVERSE
                if chosen < 0:
                    contig[i], position[i] = mate_contig[i], mate_position[i]
                elif contig[i] == mate_contig[i]:
                    five = _five_prime(positions, strands, axis_begin, axis_end, chosen)
                    mate_five = _five_prime(positions, strands, axis_begin, axis_end, mate_chosen)
                    if five != mate_five:  # the signed template length as bwa mem writes it
                        template[i] = mate_five - five + (1 if mate_five > five else -1)
        flag[i] = bits


@njit(cache=True, nogil=True, forceinline=True)
def _five_prime(positions, strands, axis_begin, axis_end, chosen):
    """Position on the contig of the first aligned base of the read as sequenced."""
    return positions[chosen] + (axis_end[chosen] - axis_begin[chosen] - 1 if strands[chosen] else np.int64(0))


@njit(cache=True, nogil=True)
def _cigars(reported, read_offsets, source, row, flag):
    offsets = np.zeros(len(source) + 1, np.int64)
    for i in range(len(source)):
        offsets[i + 1] = offsets[i] + (reported.cigar_length[row[i]] + 2 if row[i] >= 0 else 0)
    cigar = np.empty(offsets[-1], np.uint32)
    used = np.int64(0)
    for i in range(len(source)):
        chosen = row[i]
        if chosen >= 0:
            length = read_offsets[source[i] + 1] - read_offsets[source[i]]
            clip = CIGAR_H if flag[i] & SUPPLEMENTARY else CIGAR_S
            if reported.read_begin[chosen] > 0:
                cigar[used] = np.uint32(np.int64(reported.read_begin[chosen]) << 4 | clip)
                used += 1
            begin = reported.cigar_begin[chosen]
            for j in range(begin, begin + reported.cigar_length[chosen]):
                cigar[used] = reported.cigar[j]
                used += 1
            if reported.read_end[chosen] < length:
                cigar[used] = np.uint32((length - reported.read_end[chosen]) << 4 | clip)
                used += 1
        offsets[i + 1] = used
    return cigar[:used], offsets


@njit(cache=True, nogil=True, forceinline=True)
def _write_number(text, used, value):
    """Decimal digits of a non-negative number into a byte array; returns the end."""
    digits = 1
    rest = value
    while rest >= 10:
        rest //= 10
        digits += 1
    for i in range(used + digits - 1, used - 1, -1):
        text[i] = 48 + value % 10
        value //= 10
    return used + digits


@njit(cache=True, nogil=True)
def _with_room(text, needed):
    if needed <= len(text):
        return text
    larger = np.empty(2 * needed, np.uint8)
    larger[: len(text)] = text
    return larger


@njit(cache=True, nogil=True)
def _differences(reported, read_offsets, codes, text, ambiguous, source, row, edits):
    """MD texts, and NM into `edits`: ambiguous bases of either side are differences."""
    offsets = np.zeros(len(source) + 1, np.int64)
    md = np.empty(16 * len(source) + 64, np.uint8)
    used = np.int64(0)
    # Taken out once: each use of `reported` inside the loop would count references of all its arrays.
    axis_begin, axis_end, strand = reported.axis_begin, reported.axis_end, reported.strand
    aligned_begin, cigar, cigar_begin = reported.read_begin, reported.cigar, reported.cigar_begin
    cigar_length = reported.cigar_length
    for i in range(len(source)):
        chosen = row[i]
        if chosen >= 0:
            if i + _AHEAD < len(source) and row[i + _AHEAD] >= 0:
                prefetch(text, axis_begin[row[i + _AHEAD]] >> 5)
            first, last = axis_begin[chosen], axis_end[chosen]
            md = _with_room(md, used + 4 * (last - first) + 16)
            begin, end = read_offsets[source[i]], read_offsets[source[i] + 1]
            operations = cigar_begin[chosen], cigar_begin[chosen] + cigar_length[chosen]
            used, edits[i] = _describe(
                first, last, np.int64(aligned_begin[chosen]), cigar, operations, codes, begin, end,
                strand[chosen] != 0, text, ambiguous, md, used,
            )  # fmt: skip
        offsets[i + 1] = used
    return md[:used], offsets


@njit(cache=True, nogil=True, forceinline=True)
def _read_code(codes, begin, end, place, reverse):
    """Code of the base at `place` of the oriented read; above 3 for N."""
    return np.int64(codes[end - 1 - place]) ^ 3 if reverse else np.int64(codes[begin + place])


@njit(cache=True, nogil=True, forceinline=True)
def _compare_eight(codes, begin, end, place, reverse, text, axis):
    """Eight bases of the oriented read from `place` on, a byte each, XOR those of the axis from `axis` on."""
    reference = one_a_byte(packed_word(text, axis) & np.uint64(0xFFFF))
    if reverse:
        read = reverse_complement(load_bytes(codes, np.int64(end - 8 - place)))
    else:
        read = load_bytes(codes, np.int64(begin + place))
    return read ^ reference


@njit(cache=True, nogil=True, forceinline=True)
def _describe(
    axis, axis_end, place, cigar, operations, codes, read_begin, read_end, reverse, text, ambiguous, md, used
):  # fmt: skip
    """Write one MD text; returns its end and the edit distance.

    The oriented read codes[read_begin:read_end] is aligned from its base `place` on to axis..axis_end - 1 by
    cigar[operations[0]:operations[1]].
    """
    span = first_ambiguous_after(ambiguous, axis)
    some_ambiguous = span < len(ambiguous) and ambiguous[span, 0] < axis_end
    edits, run = np.int64(0), np.int64(0)
    for j in range(operations[0], operations[1]):
        operation = np.int64(cigar[j] & np.uint32(15))
        length = np.int64(cigar[j] >> np.uint32(4))
        if operation == CIGAR_I:
            place += length
            edits += length
            continue
        if operation == CIGAR_D:
            used = _write_number(md, used, run)
            run = np.int64(0)
            md[used] = 94  # ^
            used += 1
            edits += length
        done = np.int64(0)
        while done < length:
            if operation == CIGAR_M and not some_ambiguous:
                first = done
                differing = np.uint64(0)
                while length - done >= 8:
                    differing = _compare_eight(codes, read_begin, read_end, place + done - first, reverse, text,
                                               axis + done - first)  # fmt: skip
                    if differing:
                        done += bytes_below_lowest_bit(differing)
                        break
                    done += 8
                run += done - first
                place += done - first
                axis += done - first
                if done == length:
                    break
            code = np.int64(code_at(text, axis))
            if some_ambiguous:
                span = first_ambiguous_after(ambiguous, axis)
                if span < len(ambiguous) and ambiguous[span, 0] <= axis:
                    code = np.int64(4)
            if operation == CIGAR_D:
                md[used] = _LETTERS[code]
                used += 1
            else:
                if code == _read_code(codes, read_begin, read_end, place, reverse) and code < 4:
                    run += 1
                else:
                    used = _write_number(md, used, run)
                    run = np.int64(0)
                    md[used] = _LETTERS[code]
                    used += 1
                    edits += 1
                place += 1
            axis += 1
            done += 1
    return _write_number(md, used, run), edits


@njit(cache=True, nogil=True)
def _supplementary_texts(reported, read_offsets, source, row, quality, integers, names, name_offsets):
    """SA texts: of every record of a read with several, the other records (contig,position,strand,CIGAR,MAPQ,NM;)."""
    count = len(source)
    offsets = np.zeros(count + 1, np.int64)
    text = np.empty(1024, np.uint8)
    used = np.int64(0)
    first = 0
    while first < count:
        last = first + 1
        while last < count and source[last] == source[first]:
            last += 1
        for i in range(first, last):
            for other in range(first, last):
                if last - first == 1 or other == i:
                    continue
                length = read_offsets[source[i] + 1] - read_offsets[source[i]]
                operations = reported.cigar_length[row[other]]
                text = _with_room(text, used + 256 + 12 * operations + len(names))
                used = _write_place(reported, row[other], length, np.int64(quality[other]),
                                    np.int64(integers[7, other]), names, name_offsets, text, used)  # fmt: skip
            offsets[i + 1] = used
        first = last
    return text[:used], offsets


@njit(cache=True, nogil=True, forceinline=True)
def _write_place(reported, chosen, length, quality, edits, names, name_offsets, text, used):
    contig = reported.contig[chosen]
    for j in range(name_offsets[contig], name_offsets[contig + 1]):
        text[used] = names[j]
        used += 1
    text[used] = 44  # ,
    used = _write_number(text, used + 1, reported.position[chosen] + 1)
    text[used], text[used + 1], text[used + 2] = 44, 45 if reported.strand[chosen] else 43, 44
    used += 3
    if reported.read_begin[chosen] > 0:
        used = _write_number(text, used, np.int64(reported.read_begin[chosen]))
        text[used] = 83  # S
        used += 1
    begin = reported.cigar_begin[chosen]
    for j in range(begin, begin + reported.cigar_length[chosen]):
        used = _write_number(text, used, np.int64(reported.cigar[j] >> np.uint32(4)))
        operation = np.int64(reported.cigar[j] & np.uint32(15))
        text[used] = 77 if operation == CIGAR_M else 73 if operation == CIGAR_I else 68
        used += 1
    if reported.read_end[chosen] < length:
        used = _write_number(text, used, length - reported.read_end[chosen])
        text[used] = 83
        used += 1
    text[used] = 44
    used = _write_number(text, used + 1, quality)
    text[used] = 44
    used = _write_number(text, used + 1, edits)
    text[used] = 59  # ;
    return used + 1
