"""The sheets of samples and units: tables as users save them, read into rows that know their line.

The sheet of units may be one of another program: its columns are translated here and nowhere else.
"""

import csv
import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from quire.errors import InputError, Mistakes
from quire.run.exact_tools import EXACT_TOOLS
from quire.run.inputs import require_text
from quire.run.schema import SHEETS, as_spelled, nearest, read_schema

# Names of the read files' columns in sheets of other programs, as lower-case letters and digits only.
_OTHER_NAMES = {
    f"{word}{mate}": f"fq{mate}" for word in ("r", "read", "reads", "fastq", "fastqr", "mate") for mate in (1, 2)
} | {"fastq": "fq1", "fq": "fq1", "reads": "fq1"}
# What sheets of other programs call the columns of units, and columns that they have besides: nf-core/sarek's
# samplesheet, and the fastq_list.csv of BCL Convert and DRAGEN.
_SAREK = {column: column for column in ("patient", "sex", "status", "sample", "bam", "cram")} | {
    "unit": "lane", "fq1": "fastq_1", "fq2": "fastq_2",
}  # fmt: skip
_FASTQ_LIST = {
    "sample": "RGSM", "unit": "RGID", "library": "RGLB", "platform": "RGPL", "fq1": "Read1File", "fq2": "Read2File",
}  # fmt: skip
_QUOTED = re.compile('"(?:[^"]|"")*"')
_NOT_USED = {"Lane", "RGCN", "RGDS", "RGDT", "RGPI", "RGPU", "bai", "crai"}


def says_yes(value: str) -> bool:
    """Return True if the value of a yes/no column means yes."""
    return value.lower() in ("yes", "true", "1")


@dataclass(frozen=True)
class Row:
    """A row of a sheet.

    Attributes:
        path: the sheet, as configured.
        line: 1-based number of the row's line in the file; 0 for a row that a command line gives.
        values: text of each column of the schema, stripped, with defaults filled in, and of columns that only a sheet
            of another program has.
        metadata: text of the other columns, which mean nothing to Quire.
        names: what the sheet calls the columns of `values`.
    """

    path: str
    line: int
    values: dict[str, str]
    metadata: dict[str, str]
    names: Mapping[str, str]

    @property
    def place(self) -> str:
        """Return the file and line, for messages."""
        return f"{self.path}, line {self.line}" if self.line else self.path

    @property
    def of_another_program(self) -> bool:
        """Return True for a row of sarek's sheet or of a fastq_list.csv."""
        return self.names.get("unit", "unit") != "unit"


def read_sheets(raw: Mapping[str, Any], settings: dict[str, Any], schemas: Path) -> tuple[list[Row], list[Row]]:
    """Return the rows of both sheets; in a run of exact tools only, return none and clear the sheets in `settings`.

    `raw` is the configuration as written, and `settings` has its defaults.
    """
    # Such a run sets both sheets to empty, or sets neither while the default sheets do not exist.
    if any(settings[tool] for tool in EXACT_TOOLS):
        given = [settings[key] for key in SHEETS if key in raw]
        absent = not given and not any(os.path.exists(settings[key]) for key in SHEETS)
        if absent or not settings["reference"]["fasta"] or given == ["", ""]:
            settings.update(dict.fromkeys(SHEETS, ""))
            return [], []
    of_samples, of_units = (read_schema(schemas / f"{key}.schema.yaml") for key in SHEETS)
    if settings["units"] and (not raw.get("samples") or settings["samples"] == settings["units"]):
        units = read_sheet(settings["units"], of_units)
        if units[0].of_another_program:
            settings["samples"] = settings["units"]
            return samples_of(units, of_samples), units
    for key in SHEETS:
        if not settings[key]:
            raise InputError(
                f"configuration: {key} is empty; name the sheet, or for a run of the exact tools alone leave samples "
                f"and units both empty and name a search in {', '.join(EXACT_TOOLS)}."
            )
    with Mistakes() as mistakes:
        samples = mistakes.check(read_sheet, settings["samples"], of_samples)
        units = mistakes.check(read_sheet, settings["units"], of_units)
    return samples, units


