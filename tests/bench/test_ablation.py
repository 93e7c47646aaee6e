"""Check that the ablation can still remove each of its rules from the library."""

import pytest

from bench.ablation import RULES
from bench.common import LIBRARY


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_can_be_taken_out(rule: str) -> None:
    for name, old, new in RULES[rule]:
        text = (LIBRARY / "quire" / name).read_text()
        assert text.count(old) == 1
        compile(text.replace(old, new), name, "exec")
