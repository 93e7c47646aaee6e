"""Readers of the exact tools' outputs: the summary of each search, and the dot plot of a pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quire.errors import QuireError
from quire.ledger import in_words
from quire.report.ledgers import read_json

TITLES = {
    "complete": "Every place of the reads",
    "mems": "Maximal exact matches",
    "pairwise": "Alignments of two sequences",
}
# Settings that do not change the answer, left out of the table of a tool.
_HOW_IT_RAN = ("name", "threads", "backend", "memory")


def read_searches(searches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Read the summaries of the searches, one entry each in the form of summary.json (docs/formats.md).

    Args:
        searches: for each search, `summary` (path of its JSON) and `results` (paths of its files).

    Raises:
        QuireError: if a file is missing or is not the summary of a search.
    """
    found = []
    for search in searches:
        content = read_json(search["summary"])
        try:
            entry = {
                "tool": str(content["tool"]),
                "name": str(content["name"]),
                "inputs": {str(name): str(path) for name, path in content["inputs"].items()},
                "settings": {key: value for key, value in content["settings"].items() if key not in _HOW_IT_RAN},
                "counts": {str(name): count for name, count in content["counts"].items()},
                "seconds": float(content["seconds"]),
                "backend": dict(content["backend"]),
                "warnings": [str(warning) for warning in content.get("warnings", [])],
                "results": [str(path) for path in search["results"]],
            }
        except (AttributeError, KeyError, TypeError, ValueError):
            entry = {}
        if entry.get("tool") not in TITLES:
            raise QuireError(
                f"{search['summary']}: is not the summary of a search; delete it and run the workflow again."
            )
        found.append(entry)
    return found


@dataclass(frozen=True)
class DotPlot:
    """Path of a pairwise alignment through its matrix.

    Attributes:
        name: name of the search.
        query, target: name, start and end (0-based, half-open) of the aligned part.
        segments: segments without gaps: (query start, target start, query end, target end).
    """

    name: str
    query: tuple[str, int, int]
    target: tuple[str, int, int]
    segments: list[tuple[int, int, int, int]]

    @property
    def text(self) -> str:
        """Caption of the plot: the aligned positions."""
        if not self.segments:
            return "nothing is aligned"
        (query_start, target_start, *_), (*_, query_end, target_end) = self.segments[0], self.segments[-1]
        query = f"{self.query[0]}:{query_start + 1:,}-{query_end:,}"
        return f"{query} along {self.target[0]}:{target_start + 1:,}-{target_end:,}"


def read_dots(path: str | Path) -> DotPlot:
    """Read the dot plot of a pair.

    Raises:
        QuireError: if the file is missing or is not a dot plot.
    """
    content = read_json(path)
    try:
        query, target = (
            (str(side["name"]), int(side["start"]), int(side["end"])) for side in (content["query"], content["target"])
        )
        segments = [(int(a), int(b), int(c), int(d)) for a, b, c, d in content["segments"]]
    except (KeyError, TypeError, ValueError):
        raise QuireError(f"{path}: is not a dot plot; delete it and run the workflow again.") from None
    return DotPlot(Path(path).name.removesuffix(".dots.json"), query, target, segments)


def as_ledgers(searches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the searches in the form of ledger entries, to list their backends with those of all stages."""
    return [{"stage": search["tool"], "unit": search["name"], "backend": search["backend"]} for search in searches]


def search_lines(searches: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines for a terminal with the result files and the counts of each search."""
    lines = []
    for search in searches:
        lines.append(f"{search['tool']:<12}{' '.join(search['results'])}")
        lines.append(f"{'':<12}{search['name']}: {in_words(search['counts'])}")
    return lines
