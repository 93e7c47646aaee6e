"""Writing and counting of the text of tasks."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from quire.mems.tasks import FEWEST_BASES, PreparedBatch, Search, TextPiece
from quire.progress import Progress

log = logging.getLogger("quire.mems")
FIRST_BASES = 1 << 14  # most bases of the first tasks; each result doubles the limit for later tasks
FORGETTING = 0.9  # decay, with each result, of the highest density of matches seen


@dataclass
class Counts:
    """The ledger of a search.

    Attributes:
        queries, bases: numbers read.
        queries_with_matches, queries_without: queries written, with and without a match on the strands searched.
        forward, reverse: matches written.
        not_unique: with unique "both", matches left out since they are unique in the reference but not in their query.
        bytes: bytes written.
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
        """Number of matches written."""
        return self.forward + self.reverse

    @property
    def done(self) -> int:
        """Number of queries written."""
        return self.queries_with_matches + self.queries_without

    def to_json(self) -> dict[str, int]:
        """Return the counts by their names in the summary."""
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
        """Write the next piece.

        Raises:
            OSError: the file cannot be written.
        """
        self._file.write(piece.text.data)
        counts = self.counts
        counts.bytes += len(piece.text)
        counts.forward += piece.forward
        counts.reverse += piece.reverse
        counts.not_unique += piece.dropped
        if piece.queries:
            matched = piece.matched + (self._matches_of_query > 0)
            counts.queries_with_matches += matched
            counts.queries_without += piece.queries - matched
            self._matches_of_query = 0
        else:
            self._matches_of_query += piece.forward + piece.reverse
        if piece.bases:
            density = (piece.forward + piece.reverse) / max(piece.bases, FEWEST_BASES)
            self._densest = max(density, FORGETTING * self._densest)
            self._most_bases = min(2 * self._most_bases, self._search.engine.bases_per_task)
        self._progress.tell(
            lambda: f"{counts.matches} matches, {counts.done} of {counts.queries} queries read",
            self._share_done,
        )
