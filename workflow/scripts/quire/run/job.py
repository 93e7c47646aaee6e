"""The frame of every rule's script around its one library call: the log, and errors as one sentence.

`run_job` sends logging and stderr to the job's log file, and ends it with one sentence if the job fails.
`failure_sentences` collects these sentences for the end of the terminal output.

Snakemake's `retries` restarts a failed job for any reason, but more memory helps only a job that was killed or ran out
of memory. A job that fails for another reason therefore leaves a note (`LOG.failed`), and its next attempt in the same
run repeats the sentence at once instead of the work.
"""

import errno
import faulthandler
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from quire.errors import MEMORY, SENTENCE, QuireError
from quire.run.changed_inputs import changed_input
from quire.start import RUN, end_imports
from quire.time_spent import seconds_of_process

# Advice that lets the jobs of a rule use less memory.
_LESS_MEMORY = {
    "map_unit": "set align.reads_per_batch to a smaller number or give the rule fewer threads",
    "index_page": "set reference.page_size to a smaller number",
}
LINE = "%(asctime)s.%(msecs)03d %(name)s %(message)s"  # of a log; `quire.progress.DONE` matches some lines
# No job failed.
STOPPED = f"{SENTENCE}the run was stopped; the results of finished jobs are kept, and the same command does the rest."
NO_THREAD = "can't start new thread"  # Python's words, in a RuntimeError
_CRASH = re.compile("^Fatal Python error: (.*)$", re.MULTILINE)  # as faulthandler writes it


@contextmanager
def run_job(snakemake: Any) -> Iterator[Any]:
    """Yield the job (Snakemake's object), whose log ends with one sentence if the block fails."""
    end_imports()
    log = Path(snakemake.log[0])
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        # File descriptor 2 itself is redirected, so that messages of C libraries (htslib) go into the log too.
        os.dup2(stream.fileno(), 2)
        faulthandler.enable(2)  # position of each thread when a library crashes, which raises no exception
        logging.basicConfig(
            stream=stream,
            level=logging.INFO,
            format=LINE,
            datefmt="%H:%M:%S",
            force=True,
        )
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by `block_ctrl_c_in_jobs`
        spoken = logging.getLogger("quire.job")
        spoken.info("%s", _run_line())
        spoken.info("loaded, %.2f s after the process began", seconds_of_process())
        if (sentence := earlier_failure(log)) is not None:
            logging.getLogger("quire").error("%s", sentence)
            sys.exit(1)
        try:
            yield snakemake
            if (changed := changed_input(snakemake.input)) is not None:
                _fail(log, changed)
            spoken.info("done, %.2f s after the process began", seconds_of_process())
        except (QuireError, OSError) as error:
            _fail(log, changed_input(snakemake.input) or describe(error, Path(snakemake.output[0]).parent))
        except MemoryError:
            logging.getLogger("quire").exception("memory ran out")
            helps = _LESS_MEMORY.get(snakemake.rule, "give the rule fewer threads")
            logging.getLogger("quire").error(
                "%s%s in rule %s; %s, or give it more (--set-resources %s:mem_mb=NUMBER on a cluster).",
                *(SENTENCE, MEMORY, snakemake.rule, helps, snakemake.rule),
            )
            sys.exit(1)
        except Exception as error:
            if NO_THREAD in str(error):
                _fail(log, describe(error))
            logging.getLogger("quire").exception("internal error (a bug)")
            _fail(log, f"unexpected failure in rule {snakemake.rule}; see {log}")


def _fail(log: Path, sentence: str) -> NoReturn:
    """End the job with a sentence and status 1, and note it for a further attempt unless more memory may help."""
    if MEMORY not in sentence:
        with suppress(OSError):  # a full disk: the next attempt repeats the work and fails again
            _note(log).write_text(f"{_run_line()}\n{SENTENCE}{sentence}", "utf-8", "backslashreplace")
    logging.getLogger("quire").error("%s%s", SENTENCE, sentence)
    sys.exit(1)


