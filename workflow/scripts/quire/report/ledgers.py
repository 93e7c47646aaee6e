"""Readers of the earlier stages' own records: ledgers, duplicates by library, fitted insert-size models."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quire.errors import QuireError


def read_ledgers(sample: str, paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Read a sample's ledgers as `sample`, `unit`, `stage`, `counts`, `warnings` and, if present, `backend`.

    Raises:
        QuireError: if a file is missing or is not a ledger.
    """
    ledgers = []
    for path in paths:
        ledger = read_json(path)
        try:
            counts = {str(name): int(count) for name, count in ledger["counts"].items()}
            line = {"sample": sample, "unit": ledger["unit"], "stage": ledger["stage"], "counts": counts}
            backend = {"backend": dict(ledger["backend"])} if "backend" in ledger else {}
            ledgers.append({**line, "warnings": [str(warning) for warning in ledger.get("warnings", [])], **backend})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise QuireError(f"{path}: is not a ledger; delete it and run the workflow again.") from None
    return ledgers


def read_calling_ledger(path: str | Path | None, backend: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Read the ledger of calling, one entry per sample in the form of `read_ledgers`.

    Args:
        path: path of the ledger; None gives an empty list.
        backend: backend that calling ran on, if known.

    Raises:
        QuireError: if the file is missing or is not a ledger.
    """
    if path is None:
        return []
    ledger = read_json(path)
    try:
        return [
            {"sample": sample, "unit": sample, "stage": ledger["stage"], "counts": counts, "warnings": []}
            | ({"backend": backend} if backend else {})
            for sample, counts in ledger["samples"].items()
        ]
    except (AttributeError, KeyError, TypeError):
        raise QuireError(f"{path}: is not a ledger; delete it and run the workflow again.") from None


def read_duplicates(path: str | Path | None) -> list[dict[str, Any]]:
    """Read the rows of a duplicates table, one per library, with numbers converted; empty if `path` is None.

    Raises:
        QuireError: if the table cannot be read.
    """
    if path is None:
        return []
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise QuireError(f"{path}: the duplicates table cannot be read ({error}); delete it and run again.") from None
    return [{name: _as_number(value) for name, value in row.items()} for row in rows]


def read_insert_size_models(paths: Sequence[str | Path]) -> dict[str, Any]:
    """Read each unit's insert-size file, keyed by the file name without its suffixes (`sample.unit`).

    Raises:
        QuireError: if a file is missing or is not JSON.
    """
    return {Path(path).name.removesuffix(".json").removesuffix(".insert_size"): read_json(path) for path in paths}


def read_json(path: str | Path) -> Any:
    """Read a JSON file of an earlier stage.

    Raises:
        QuireError: if it is missing or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise QuireError(f"{path}: cannot be read ({error}); delete it and run the workflow again.") from None


def _as_number(text: str | None) -> int | float | str | None:
    for kind in (int, float):
        try:
            return kind(text) if text is not None else None
        except ValueError:
            continue
    return text
