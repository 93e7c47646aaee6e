"""`quire run` and `quire report`: Snakemake with Quire's Snakefile."""

import os
import pwd
import re
import shlex
import signal
import sys
import traceback
from argparse import Action
from collections.abc import Mapping
from types import FrameType
from typing import NoReturn

from quire.command import text_of
from quire.command.parser import LIST, list_options
from quire.run.interrupts import STATUS, loading
from quire.run.job import STOPPED
from quire.sources import ROOT

_CONFIGURATION = (".yaml", ".yml", ".json")
_AGAIN = 0.05  # seconds until an interrupt that was dropped is raised once more


def run(arguments: list[str]) -> NoReturn:
    """Run Snakemake with Quire's Snakefile in this process."""
    if arguments in (["--help"], ["-h"]):
        print(text_of("run.txt"), end="")
        sys.exit()
    name_user()
    with loading():
        from snakemake import cli

        parser = cli.get_argument_parser()  # imports plugins
    if LIST in arguments:
        list_options(parser)
        sys.exit()
    os.environ.setdefault("QUIRE_COMMAND", shlex.join(["quire", "run", *arguments]).encode(errors="replace").decode())
    given = with_targets_last(arguments, parser._option_string_actions)
    # Quire's profiles, unless the working directory has a folder of that name.
    given = [str(ROOT / word) if word.startswith("profiles/") and not os.path.exists(word) else word for word in given]
    # Snakemake's own way in. Quire's profile and rules look at the arguments too.
    sys.argv = ["snakemake", "-s", str(ROOT / "Snakefile"), *given]
    interrupted = False

    def interrupt(_signal: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        # Snakemake's log drops an interrupt.
        if any(inner.f_code.co_filename.endswith("snakemake/logging.py") for inner, _ in traceback.walk_stack(frame)):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            raise KeyboardInterrupt

    def interrupt_again(ignored: "sys.UnraisableHookArgs") -> None:
        # Python drops what a finalizer or the callback of a weak reference raises.
        if ignored.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            sys.__unraisablehook__(ignored)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGALRM, interrupt)
        sys.unraisablehook = interrupt_again
    try:
        cli.main()
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
    except SystemExit as ended:
        if not interrupted or not ended.code:
            raise
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    sys.exit(STATUS if interrupted else 0)


def name_user() -> None:
    """Name a user whom the system does not know, as in a container with `--user`: Snakemake needs a name and a home."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        os.environ.setdefault("LOGNAME", str(os.getuid()))
        os.environ.setdefault("HOME", "/nonexistent")  # the folder of caches is then the working directory's


def report(arguments: list[str]) -> NoReturn:
    """Run the workflow up to the report."""
    run(["report", *arguments])


def with_targets_last(arguments: list[str], options: Mapping[str, Action]) -> list[str]:
    """Return the arguments of Snakemake with the targets after `--`, where no option takes them for values.

    Options with any number of values, such as `--config` and `--configfile`, take only those that they can use.
    """
    kept, targets = list[str](), list[str]()
    taking: Action | None = None
    taken = 0
    for number, word in enumerate(arguments):
        if word == "--":
            return [*kept, "--", *targets, *arguments[number + 1 :]]
        name, _, value = word.partition("=")
        if word.startswith("-") and word != "-":
            taking, taken = options.get(name), int(bool(value))
            kept.append(word)
        elif taking is not None and _takes(taking, taken, word):
            kept.append(word)
            taken += 1
        else:
            targets.append(word)
            taking = None
    return [*kept, "--", *targets] if targets else kept


def _takes(option: Action, taken: int, word: str) -> bool:
    """Return True if an option that has some values can take a word as its next one."""
    if option.nargs in (None, "?"):
        if option.dest in ("cores", "jobs"):
            return taken == 0 and re.fullmatch("[0-9]+|all|unlimited", word) is not None
        return taken == 0
    if isinstance(option.nargs, int):
        return taken < option.nargs
    if option.choices is not None:
        return word in option.choices
    if option.dest == "configfile":
        return taken == 0 or word.endswith(_CONFIGURATION)
    return "=" in word or "=" not in str(option.metavar)
