"""Inputs that change or vanish after a run began, and files that Snakemake would not see to be new."""

import os
from pathlib import Path

import pytest
from quire.errors import InputError
from quire.run.changed_inputs import STATES, changed_input, keep_states, refuse_older


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return an input file whose state is kept."""
    monkeypatch.setenv(STATES, "")
    path = tmp_path / "reads.fq"
    path.write_text("@a\nA\n+\nI\n")
    os.utime(path, (1000, 1000))
    keep_states([str(path)], tmp_path / "inputs.json")
    return str(path)


def test_an_input_that_stays_as_it_is(reads: str) -> None:
    """Nothing is said about an unchanged input, nor about a file that the run made."""
    assert changed_input([reads, "out/made.bam"]) is None


def test_an_input_that_changes_or_vanishes(reads: str) -> None:
    """A change of size or time, and a missing file, are reported by name."""
    Path(reads).write_text("@a\nC\n+\nI\n")
    assert "reads.fq: changed after the run began" in changed_input([reads])
    Path(reads).unlink()
    assert "reads.fq: vanished after the run began" in changed_input([reads])


def test_without_kept_states_nothing_is_compared(reads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that another workflow started has no kept states."""
    monkeypatch.delenv(STATES)
    Path(reads).unlink()
    assert changed_input([reads]) is None


def test_an_older_file_is_put_in_the_place_of_an_input(reads: str) -> None:
    """Another file with an old date is refused until it is touched."""
    kept = Path(reads).with_name("inputs.json")
    refuse_older(kept, [reads])
    replace_by_older(reads)
    with pytest.raises(InputError, match=r"reads\.fq: was replaced since the last run by a file that is older"):
        refuse_older(kept, [reads])
    os.utime(reads)
    refuse_older(kept, [reads])
    Path(reads).unlink()
    refuse_older(kept, [reads])
    refuse_older(Path("no run before"), [reads])


def test_an_older_file_that_is_no_longer_read(reads: str) -> None:
    """A file that is neither given now nor beside a given one is not refused, until a later run is given it again."""
    kept = Path(reads).with_name("inputs.json")
    replace_by_older(reads)
    refuse_older(kept, ["", "bam", f"{reads}.gz"])
    keep_states([], kept)
    for given in (reads, reads.removesuffix(".fq"), f"{reads}:chr1"):
        with pytest.raises(InputError, match="was replaced since the last run"):
            refuse_older(kept, [given])


def replace_by_older(path: str) -> None:
    """Put another file with an old date in the place of an input."""
    Path(path).write_text("@a\nACGT\n+\nIIII\n")
    os.utime(path, (500, 500))


def test_a_file_of_the_future(reads: str) -> None:
    """Snakemake would refuse the results only after all the work."""
    os.utime(reads, (2**32, 2**32))
    with pytest.raises(InputError, match=r"reads\.fq: its time is in the future"):
        keep_states([reads], Path(reads).with_name("inputs.json"))
