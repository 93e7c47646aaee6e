"""Some mutations of the files of every reader end without a fault."""

import shutil

import pytest

from tests.fuzz import runner
from tests.fuzz.own_files import OwnFiles
from tests.fuzz.targets import PROGRAMS, TARGETS

CASES = 300
IN_ONE_RUN = {part.name for part in OwnFiles.parts}  # by "own_files", since each would take longer to start than to run


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full) for name in TARGETS if name not in IN_ONE_RUN]
)
def test_no_mutation_ends_in_a_fault(name: str) -> None:
    if (program := PROGRAMS.get(name)) and shutil.which(program) is None:
        pytest.skip(f"{program}, which judges, is not installed")
    cases = 500 if name == OwnFiles.name else CASES
    found = list(runner.results(name, 1, 0, cases))
    assert len(found) == cases
    assert not runner.faults(found), "\n".join(map(str, runner.faults(found)))
    assert TARGETS[name].always_same or any(result.outcome is not runner.Outcome.SAME for result in found)
