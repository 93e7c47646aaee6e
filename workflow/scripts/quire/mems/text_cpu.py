"""MUMmer's text: a line `> name` for each query and strand, and a line for each match, with numbers 8 columns wide.

A match's line has its start in the reference, its start in the query and its length; positions count from 1. If the
reference has several sequences, its name comes first, padded with blanks to the longest name. Headers of
reverse complements end with ` Reverse`, and their matches have positions on the reverse complement.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quire.algorithms.mems import Matches
from quire.mems.queries_cpu import QueryBatch
from quire.ragged import pack_bytes
from quire.reference import Reference
from quire.simd.bits import copy_items, store_bytes
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import interval_of

REVERSE = np.frombuffer(b" Reverse", np.uint8)
_BLANKS = np.uint64(0x2020202020202020)
_WIDTH = 8  # columns of a number, unless it has more digits
_MOST_NUMBER = 21  # most bytes of a number and the blanks after it


class Contigs(NamedTuple):
    """The contigs of a reference, for positions and names in the text.

    Attributes:
        island_axis: int64[islands + 1], as in `Reference`.
        to_contig: int64[islands], to be added to an axis position to give the position on the contig, from 1.
        island_contig: int32[islands], the contig of each island.
        columns: uint8[], flat, the text before the positions of each contig.
        column_offsets: int64[contigs + 1], where the text of each contig begins in `columns`.
    """

    island_axis: np.ndarray
    to_contig: np.ndarray
    island_contig: np.ndarray
    columns: np.ndarray
    column_offsets: np.ndarray


class Strand(NamedTuple):
    """All matches of a strand by query; `wanted` is False if the strand is not searched."""

    wanted: bool
    matches: Matches


def contigs_of(reference: Reference) -> Contigs:
    """Return the contigs of a reference."""
    names = reference.contig_names
    longest = max(map(len, names))
    columns = [b""] if len(names) == 1 else [f"  {name:<{longest}}  ".encode() for name in names]
    to_contig = reference.island_start - reference.island_axis[:-1] + 1
    return Contigs(reference.island_axis, to_contig, reference.island_contig, *pack_bytes(columns))


def text_of_matches(matches: Matches, first_base: int, contigs: Contigs) -> np.ndarray:
    """Return the lines (uint8[]) of matches of one query that begins at `first_base` of the flat codes."""
    out = np.empty(_room(len(matches.start), contigs), np.uint8)
    used = _write_matches(matches, 0, len(matches.start), first_base, contigs, out, 0)
    return out[:used]


def text_of_queries(
    batch: QueryBatch, first: int, last: int, strands: Sequence[Matches | None], contigs: Contigs
) -> tuple[np.ndarray, int]:
    """Return the text (uint8[]) of queries [first, last) of a batch, and how many of them have matches.

    `strands` are all matches, by query, of the queries as given and of their reverse complements; None for a strand
    that is not searched.
    """
    none = Matches(*(np.empty(0, np.int64) for _ in range(3)))
    forward, reverse = (Strand(matches is not None, none if matches is None else matches) for matches in strands)
    letters = int(batch.name_offsets[last] - batch.name_offsets[first])
    count = len(forward.matches.start) + len(reverse.matches.start)
    out = np.empty(_room(count, contigs) + 2 * letters + (last - first) * (6 + len(REVERSE)), np.uint8)
    used, matched = _write_queries(batch, first, last, (forward, reverse), contigs, out)
    return out[:used], matched


def header(name: bytes, reverse: bool) -> np.ndarray:
    """Return the line (uint8[]) before the matches of a query."""
    return np.frombuffer(b"> " + name + (REVERSE.tobytes() if reverse else b"") + b"\n", np.uint8)


def _room(matches: int, contigs: Contigs) -> int:
    """Return the most bytes that the lines of matches take, plus those that a kernel may write after them."""
    return matches * (int(np.diff(contigs.column_offsets).max()) + 3 * _MOST_NUMBER + 1) + 32


@inlined
def _write_number(out, used, number):
    """Write a number in _WIDTH columns, or more if it has more digits; return its end."""
    digits = 1
    rest = number
    while rest >= 10:
        rest //= 10
        digits += 1
    store_bytes(out, used, _BLANKS)
    used += max(digits, _WIDTH)
    place = used
    rest = number
    for _ in range(digits):
        place -= 1
        following = rest // 10
        out[place] = np.uint8(48 + rest - 10 * following)
        rest = following
    return used


@inlined
def _blanks(out, used):
    out[used] = out[used + 1] = np.uint8(32)
    return used + 2


@compiled
def _write_matches(matches, first, last, first_base, contigs, out, used):
    """Write the lines of matches [first, last) of a query that begins at `first_base`; return their end."""
    start, axis, length = matches
    for item in range(first, last):
        place = axis[item]
        island = interval_of(contigs.island_axis, place)
        contig = contigs.island_contig[island]
        for letter in range(contigs.column_offsets[contig], contigs.column_offsets[contig + 1]):
            out[used] = contigs.columns[letter]
            used += 1
        used = _blanks(out, _write_number(out, used, place + contigs.to_contig[island]))
        used = _blanks(out, _write_number(out, used, start[item] - first_base + 1))
        used = _write_number(out, used, length[item])
        out[used] = np.uint8(10)
        used += 1
    return used


@compiled
def _write_header(batch, query, reverse, out, used):
    out[used], out[used + 1] = np.uint8(62), np.uint8(32)
    used = copy_items(out, used + 2, batch.names, batch.name_offsets[query], batch.name_offsets[query + 1])
    if reverse:
        used = copy_items(out, used, REVERSE, 0, len(REVERSE))
    out[used] = np.uint8(10)
    return used + 1


@compiled
def _write_queries(batch, first, last, strands, contigs, out):
    """Write queries [first, last) of a batch; return the bytes and the number of queries with matches."""
    batch, strands, contigs, out = borrowed(batch), borrowed(strands), borrowed(contigs), borrowed(out)
    offsets, items = batch.queries.offsets, np.zeros(2, np.int64)
    used, matched = 0, 0
    for query in range(first, last):
        has_matches = False
        for number in range(2):
            strand = strands[number]
            if not strand.wanted:
                continue
            used = _write_header(batch, query, number == 1, out, used)
            item, stop, starts = items[number], items[number], strand.matches.start
            while stop < len(starts) and starts[stop] < offsets[query + 1]:
                stop += 1
            used = _write_matches(strand.matches, item, stop, offsets[query], contigs, out, used)
            has_matches |= stop > item
            items[number] = stop
        matched += has_matches
    return used, matched
