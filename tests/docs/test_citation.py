"""Check that CITATION.cff has the version of the code and the keys that the format requires."""

from pathlib import Path

import yaml
from quire.version import VERSION

CITATION = Path(__file__).resolve().parents[2] / "CITATION.cff"


def test_citation() -> None:
    content = yaml.safe_load(CITATION.read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(content)
    assert content["version"] == VERSION
    assert content["license"] == "MIT"
    for reference in content["references"]:
        assert {"type", "title", "authors", "doi"} <= set(reference)
