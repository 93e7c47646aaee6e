"""Check the progress of jobs in their logs and on the terminal."""

import gzip
import io
import logging
import time
from pathlib import Path

import numpy as np
import pytest
from quire import progress
from quire.io import bgzf_cpu, bytes_read
from quire.io.bytes_read import share_read
from quire.io.fastq import read_batches
from quire.io.files import BGZF_END
from quire.progress import DONE, Progress, duration
from quire.run.job import LINE
from quire.run.short_log import lines_of, shorten, watch


def test_the_rest_goes_at_the_pace_so_far(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Progress is logged every ten seconds in the terminal's format, without remaining time if the share is unknown."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log = logging.getLogger("quire.test")
    caplog.set_level(logging.INFO, "quire.test")
    steps = Progress(log)
    for seconds, done in ((4, 1), (12, 2), (20, 3), (300, 50), (4000, 60)):
        now[0] = 100 + seconds
        steps.tell_count(done, 100, "windows called")
    now[0] += 20
    steps.tell(lambda: "reads", lambda: None)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "2 of 100 windows called, 2.0 % done, 10 min left",
        "50 of 100 windows called, 50.0 % done, 5 min left",
        "60 of 100 windows called, 60.0 % done, 44 min left",
        "reads",
    ]
    lines = "".join(f"12:00:00 quire.test {one}\n" for one in said)
    assert DONE.findall(lines) == said[:-1]
    assert [duration(seconds) for seconds in (0, 89, 90, 5399, 5400)] == ["0 s", "89 s", "2 min", "90 min", "1.5 h"]


@pytest.mark.parametrize("form", ["plain", "gzip", "bgzip"])
def test_the_share_that_was_read(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The share of two files grows from 0 to 1, for files of any format."""
    monkeypatch.setattr(bytes_read, "_bytes", {})
    generator = np.random.default_rng(1)
    reads = 20_000
    letters = generator.choice(np.frombuffer(b"ACGT", np.uint8), (reads, 100))
    text = b"".join(b"@%d\n%s\n+\n%s\n" % (i, row.tobytes(), b"I" * 100) for i, row in enumerate(letters))
    paths = [tmp_path / "1.fq", tmp_path / "2.fq"]
    for path in paths:
        forms = {"plain": lambda: text, "gzip": lambda: gzip.compress(text, 1)}
        path.write_bytes(forms.get(form, lambda: bgzf_cpu.compress_blocks(text).tobytes() + BGZF_END)())
    assert share_read(paths) is None
    shares = []
    for path in paths:
        for _ in read_batches(path, None, 100, chunk_bytes=1 << 16):
            shares.append(share_read(paths))
    assert shares == sorted(shares)
    assert 0 < shares[0] <= 0.5
    assert 0.4 < shares[len(shares) // 2 - 1] < 0.6  # at the end of the first file
    assert shares[-1] == 1
    paths[1].unlink()
    assert share_read(paths) is None  # no error, which would end a job that has the file open


def job(log: Path, number: int = 3) -> logging.LogRecord:
    """Return Snakemake's record of the beginning of a job."""
    fields = {"event": "job_info", "jobid": number, "rule_msg": None, "rule_name": "map_unit", "log": [str(log)],
              "wildcards": {"sample": "S", "unit": "1"}, "levelno": logging.INFO}  # fmt: skip
    return logging.makeLogRecord(fields)


def test_a_job_is_told_once_by_what_its_log_says_last(tmp_path: Path) -> None:
    """The last progress of a log is reported once, and not that of an earlier run's log or of a missing one."""
    log, said = tmp_path / "map.log", {}
    assert lines_of({3: job(log)}, said) == []
    log.write_text("12:00:00 quire.align 5 reads mapped, 1 reads/s, 10.0 % done, 9 s left\n")
    later = job(log)
    later.created += 100
    assert lines_of({3: later}, said) == []
    (line,) = lines_of({3: job(log)}, said)
    assert line.endswith("  map_unit S.1: 5 reads mapped, 1 reads/s, 10.0 % done, 9 s left")
    assert lines_of({3: job(log)}, said) == []
    with log.open("a") as stream:
        stream.write(
            "12:00:10 quire.align other words\n12:00:20 quire.align 9 reads, 20.0 % done, 8 s left\n12:00:21 q"
        )
    (line,) = lines_of({3: job(log)}, said)
    assert line.endswith(": 9 reads, 20.0 % done, 8 s left")


@pytest.mark.full
def test_the_terminal_is_told_while_a_job_runs(tmp_path: Path) -> None:
    """A thread reads the logs, and stops reporting a job that ended or failed."""
    log, stream = tmp_path / "map.log", io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.handlers[0].setFormatter(logging.Formatter("%(message)s"))
    shorten(logger)
    watch(logger, 0.02)
    for number, end in enumerate(("job_finished", "job_error")):
        logger.handle(job(log, number))
        log.write_text(f"12:00:00 quire.align {number} reads, 10.0 % done, 9 s left\n")
        patience = time.monotonic() + 20
        while f"{number} reads, 10.0" not in stream.getvalue():
            assert time.monotonic() < patience
            time.sleep(0.01)
        logger.info("ended", extra={"event": end, "job_id": number, "jobid": number})
        log.write_text(f"12:00:00 quire.align {number} reads, 20.0 % done, 9 s left\n")
        time.sleep(0.2)
        assert "20.0 % done" not in stream.getvalue()


def test_words_of_jobs_and_of_the_terminal_agree() -> None:
    """Lines in run_job's log format match the pattern for progress."""
    record = logging.makeLogRecord({"name": "quire.align", "msg": "1 of 2 records sorted, 50.0 % done, 3.4 h left"})
    line = logging.Formatter(LINE, "%H:%M:%S").format(record)
    assert DONE.findall(line + "\n") == [record.getMessage()]
    assert progress.SECONDS_BETWEEN < 30