def read_sheet(path: str, schema: Mapping[str, Any]) -> list[Row]:
    """Read a sheet, whatever its line ends, byte order mark, spaces around values, empty lines and comments.

    Fields are separated by tabs, or by commas as in CSV. A line that begins with `#` is a comment, unless it names the
    columns as in PED files (`#sample`). Columns that are not in the schema of a row are kept as metadata; one whose
    name resembles that of a missing column is refused.

    Raises:
        InputError: the sheet is missing, is not such a table, or has wrong columns, no rows or values that the schema
            does not allow; the message names the lines.
    """
    (_, header), *lines = _read_table(path, schema["required"])
    names = _names_of(header, list(schema["properties"]))
    _check_header(path, header, names, schema["required"])
    rows, units = list[Row](), Counter[str]()
    with Mistakes() as mistakes:
        for line, fields in lines:
            given = dict(itertools.zip_longest(header, fields, fillvalue=""))
            if not any(given.values()):
                continue
            parts = {column: schema["properties"].get(column, {}) for column in names}
            values = {
                column: as_spelled(given.get(names[column]) or part.get("default", ""), part)
                for column, part in parts.items()
            }
            metadata = {column: value for column, value in given.items() if column not in names.values()}
            row = Row(path, line, values, metadata, names)
            units[values["sample"]] += 1
            mistakes.check(_check_row, row, units[values["sample"]], schema)
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: the sheet has a header and no rows; add one row for each sample or unit.")
    return rows


def samples_of(units: list[Row], schema: Mapping[str, Any]) -> list[Row]:
    """Return the rows of samples, with ploidy 2, that a sheet of another program stands for; they must agree."""
    samples = dict[str, Row]()
    for row in units:
        values = {
            column: row.values.get(column) or part.get("default", "") for column, part in schema["properties"].items()
        }
        metadata = {column: row.values[column] for column in ("patient",) if column in row.values}
        sample = Row(row.path, row.line, values, metadata, row.names)
        _check_values(sample, schema)
        first = samples.setdefault(values["sample"], sample)
        if (first.values, first.metadata) != (values, metadata):
            raise InputError(
                f"{row.place}: sample {values['sample']} has another sex or patient than in line {first.line}; correct "
                "one, or rename the sample."
            )
    return list(samples.values())


def row_of(path: str, given: Mapping[str, str], schema: Mapping[str, Any]) -> Row:
    """Return the row that a command line gives, with the schema's defaults, which it must fit (InputError)."""
    parts = schema["properties"]
    values = {column: as_spelled(given.get(column) or part.get("default", ""), part) for column, part in parts.items()}
    row = Row(path, 0, values, {}, {column: column for column in parts})
    _check_values(row, schema)
    return row


def repeats(rows: list[Row], key: Callable[[Row], Hashable]) -> Iterator[tuple[Row, Row]]:
    """Yield each row whose key an earlier row has, after the first row with that key."""
    seen: dict[Hashable, Row] = {}
    for row in rows:
        other = seen.setdefault(key(row), row)
        if other is not row:
            yield other, row


def _names_of(header: list[str], columns: list[str]) -> dict[str, str]:
    """Return what a sheet with this header calls the columns of the schema, and those that only such a sheet has."""
    own = {column: column for column in columns}
    others = [own | other for other in (_SAREK, _FASTQ_LIST)] if {"unit", "fq1"}.isdisjoint(header) else []
    others = others if "unit" in columns else []
    return max((own, *others), key=lambda names: len(set(header).intersection(names.values())))


def _translate(row: Row, number: int) -> None:
    """Change the values of a row of another program's sheet, the sample's row of this number, to Quire's."""
    values = row.values
    if values.get("status", "") not in ("", "0"):
        raise InputError(
            f"{row.place}: status {values['status']} is a tumour sample, and Quire calls germline variants only; "
            "remove the row (a normal sample has status 0)."
        )
    if values.get("cram") and values["bam"]:
        raise InputError(f"{row.place}: both bam and cram name files; give the reads in one of the two columns.")
    values["bam"] = values["bam"] or values.get("cram", "")
    # RGIDs hold dots and more. sarek's sheet may lack lanes if it names BAM files.
    values["unit"] = re.sub("[^A-Za-z0-9_-]", "_", values["unit"]) or (str(number) if "patient" in values else "")


def _is_comment(line: str, required: list[str]) -> bool:
    """Return True if a line is a comment and not a header after a `#`."""
    fields = [field.strip() for field in re.split("[\t,]", line.removeprefix("#"))]
    return line.startswith("#") and not set(required) <= set(fields)


def _read_table(path: str, required: list[str]) -> list[tuple[int, list[str]]]:
    """Return the lines without comments: their numbers, and their stripped fields, the header first."""
    try:
        text = [line.rstrip() for line in open(path, encoding="utf-8-sig")]
    except FileNotFoundError:
        raise InputError(f"{path}: the sheet does not exist; correct its path in the configuration.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the sheet is not text; save it as tab-separated text or CSV (UTF-8).") from None
    except OSError as error:
        raise InputError(f"{path}: the sheet cannot be read ({error.strerror}).") from None
    lines = [(number, line) for number, line in enumerate(text, 1) if not _is_comment(line, required)]
    while lines and not lines[0][1].strip(", "):
        lines.pop(0)
    if not lines:
        raise InputError(f"{path}: the sheet is empty; its first line must name the columns.")
    lines[0] = lines[0][0], lines[0][1].removeprefix("#")
    is_csv = "," in lines[0][1] and "\t" not in lines[0][1]
    with Mistakes() as mistakes:
        table = [(number, mistakes.check(_fields, line, is_csv, f"{path}, line {number}")) for number, line in lines]
    with Mistakes() as mistakes:
        for number, fields in table:
            if len(fields) > len(table[0][1]):
                mistakes.add(f"{path}, line {number}: the row has more fields than the header; remove the extra one.")
            for field in fields:
                mistakes.check(require_text, field, f"{path}, line {number}: the row")
    return table


