"""Units of work for threads, the text of some queries or of a stretch of a long query, and its writer.

A task yields its results in pieces, which limits the matches in memory: a thread makes the first piece, and the others
are made when it is their turn to be written.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import numpy as np

from quire.algorithms.mems import Cursor, Matches, WantedMatches
from quire.algorithms.mems.cpu import unique_in_query
from quire.mems.engines import Engine, Prepared
from quire.mems.queries_cpu import QueryBatch
from quire.mems.text_cpu import Contigs, header, text_of_matches, text_of_queries
from quire.progress import Progress

log = logging.getLogger("quire.mems")
MOST_MATCHES = 1 << 20  # matches in a piece of a task
FEWEST_BASES = 1 << 10  # bases of a task
FIRST_BASES = 1 << 14  # most bases of the first tasks; each result doubles the limit for later tasks
FORGETTING = 0.9  # decay, with each result, of the highest density of matches seen
_NO_TEXT = np.empty(0, np.uint8)


class TextPiece(NamedTuple):
    """Text for the output file, of whole queries or of a part of one.

    Attributes:
        text: uint8[], the text.
        forward, reverse: the numbers of matches in it.
        queries: queries that end in it; 0 for a part of a query.
        matched: queries, all of whose text is in it, that have matches.
        dropped: matches that were left out, since they are unique in the reference but not in their query.
        bases: bases of queries that were searched for it; 0 if unknown.
    """

    text: np.ndarray
    forward: int = 0
    reverse: int = 0
    queries: int = 0
    matched: int = 0
    dropped: int = 0
    bases: int = 0


class Search(NamedTuple):
    """The engine and the settings of a search.

    Attributes:
        min_length, unique: of the settings.
        strands: True to search queries as given; True to search their reverse complements.
        most_matches: largest number of matches in a piece of a task; does not affect the answer.
    """

    engine: Engine
    contigs: Contigs
    min_length: int
    unique: str
    strands: tuple[bool, bool]
    most_matches: int

    def find(self, strand: Prepared, begin: Cursor, end: int, limit: int) -> tuple[Matches, Cursor]:
        """Return the next matches of a strand, at most `limit`, and where to continue."""
        return self.engine.find(strand, WantedMatches(self.min_length, self.unique != "none"), begin, end, limit)


class PreparedBatch(NamedTuple):
    """A batch, and its strands as the engine prepared them (None for a strand that is not searched)."""

    batch: QueryBatch
    strands: tuple[Prepared | None, Prepared | None]

    def name(self, query: int) -> bytes:
        """Return the name of a query."""
        return self.batch.names[self.batch.name_offsets[query] : self.batch.name_offsets[query + 1]].tobytes()


def prepare(batch: QueryBatch, search: Search) -> PreparedBatch:
    """Prepare a batch for tasks."""
    forward, reverse = (
        search.engine.prepare(batch.queries, reverse) if wanted else None
        for reverse, wanted in zip((False, True), search.strands, strict=True)
    )
    return PreparedBatch(batch, (forward, reverse))


def tasks_of_batch(
    prepared: PreparedBatch, bases_per_task: Callable[[], int], search: Search
) -> Iterator[Iterator[TextPiece]]:
    """Yield the tasks of a batch in the order of their output, each of about `bases_per_task()` bases.

    A task searches nothing before its first piece is requested.
    """
    offsets = prepared.batch.queries.offsets
    first = 0
    while first < len(prepared.batch):
        bases = bases_per_task()
        last = max(int(np.searchsorted(offsets, offsets[first] + bases, side="right")) - 1, first + 1)
        if offsets[last] - offsets[first] <= bases:
            yield _of_queries(prepared, first, last, search)
        else:
            yield from _tasks_of_query(prepared, first, bases_per_task, search)
        first = last


def _of_queries(prepared: PreparedBatch, first: int, last: int, search: Search) -> Iterator[TextPiece]:
    """Yield the text of queries [first, last), in halves if they have too many matches for one piece."""
    offsets = prepared.batch.queries.offsets
    strands: list[Matches | None] = []
    for strand in prepared.strands:
        matches = None if strand is None else _all_at_once(search, strand, int(offsets[first]), int(offsets[last]))
        if strand is not None and matches is None:
            break
        strands.append(matches)
    else:
        yield _whole_queries(prepared, first, last, strands, search)
        return
    del matches, strands
    if last - first == 1:
        for task in _tasks_of_query(prepared, first, lambda: int(offsets[last] - offsets[first]), search):
            yield from task
        return
    middle = (first + last) // 2
    yield from _of_queries(prepared, first, middle, search)
    yield from _of_queries(prepared, middle, last, search)


def _all_at_once(search: Search, strand: Prepared, begin: int, end: int) -> Matches | None:
    """Find all matches that start in [begin, end); None if there are too many for one piece."""
    parts = []
    room = search.most_matches
    cursor = Cursor(begin, 0)
    while cursor.start < end:
        if room == 0:
            return None
        matches, cursor = search.find(strand, cursor, end, room)
        parts.append(matches)
        room -= len(matches.start)
    return _joined(parts)


def _joined(parts: list[Matches]) -> Matches:
    """Concatenate matches."""
    if len(parts) == 1:
        return parts[0]
    return Matches(*(np.concatenate([np.empty(0, np.int64), *(part[item] for part in parts)]) for item in range(3)))


def _whole_queries(
    prepared: PreparedBatch, first: int, last: int, strands: list[Matches | None], search: Search
) -> TextPiece:
    """Return the text of queries whose matches are all known."""
    dropped = 0
    if search.unique == "both":
        for number, candidates in enumerate(strands):
            if candidates is not None:
                unique = unique_in_query(candidates, prepared.batch.queries.offsets)
                dropped += len(candidates.start) - len(unique.start)
                strands[number] = unique
    text, matched = text_of_queries(prepared.batch, first, last, strands, search.contigs)
    forward, reverse = (0 if matches is None else len(matches.start) for matches in strands)
    bases = int(prepared.batch.queries.offsets[last] - prepared.batch.queries.offsets[first])
    return TextPiece(text, forward, reverse, last - first, matched, dropped, bases)


def _tasks_of_query(
    prepared: PreparedBatch, query: int, bases_per_task: Callable[[], int], search: Search
) -> Iterator[Iterator[TextPiece]]:
    """Yield the tasks of a long query: for each strand, its header and then one task for each stretch of it."""
    first, last = (int(offset) for offset in prepared.batch.queries.offsets[query : query + 2])
    for reverse, strand in enumerate(prepared.strands):
        if strand is None:
            continue
        yield iter([TextPiece(header(prepared.name(query), bool(reverse)))])
        candidates: list[list[Matches]] = []  # of each task
        begin = first
        while begin < last:
            end = min(begin + bases_per_task(), last)
            candidates.append([])
            yield _of_stretch(strand, bool(reverse), (first, begin, end), search, candidates[-1])
            begin = end
        if search.unique == "both":
            yield _unique_matches(candidates, bool(reverse), (first, last), search)
    yield iter([TextPiece(_NO_TEXT, queries=1)])


def _of_stretch(
    strand: Prepared, reverse: bool, bounds: tuple[int, int, int], search: Search, candidates: list[Matches]
) -> Iterator[TextPiece]:
    """Yield the matches that start in [begin, end) of a query; `bounds` are the start of the query, begin and end."""
    # If matches must be unique in their query, they are appended to `candidates`, and the text is empty.
    first, begin, end = bounds
    cursor = Cursor(begin, 0)
    while cursor.start < end:
        before = cursor.start
        matches, cursor = search.find(strand, cursor, end, search.most_matches)
        if search.unique == "both":
            candidates.append(matches)
            yield TextPiece(_NO_TEXT)
        else:
            piece = _piece_of_query(matches, reverse, first, search.contigs)
            yield piece._replace(bases=cursor.start - before)


def _unique_matches(
    candidates: list[list[Matches]], reverse: bool, bounds: tuple[int, int], search: Search
) -> Iterator[TextPiece]:
    """Yield the candidates of a strand of a query that are unique in the query, when the tasks before are complete."""
    yield TextPiece(_NO_TEXT)  # the first piece may be made while other tasks still run
    every = _joined([matches for of_task in candidates for matches in of_task])
    unique = unique_in_query(every, np.array(bounds))
    yield TextPiece(_NO_TEXT, dropped=len(every.start) - len(unique.start))
    for first in range(0, len(unique.start), search.most_matches):
        part = Matches(*(array[first : first + search.most_matches] for array in unique))
        yield _piece_of_query(part, reverse, bounds[0], search.contigs)


def _piece_of_query(matches: Matches, reverse: bool, first: int, contigs: Contigs) -> TextPiece:
    """Return the text of matches of a query that begins at `first` of the flat codes."""
    count = len(matches.start)
    return TextPiece(text_of_matches(matches, first, contigs), *((0, count) if reverse else (count, 0)))


@dataclass
class Counts:
    """The ledger of a search.

    Attributes:
        queries, bases: numbers read.
        queries_with_matches, queries_without_matches: queries written, by whether the strands searched have a match.
        matches, matches_forward, matches_reverse: matches written.
        not_unique_in_query: with unique "both", matches left out since they are unique in the reference only.
        bytes: bytes written.
    """

    queries: int = 0
    bases: int = 0
    queries_with_matches: int = 0
    queries_without_matches: int = 0
    matches: int = 0
    matches_forward: int = 0
    matches_reverse: int = 0
    not_unique_in_query: int = 0
    bytes: int = 0


class Writer:
    """A writer that takes the text of tasks in order.

    Attributes:
        counts: the ledger.
    """

    def __init__(self, file: BinaryIO, search: Search, share_done: Callable[[], float | None] = lambda: None) -> None:
        """Write to an open file; `share_done` returns the share of the queries' file that was read, if known."""
        self.counts = Counts()
        self._file, self._search = file, search
        self._matches_of_query = 0  # matches of the query whose parts are being written
        self._densest = 0.0  # matches per base of recent tasks
        self._most_bases = FIRST_BASES  # limit for a task, since tasks are cut before the first results are known
        self._progress, self._share_done = Progress(log), share_done

    @property
    def bases_per_task(self) -> int:
        """Bases of a task that has about half of `most_matches`; at most the engine's `bases_per_task`."""
        bases = int(self._search.most_matches / 2 / max(self._densest, 1e-9))
        return min(max(bases, FEWEST_BASES), self._most_bases, self._search.engine.bases_per_task)

    def read(self, prepared: PreparedBatch) -> None:
        """Count a batch that is about to be searched."""
        self.counts.queries += len(prepared.batch)
        self.counts.bases += len(prepared.batch.queries.codes)

    def write(self, piece: TextPiece) -> None:
        """Write the next piece; raises an OSError if the file cannot be written."""
        self._file.write(piece.text.data)
        counts = self.counts
        counts.bytes += len(piece.text)
        counts.matches += piece.forward + piece.reverse
        counts.matches_forward += piece.forward
        counts.matches_reverse += piece.reverse
        counts.not_unique_in_query += piece.dropped
        if piece.queries:
            matched = piece.matched + (self._matches_of_query > 0)
            counts.queries_with_matches += matched
            counts.queries_without_matches += piece.queries - matched
            self._matches_of_query = 0
        else:
            self._matches_of_query += piece.forward + piece.reverse
        if piece.bases:
            density = (piece.forward + piece.reverse) / max(piece.bases, FEWEST_BASES)
            self._densest = max(density, FORGETTING * self._densest)
            self._most_bases = min(2 * self._most_bases, self._search.engine.bases_per_task)
        self._progress.tell(
            lambda: (
                f"{counts.matches} matches, {counts.queries_with_matches + counts.queries_without_matches} of "
                f"{counts.queries} queries read"
            ),
            self._share_done,
        )
