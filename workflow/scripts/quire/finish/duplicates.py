"""The table of duplicates: one line a library of a sample."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quire.io.files import atomic_path

COLUMNS = ("library", "reads", "mapped", "duplicates", "percent")


@dataclass(frozen=True)
class LibraryCounts:
    """Reads of a library, without secondary and supplementary records.

    Attributes:
        library: name of the library.
        reads: all reads; mapped: those with a place; duplicates: those marked.
    """

    library: str
    reads: int
    mapped: int
    duplicates: int

    @property
    def percent(self) -> float:
        """Duplicates among mapped reads, in percent; 0 where none is mapped."""
        return 100 * self.duplicates / self.mapped if self.mapped else 0.0


def write_duplicates_table(path: str | Path, libraries: Iterable[LibraryCounts]) -> None:
    """Write the table (tab-separated, with a line of column names); it appears whole or not at all."""
    rows = ["\t".join(COLUMNS)]
    rows += [f"{c.library}\t{c.reads}\t{c.mapped}\t{c.duplicates}\t{c.percent:.4f}" for c in libraries]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(rows) + "\n")
