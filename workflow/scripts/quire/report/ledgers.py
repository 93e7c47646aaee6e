"""What the earlier stages counted themselves: ledgers, duplicates by library, the fitted insert-size models."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quire.errors import QuireError


def read_ledgers(sample: str, paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """The ledgers of a sample, as `sample`, `unit`, `stage`, `counts`, `warnings`, and `backend` where it has one.

    Raises:
        QuireError: a file is missing or no ledger.
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
    """The ledger of calling, one entry per sample as `read_ledgers` gives them; empty where there is none.

    Args:
        path: of the ledger.
        backend: what calling ran on, if that is known.

    Raises:
        QuireError: the file is no ledger.
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
    """The rows of a duplicates table (one per library), whole numbers as such; empty where there is no table.

    Raises:
        QuireError: the table cannot be read.
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
    """What each unit's insert-size file holds, by the name of the file without its suffixes (`sample.unit`).

    Raises:
        QuireError: a file is missing or no JSON.
    """
    return {Path(path).name.removesuffix(".json").removesuffix(".insert_size"): read_json(path) for path in paths}


def read_json(path: str | Path) -> Any:
    """What a JSON file of an earlier stage holds.

    Raises:
        QuireError: it is missing or no JSON.
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