def _fields(line: str, is_csv: bool, place: str) -> list[str]:
    """Return the stripped fields of a line; spreadsheets end it with the separators of deleted columns.

    R and spreadsheets quote fields of tab-separated text too, Excel those with commas or quotes. Other quotes between
    tabs are letters of a name.
    """
    try:
        fields = next(csv.reader([line], skipinitialspace=True, strict=True), []) if is_csv else line.split("\t")
    except csv.Error as error:
        raise InputError(f"{place}: the row is not CSV ({error}); check its quotes.") from None
    fields = [field.strip() for field in fields]
    if not is_csv:
        fields = [field[1:-1].replace('""', '"').strip() if _QUOTED.fullmatch(field) else field for field in fields]
    while fields and not fields[-1]:
        fields.pop()
    return fields


def _check_header(path: str, header: list[str], names: Mapping[str, str], required: list[str]) -> None:
    known = list(names.values())
    if len(header) == 1 and re.search("[,; ]", header[0]):
        raise InputError(
            f"{path}: the columns are not separated by tabs or commas; save the sheet as tab-separated text or CSV."
        )
    lacking = [column for column in known if column not in header]
    found = set[str]()  # missing columns that a misspelled one stands for
    with Mistakes() as mistakes:
        for column in header:
            meant = _OTHER_NAMES.get(re.sub("[^a-z0-9]", "", column.lower()))
            if meant in lacking and column not in known:
                mistakes.add(f"{path}: the column {column} is unknown; did you mean {meant}?")
                found.add(meant)
            elif not column:
                mistakes.add(f"{path}: a column has no name; name it or remove it (known: {', '.join(known)}).")
            elif column not in known and column not in _NOT_USED and (alike := nearest(column, lacking)):
                mistakes.add(
                    f"{path}: the column {column} is unknown; correct it to {alike}, or give a column of your own a "
                    "name that is less like it."
                )
                found.add(alike)
            elif header.count(column) > 1:
                mistakes.add(f"{path}: the column {column} occurs twice in the header; remove one.")
        for column in (names[column] for column in required if names[column] != "lane"):
            if column not in header and column not in found:
                mistakes.add(f"{path}: the column {column} is missing; the first line must name the columns.")


def _check_row(row: Row, number: int, schema: Mapping[str, Any]) -> None:
    """Translate a row of another program's sheet, the sample's row of this number, and check its values."""
    if row.of_another_program:
        _translate(row, number)
    _check_values(row, schema)


def _check_values(row: Row, schema: Mapping[str, Any]) -> None:
    with Mistakes() as mistakes:
        for column, part in schema["properties"].items():
            value, column = row.values[column], row.names.get(column, column)
            if jsonschema.Draft202012Validator(part).is_valid(value):
                continue
            if not value:
                mistakes.add(f"{row.place}: the column {column} is empty.")
            elif "enum" in part:
                mistakes.add(f"{row.place}: {column} {value!r} is not one of {', '.join(part['enum'])}.")
            else:
                mistakes.add(f"{row.place}: {column} {value!r} {part['errorMessage']}.")


def leftover_lines(output: Path, units: Mapping[str, Collection[str]]) -> list[str]:
    """Return one line for each sample or unit of earlier runs that this run (units by sample) does not have."""
    lines = []
    for counts in sorted((output / "align").glob("*.counts.json")):
        sample = counts.name.removesuffix(".counts.json")
        if sample not in units:
            lines.append(_leftover_line(sample, output))
    for ledger in sorted((output / "ledger").glob("*.*.json")):
        name = ledger.name.removesuffix(".json")
        sample, unit = name.rsplit(".", 1)
        if name not in units and sample in units and unit not in units[sample]:
            lines.append(_leftover_line(f"{sample}.{unit}", output))
    return lines


def _leftover_line(name: str, output: Path) -> str:
    """Return a line in the format of the summary at the end of a run."""
    return (
        f"{'leftover':<12}{name} is from an earlier run and no longer in the sheets; its files are kept "
        f"(find {shlex.quote(str(output))} -name {shlex.quote(f'{name}.*')} lists them)"
    )
