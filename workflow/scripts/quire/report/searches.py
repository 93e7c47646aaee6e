"""Readers of the exact tools' outputs: the summary of each search, and the dot plot of a pair."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quire.ledger import in_words
from quire.report.ledgers import reading

TITLES = {
    "complete": "Every place of the reads",
    "mems": "Maximal exact matches",
    "pairwise": "Alignments of two sequences",
}
# Settings that do not change the answer, left out of the table of a tool.
_HOW_IT_RAN = ("name", "threads", "backend", "memory")


def read_searches(searches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Read the summaries of the searches, one entry each in the form of summary.json (docs/formats.md).

    Each search has `summary` (path of its JSON) and `results` (paths of its files). A file that is missing or not such
    a summary raises QuireError.
    """
    found = []
    for search in searches:
        with reading(search["summary"], "the summary of a search") as content:
            if content["tool"] not in TITLES:
                raise ValueError
            settings = {key: value for key, value in content["settings"].items() if key not in _HOW_IT_RAN}
            found.append(
                {
                    **{key: content[key] for key in ("tool", "name", "inputs")},
                    "settings": settings,
                    "counts": content["counts"],
                    "seconds": float(content["seconds"]),
                    "backend": content["backend"],
                    "warnings": content.get("warnings", []),
                    "results": [str(path) for path in search["results"]],
                }
            )
    return found


class DotPlot(NamedTuple):
    """Path of a pairwise alignment through its matrix.

    `query` and `target` are name, start and end (0-based, half-open) of the aligned parts; a segment without gaps is
    (query start, target start, query end, target end).
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
    """Read the dot plot of a pair; raise QuireError if the file is missing or is none."""
    with reading(path, "a dot plot") as content:
        query, target = ((side["name"], side["start"], side["end"]) for side in (content["query"], content["target"]))
        segments = [(a, b, c, d) for a, b, c, d in content["segments"]]
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
