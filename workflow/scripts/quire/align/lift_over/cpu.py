"""Lift-over and grouping on flat arrays. It runs on the host for both backends, since few reads have such hits."""

from typing import NamedTuple

import numpy as np

from quire.align.alignments.cpu import overlaps
from quire.align.contig_names import ContigNames, names_of
from quire.align.lift_over import LiftedOver
from quire.align.lift_over.places_cpu import lifts_of, place_of, write_lifts
from quire.align.model import ROW_TYPES, Reported
from quire.align.parameters import (
    MOST_QUALITY,
    MOST_RIVALS_ON_PRIMARY,
    QUALITY_OF_GROUPS,
    RIVAL_DENOMINATOR,
    RIVAL_NUMERATOR,
)
from quire.reference import Reference
from quire.reference.alternate import Lifts
from quire.simd.compiled import compiled, inlined

_NO_QUALITY = -1


class _Read(NamedTuple):
    """Working memory for the rows of one read, each int64[most rows of a read].

    Attributes:
        order: rows ordered by score, then by rank.
        parent: the better row with which each row competes; -1 for none.
        hits: a reported row and its rivals.
        contig, start, end: places of the hits, lifted over where possible.
        group: groups of the hits.
        sorted: indices of the hits, ordered by place.
    """

    order: np.ndarray
    parent: np.ndarray
    hits: np.ndarray
    contig: np.ndarray
    start: np.ndarray
    end: np.ndarray
    group: np.ndarray
    sorted: np.ndarray


class _Contigs(NamedTuple):
    """The contigs: uint8[contigs], 1 if alternate; their lifts (`quire.reference.alternate`); their names."""

    alternate: np.ndarray
    lifts: Lifts | None
    names: ContigNames


class _Span(NamedTuple):
    """The rows of a read in `Reported`: the first, the numbers of reported and of all rows; and its length in bases."""

    begin: int
    reported: int
    all: int
    length: int


class _Lifted(NamedTuple):
    """A reported row with its new quality, and the number of alignments of its contig that lift it over."""

    row: int
    quality: int
    times: int


class _Rows(NamedTuple):
    """Resulting rows: index in `Reported`, quality, tag om (-1: none), 1 if the row was added, and offsets of texts."""

    row: np.ndarray
    quality: np.ndarray
    original_quality: np.ndarray
    added: np.ndarray
    text_offsets: np.ndarray


def lift_over(reported: Reported, read_offsets: np.ndarray, reference: Reference) -> tuple[Reported, LiftedOver]:
    """Return the rows with qualities of groups and added rows, without rivals, and the results of lifting over.

    `reported` has `all_rows`; `read_offsets` is int64[n + 1], in bases; the reference has lifts.
    """
    contigs = _Contigs(reference.alternate, reference.lifts, names_of(reference))
    first, rows, made, text = _lift_over(reported, read_offsets, contigs)
    columns = {name: getattr(reported, name)[made.row] for name in ("suboptimal_score", *ROW_TYPES)}
    columns["suboptimal_score"] = np.where(made.added != 0, -1, columns["suboptimal_score"]).astype(np.int32)
    nothing = np.empty(0, np.int32)
    reported = reported._replace(
        first=first, rows=rows, quality=made.quality, all_rows=nothing, rank=nothing, **columns
    )
    return reported, LiftedOver(made.original_quality, text, made.text_offsets, made.added)


@compiled
def _lift_over(reported, read_offsets, contigs):
    """Return the first row and the number of rows of each read, the `_Rows`, and the texts of lt."""
    reads = len(reported.rows)
    bound, most = np.int64(0), np.int64(1)
    for read in range(reads):
        bound += reported.all_rows[read]
        most = max(most, np.int64(reported.all_rows[read]))
    made = _Rows(
        np.empty(bound, np.int64), np.empty(bound, np.uint8), np.full(bound, _NO_QUALITY, np.int32),
        np.zeros(bound, np.uint8), np.zeros(bound + 1, np.int64),
    )  # fmt: skip
    work = np.empty((8, most), np.int64)
    one = _Read(work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7])
    first, rows = np.empty(reads, np.int64), np.zeros(reads, np.int32)
    text = np.empty(1024, np.uint8)
    used = np.int64(0)
    for read in range(reads):
        first[read] = used
        span = _Span(
            reported.first[read], np.int64(reported.rows[read]), np.int64(reported.all_rows[read]),
            read_offsets[read + 1] - read_offsets[read],
        )  # fmt: skip
        if span.reported > 0 and _touches_alternate(reported.contig, span, contigs.alternate):
            used, text = _lift_read(reported, span, contigs, one, made, used, text)
        else:
            for row in range(span.begin, span.begin + span.reported):
                used = _put_row(made, used, row, reported.quality[row], 0)
                made.text_offsets[used] = made.text_offsets[used - 1]
        rows[read] = used - first[read]
    made = _Rows(
        made.row[:used], made.quality[:used], made.original_quality[:used], made.added[:used],
        made.text_offsets[: used + 1],
    )  # fmt: skip
    return first, rows, made, text[: made.text_offsets[used]]


