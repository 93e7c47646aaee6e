"""Check the links of Markdown files: relative ones lead to files, anchors to headings, named sources exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ENDING = r"(?:py|cuh|cu|smk)"
SOURCE_FILES = [
    str(path.relative_to(ROOT))
    for folder in ("bench", "tests", "workflow")
    for path in (ROOT / folder).rglob("*")
    if re.fullmatch(SOURCE_ENDING, path.suffix[1:])
]
OTHERS_FILES = ("hap.py", "snakemake/logging.py")
NOT_OURS = {".page-tools", ".cohort-tools", ".venv", ".snakemake", ".git", "results", "node_modules"}
DOCUMENTS = sorted(
    path.relative_to(ROOT) for path in ROOT.rglob("*.md") if not NOT_OURS & set(path.relative_to(ROOT).parts)
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)
CODE = re.compile(r"```.*?```", re.DOTALL)


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings as GitHub makes them.

    They are in lower case, without punctuation, and have hyphens for spaces.
    """
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
        if re.match(r"[a-z]+:", link):  # an address on the web
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


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.parts[0] == "docs"], ids=str)
def test_documents_name_files_that_exist(name: Path) -> None:
    """Check each path of a source file that a document names, except patterns such as test_NAME.py."""
    named = re.findall(rf"`([\w./]+/[\w./]+\.{SOURCE_ENDING})`", (ROOT / name).read_text())
    assert not [path for path in named if not re.search(r"[A-Z]{2}", path) and not exists(path.removeprefix("../"))]


@pytest.mark.parametrize("ending", ["py", "cu", "cuh", "smk"])
def test_comments_name_files_that_exist(ending: str) -> None:
    """Check each source file that a comment, a docstring or an `#include` of Quire names."""
    wrong = []
    for source in (ROOT / "workflow").rglob(f"*.{ending}"):
        named = re.findall(rf"(?<![\w/*.-])[a-z][\w/]*\.{SOURCE_ENDING}\b", source.read_text())
        wrong += [(str(source.relative_to(ROOT)), path) for path in named if not exists(path)]
    assert not wrong


def exists(path: str) -> bool:
    """Return True if a path, or its end, is that of a source file; others' files that are named exist too."""
    return path in OTHERS_FILES or any(f"/{source}".endswith(f"/{path}") for source in SOURCE_FILES)