def earlier_failure(log: Path) -> str | None:
    """Return the sentence of an earlier attempt in this run, if more memory does not help; remove older notes."""
    note = _note(log)
    run, _, sentence = (
        note.read_text(encoding="utf-8", errors="replace").partition("\n") if note.exists() else ("", "", "")
    )
    if sentence and run == _run_line():
        return sentence
    note.unlink(missing_ok=True)
    return None


def _note(log: Path) -> Path:
    return log.with_name(f"{log.name}.failed")


def _run_line() -> str:
    """Return the line that every log of this run contains, which logs of earlier runs lack."""
    return f"run {os.environ.get(RUN, 'without a name')}"


def failure_sentences(failed: Iterable[Any]) -> list[str]:
    """Return the last sentences of failed jobs' logs, each once; of a group only those of jobs that have one."""
    sentences: set[str] = set()
    for job in failed:
        jobs = list(job.jobs) if job.is_group() else [job]
        said = {sentence for one in jobs if (sentence := why_it_failed(one.rule.name, Path(one.log[0])))}
        sentences |= said or {_sentence_without_words(one.rule.name, Path(one.log[0])) for one in jobs}
    return sorted(sentences)


def failed_samples(failed: Iterable[Any], samples: int) -> list[str]:
    """Return a line that names the samples of failed jobs among several, and what to do; none without such jobs."""
    jobs = [one for job in failed for one in (job.jobs if job.is_group() else [job])]
    names = sorted({name for job in jobs for key, name in job.wildcards.items() if key in ("sample", "gvcf")})
    if not names or samples < 2:
        return []
    said = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if names[20:] else "")
    return [
        f"{SENTENCE}failed: {said} ({len(names)} of {samples:,} samples); mend the cause, or take them out of the "
        "sheets (a # before a line is enough), and the same command does the rest."
    ]


def why_it_failed(rule: str, log: Path) -> str | None:
    """Return the sentence of a failed job from its log; None if the log has none.

    A crash takes precedence: if one of the job's processes crashed, the job itself reports a lack of memory.
    """
    text = _text_of(log)
    if crashes := _CRASH.findall(text):
        said = f"crashed ({crashes[-1]}), which no input should cause; see where in {log}."
        return f"{SENTENCE}a job of rule {rule} {said}"
    _, mark, rest = (text.splitlines() or [""])[-1].partition(SENTENCE)
    return mark + rest if mark else None


def _sentence_without_words(rule: str, log: Path) -> str:
    """Return the sentence for a job that failed without giving a reason."""
    if not _text_of(log):
        return (
            f"{SENTENCE}a job of rule {rule} failed before it began its log {log}; see the messages above, and check "
            "permissions and the free space there."
        )
    return (
        f"{SENTENCE}a job of rule {rule} ended without an error message, probably killed (out of memory or "
        f"time?); see {log}, and on a cluster request more (--set-resources {rule}:mem_mb=NUMBER "
        f"{rule}:runtime=MINUTES)."
    )


def _text_of(log: Path) -> str:
    """Return the text of a log of this run; empty for a missing log, and for that of an earlier run (a refused job)."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return text if _run_line() in text else ""


def describe(error: Exception, output: Path = Path()) -> str:
    """Return one sentence for an error: the message of a QuireError, or the file and reason of an OSError.

    Lack of memory gets the same words in every case (os.fork reports it as ENOMEM). If an OSError names no file, the
    sentence gives the free space of the job's output folder.
    """
    if NO_THREAD in str(error) or (isinstance(error, OSError) and error.errno == errno.EAGAIN):
        return (
            "a thread or a process cannot be started; raise the limits on memory and processes (ulimit -v, ulimit -u), "
            "or give fewer threads."
        )
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        named = f"{error.filename}: " if error.filename is not None else ""
        return f"{named}{MEMORY} ({error.strerror}); give the rule fewer threads or more memory (its mem_mb)."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the path, its permissions and the free space."
    if isinstance(error, OSError):
        temporary = tempfile.gettempdir()
        return (
            f"{error.strerror or error}; check permissions and the free space of the output folder {output} "
            f"({_free(output)}) and of the temporary folder {temporary} ({_free(temporary)}; the variable TMPDIR names "
            "another)."
        )
    return str(error)


def _free(folder: str | Path) -> str:
    try:
        return f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB free"
    except OSError as error:
        return str(error.strerror)
