"""The sheets of samples and units: tab-separated text as people save it, read into rows that know their line."""

import csv
import io
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema
import pandas

from quire.errors import InputError


@dataclass(frozen=True)
class Row:
    """A row of a sheet.

    Attributes:
        path: the sheet, as configured.
        line: 1-based number of the row's line in the file.
        values: text of each column of the schema, stripped, with defaults filled in.
    """

    path: str
    line: int
    values: dict[str, str]

    @property
    def place(self) -> str:
        """The words that tell a user where to look."""
        return f"{self.path}, line {self.line}"


def read_sheet(path: str, schema: Mapping[str, Any]) -> list[Row]:
    """Read a sheet; Windows line ends, a byte order mark, spaces around values and empty lines do not matter.

    Args:
        path: the sheet.
        schema: JSON schema of a row; its properties are the columns that are allowed.

    Raises:
        InputError: the sheet is missing, not tab-separated text, has wrong columns, no rows or a value that the schema
            does not allow; the sentence names the line.
    """
    table = _read_table(path)
    header = list(table.iloc[0])
    _check_header(path, header, schema)
    rows = []
    for index in range(1, len(table)):
        given = dict(zip(header, table.iloc[index], strict=True))
        if not any(given.values()):
            continue
        values = {column: given.get(column) or part.get("default", "") for column, part in schema["properties"].items()}
        row = Row(path, index + 1, values)
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


def _read_table(path: str) -> pandas.DataFrame:
    """All lines of the sheet as stripped text, the header first; missing trailing fields are empty."""
    try:
        # Spreadsheets end lines with the tabs of columns that were once there.
        lines = [line.rstrip() for line in open(path, encoding="utf-8-sig")]
        table = pandas.read_csv(
            io.StringIO("\n".join(lines)),
            sep="\t",
            header=None,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            quoting=csv.QUOTE_NONE,
        )
    except FileNotFoundError:
        raise InputError(f"{path}: the sheet does not exist; correct its path in the configuration.") from None
    except pandas.errors.EmptyDataError:
        raise InputError(f"{path}: the sheet is empty; its first line must name the columns.") from None
    except pandas.errors.ParserError as error:
        detail = str(error).split("C error: ")[-1].strip().rstrip(".")
        raise InputError(f"{path}: a line has more fields than the header ({detail}); remove the extra tab.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the sheet is not text; save it as tab-separated text (UTF-8).") from None
    except OSError as error:
        raise InputError(f"{path}: the sheet cannot be read ({error.strerror}).") from None
    return table.fillna("").map(str.strip)


def _check_header(path: str, header: list[str], schema: Mapping[str, Any]) -> None:
    known = list(schema["properties"])
    if len(header) == 1 and ("," in header[0] or ";" in header[0]):
        raise InputError(f"{path}: the columns are not separated by tabs; save the sheet as tab-separated text.")
    for column in header:
        if column not in known:
            raise InputError(
                f"{path}: the column {column or '(without a name)'} is unknown (known: {', '.join(known)})."
            )
        if header.count(column) > 1:
            raise InputError(f"{path}: the column {column} stands in the header twice; remove one.")
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
