"""Changes since the last run, from jobs as Snakemake has them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quire.errors import InputError
from quire.io.files import write_json_atomic
from quire.run.plan import lines_of_plan, refuse_unrecorded


class Job(SimpleNamespace):
    """A job as the table reads it."""

    __hash__ = object.__hash__


def job(folder: Path, rule: str, sample: str) -> Job:
    return Job(
        rule=SimpleNamespace(name=rule),
        benchmark=folder / rule / f"{sample}.tsv",
        wildcards_dict={"sample": sample},
        threads=1,
        is_checkpoint=False,
    )


def test_a_new_sample_is_estimated_from_the_others(tmp_path: Path) -> None:
    """Its jobs take as long as those of other samples; of a new rule no time is known."""
    for rule, sample, seconds in (("map_unit", "a", 4), ("map_unit", "b", 8), ("finish_sample", "a", 3)):
        (tmp_path / rule).mkdir(exist_ok=True)
        (tmp_path / rule / f"{sample}.tsv").write_text(f"s\th:m:s\n{seconds}.0\t0:00:0{seconds}\n")
    (tmp_path / "map_unit/killed.tsv").touch()
    none: Any = SimpleNamespace(
        forced=False, params_changed=None, input_changed=False, missing_output=set(), updated_input=set(),
        updated_input_run=set(),
    )  # fmt: skip
    jobs = [job(tmp_path, "map_unit", "c"), *(job(tmp_path, "finish_sample", sample) for sample in "ac")]
    lines = lines_of_plan(dict.fromkeys([*jobs, job(tmp_path, "count_target", "c")], none), 1, tmp_path / "none", {})
    assert lines[4:] == [
        "  map_unit             1 x  1 sample          6.0",
        "  finish_sample        2 x  2 samples         6.0",
        "  count_target         1 x  1 sample",
        "Nothing is indexed.",
        "It takes about 12 s on 1 cores, and 1 new jobs.",
    ]
    assert lines_of_plan({job(tmp_path, "name_assembly", "a"): none}, 1, tmp_path / "none", {}) == []
    write_json_atomic(tmp_path / "kept", {"reference.assembly": ""})
    new = lines_of_plan({job(tmp_path, "name_assembly", "a"): none}, 1, tmp_path / "kept", {"reference.assembly": "x"})
    assert new[2:] == [
        "  reference.assembly: (none) → x",
        "Done again (with the seconds of the last time):",
        "  name_assembly        1 x  1 sample",
        "Nothing is indexed, mapped, sorted, called or genotyped.",
        "How long it takes is not known: no such job ran before.",
    ]


def test_results_without_records_are_refused_for_other_settings(tmp_path: Path) -> None:
    """Not for settings that no answer depends on, for samples that are new, nor for an index that others made."""
    kept = tmp_path / "results/.checks/settings.json"
    before = {"align.umi": "none", "device.backend": "cpu", "sheet, A": "A, 2", "output": "results"}
    without: Any = SimpleNamespace(no_metadata=True)
    jobs = {job(tmp_path, "finish_sample", "A"): without}
    refuse_unrecorded(jobs, kept, {})  # no earlier run
    kept.parent.mkdir(parents=True)
    write_json_atomic(kept, before)
    same = {**before, "device.backend": "gpu", "sheet, B": "B, 2", "output": "elsewhere", "align.new": "1"}
    refuse_unrecorded(jobs, kept, same)
    for other in ({**same, "align.umi": "name"}, {name: value for name, value in same.items() if name != "sheet, A"}):
        with pytest.raises(InputError, match="was made with other settings"):
            refuse_unrecorded(jobs, kept, other)
        refuse_unrecorded({job(tmp_path, "index_page", "0"): without}, kept, other)
        refuse_unrecorded({job(tmp_path, "finish_sample", "A"): SimpleNamespace(no_metadata=False)}, kept, other)
