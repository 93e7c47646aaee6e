"""Readers of the earlier stages' own records: ledgers, backends, insert-size models, benchmarks."""

import csv
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quire.errors import QuireError
from quire.io.files import read_json

logger = logging.getLogger("quire.report")


@contextmanager
def reading(path: str | Path, what: str) -> Iterator[Any]:
    """Yield the content of a JSON file; raise QuireError if it cannot be read or the block fails (is not `what`)."""
    content = read_json(path)
    try:
        yield content
    except (AttributeError, KeyError, TypeError, ValueError):
        raise QuireError(f"{path}: is not {what}; delete it and run the workflow again.") from None


def read_ledgers(sample: str, paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Read a sample's ledgers as `sample`, `unit`, `stage`, `counts`, `warnings` and, if present, `backend`."""
    ledgers = []
    for path in paths:
        with reading(path, "a ledger") as ledger:
            line = {"sample": sample, **{key: ledger[key] for key in ("unit", "stage", "counts")}}
            backend = {"backend": ledger["backend"]} if "backend" in ledger else {}
            ledgers.append({**line, "warnings": ledger.get("warnings", []), **backend})
    return ledgers


def read_calling_ledger(path: str | Path | None, backend: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Read the ledger of calling, on `backend`, as one entry per sample in the form of `read_ledgers`."""
    if path is None:
        return []
    with reading(path, "a ledger") as ledger:
        return [
            {"sample": sample, "unit": sample, "stage": ledger["stage"], "counts": counts, "warnings": []}
            | ({"backend": backend} if backend else {})
            for sample, counts in ledger["samples"].items()
        ]


def summarise_backends(ledger: Sequence[Mapping[str, Any]]) -> str:
    """Summarise the backends as "cpu" or "gpu (align), cpu (rescore)"; a dash if no ledger names one."""
    stages: dict[str, dict[str, None]] = {}
    for line in ledger:
        if backend := line.get("backend"):
            stages.setdefault(backend["name"], {})[line["stage"]] = None
    if len(stages) == 1:
        return next(iter(stages))
    return ", ".join(f"{name} ({', '.join(ran)})" for name, ran in stages.items()) or "\N{EN DASH}"


def describe_backends(ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line for each distinct backend choice of a stage, with its reason."""
    lines = []
    for line in ledger:
        if backend := line.get("backend"):
            card = f" ({backend['card']})" if backend.get("card") else ""
            lines.append(f"{line['stage']} on the {backend['name']}{card}: {backend['reason']}")
    return list(dict.fromkeys(lines))


def read_insert_size_models(paths: Sequence[str | Path]) -> dict[str, Any]:
    """Read each unit's insert-size file, keyed by the file name without its suffixes (`sample.unit`)."""
    return {Path(path).name.removesuffix(".json").removesuffix(".insert_size"): read_json(path) for path in paths}


def read_benchmarks(directory: str | Path | None) -> list[dict[str, Any]]:
    """Sum Snakemake's benchmark tables as the `rules` of summary.json, in the order of each rule's first table.

    The folder has `{rule}.tsv`, or `{rule}/{job}.tsv` for rules with many jobs; None or a missing folder gives an empty
    list. A table that cannot be read is skipped with a warning in the log.
    """
    if directory is None:
        return []
    jobs: dict[str, list[dict[str, str]]] = {}
    for path in sorted(Path(directory).rglob("*.tsv"), key=lambda path: (path.stat().st_mtime, path)):
        relative = path.relative_to(directory)
        rule = relative.parts[0] if len(relative.parts) > 1 else relative.stem
        try:
            with path.open(newline="", encoding="utf-8") as stream:
                jobs.setdefault(rule, []).extend(csv.DictReader(stream, delimiter="\t"))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            logger.warning("%s: cannot be read (%s); the report's time and memory lack it.", path, error)
    return [_sum_of_jobs(rule, rows) for rule, rows in jobs.items() if rows]


def _sum_of_jobs(rule: str, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Sum the jobs of a rule; processor time and memory are None if all jobs were too short to measure."""
    seconds, cpu_seconds, megabytes = (
        [number for row in rows if (number := _as_number(row.get(column))) is not None]
        for column in ("s", "cpu_time", "max_rss")
    )
    return {
        "rule": rule,
        "jobs": len(rows),
        "seconds": round(sum(seconds, 0.0), 2),
        "longest_seconds": round(max(seconds, default=0.0), 2),
        "cpu_seconds": round(sum(cpu_seconds, 0.0), 2) if cpu_seconds else None,
        "peak_megabytes": round(float(max(megabytes)), 1) if megabytes else None,
    }


def _as_number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None