@inlined
def _touches_alternate(contig, span, alternate):
    found = False
    for row in range(span.begin, span.begin + span.all):
        found |= alternate[contig[row]] != 0
    return found


@inlined
def _put_row(made, used, row, quality, added):
    made.row[used], made.quality[used], made.added[used] = row, quality, added
    return used + 1


@compiled
def _lift_read(reported, span, contigs, one, made, used, text):
    """Write the rows of a read that has a hit on an alternate contig; return their end and the texts."""
    alternate, lifts, names = contigs.alternate, contigs.lifts, contigs.names
    begin = span.begin
    _find_parents(reported, span, alternate, one)
    first_made = used
    for number in range(span.reported):
        row = begin + number
        contig = reported.contig[row]
        on_alternate = alternate[contig] != 0
        quality, original_quality = np.int64(reported.quality[row]), np.int64(_NO_QUALITY)
        is_whole = on_alternate or number == 0 or reported.read_end[row] - reported.read_begin[row] == span.length
        hits = _find_rivals(reported, span, number, alternate, one)
        touches = on_alternate
        for i in range(1, hits):
            touches |= alternate[reported.contig[begin + one.hits[i]]] != 0
        if not is_whole or not touches:
            used = _put_row(made, used, row, quality, 0)
            made.text_offsets[used] = made.text_offsets[used - 1]
            continue
        times_lifted = _place_hits(reported, begin, hits, lifts, one)
        in_group = _group_hits(one, hits)
        has_lifts = lifts.offsets[contig + 1] > lifts.offsets[contig]
        if in_group > 1:
            original_quality = quality
            found = _quality_of_groups(reported.score, begin, one, hits)
            quality = max(found, quality) if has_lifts else min(found, quality)
        if times_lifted <= 1:
            for before in range(first_made, used):
                if not made.added[before]:
                    _change_quality(reported, made, before, _Lifted(row, quality, times_lifted), span, contigs)
        used = _put_row(made, used, row, quality, 0)
        made.original_quality[used - 1] = original_quality
        made.text_offsets[used], text = write_lifts(reported, row, lifts, names, text, made.text_offsets[used - 1])
        for i in range(hits):
            hit = one.sorted[i]
            other = begin + one.hits[hit]
            there = reported.contig[other]
            if hit > 0 and one.group[hit] == one.group[0] and lifts.offsets[there + 1] > lifts.offsets[there]:
                used = _put_row(made, used, other, quality, 1)
                end, text = write_lifts(reported, other, lifts, names, text, made.text_offsets[used - 1])
                made.text_offsets[used] = end
    return used, text


@compiled
def _find_parents(reported, span, alternate, one):
    """Let all rows of a read compete, by score, then by rank."""
    score, rank, begin = reported.score, reported.rank, span.begin
    for number in range(span.all):
        row = begin + number
        place = number
        while place > 0:
            other = begin + one.order[place - 1]
            if score[other] > score[row] or (score[other] == score[row] and rank[other] < rank[row]):
                break
            one.order[place] = one.order[place - 1]
            place -= 1
        one.order[place] = number
    for place in range(span.all):
        number = one.order[place]
        one.parent[number] = -1
        for before in range(place):
            other = one.order[before]
            if one.parent[other] < 0 and overlaps(reported, begin + number, begin + other, span.length):
                one.parent[number] = other
                break
    first = one.parent[0]
    if first >= 0 and not alternate[reported.contig[begin + first]]:  # the mate determined the primary one
        for number in range(span.all):
            if number == first or one.parent[number] == first:
                one.parent[number] = 0
        one.parent[0] = -1


