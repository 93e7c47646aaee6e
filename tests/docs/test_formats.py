"""docs/formats.md describes every field of the VCFs."""

import pytest
from quire.rescore.gvcf.records import FIELDS as GVCF_FIELDS
from quire.rescore.joint import WITH_REFERENCE_FIELDS
from quire.rescore.records import FIELDS
from quire.structural.records import FIELDS as STRUCTURAL_FIELDS

from tests.workflow.runs import REPOSITORY


@pytest.mark.parametrize(
    ("fields", "documents"),
    [
        (FIELDS, ["formats"]),
        (GVCF_FIELDS, ["formats"]),
        (WITH_REFERENCE_FIELDS, ["formats"]),
        (STRUCTURAL_FIELDS, ["formats", "structural-variants"]),
    ],
    ids=["variants", "gvcf", "joint", "structural"],
)
def test_every_field_is_described(fields, documents) -> None:
    text = "".join((REPOSITORY / "docs" / f"{name}.md").read_text() for name in documents)
    assert [key for key in (*fields.info, *fields.format) if f"`{key}`" not in text] == []
