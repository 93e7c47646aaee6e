"""Changes since the last run: the table at the end of a dry run, and results that Snakemake would wrongly keep.

The table has the changes, the jobs that run again, and the time that the same jobs took before.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from quire.errors import InputError, QuireError
from quire.io.files import read_json

# What the longest jobs do, in the order of a run, and the rules that do it or decide what is done.
_STAGES = {
    "indexed": {"pack_reference", "index_page"},
    "mapped": {"map_unit"},
    "sorted": {"finish_sample", "finish_as_before"},
    "called": {"split_intervals", "calibrate_repeats", "rescore_sample", "rescore_interval"},
    "genotyped": {"joint_genotype"},
}
_MOST_CHANGES = 20  # lines
_SHARED = {"pack_reference", "index_page", "compile_kernels"}  # by runs in several folders
# Values that no answer depends on, by the beginning of their names. The FASTA is compared with its index.
_NEUTRAL = (
    "output", "samples", "units", "container", "device.", "index.", "reference.fasta", "reference.index_directory",
    "reference.page_size", "align.reads_per_batch", "rescore.interval_size",
)  # fmt: skip
_DIGEST = re.compile("'?[0-9a-f]{32,}'?")  # of the sources of a rule, as Snakemake keeps it


def named_settings(settings: Mapping[str, Any], *sheets: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the values of a run as text: by dotted key, and the rows of its sheets by sample or sample.unit."""
    found = dict(_leaves(settings, ""))
    for row in (row for sheet in sheets for row in sheet):
        name = ".".join(str(row[key]) for key in ("sample", "unit") if key in row)
        found[f"sheet, {name}"] = ", ".join(str(value) for value in row.values() if value)
    return found


def lines_of_plan(jobs: Mapping[Any, Any], cores: int, kept: Path, now: Mapping[str, str]) -> list[str]:
    """Return the table of a dry run; empty without jobs, and if there was no earlier run.

    `jobs` are those that Snakemake would run, each with its reason. `kept` is the file with the `named_settings` of the
    last run, and `now` are those of this one.
    """
    by_rule, took = defaultdict[str, list[Any]](list), dict[Any, float]()
    for job in jobs:
        if job.benchmark:
            by_rule[job.rule.name].append(job)
            took.update(_seconds(job))
    if not by_rule or not (took or kept.exists()):
        return []
    lines = ["", "Changed since the last run:", *_changes(kept, now), "Done again (with the seconds of the last time):"]
    for rule, own in by_rule.items():
        samples = len({job.wildcards_dict.get("sample") for job in own} - {None})
        of_samples = f"{samples} sample{'s' * (samples > 1)}" if samples else ""
        why = "; ".join(sorted({_why(jobs[job]) for job in own} - {""}))
        known = [took[job] for job in own if job in took]
        seconds = f"{sum(known):,.1f}" if known else ""
        lines.append(f"  {rule:<18}{len(own):>4} x  {of_samples:<12}{seconds:>9}  {why}".rstrip())
    first = next((i for i, rules in enumerate(_STAGES.values()) if not rules.isdisjoint(by_rule)), len(_STAGES))
    if idle := [*_STAGES][:first]:
        lines.append(f"Nothing is {', '.join(idle[:-1])}{' or ' if idle[1:] else ''}{idle[-1]}.")
    if checkpoints := [rule for rule, own in by_rule.items() if own[0].is_checkpoint]:
        lines.append(f"Jobs that follow {', '.join(checkpoints)} are known only after it.")
    if not took:
        return [*lines, "How long it takes is not known: no such job ran before."]
    total = sum(seconds * min(job.threads, cores) / cores for job, seconds in took.items())
    new = sum(map(len, by_rule.values())) - len(took)
    return [*lines, f"It takes about {total:,.0f} s on {cores} cores" + (f", and {new} new jobs." if new else ".")]


def refuse_unrecorded(jobs: Mapping[Any, Any], kept: Path, now: Mapping[str, str]) -> None:
    """Refuse values that changed since the last run if Snakemake has no record of the results that it would keep.

    Its records are in `.snakemake` of the working directory. `jobs` are those that it would not run, each with its
    reason; `kept` and `now` are as for `lines_of_plan`. Added samples and lanes are no change of results.

    Raises:
        InputError: such values.
    """
    unrecorded = sum(reason.no_metadata and job.rule.name not in _SHARED for job, reason in jobs.items())
    if not unrecorded or not kept.exists():
        return
    before: dict[str, str] = read_json(kept)
    names = [name for name, value in before.items() if value != now.get(name) and not name.startswith(_NEUTRAL)]
    if names:
        changes = "; ".join(_change(name, before, now) for name in names[:3])
        more = f"; and {len(names) - 3} more" if names[3:] else ""
        raise InputError(
            f"{kept.parent.parent}: was made with other settings ({changes}{more}), and .snakemake of this folder has "
            f"no record of {unrecorded} of its jobs, so that Snakemake would keep old results; run it in the folder "
            "where it was made, repeat everything with --forceall, or run it once with the earlier settings and "
            "--forceall --touch, which makes the records."
        )


def _change(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    return f"{name}: {before.get(name) or '(none)'} → {now.get(name) or '(none)'}"


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the values of a configuration as text, each with its dotted name."""
    if not isinstance(value, Mapping):
        yield name, str(value)
        return
    for key, part in value.items():
        yield from _leaves(part, f"{name}.{key}".lstrip("."))


def _changes(kept: Path, now: Mapping[str, str]) -> list[str]:
    """Return a line for each value that differs from the last run's."""
    try:
        before: dict[str, str] = read_json(kept)
    except (OSError, QuireError):
        return ["  not known: no earlier run kept its configuration"]
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    lines = [f"  {_change(name, before, now)}" for name in names]
    more = [f"  and {len(lines) - _MOST_CHANGES} more"] if len(lines) > _MOST_CHANGES else []
    return [*lines[:_MOST_CHANGES], *more] or ["  nothing in the configuration and the sheets"]


def _why(reason: Any) -> str:
    """Return in words what Snakemake names as the reason of a job; empty if it follows from another job."""
    words = ["forced"] if reason.forced else []
    if reason.params_changed:
        old = reason.params_changed.only_old | reason.params_changed.only_new
        digests = [text for text in old if _DIGEST.fullmatch(str(text))]
        words += ["Quire changed"] * bool(digests) + ["settings changed"] * (len(old) > len(digests))
    words += ["other input files"] * bool(reason.input_changed)
    words += ["records needed again"] * (not words and any("/units/" in str(path) for path in reason.missing_output))
    words += [f"{path} is new" for path in sorted(map(str, reason.updated_input - reason.updated_input_run))[:1]]
    return ", ".join(words)


def _seconds(job: Any) -> dict[Any, float]:
    """Return the wall time of a job by Snakemake's benchmark of an earlier run, if there is one.

    A job that is new, as for another sample, is taken to last as long as those of its rule did on average.
    """
    own = Path(str(job.benchmark))
    seconds = _mean([own])
    if seconds is None and own.parent.name == job.rule.name:
        seconds = _mean_of_rule(own.parent)
    return {} if seconds is None else {job: seconds}


@cache
def _mean_of_rule(folder: Path) -> float | None:
    return _mean(folder.glob("*.tsv"))


def _mean(benchmarks: Iterable[Path]) -> float | None:
    """Return the mean wall time of Snakemake's benchmarks, without those that are missing or damaged."""
    found = []
    for path in benchmarks:
        with suppress(OSError, ValueError, IndexError):
            found.append(float(path.read_text().splitlines()[1].split("\t")[0]))
    return sum(found) / len(found) if found else None
