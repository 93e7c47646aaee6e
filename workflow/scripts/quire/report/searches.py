"""What the exact tools counted themselves: the summary of each search, and the dot plot of a pair."""

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
# Of the settings, what the table of a tool need not repeat: it changes no answer.
_HOW_IT_RAN = ("name", "threads", "backend", "memory")


def read_searches(searches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the searches' own summaries say, one entry each as it stands in summary.json (docs/formats.md).

    Args:
        searches: for each `summary` (path of its JSON) and `results` (paths of its files).

    Raises:
        QuireError: a file is missing or no summary of a search.
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
    """The path of an alignment through its matrix.

    Attributes:
        name: of the search.
        query, target: name, start and end (0-based, half-open) of what was aligned.
        segments: stretches without gaps: start in the query and the target, end in the query and the target.
    """

    name: str
    query: tuple[str, int, int]
    target: tuple[str, int, int]
    segments: list[tuple[int, int, int, int]]

    @property
    def text(self) -> str:
        """What the picture shows, in words."""
        if not self.segments:
            return "nothing is aligned"
        (query_start, target_start, *_), (*_, query_end, target_end) = self.segments[0], self.segments[-1]
        query = f"{self.query[0]}:{query_start + 1:,}-{query_end:,}"
        return f"{query} along {self.target[0]}:{target_start + 1:,}-{target_end:,}"


def read_dots(path: str | Path) -> DotPlot:
    """Read the dot plot of a pair.

    Raises:
        QuireError: the file is missing or no dot plot.
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
    """The searches as lines of a ledger, for what is said of the backends of all stages."""
    return [{"stage": search["tool"], "unit": search["name"], "backend": search["backend"]} for search in searches]


def search_lines(searches: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where the results of each search are and what was counted, for a terminal."""
    lines = []
    for search in searches:
        lines.append(f"{search['tool']:<12}{' '.join(search['results'])}")
        lines.append(f"{'':<12}{search['name']}: {in_words(search['counts'])}")
    return lines
