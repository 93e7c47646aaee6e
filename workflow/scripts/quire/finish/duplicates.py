"""Table of duplicates, with one line per library of a sample."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quire.io.files import atomic_path

COLUMNS = ("library", "reads", "mapped", "duplicates", "percent")
OPTICAL_COLUMN = "optical_duplicates"


@dataclass(frozen=True)
class LibraryCounts:
    """Read counts of a library, without secondary and supplementary records.

    Attributes:
        library: name of the library.
        reads: all reads.
        mapped: mapped reads.
        duplicates: reads marked as duplicates.
        optical: reads of optical duplicate pairs; 0 if optical duplicates are not searched for.
        unreadable: duplicates whose names have no tile and coordinates.
    """

    library: str
    reads: int
    mapped: int
    duplicates: int
    optical: int
    unreadable: int

    @property
    def percent(self) -> float:
        """Percentage of mapped reads that are duplicates; 0 without mapped reads."""
        return 100 * self.duplicates / self.mapped if self.mapped else 0.0


def write_duplicates_table(path: str | Path, libraries: Iterable[LibraryCounts], optical: bool) -> None:
    """Write the tab-separated table with a header line, atomically.

    Args:
        path: path of the table.
        libraries: its rows.
        optical: True if optical duplicates were searched for; adds their column.
    """
    rows: list[tuple[object, ...]] = [(*COLUMNS, OPTICAL_COLUMN)]
    rows += [(c.library, c.reads, c.mapped, c.duplicates, f"{c.percent:.4f}", c.optical) for c in libraries]
    with atomic_path(path) as temporary:
        temporary.write_text("".join("\t".join(map(str, row if optical else row[:-1])) + "\n" for row in rows))
