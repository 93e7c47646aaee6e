"""The engines that find matches for the stage: threads of the CPU, or a card."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from quire.algorithms.mems import Cursor, Matches, Queries, WantedMatches, cpu
from quire.index import PageIndex
from quire.mems.queries import turned
from quire.mems.runs import reference_text
from quire.reference import Reference

Prepared = TypeVar("Prepared")


class MemsEngine(Protocol[Prepared]):
    """An engine that finds matches; both methods may be called from several threads."""

    @property
    def bases_per_task(self) -> int:
        """The bases of queries of one task."""

    def prepare(self, queries: Queries, reverse: bool) -> Prepared:
        """Return queries, or their reverse complements, in the form that `find` takes."""

    def find(
        self, queries: Prepared, wanted: WantedMatches, begin: Cursor, end: int, limit: int
    ) -> tuple[Matches, Cursor]:
        """Return the first matches from a cursor on, in arrays of the host (`quire.algorithms.mems`)."""


class MemsCpuEngine:
    """A `MemsEngine` that finds matches in the calling threads."""

    bases_per_task = 1 << 18

    def __init__(self, reference: Reference, pages: Sequence[PageIndex]) -> None:
        self._axis = cpu.prepare_axis(pages, reference_text(reference))

    def prepare(self, queries: Queries, reverse: bool) -> cpu.PackedQueries:
        """See `MemsEngine`."""
        return cpu.prepare_queries(turned(queries) if reverse else queries)

    def find(
        self, queries: cpu.PackedQueries, wanted: WantedMatches, begin: Cursor, end: int, limit: int
    ) -> tuple[Matches, Cursor]:
        """See `MemsEngine`."""
        return cpu.find(self._axis, queries, wanted, begin, end, limit)
