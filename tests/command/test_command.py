"""The command `quire`: its subcommands, the arguments of Snakemake, help, completion and exit status."""

import getpass
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from quire import command
from quire.command import COMMANDS, files, function_of
from quire.command.workflow import name_user, with_targets_last
from quire.run.interrupts import LINE
from quire.run.job import STOPPED
from quire.version import VERSION
from snakemake import cli

from tests.workflow.runs import REPOSITORY

OPTIONS = cli.get_argument_parser()._option_string_actions


def said(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process and return its status."""
    monkeypatch.setattr(sys, "argv", ["quire", *arguments])
    try:
        command.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def test_the_command_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        assert said(monkeypatch, *arguments) == 0
        shown = capsys.readouterr().out
        assert all(f"    {name} " in shown for name in COMMANDS)
    assert said(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"quire {VERSION}\n"
    assert said(monkeypatch, "mapp") == 2
    assert capsys.readouterr().err == "quire: error: 'mapp' is no subcommand; quire --help lists them.\n"


def test_init_with_an_installation_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Folders of the template can be written, whatever the permissions of the installation."""
    installation = tmp_path / "quire"
    (installation / "config/ploidy").mkdir(parents=True)
    for name in ("config.yaml", "ploidy/a.bed"):
        (installation / "config" / name).write_text("a")
    for folder in ("config/ploidy", "config"):
        (installation / folder).chmod(0o555)
    monkeypatch.setattr(files, "ROOT", installation)
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    assert said(monkeypatch, "init") == 0
    assert capsys.readouterr().out == "copied config\n"
    assert Path("config/ploidy/a.bed").read_text() == "a"
    assert all(folder.stat().st_mode & 0o200 for folder in (Path("config"), Path("config/ploidy")))


def test_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the system does not know has a name and a home, which Snakemake asks for."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_123)
    name_user()
    assert getpass.getuser() == "2000000123"
    assert Path("~").expanduser() != Path("~")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "report"])
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        function_of(name)(["--help"])
    assert not ended.value.code
    shown = capsys.readouterr().out
    assert f"    quire {name} " in shown or "(quire completion bash)" in shown
    assert "130 after Ctrl-C" in shown


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ""),
        ("-n", "-n"),
        ("align -n", "-n -- align"),
        ("-n align", "-n -- align"),
        ("--configfile a.yaml align", "--configfile a.yaml -- align"),
        ("--configfile a.yaml b.yml call report -n", "--configfile a.yaml b.yml -n -- call report"),
        ("--configfile=a.yaml align", "--configfile=a.yaml -- align"),
        ("--config output=x rescore={gvcf:true} align", "--config output=x rescore={gvcf:true} -- align"),
        ("-C output=x out/align/a.bam", "-C output=x -- out/align/a.bam"),
        ("--cores 4 align", "--cores 4 -- align"),
        ("--cores align", "--cores -- align"),
        ("-j all align", "-j all -- align"),
        ("--resources gpu=1 align", "--resources gpu=1 -- align"),
        ("--rerun-triggers mtime align", "--rerun-triggers mtime -- align"),
        ("--sdm conda align", "--sdm conda -- align"),
        ("--forcerun map_unit finish_sample", "--forcerun map_unit finish_sample"),
        ("--until map_unit -n -- align", "--until map_unit -n -- align"),
        ("align --config a=b -- x", "--config a=b -- align x"),
    ],
)
def test_targets_stand_first_or_last(given: str, expected: str) -> None:
    assert with_targets_last(given.split(), OPTIONS) == expected.split()


def test_completion(tmp_path: Path) -> None:
    """The script completes subcommands, options and words of options; other words are files."""
    environment = {"PYTHONPATH": str(REPOSITORY / "workflow/scripts"), "PATH": "/usr/bin:/bin"}
    made = subprocess.run(
        [sys.executable, "-m", "quire", "completion", "bash"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    script = tmp_path / "quire.bash"
    script.write_text(
        made.stdout
        + """
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quire; echo "${COMPREPLY[*]}"; }
try quire jo
try quire call --gv
try quire map --umi ""
try quire mems --strands re
try quire run --rerun-t
try quire completion ""
try quire map rea
"""
    )
    shown = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == [
        "joint", "--gvcf", "none name file", "reverse", "--rerun-triggers", "bash zsh", "",
    ]  # fmt: skip


def test_one_road_for_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m quire` is the command."""
    shown = subprocess.run(
        [sys.executable, "-m", "quire", "--version"],
        env={"PYTHONPATH": str(REPOSITORY / "workflow/scripts")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"quire {VERSION}\n"


SWALLOWED = """
import signal, sys, time, weakref
from snakemake import cli
from quire.command.workflow import run

class Node: pass

def main():
    node = Node()
    kept = weakref.ref(node, lambda _: signal.raise_signal(signal.SIGINT))
    del node
    time.sleep(30)

cli.main = main
run([])
"""


INTERRUPTED_PLUGINS = """
import signal
from snakemake import cli
from quire.command.workflow import run

cli.get_argument_parser = lambda: signal.raise_signal(signal.SIGINT)
run([])
"""


@pytest.mark.parametrize(("code", "said"), [(SWALLOWED, STOPPED), (INTERRUPTED_PLUGINS, LINE.strip())])
def test_an_interrupt_that_python_or_snakemake_would_drop(code: str, said: str) -> None:
    """Python drops what the callback of a weak reference raises, and Snakemake's graph of jobs has many of these.

    While Snakemake imports its plugins, there was a traceback.
    """
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow/scripts")}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=25,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    assert ended.returncode == 130
    assert ended.stderr.splitlines() == [said]
