"""A few hundred mutations of the files of every reader end without a fault."""

import shutil

import pytest

from tests.fuzz import runner
from tests.fuzz.targets import PROGRAMS, TARGETS

CASES = 300


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.full) for name in TARGETS])
def test_no_mutation_ends_in_a_fault(name: str) -> None:
    if (program := PROGRAMS.get(name)) and shutil.which(program) is None:
        pytest.skip(f"{program}, which judges, is not installed")
    found = list(runner.results(name, 1, 0, CASES))
    assert len(found) == CASES
    assert not runner.faults(found), "\n".join(map(str, runner.faults(found)))
    assert TARGETS[name].always_same or any(result.outcome is not runner.Outcome.SAME for result in found)
