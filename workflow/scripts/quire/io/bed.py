"""Reading of BED files: intervals on the contigs of a reference, with checks of every line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from quire.errors import InputError
from quire.io.files import open_input, read_errors

Interval = tuple[str, int, int]
"""Contig, start and end: 0-based, half-open."""

_NO_INTERVAL = re.compile(r"#|(track|browser)(\s|$)")
_KEY = re.compile(r",\w+=")
_BYTE_ORDER_MARK = "\ufeff"


def require_names(names: Iterable[str]) -> None:
    """Raise InputError for contig names that BED or VCF would take for a comment, a heading, or further values."""
    for name in names:
        if _NO_INTERVAL.match(name) or _KEY.search(name):
            raise InputError(
                f"contig {name}: readers of BED and VCF take a line with this name for a comment or a heading, or part "
                "of the name for another value; rename the record in the FASTA."
            )


def read_bed(path: str | Path, lengths: Mapping[str, int]) -> list[Interval]:
    """Return the intervals of a BED file, in its order and without empty ones; they may overlap.

    The file is plain or gzip, its columns are separated by tabs or blanks. `lengths` are those of the allowed contigs.

    Raises:
        InputError: a line is wrong, or no interval is left.
    """
    intervals = [interval for _, interval, _ in read_rows(path, lengths) if interval[2] > interval[1]]
    if not intervals:
        raise InputError(f"{path}: holds no intervals; add some, or leave its key in the configuration empty.")
    return intervals


def read_rows(path: str | Path, lengths: Mapping[str, int]) -> Iterator[tuple[str, Interval, list[str]]]:
    """Yield file and line, interval (may be empty) and further columns of each row; InputError for a wrong line."""
    with read_errors(path), open_input(path) as stream:
        for number, raw in enumerate(stream, 1):
            line = raw.decode(errors="replace").removeprefix(_BYTE_ORDER_MARK).strip()
            if line and not _NO_INTERVAL.match(line):
                where = f"{path}: line {number}"
                columns = [column.strip() for column in line.split("\t")] if "\t" in line else line.split()
                yield where, _parse_columns(where, line, columns, lengths), columns[3:]


def other_name(contig: str) -> str:
    """Return a contig's name with `chr` added or removed."""
    return contig[3:] if contig.startswith("chr") else f"chr{contig}"


def require_known(where: str, contig: str, lengths: Mapping[str, int]) -> None:
    """Raise InputError for a contig that the reference lacks."""
    if contig not in lengths:
        other = other_name(contig)
        hint = f"the reference calls it {other!r}" if other in lengths else "the reference has no such contig"
        raise InputError(f"{where}: unknown contig {contig!r}; {hint}.")


def _parse_columns(where: str, line: str, columns: list[str], lengths: Mapping[str, int]) -> Interval:
    """Check the columns of a line and return its interval."""
    if re.match(r"@(HD|SQ)\t", line):
        raise InputError(
            f"{where}: this is an interval list of Picard and GATK, whose positions start at 1; convert it with "
            "gatk IntervalListToBed."
        )
    if len(columns) < 3 or not columns[1].isdecimal() or not columns[2].isdecimal():
        raise InputError(f"{where}: expected contig, start and end (whole numbers) but found {line[:60]!r}.")
    contig, start, end = columns[0], int(columns[1]), int(columns[2])
    require_known(where, contig, lengths)
    if start > end:
        raise InputError(f"{where}: the start {start} is after the end {end}; correct the line.")
    if end > lengths[contig]:
        raise InputError(
            f"{where}: the end {end} is beyond contig {contig!r} ({lengths[contig]} bases); correct the line."
        )
    return contig, start, end
