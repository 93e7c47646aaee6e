"""The sheets of samples and units: tab-separated text as users save it, read into rows that know their line."""

import difflib
import itertools
import re
import shlex
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from quire.errors import InputError
from quire.run.inputs import require_text

# Names of the read files' columns in sheets of other programs, as lower-case letters and digits only.
_OTHER_NAMES = {
    f"{word}{mate}": f"fq{mate}" for word in ("r", "read", "reads", "fastq", "fastqr", "mate") for mate in (1, 2)
} | {"fastq": "fq1", "fq": "fq1", "reads": "fq1"}
ALIKE = 0.66  # least similarity at which a column's name counts as a misspelling of another, from 0 to 1


@dataclass(frozen=True)
class Row:
    """A row of a sheet.

    Attributes:
        path: the sheet, as configured.
        line: 1-based number of the row's line in the file.
        values: text of each column of the schema, stripped, with defaults filled in.
        metadata: text of the other columns, which mean nothing to Quire.
    """

    path: str
    line: int
    values: dict[str, str]
    metadata: dict[str, str]

    @property
    def place(self) -> str:
        """Return the file and line, for messages."""
        return f"{self.path}, line {self.line}"


def read_sheet(path: str, schema: Mapping[str, Any]) -> list[Row]:
    """Read a sheet, whatever its line ends, byte order mark, spaces around values, empty lines and comments.

    A line that begins with `#` is a comment, unless it names the columns as in PED files (`#sample`). Columns that are
    not in the schema of a row are kept as metadata; one whose name resembles that of a missing column is refused.

    Raises:
        InputError: the sheet is missing, is not tab-separated text, or has wrong columns, no rows or a value that the
            schema does not allow; the message names the line.
    """
    (_, header), *lines = _read_table(path, schema["required"])
    _check_header(path, header, schema)
    columns = schema["properties"]
    rows = []
    for line, fields in lines:
        given = dict(itertools.zip_longest(header, fields, fillvalue=""))
        if not any(given.values()):
            continue
        values = {
            column: _one_of(given.get(column) or part.get("default", ""), part) for column, part in columns.items()
        }
        row = Row(path, line, values, {column: value for column, value in given.items() if column not in columns})
        _check_values(row, schema)
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: the sheet has a header and no rows; add one row for each sample or unit.")
    return rows


def first_repeat(rows: list[Row], key: Callable[[Row], Hashable]) -> tuple[Row, Row] | None:
    """Return the first two rows with the same key, or None."""
    seen: dict[Hashable, Row] = {}
    for row in rows:
        other = seen.setdefault(key(row), row)
        if other is not row:
            return other, row
    return None


def _one_of(value: str, part: Mapping[str, Any]) -> str:
    """Return the value in the schema's spelling, if the schema lists upper-case words; case is ignored."""
    return value.upper() if value.upper() in part.get("enum", ()) else value


def _is_comment(line: str, required: list[str]) -> bool:
    """Return True if a line is a comment and not a header after a `#`."""
    fields = [field.strip() for field in line.removeprefix("#").split("\t")]
    return line.startswith("#") and not set(required) <= set(fields)


def _read_table(path: str, required: list[str]) -> list[tuple[int, list[str]]]:
    """Return the lines without comments: their numbers, and their stripped fields, the header first."""
    try:
        # Spreadsheets end lines with the tabs of deleted columns.
        text = [line.rstrip() for line in open(path, encoding="utf-8-sig")]
    except FileNotFoundError:
        raise InputError(f"{path}: the sheet does not exist; correct its path in the configuration.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the sheet is not text; save it as tab-separated text (UTF-8).") from None
    except OSError as error:
        raise InputError(f"{path}: the sheet cannot be read ({error.strerror}).") from None
    lines = [(number, line) for number, line in enumerate(text, 1) if not _is_comment(line, required)]
    while lines and not lines[0][1]:
        lines.pop(0)
    if not lines:
        raise InputError(f"{path}: the sheet is empty; its first line must name the columns.")
    lines[0] = lines[0][0], lines[0][1].removeprefix("#")
    table = [(number, [field.strip() for field in line.split("\t")]) for number, line in lines]
    for number, fields in table:
        if len(fields) > len(table[0][1]):
            raise InputError(f"{path}, line {number}: the row has more fields than the header; remove the extra tab.")
        for field in fields:
            require_text(field, f"{path}, line {number}: the row")
    return table


def _check_header(path: str, header: list[str], schema: Mapping[str, Any]) -> None:
    known = list(schema["properties"])
    if len(header) == 1 and re.search("[,; ]", header[0]):
        raise InputError(f"{path}: the columns are not separated by tabs; save the sheet as tab-separated text.")
    lacking = {column.lower(): column for column in known if column not in header}
    for column in header:
        meant = _OTHER_NAMES.get(re.sub("[^a-z0-9]", "", column.lower()))
        if meant in lacking.values() and column not in known:
            raise InputError(f"{path}: the column {column} is unknown; did you mean {meant}?")
        if not column:
            raise InputError(f"{path}: a column has no name; name it or remove it (known: {', '.join(known)}).")
        alike = difflib.get_close_matches(column.lower(), lacking, 1, ALIKE) if column not in known else []
        if alike:
            raise InputError(
                f"{path}: the column {column} is unknown; correct it to {lacking[alike[0]]}, or give a column of your "
                "own a name that is less like it."
            )
        if header.count(column) > 1:
            raise InputError(f"{path}: the column {column} occurs twice in the header; remove one.")
    for column in schema["required"]:
        if column not in header:
            raise InputError(f"{path}: the column {column} is missing; the first line must name the columns.")


def _check_values(row: Row, schema: Mapping[str, Any]) -> None:
    for column, part in schema["properties"].items():
        value = row.values[column]
        if jsonschema.Draft202012Validator(part).is_valid(value):
            continue
        if not value:
            raise InputError(f"{row.place}: the column {column} is empty.")
        if "enum" in part:
            raise InputError(f"{row.place}: {column} {value!r} is not one of {', '.join(part['enum'])}.")
        allowed = part["errorMessage"]
        raise InputError(f"{row.place}: {column} {value!r} {allowed}.")


def leftover_lines(output: Path, units: Mapping[str, Collection[str]]) -> list[str]:
    """Return one line for each sample or unit of earlier runs that this run (units by sample) does not have."""
    lines = []
    for counts in sorted((output / "align").glob("*.counts.json")):
        sample = counts.name.removesuffix(".counts.json")
        if sample not in units:
            lines.append(_leftover_line(sample, output))
    for ledger in sorted((output / "ledger").glob("*.*.json")):
        sample, unit, _ = ledger.name.split(".", 2)
        if sample in units and unit not in units[sample]:
            lines.append(_leftover_line(f"{sample}.{unit}", output))
    return lines


def _leftover_line(name: str, output: Path) -> str:
    """Return a line in the format of the summary at the end of a run."""
    return (
        f"{'leftover':<12}{name} is from an earlier run and no longer in the sheets; its files are kept "
        f"(find {shlex.quote(str(output))} -name {shlex.quote(f'{name}.*')} lists them)"
    )
