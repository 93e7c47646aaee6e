"""Check the frame of a job: its log, its sentence if it fails, and the search for that sentence."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
from quire import sources
from quire.run.job import earlier_failure, failed_samples, failure_sentences

UNEXPECTED = "quire: error: unexpected failure in rule map_unit; see logs/job.log"


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        ("raise InputError('reads.fq: is empty.')", "quire: error: reads.fq: is empty."),
        ("open('none.fa')", "quire: error: none.fa: No such file or directory; check the path"),
        (
            "raise OSError(28, 'No space left on device')",
            "quire: error: No space left on device; check permissions and",
        ),
        ("raise OSError(12, 'Cannot allocate memory')", "quire: error: memory ran out (Cannot allocate memory); give"),
        (
            "raise BlockingIOError(11, 'Resource temporarily unavailable')",
            "quire: error: a thread or a process cannot be",
        ),
        (
            'raise RuntimeError("can\'t start new thread")',
            "quire: error: a thread or a process cannot be started; raise",
        ),
        ("raise MemoryError", "quire: error: memory ran out in rule map_unit; set align.reads_per_batch to a smaller"),
        ("raise ValueError('in two\\nlines')", UNEXPECTED),
        ("os.write(2, b'htslib speaks\\n'); 1 / 0", UNEXPECTED),
    ],
)
def test_a_job_that_fails_ends_its_log_with_a_sentence(failure: str, sentence: str, tmp_path: Path) -> None:
    """Status 1 and nothing on the terminal; the log has a traceback if the user cannot fix the cause."""
    script = f"""
        import os
        from types import SimpleNamespace
        from quire.errors import InputError
        from quire.run.job import run_job

        job = SimpleNamespace(log=["logs/job.log"], input=["a.fq"], output=["out.bam"], rule="map_unit")
        with run_job(job):
            {failure}
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(sources.SCRIPTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")
    log = tmp_path / "logs/job.log"
    assert log.read_text().count("Traceback") == (sentence == UNEXPECTED or failure == "raise MemoryError")
    assert Path(f"{log}.failed").exists() == ("memory ran out" not in sentence)
    (found,) = failure_sentences([job(log)])
    assert found.startswith(sentence)


def test_a_damaged_note_is_removed(tmp_path: Path) -> None:
    for content in (b"\xff\xfe\0\nquire: error: old", b"", b"\n" * 9):
        (tmp_path / "job.log.failed").write_bytes(content)
        assert earlier_failure(tmp_path / "job.log") is None
        assert not (tmp_path / "job.log.failed").exists()


CRASH = """
import os, signal
from types import SimpleNamespace
from quire.run.job import run_job

def fall(signal):
    os.kill(os.getpid(), signal)

with run_job(SimpleNamespace(log=["job.log"], input=["a.fq"], output=["out.bam"], rule="map_unit")):
    fall(signal.SIGSEGV)
"""


def test_a_crash_says_where(tmp_path: Path) -> None:
    """The sentence names the crash and does not suggest more memory."""
    log = tmp_path / "job.log"
    environment = {"PYTHONPATH": str(sources.SCRIPTS)}
    result = subprocess.run([sys.executable, "-c", CRASH], cwd=tmp_path, env=environment, check=False)
    assert result.returncode == -signal.SIGSEGV
    assert "in fall" in log.read_text()
    (sentence,) = failure_sentences([job(log)])
    assert sentence.startswith("quire: error: a job of rule map_unit crashed (Segmentation fault), which")


ATTEMPT = """
import pathlib, sys
from types import SimpleNamespace
from quire.errors import InputError
from quire.run.job import run_job

with run_job(SimpleNamespace(log=["job.log"], input=["a.fq"], output=["out.bam"], rule="map_unit")):
    with pathlib.Path("work").open("a") as stream:
        stream.write("w")
    if sys.argv[1:]:
        raise InputError(sys.argv[1])
"""


def test_a_further_attempt_repeats_the_sentence_and_not_the_work(tmp_path: Path) -> None:
    """It does so only in the same run, and not if memory ran out."""

    def attempt(run: str, *failure: str) -> tuple[int, int, str]:
        """Return the exit status, how often the job has worked so far, and the last line of its log."""
        environment = {"PYTHONPATH": str(sources.SCRIPTS), "QUIRE_RUN": run}
        command = [sys.executable, "-c", ATTEMPT, *failure]
        status = subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode
        return status, len((tmp_path / "work").read_text()), (tmp_path / "job.log").read_text().splitlines()[-1]

    assert attempt("first", "a.fq: is truncated.")[:2] == (1, 1)
    again = attempt("first", "a.fq: is truncated.")
    assert again[:2] == (1, 1)
    assert again[2].endswith("quire: error: a.fq: is truncated.")
    assert attempt("second")[:2] == (0, 2)
    assert attempt("second", "memory ran out: map less.")[:2] == (1, 3)
    assert attempt("second")[:2] == (0, 4)


def job(log: Path, rule: str = "map_unit", **wildcards: str) -> SimpleNamespace:
    """Return a stand-in for one of Snakemake's jobs."""
    return SimpleNamespace(log=[str(log)], rule=SimpleNamespace(name=rule), is_group=lambda: False, wildcards=wildcards)


def group(*jobs: SimpleNamespace) -> SimpleNamespace:
    """Return a stand-in for one of Snakemake's groups of jobs."""
    return SimpleNamespace(jobs=list(jobs), is_group=lambda: True)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Return the logs of jobs that ended in every possible way."""
    texts = {
        "first": "03:15:24 quire quire: error: a.fq: is truncated.\n",
        "second": "03:15:23 quire.align at work\n03:15:24 quire quire: error: b.fq: is truncated.\n",
        "same": "04:00:00 quire quire: error: a.fq: is truncated.\n",
        "killed": "03:15:23 quire.align at work\n",
        "empty": "",
    }
    monkeypatch.setenv("QUIRE_RUN", "this")
    for name, text in texts.items():
        (tmp_path / f"{name}.log").write_text(text and f"03:15:22 quire.job run this\n{text}")
    (tmp_path / "earlier.log").write_text("03:15:22 quire.job run that\n03:15:23 quire quire: error: a.fq: is empty.\n")
    return {name: tmp_path / f"{name}.log" for name in (*texts, "absent", "earlier")}


def test_each_sentence_is_found_once(logs: dict[str, Path]) -> None:
    """Two of several jobs failed for the same reason."""
    assert failure_sentences(job(logs[name]) for name in ("second", "first", "same")) == [
        "quire: error: a.fq: is truncated.",
        "quire: error: b.fq: is truncated.",
    ]
    assert failure_sentences([]) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("killed", "ended without an error message, probably killed"),
        ("empty", "failed before it began its log"),
        ("absent", "failed before it began its log"),
        ("earlier", "failed before it began its log"),
    ],
)
def test_a_job_that_said_nothing_is_told_by_its_rule_and_log(name: str, told: str, logs: dict[str, Path]) -> None:
    """The job was killed while it worked or before its first line, or was never started."""
    (sentence,) = failure_sentences([job(logs[name])])
    assert sentence.startswith(f"quire: error: a job of rule map_unit {told}")
    assert str(logs[name]) in sentence


def test_of_a_group_those_jobs_count_that_said_anything(logs: dict[str, Path]) -> None:
    """The other jobs had ended or were not started; if no job has a sentence, all are named."""
    assert failure_sentences([group(job(logs["killed"]), job(logs["first"]), job(logs["absent"]))]) == [
        "quire: error: a.fq: is truncated."
    ]
    assert len(failure_sentences([group(job(logs["killed"]), job(logs["absent"]))])) == 2


def test_samples_of_failed_jobs_are_named() -> None:
    """Each sample once, at most twenty by name; none in a run of one sample, or if a job of no sample failed."""
    one = job(Path("a"), sample="b", piece="1")
    assert failed_samples([group(one, job(Path("a"), gvcf="b")), job(Path("a"), sample="a")], 1000) == [
        "quire: error: failed: a, b (2 of 1,000 samples); mend the cause, or take them out of the sheets "
        "(a # before a line is enough), and the same "
        "command does the rest."
    ]
    assert failed_samples([one], 1) == failed_samples([job(Path("a"), page="1")], 2) == []
    (many,) = failed_samples([job(Path("a"), sample=f"s{number:02}") for number in range(30)], 30)
    assert "s00, s01, " in many
    assert "s18, s19 and 10 more (30 of 30 samples)" in many


def test_how_long_the_process_lives() -> None:
    """The time before the module's import counts."""
    script = (
        "import time; time.sleep(0.3); from quire.time_spent import seconds_of_process; print(seconds_of_process())"
    )
    environment = {"PYTHONPATH": str(sources.SCRIPTS)}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert 0.29 <= float(result.stdout) < 60
