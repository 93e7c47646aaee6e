"""Check the length of documents and of their lines."""

import re
from pathlib import Path

import pytest

from tests.docs.test_links import DOCUMENTS, ROOT

LONGEST_LINE = 120
MOST_LINES = {"README.md": 120, "docs/architecture.md": 200}
MAY_BE_LONGER = re.compile(r"\s*(\||<!--|\[[^\]]*\]: )")
"""Tables, comments and definitions of links."""


@pytest.mark.parametrize("name", MOST_LINES)
def test_a_document_is_short(name: str) -> None:
    assert len((ROOT / name).read_text().splitlines()) <= MOST_LINES[name]


@pytest.mark.parametrize("name", DOCUMENTS, ids=str)
def test_lines_are_short(name: Path) -> None:
    long = []
    for number, line in enumerate((ROOT / name).read_text().splitlines(), start=1):
        link = re.search(r"\]\([^)]*\)|https?://\S+", line)
        if len(line) > LONGEST_LINE and not MAY_BE_LONGER.match(line) and not link:
            long.append(f"{name}:{number}")
    assert not long


def test_every_decision_has_a_number_of_its_own_and_a_line_in_the_index() -> None:
    folder = ROOT / "docs/decisions"
    records = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    index = (folder / "README.md").read_text()
    assert [int(name[:4]) for name in records] == [*range(1, len(records) + 1)]
    assert not [name for name in records if f"| {name[:4]} | [" not in index or f"]({name}) |" not in index]