@inlined
def _find_rivals(reported, span, number, alternate, one):
    """Write the index of a reported row and those of its rivals to `one.hits`; return their number."""
    begin = span.begin
    least = RIVAL_NUMERATOR * np.int64(reported.score[begin + number])
    one.hits[0] = number
    hits, touches = 1, False
    for place in range(span.all):
        other = one.order[place]
        if one.parent[other] == number and RIVAL_DENOMINATOR * np.int64(reported.score[begin + other]) > least:
            one.hits[hits] = other
            hits += 1
            touches |= alternate[reported.contig[begin + other]] != 0
    return hits if touches or hits <= MOST_RIVALS_ON_PRIMARY + 1 else 1


@inlined
def _place_hits(reported, begin, hits, lifts, one):
    """Write the place of each hit from the first lift that has one; return the number of lifts of the first hit."""
    times_lifted = 0
    for i in range(hits):
        row = begin + one.hits[i]
        one.contig[i], one.start[i] = reported.contig[row], reported.position[row]
        one.end[i] = one.start[i] + reported.axis_end[row] - reported.axis_begin[row]
        start, end = one.start[i], one.end[i]
        low, high = lifts_of(lifts, reported.contig[row])
        is_lifted = False
        for lift in range(low, high):
            lifted, lifted_start, lifted_end = place_of(lifts, lift, start, end)
            if lifted:
                if not is_lifted:
                    one.contig[i], one.start[i], one.end[i] = lifts.contig[lift], lifted_start, lifted_end
                is_lifted = True
                if i == 0:
                    times_lifted += 1
    return times_lifted


@inlined
def _group_hits(one, hits):
    """Assign the hits to groups of overlapping places; return the number of hits in the first hit's group."""
    for i in range(hits):
        place = i
        while place > 0:
            other = one.sorted[place - 1]
            if one.contig[other] < one.contig[i] or (
                one.contig[other] == one.contig[i] and one.start[other] <= one.start[i]
            ):
                break
            one.sorted[place] = other
            place -= 1
        one.sorted[place] = i
    group, end = np.int64(-1), np.int64(0)
    for place in range(hits):
        i = one.sorted[place]
        if place == 0 or one.contig[i] != one.contig[one.sorted[place - 1]]:
            group += 1
            end = np.int64(0)
        elif one.start[i] >= end:
            group += 1
        one.group[i] = group
        end = max(end, one.end[i])
    in_group = 0
    for i in range(hits):
        in_group += one.group[i] == one.group[0]
    return in_group


@inlined
def _quality_of_groups(score, begin, one, hits):
    """Return the quality of the first hit's group, from its best score and the best score of the others."""
    own, best_of_others, is_first = np.int64(-1), np.int64(-1), True
    for i in range(hits):
        if one.group[i] == one.group[0]:
            own = max(own, np.int64(score[begin + one.hits[i]]))
        else:
            best_of_others = max(best_of_others, np.int64(score[begin + one.hits[i]]))
    for i in range(hits):  # the first of groups with equal scores is the best
        if score[begin + one.hits[i]] == own and one.group[i] < one.group[0]:
            is_first = False
    if best_of_others < 0:
        return np.int64(MOST_QUALITY)
    if best_of_others > own or not is_first:
        return np.int64(0)
    return min(QUALITY_OF_GROUPS * (own - best_of_others), np.int64(MOST_QUALITY))


@inlined
def _change_quality(reported, made, before, later, span, contigs):
    """Change the quality of a row that precedes a row (`_Lifted`) that was lifted over at most once."""
    other, row, lifts, alternate = made.row[before], later.row, contigs.lifts, contigs.alternate
    is_there = False
    if later.times == 1:
        # bwa-postalt uses the span of the lifted row for the other one as well.
        size = reported.axis_end[row] - reported.axis_begin[row]
        low, high = lifts_of(lifts, reported.contig[row])
        for lift in range(low, high):
            lifted, start, end = place_of(lifts, lift, reported.position[row], reported.position[row] + size)
            is_there |= (
                lifted
                and lifts.contig[lift] == reported.contig[other]
                and (reported.strand[row] != lifts.reverse[lift]) == (reported.strand[other] != 0)
                and reported.position[other] < end
                and start < reported.position[other] + size
            )
    if is_there:
        known = made.original_quality[before] if made.original_quality[before] > 0 else made.quality[before]
        made.quality[before] = min(np.int64(known), later.quality)
        return
    if alternate[reported.contig[other]] != 0:
        return
    for better in range(span.begin, span.begin + span.reported):
        beats = alternate[reported.contig[better]] != 0 and reported.score[better] > reported.score[other]
        if beats and overlaps(reported, other, better, span.length):
            if made.original_quality[before] < 0:
                made.original_quality[before] = made.quality[before]
            made.quality[before] = 0
            return
