"""Tables of indel rates in short tandem repeats, by period and repeats: GATK's DragstrParams and its text file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.files import atomic_path, named_checksum

LONGEST_PERIOD = 8
MOST_REPEATS = 20
_HEAD = "# DragstrParams\n# checksum = "  # CRC-32 of the file's name and of everything after this line
_NAMES = {"GOP": "gap_open", "GCP": "gap_continuation", "API": "indel_prior"}


@dataclass(frozen=True)
class RepeatTables:
    """Phreds by period (row, from 1) and repeats (column, from 1); larger values of either use the last row or column.

    Attributes:
        gap_open: float64[8, 20], of a read opening a gap at a base.
        gap_continuation: float64[8, 20], of a gap growing by one base.
        indel_prior: float64[8, 20], of the sample having a heterozygous indel there.
        estimated: True for tables estimated from the sample's reads, False for GATK's defaults.
    """

    gap_open: NDArray[np.float64]
    gap_continuation: NDArray[np.float64]
    indel_prior: NDArray[np.float64]
    estimated: bool


def cell(period: int, repeats: int) -> tuple[int, int]:
    """Return row and column (from 0) of a repeat in the tables."""
    return min(period, LONGEST_PERIOD) - 1, min(repeats, MOST_REPEATS) - 1


def _runs(*rows: str) -> NDArray[np.float64]:
    """Return a table from rows of `value*times`."""
    cells = [[entry.split("*") for entry in row.split()] for row in rows]
    return np.array([[float(value) for value, times in row for _ in range(int(times))] for row in cells])


# DragstrParams.DEFAULT_GOP, DEFAULT_GCP (10 divided by the period, to two decimals) and DEFAULT_API.
DEFAULT = RepeatTables(
    _runs(
        "45*6 40.5*1 33.5*1 28*1 24*1 21.75*10",
        "39.5*4 36*1 30*1 27.25*1 25*1 24.25*1 24.75*1 26.25*9 26.75*1",
        "38.5*1 41*4 37.5*1 35.25*1 34.75*2 33.25*3 32.5*1 30.75*1 28.5*1 29*5",
        "37.5*1 39*2 37.75*1 34*2 30.25*9 31.75*5",
        "37*1 40*3 36*1 35*1 24.5*4 22.5*3 23.5*7",
        "36.25*1 40*19",
        "36*1 40.5*3 20.75*16",
        "36.25*1 39.75*1 32.75*18",
    ),
    np.repeat(np.floor(1000.0 / np.arange(1, LONGEST_PERIOD + 1) + 0.5)[:, None] / 100.0, MOST_REPEATS, axis=1),
    _runs(
        "39*2 37*1 35*1 32*1 26*1 20*1 16*1 12*1 10*1 8*1 7*2 6*2 5*2 4*3",
        "30*2 29*1 22*1 17*1 14*1 11*1 8*1 6*1 5*1 4*2 3*6 2*2",
        "27*2 25*1 18*1 14*1 12*1 9*1 7*1 5*1 4*1 3*4 2*6",
        "27*2 18*1 9*4 3*5 2*8",
        "29*2 18*1 8*3 4*1 3*3 2*10",
        "25*2 10*3 4*1 3*14",
        "21*2 11*2 5*16",
        "18*2 10*1 6*1 4*16",
    ),
    estimated=False,
)


def write_tables(tables: RepeatTables, sample: str, path: str | Path) -> None:
    """Write a sample's tables as the text file of GATK's CalibrateDragstrModel and HaplotypeCaller."""
    lines = [
        f"# sample = {sample}",
        f"# estimatedOrDefaults = {'estimated' if tables.estimated else 'defaults'}",
        "  ".join(f"{repeats:>5}" for repeats in range(1, MOST_REPEATS + 1)),
    ]
    for name, attribute in _NAMES.items():
        lines.append(f"{name}:")
        lines += ["  ".join(f"{value:5.2f}" for value in row) for row in getattr(tables, attribute).tolist()]
    text = "\n".join(lines) + "\n"
    with atomic_path(path) as partial:
        partial.write_text(f"{_HEAD}{named_checksum(path, text.encode()):08x}\n{text}")


def read_tables(path: str | Path) -> RepeatTables:
    """Read tables that `write_tables` wrote under this name; raise InputError for any other content."""
    if not Path(path).is_file():
        raise InputError(f"{path}: does not exist; calibrate the sample first (target rule calibrate_repeats).")
    head, _, text = Path(path).read_bytes().partition(b"\n# sample")
    text = b"# sample" + text
    if head.decode(errors="replace") != f"{_HEAD}{named_checksum(path, text):08x}":
        raise InputError(
            f"{path}: does not match its checksum (damaged, edited or of another sample); calibrate the sample again."
        )
    return parse_tables(text.decode(), path)


def parse_tables(text: str, path: str | Path) -> RepeatTables:
    """Return the tables of a file of this program or of GATK; raise InputError for other periods or repeats."""
    found: dict[str, list[list[float]]] = {name: [] for name in _NAMES}
    rows, estimated = None, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            estimated = estimated or ("estimatedOrDefaults" in line and "estimated" in line.split("=")[-1])
        elif line.endswith(":") and line[:-1] in found:
            rows = found[line[:-1]]
        elif rows is not None:
            try:
                rows.append([float(value) for value in line.split()])
            except ValueError as error:
                raise InputError(
                    f"{path}: line {number} is not a row of numbers; calibrate the sample again."
                ) from error
    shapes = {name: {len(rows)} | {len(row) for row in rows} for name, rows in found.items()}
    if any(shape != {LONGEST_PERIOD, MOST_REPEATS} for shape in shapes.values()):
        raise InputError(
            f"{path}: needs tables GOP, GCP and API of {LONGEST_PERIOD} periods and {MOST_REPEATS} repeats; "
            "calibrate the sample again."
        )
    gap_open, gap_continuation, indel_prior = (np.array(rows) for rows in found.values())
    return RepeatTables(gap_open, gap_continuation, indel_prior, estimated)
