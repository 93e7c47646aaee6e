"""Section of the exact tools: tables, dot plots and terminal lines from the summaries of the searches."""

import re
from pathlib import Path
from typing import Any

import pytest
from quire.errors import QuireError
from quire.io.files import write_json_atomic
from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.report.terminal import load_summary, print_searches, print_summary

from tests.report.test_report_page import Page

BACKEND = {"name": "cpu", "reason": "it was asked for.", "card": None, "memory": None}
COUNTS = {"queries": 1, "query_bases": 4639675, "matches": 12345}
DOTS = {
    "query": {"name": "a<b>", "start": 0, "end": 900},
    "target": {"name": "chr20", "start": 1000, "end": 2000},
    "segments": [[0, 1000, 400, 1400], [410, 1400, 900, 1890]],
}


def write_search(folder: Path, tool: str, name: str, /, **changes: Any) -> dict[str, Any]:
    """Write the summary of a search, and return the search in the form that the workflow passes to the report."""
    settings = {"name": name, "min_length": 20, "threads": 2, "backend": "auto", "memory": "auto"}
    content = {"tool": tool, "name": name, "inputs": {"queries": "q.fa"}, "settings": settings}
    content |= {"backend": BACKEND, "counts": COUNTS, "seconds": 1.25}
    path = folder / f"{name}.json"
    write_json_atomic(path, content | changes)
    return {"summary": path, "results": [folder / f"{name}.{tool}"], "dots": None}


def test_a_run_of_the_exact_tools_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Write page, summary and terminal lines without samples; a pair has its dot plot, and a warning is at the top."""
    pair = write_search(tmp_path, "pairwise", "pair", counts={"score": 880, "identity": 0.98765}, settings={"match": 1})
    write_json_atomic(tmp_path / "pair.dots.json", DOTS)
    pair["dots"] = tmp_path / "pair.dots.json"
    searches = [
        write_search(tmp_path, "mems", "DH1"),
        write_search(tmp_path, "mems", "other", warnings=["Something is <odd>."]),
        pair,
    ]
    write_report(ReportOutputs(tmp_path / "report.html", tmp_path / "summary.json"), ReportInputs(searches=searches))
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    words = " ".join(" ".join(page.words).split())
    for expected in (
        *("3 exact searches", "DH1", "min length", "4,639,675", "12,345", "0.9877", "1.25"),
        *("mems other", "Something is <odd>.", "Maximal exact matches", "Alignments of two sequences"),
        "a<b>:1-900 along chr20:1,001-1,890",
        f"{tmp_path}/DH1.mems",
    ):
        assert expected in words
    for absent in ("Samples", "Coverage", "Nothing unusual", "threads"):
        assert absent not in words
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(re.findall(r'id="([^"]+)"', text))
    (drawing,) = page.drawings
    assert drawing["aria-label"].endswith("a<b>:1-900 along chr20:1,001-1,890")

    summary = load_summary(tmp_path / "summary.json")
    assert [(search["tool"], search["name"]) for search in summary["searches"]] == [
        ("mems", "DH1"),
        ("mems", "other"),
        ("pairwise", "pair"),
    ]
    assert summary["searches"][0]["settings"] == {"min_length": 20}
    assert summary["searches"][0]["inputs"] == {"queries": "q.fa"}
    assert summary["searches"][0]["counts"] == COUNTS
    assert (summary["samples"], summary["files"]["variants"], summary["run"]["backend"]) == ([], None, "cpu")

    print_summary(tmp_path / "summary.json")
    whole = capsys.readouterr().out
    print_searches(searches)
    part = capsys.readouterr().out
    for expected in (
        f"mems        {tmp_path}/DH1.mems\n",
        "DH1: queries 1, query bases 4,639,675, matches 12,345\n",
        "backend     mems on the cpu: it was asked for.\n",
        "warning     mems other: Something is <odd>.\n",
    ):
        assert expected in whole
        assert expected in part
    assert "variants" not in whole


@pytest.mark.parametrize("changes", [{"tool": "mapping"}, {"settings": None}])
def test_no_summary_of_a_search(changes: dict[str, Any], tmp_path: Path) -> None:
    """Refuse another JSON file by name, and write nothing."""
    search = write_search(tmp_path, "mems", "DH1", **changes)
    with pytest.raises(QuireError, match=r"DH1\.json: is not the summary of a search"):
        write_report(
            ReportOutputs(tmp_path / "report.html", tmp_path / "summary.json"), ReportInputs(searches=[search])
        )
    assert not (tmp_path / "report.html").exists()


def test_no_dot_plot(tmp_path: Path) -> None:
    """Refuse a dot plot without segments by name."""
    search = write_search(tmp_path, "pairwise", "pair")
    search["dots"] = tmp_path / "pair.dots.json"
    write_json_atomic(search["dots"], {**DOTS, "segments": [[1, 2]]})
    with pytest.raises(QuireError, match=r"pair\.dots\.json: is not a dot plot"):
        write_report(
            ReportOutputs(tmp_path / "report.html", tmp_path / "summary.json"), ReportInputs(searches=[search])
        )
