"""What tasks found goes into the file, in order, and is counted."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from quire.algorithms.mems import Matches
from quire.algorithms.mems.cpu import unique_in_query
from quire.mems.tasks import (
    FEWEST_BASES,
    EndOfStrand,
    PreparedBatch,
    Result,
    Search,
    TextPiece,
    UniqueMatches,
    joined,
    piece_of_query,
)
from quire.progress import Progress

log = logging.getLogger("quire.mems")
FIRST_BASES = 1 << 14  # of the first tasks; each result lets those to come be twice as large
FORGETTING = 0.9  # what is left, with each result, of how dense matches were


@dataclass
class Counts:
    """The ledger: what went in, and what became of it.

    Attributes:
        queries, bases: read.
        queries_with_matches, queries_without: written, by whether they have a match on a strand that was asked for.
        forward, reverse: matches written.
        not_unique: with unique "both", matches that are unique in the reference and not in their query.
        bytes: written.
    """

    queries: int = 0
    bases: int = 0
    queries_with_matches: int = 0
    queries_without: int = 0
    forward: int = 0
    reverse: int = 0
    not_unique: int = 0
    bytes: int = 0

    @property
    def matches(self) -> int:
        """Written."""
        return self.forward + self.reverse

    @property
    def done(self) -> int:
        """Queries written."""
        return self.queries_with_matches + self.queries_without

    def to_json(self) -> dict[str, int]:
        """By the names of the summary."""
        return {
            "queries": self.queries,
            "bases": self.bases,
            "queries_with_matches": self.queries_with_matches,
            "queries_without_matches": self.queries_without,
            "matches": self.matches,
            "matches_forward": self.forward,
            "matches_reverse": self.reverse,
            "not_unique_in_query": self.not_unique,
            "bytes": self.bytes,
        }


class Writer:
    """Takes the results of tasks in order.

    Attributes:
        counts: the ledger.
    """

    def __init__(self, file: BinaryIO, search: Search, share_done: Callable[[], float | None] = lambda: None) -> None:
        """Begin; `file` is open for writing, and `share_done` is the share of the queries that were read, if known."""
        self.counts = Counts()
        self._file, self._search = file, search
        self._candidates: list[Matches] = []
        self._matches_of_query = 0  # of one whose parts are being written
        self._densest = 0.0  # matches a base, of what was searched lately
        self._most_bases = FIRST_BASES  # of a task; tasks are made before it is known how many matches the first have
        self._progress, self._share_done = Progress(log), share_done

    @property
    def bases_per_task(self) -> int:
        """Bases of queries that give a task about half of the matches that it may hold, or what the engine likes."""
        bases = int(self._search.most_matches / 2 / max(self._densest, 1e-9))
        return min(max(bases, FEWEST_BASES), self._most_bases, self._search.engine.bases_per_task)

    def read(self, prepared: PreparedBatch) -> None:
        """Count what is about to be searched."""
        self.counts.queries += len(prepared.batch)
        self.counts.bases += len(prepared.batch.queries.codes)

    def write(self, result: Result) -> None:
        """Take the next result.

        Raises:
            OSError: the file cannot be written.
        """
        if isinstance(result, TextPiece):
            self._write_piece(result)
        elif isinstance(result, UniqueMatches):
            self._candidates.append(result.matches)
        elif isinstance(result, EndOfStrand):
            self._end_strand(result)
        else:
            self._end_queries(1, int(self._matches_of_query > 0))
            self._matches_of_query = 0

    def _write_piece(self, piece: TextPiece) -> None:
        self._file.write(piece.text.data)
        counts = self.counts
        counts.bytes += len(piece.text)
        counts.forward += piece.forward
        counts.reverse += piece.reverse
        counts.not_unique += piece.dropped
        if piece.queries:
            self._end_queries(piece.queries, piece.matched)
        else:
            self._matches_of_query += piece.forward + piece.reverse
        if piece.bases:
            density = (piece.forward + piece.reverse) / max(piece.bases, FEWEST_BASES)
            self._densest = max(density, FORGETTING * self._densest)
            self._most_bases = min(2 * self._most_bases, self._search.engine.bases_per_task)
        self._progress.tell(
            lambda: f"{counts.matches} matches, {counts.done} of {counts.queries} queries that were read",
            self._share_done,
        )

    def _end_queries(self, queries: int, matched: int) -> None:
        self.counts.queries_with_matches += matched
        self.counts.queries_without += queries - matched

    def _end_strand(self, end: EndOfStrand) -> None:
        """Write those of the candidates of a query that are unique in it, so many at a time as a task holds."""
        candidates = joined(self._candidates)
        self._candidates = []
        unique = unique_in_query(candidates, end.offsets)
        self.counts.not_unique += len(candidates.start) - len(unique.start)
        for first in range(0, len(unique.start), self._search.most_matches):
            part = Matches(*(array[first : first + self._search.most_matches] for array in unique))
            self._write_piece(piece_of_query(part, end.reverse, int(end.offsets[0]), self._search.contigs))
