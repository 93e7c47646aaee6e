"""The table of duplicates: one line a library of a sample."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quire.io.files import atomic_path

COLUMNS = ("library", "reads", "mapped", "duplicates", "percent")
OPTICAL_COLUMN = "optical_duplicates"


@dataclass(frozen=True)
class LibraryCounts:
    """Reads of a library, without secondary and supplementary records.

    Attributes:
        library: name of the library.
        reads: all reads; mapped: those with a place; duplicates: those marked.
        optical: reads of pairs among the duplicates that are optical ones; 0 where none are looked for.
        unreadable: those whose names do not say where they were read.
    """

    library: str
    reads: int
    mapped: int
    duplicates: int
    optical: int
    unreadable: int

    @property
    def percent(self) -> float:
        """Duplicates among mapped reads, in percent; 0 where none is mapped."""
        return 100 * self.duplicates / self.mapped if self.mapped else 0.0


def write_duplicates_table(path: str | Path, libraries: Iterable[LibraryCounts], optical: bool) -> None:
    """Write the table (tab-separated, with a line of column names); it appears whole or not at all.

    Args:
        path: of the table.
        libraries: its rows.
        optical: whether optical duplicates were looked for and have a column.
    """
    rows: list[tuple[object, ...]] = [(*COLUMNS, OPTICAL_COLUMN)]
    rows += [(c.library, c.reads, c.mapped, c.duplicates, f"{c.percent:.4f}", c.optical) for c in libraries]
    with atomic_path(path) as temporary:
        temporary.write_text("".join("\t".join(map(str, row if optical else row[:-1])) + "\n" for row in rows))
