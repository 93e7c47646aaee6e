"""Every relative link of a Markdown file leads to a file of the repository, and every anchor to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {".page-tools", ".venv", ".snakemake", ".git", "results", "node_modules"}
DOCUMENTS = sorted(
    path.relative_to(ROOT) for path in ROOT.rglob("*.md") if not NOT_OURS & set(path.relative_to(ROOT).parts)
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)
CODE = re.compile(r"```.*?```", re.DOTALL)


def anchors(document: Path) -> set[str]:
    """Anchors of a document's headings, as GitHub makes them: lower case, no punctuation, hyphens for spaces."""
    found: dict[str, int] = {}
    names = set()
    for heading in HEADING.findall(CODE.sub("", document.read_text())):
        text = LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading)
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names


@pytest.mark.parametrize("name", DOCUMENTS, ids=str)
def test_links_lead_somewhere(name: Path) -> None:
    document = ROOT / name
    wrong = []
    for link in LINK.findall(CODE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", link):  # the web
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong


def test_a_heading_becomes_the_anchor_that_github_gives_it(tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text("# A card's `memory`, 2 GB\n\n## Twice\n\n## Twice\n\n## [A link](there.md) with_words\n")
    assert anchors(document) == {"a-cards-memory-2-gb", "twice", "twice-1", "a-link-with_words"}
