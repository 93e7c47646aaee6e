"""Slurm's programs, asked with a time limit before a run submits jobs, and while it waits for them.

Snakemake's plugin asks them without a limit: it waits for ever for a missing or hanging program, and forgets its jobs,
for which it then waits for ever too, if their state cannot be queried `slurm-status-attempts` times in a row.
"""

import getpass
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from quire.errors import SENTENCE, QuireError

SECONDS = float(os.environ.get("QUIRE_SLURM_SECONDS", 30))  # time for an answer
MOST_SECONDS = 20 * SECONDS  # without any answer, after which a run ends
_STATES = "squeue", "--noheader", "--name=quire"
_AGE = re.compile(r"^MinJobAge\s*=\s*(\d+)", re.MULTILINE)


class Answer(NamedTuple):
    """Answer of a program.

    Attributes:
        status: exit status; None if it is missing or did not answer in time.
        text: what it printed.
        fault: why there is no good answer; empty if there is one.
    """

    status: int | None
    text: str
    fault: str


def ask(*command: str) -> Answer:
    """Run a program of Slurm for at most SECONDS."""
    with tempfile.TemporaryFile("w+") as said:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        except OSError as error:
            return Answer(None, "", f"{command[0]} cannot be started ({error.strerror})")
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return Answer(None, "", f"{command[0]} does not answer within {SECONDS:g} seconds")
        said.seek(0)
        text = said.read()
    words = (text.strip().splitlines() or [f"status {status}"])[-1]
    return Answer(status, text, f"{command[0]} fails ({words})" if status else "")


def require_slurm(has_account: bool, status_command: str, seconds_between: int) -> None:
    """Check that the programs that the plugin asks for partition, account and the states of jobs give answers.

    `has_account`: an account is given, so that the plugin guesses none. The others are settings of the plugin;
    `seconds_between` is the time between two queries of states.
    """
    for program in ("sbatch", "scancel"):
        if not shutil.which(program):
            raise QuireError(f"Slurm: {program} is not on the PATH; run this on a machine that can submit jobs.")
    for command in (("sinfo", "-o", "%P"), _STATES):
        if fault := ask(*command).fault:
            raise QuireError(f"Slurm: {fault}; run this where `{command[0]}` works, or ask its administrator.")
    accounting = ask("sacct", "-nXu", getpass.getuser(), "-o", "Account%256")
    if has_account:
        known = ask("sacctmgr", "-ns", "list", "user", getpass.getuser(), "format=account%256")
        if known.status is not None and (known.fault or not known.text):
            known = ask("sshare", "-U", "--format", "Account%256", "--noheader")  # as the plugin does
        if known.fault:
            raise QuireError(
                f"Slurm: {known.fault}, which checks the account; leave out slurm_account, or ask its administrator."
            )
    elif accounting.status is None:
        raise QuireError(
            f"Slurm: {accounting.fault}, which tells your account; name it with --default-resources "
            "slurm_account=NAME mem_mb=2000 runtime=60."
        )
    age = _AGE.search(ask("scontrol", "show", "config").text)
    forgets = age is None or int(age[1]) < 3 * seconds_between  # the plugin's rule for asking sacct instead
    if accounting.fault and (forgets or status_command == "sacct"):
        remembered = f"only for {age[1]} seconds" if age else "for an unknown time"
        raise QuireError(
            f"Slurm: {accounting.fault}, and squeue shows ended jobs {remembered} (MinJobAge); without either a run "
            "cannot know that a job ended, so ask its administrator for one of them."
        )


def watch_slurm(say: Callable[[str], object], before_the_end: Callable[[], object]) -> None:
    """Ask for the states of jobs from time to time, on a thread of its own, and end the run if no answer comes.

    `say` is called with a line when Slurm stops answering and when it answers again, `before_the_end` before this
    process ends with status 1.
    """

    def ask_again() -> None:
        last, silent = time.monotonic(), False
        while True:
            time.sleep(2 * SECONDS)
            fault = ask(*_STATES).fault
            if bool(fault) != silent:
                silent = bool(fault)
                say(f"Slurm: {fault}; asking again" if fault else "Slurm answers again")
            if not fault:
                last = time.monotonic()
            elif time.monotonic() - last > MOST_SECONDS:
                before_the_end()
                sentence = (
                    f"{SENTENCE}Slurm: {fault}, since {(time.monotonic() - last) / 60:.0f} minutes; submitted jobs "
                    "go on, so wait for their end (squeue) and run the same command again."
                )
                print(sentence, file=sys.stderr, flush=True)
                os._exit(1)

    threading.Thread(target=ask_again, name="quire-slurm", daemon=True).start()
