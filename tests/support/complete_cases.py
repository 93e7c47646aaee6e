"""Axes and reads for the tests of complete search, and the oracle's answers."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import numpy as np
from quire.algorithms.complete import Axis, Ends, pieces
from quire.algorithms.complete.windows.gpu import upload_axis
from quire.device.card import Card
from quire.ragged import offsets_from_lengths
from quire.sequence.packing import stand_in_codes, unpack

from tests.oracles import complete as oracle
from tests.support.card_builders import Host, card_reads, pack, reverse_complement
from tests.support.index_builders import cut_pages


@contextmanager
def cut_into(count: int | None) -> Iterator[None]:
    """Let searches in this block cut reads into `count` pieces; None leaves the cut of least estimated cost."""
    if count is None:
        yield
        return
    with patch.object(pieces, "pieces_of", lambda length, differences, _: pieces.cut(length, differences, count)):
        yield


def make_axis(islands: Sequence[Sequence[int]]) -> Axis:
    """Return the axis of islands (codes 0..3, and 4 for ambiguous bases, which stand-ins replace in the text)."""
    codes = np.concatenate([np.asarray(island, np.uint8) for island in islands])
    unknown = np.flatnonzero(codes > 3)
    standing = codes.copy()
    standing[unknown] = stand_in_codes(unknown)
    text = pack(standing)
    spans = np.array([[place, place + 1] for place in unknown], np.int64).reshape(-1, 2)
    spans.flags.writeable = False  # as in mapped files; writable ones would compile again
    return Axis(text, spans, offsets_from_lengths([len(island) for island in islands]))


def expected_ends(islands: Sequence[Sequence[int]], reads: Sequence[Sequence[int]], max_differences: int) -> Ends:
    """Return the oracle's ends of all reads."""
    rows = []
    for number, hits in enumerate(expected(islands, reads, max_differences)):
        rows += [(number, *end) for end in hits[0]]
    columns = zip(*rows, strict=True) if rows else [()] * 4
    return Ends(*(np.array(c, t) for c, t in zip(columns, (np.int64, np.uint8, np.int64, np.uint8), strict=True)))


def expected(
    islands: Sequence[Sequence[int]], reads: Sequence[Sequence[int]], max_differences: int
) -> list[tuple[list[oracle.End], list[oracle.Hit]]]:
    """Return the oracle's ends and hits of each read."""
    text = tuple(bytes(island) for island in islands)
    found = (_expected(text, bytes(read), max_differences) for read in reads)
    return [(list(ends), list(hits)) for ends, hits in found]


@cache  # every schedule of the emulated card requests the same
def _expected(
    islands: tuple[bytes, ...], read: bytes, max_differences: int
) -> tuple[tuple[oracle.End, ...], tuple[oracle.Hit, ...]]:
    axis = np.concatenate([np.frombuffer(island, np.uint8) for island in islands])
    starts = offsets_from_lengths([len(island) for island in islands]).tolist()
    codes = np.array([list(read), reverse_complement(list(read))], np.uint8)
    ends, hits = oracle.find(axis, starts, codes, max_differences)
    return tuple(ends), tuple(hits)


def join(parts: Iterable[Ends]) -> Ends:
    """Join parts, in order."""
    nothing = Ends(*(np.empty(0, dtype) for dtype in (np.int64, np.uint8, np.int64, np.uint8)))
    return Ends(*map(np.concatenate, zip(nothing, *parts, strict=True)))


def draw_islands(rng: np.random.Generator) -> list[list[int]]:
    """Draw one to three islands: random letters, copies of a unit with differences, runs of one letter, a few Ns."""
    islands = []
    for _ in range(int(rng.integers(1, 4))):
        letters = int(rng.integers(1, 5))  # few letters make repeats
        unit = rng.integers(0, letters, int(rng.integers(1, 40)))
        parts = [rng.integers(0, 4, int(rng.integers(0, 60)))]
        for _ in range(int(rng.integers(1, 5))):
            parts += [edit(rng, unit, int(rng.integers(0, 4))), rng.integers(0, 4, int(rng.integers(0, 9)))]
        island = np.concatenate([*parts, np.zeros(int(rng.integers(0, 30)), np.int64), rng.integers(0, 4, 5)])
        if rng.random() < 0.3:
            island[rng.integers(0, len(island), 2)] = 4
        islands.append(island.tolist())
    return islands


def draw_reads(
    rng: np.random.Generator, islands: Sequence[Sequence[int]], lengths: Iterable[int], max_differences: int
) -> list[list[int]]:
    """Draw reads of these lengths from either strand of the axis, with up to k + 1 differences and some Ns."""
    axis = np.concatenate([np.asarray(island, np.int64) for island in islands])
    reads = []
    for length in lengths:
        start = int(rng.integers(0, max(len(axis) - length, 0) + 1))
        read = edit(rng, np.minimum(axis[start : start + length], 3), int(rng.integers(0, max_differences + 2)))
        read = np.concatenate([read, rng.integers(0, 4, max(length - len(read), 0))])[:length]
        if rng.random() < 0.2:
            read[rng.integers(0, length)] = 4
        reads.append(reverse_complement(read) if rng.random() < 0.5 else read.tolist())
    return reads


def edit(rng: np.random.Generator, codes: np.ndarray, differences: int) -> np.ndarray:
    """Return a copy with random substitutions, insertions and deletions."""
    edited = [int(code) for code in codes]
    for _ in range(differences):
        place = int(rng.integers(0, len(edited) + 1))
        kept = place + int(rng.integers(0, 2))
        edited[place:kept] = rng.integers(0, 4, int(rng.integers(0, 2))).tolist()
    return np.array(edited, np.int64)


def rows_of(parts: Iterable[Ends]) -> list[tuple[int, int, int, int]]:
    """Return ends as (read, strand, end, distance)."""
    return [row for part in parts for row in zip(*(array.tolist() for array in part), strict=True)]


def card_case(
    card: Card | Host, islands: Sequence[Sequence[int]], reads, page_count: int = 1, overlap: int = 64, **parameters
):
    """Return pages, reads and axis on a card; `parameters` are those of `build_index`."""
    axis = make_axis(islands)
    length = int(axis.islands[-1])
    owned = np.diff([length * number // page_count for number in range(page_count + 1)]).tolist()
    pages = cut_pages(card, unpack(axis.text, 0, length), owned, overlap, **parameters)
    return pages, card_reads(card, reads), axis if isinstance(card, Host) else upload_axis(card, axis)
