"""Terminal summary of a run: result files, key figures and warnings, from summary.json.

The Python that runs Snakemake prints it; that Python may lack the packages that the report needs.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quire.errors import InputError
from quire.io.files import read_json
from quire.report.ledgers import describe_backends
from quire.report.searches import as_ledgers, read_searches, search_lines
from quire.report.warnings import gathered_warnings, warnings_of_searches

FORMAT_VERSION = 1  # format version of summary.json


def print_summary(path: str | Path) -> None:
    """Print where the results of a run are and what was found; raise InputError if the file is no such summary."""
    print_lines(summary_lines(load_summary(path)))


def print_searches(searches: Sequence[Mapping[str, Any]]) -> None:
    """Print the results of the exact tools (see `read_searches`), for a run that ends without a report."""
    found = read_searches(searches)
    print_lines([*search_lines(found), *_of_all_stages(as_ledgers(found), warnings_of_searches(found))])


def print_lines(lines: Iterable[str]) -> None:
    """Print each line."""
    for line in lines:
        print(line)


def load_summary(path: str | Path) -> dict[str, Any]:
    """Read a summary.json of this version."""
    summary = read_json(path)
    if (version := summary.get("format_version")) != FORMAT_VERSION:
        raise InputError(
            f"{path}: has format version {version}, but this program reads {FORMAT_VERSION}; run the report again."
        )
    return summary


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines that `print_summary` prints."""
    files = summary["files"]
    lines = [f"{'alignments':<12}{path}" for path in files["alignments"].values()]
    lines += [f"{'variants':<12}{files['variants']}"] if files["variants"] else []
    searches = summary.get("searches", [])  # summaries of older runs have none
    lines += [f"{'report':<12}{files['report']}", "", *search_lines(searches)]
    for sample in summary["samples"]:
        reads, variants = sample["reads"], sample["variants"]
        share = "-" if reads["mapped_percent"] is None else f"{reads['mapped_percent']:.2f}"
        lines.append(
            f"{sample['sample']:<11} {reads['total']:,} reads in, {reads['mapped']:,} mapped "
            f"({share} %), {reads['duplicates']:,} duplicates"
        )
        lines.append(f"{'':<12}{_number(variants['snvs'], 'SNV')} and {_number(variants['indels'], 'indel')} called")
    if truth := summary["truth"]:
        for kind, name in (("snv", "SNVs"), ("indel", "indels")):
            counts = truth[kind]
            lines.append(
                f"{'truth':<12}{name}: recall {counts['recall']:.4f} ({counts['found']} of {counts['truth']}), "
                f"precision {counts['precision']:.4f} ({counts['false_calls']} false), F1 {counts['f1']:.4f}"
            )
    return lines + _of_all_stages([*summary["ledger"], *as_ledgers(searches)], gathered_warnings(summary))


def _number(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _of_all_stages(ledger: Sequence[Mapping[str, Any]], warnings: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the lines with the backends and the warnings of all stages."""
    return [
        *(f"{'backend':<12}{line}" for line in describe_backends(ledger)),
        *(f"{'warning':<12}{warning['sample']}: {warning['message']}" for warning in warnings),
    ]
