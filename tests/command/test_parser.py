"""Check the exact tools' command lines: arguments are the schema's keys, indexes are reused, mistakes are reported."""

import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from quire.command import searches
from quire.command.parser import CommandParser, beside, print_counts, require_apart, run_command
from quire.device.card import SOURCES
from quire.errors import InputError
from quire.io.files import write_json_atomic
from quire.reference import Reference
from quire.run import interrupts
from quire.run.exact_tools import EXACT_TOOLS
from quire.run.schema import SCHEMAS, complete_settings, read_schema

FILES = {"complete": ["reads"], "mems": ["queries"], "pairwise": ["query", "target"]}


def parser_of(tool: str) -> CommandParser:
    """Return the parser of a search."""
    return searches.search_parser(getattr(searches, tool), "FILE", *FILES[tool])


def least_arguments(tool: str) -> list[str]:
    """Return the required arguments."""
    needed = [*(["reference"] if tool != "pairwise" else []), *FILES[tool], "output"]
    return [part for name in needed for part in (f"--{name}", f"{name}.x")]


@pytest.mark.parametrize("tool", EXACT_TOOLS)
def test_defaults_are_those_of_a_configuration(tool: str) -> None:
    """The shortest command line equals the shortest entry of a configuration."""
    parser = parser_of(tool)
    given = parser.parse_args(least_arguments(tool))
    raw = {"reference": {"fasta": "f"}, tool: [{"name": "x", **dict.fromkeys(FILES[tool], "f")}]}
    settings = complete_settings(raw, read_schema(SCHEMAS / "config.schema.yaml"))
    expected = {key: value for key, value in settings[tool][0].items() if key not in ("name", *FILES[tool])}
    expected |= expected.pop("scores", {})
    assert parser.keys(given, tool) == expected
    assert parser.keys(given, "device") == settings["device"]
    assert given.threads >= 1


def test_values_have_the_types_of_the_schema() -> None:
    """Numbers are converted, and words must be in the schema's list."""
    parser = parser_of("mems")
    given = parser.parse_args([*least_arguments("mems"), "--min-length", "50", "--unique", "both", "--memory", "4GB"])
    assert parser.keys(given, "mems") == {"min_length": 50, "strands": "both", "unique": "both"}
    assert parser.keys(given, "device")["memory"] == "4GB"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("mems", ["--min-length", "0"], "argument --min-length: is 0 and must be at least 1"),
        ("mems", ["--min-length", "many"], "argument --min-length: is 'many' and must be of type integer"),
        ("mems", ["--min", "20"], "unrecognized arguments: --min 20"),
        ("complete", ["--max-differences", "6"], "argument --max-differences: is 6 and must be at most 5"),
        ("complete", ["--memory", "4"], "argument --memory: is '4' and must look like auto or 4GB or 800MB"),
        ("pairwise", ["--mode", "glokal"], "is 'glokal' and must be one of local, global, glocal"),
        ("pairwise", ["--threads", "0"], "argument --threads: is 0 and must be at least 1"),
    ],
)
def test_mistake_in_the_arguments(
    tool: str, arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr names the argument, with exit status 2."""
    with pytest.raises(SystemExit) as ended:
        parser_of(tool).parse_args([*least_arguments(tool), *arguments])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quire: error: ")
    assert expected in line
    assert line.endswith(f"quire {tool} --help explains every argument.")


def test_help_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    """Each key appears with its description and its default."""
    with pytest.raises(SystemExit) as ended:
        parser_of("complete").parse_args(["--help"])
    assert ended.value.code == 0
    words = " ".join(capsys.readouterr().out.split())
    keys = read_schema(SCHEMAS / "config.schema.yaml")["properties"]["complete"]["items"]["properties"]
    for key, part in keys.items():
        if key != "name":
            assert f"--{key.replace('_', '-')}" in words
            assert part["description"] in words
    assert "Default: 2." in words


def test_an_index_is_built_once(tmp_path: Path) -> None:
    """In a kept folder existing parts are used and missing ones built; the index of another FASTA is refused."""
    generator = random.Random(3)
    fasta, folder = tmp_path / "genome.fa", tmp_path / "index"
    fasta.write_text(">one\n" + "".join(generator.choices("ACGT", k=3000)) + "\n")
    parser = parser_of("mems")
    arguments = ["--reference", str(fasta), "--queries", "q", "--output", "o", "--backend", "cpu"]
    given = parser.parse_args(arguments)
    with parser.index(given) as (packed, pages):
        assert Reference.open(packed).contig_names == ["one"]
        assert [page.name for page in pages] == ["page_0"]
        assert (pages[0] / "manifest.json").exists()
    assert not packed.exists()

    given = parser.parse_args([*arguments, "--index-directory", str(folder)])
    with parser.index(given) as (packed, pages):
        assert packed == folder / "reference"
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")}
    assert len(stamps) == 2
    with parser.index(given):
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")} == stamps
    (pages[0] / "manifest.json").unlink()
    with parser.index(given):
        assert (pages[0] / "manifest.json").exists()
        assert (packed / "manifest.json").stat().st_mtime_ns == stamps[packed / "manifest.json"]

    fasta.write_text(">one\nACGTACGTACGTTTTTTACGCA\n")
    with (
        pytest.raises(InputError, match=r"index/reference was built from other sequences"),
        parser.index(given),
    ):
        pass


@pytest.mark.parametrize(("content", "expected"), [("", "is empty"), ("@r\nA\n+\nI\n", "is not a FASTA")])
def test_no_reference(content: str, expected: str, tmp_path: Path) -> None:
    """The message names the argument of the file."""
    (tmp_path / "g.fa").write_text(content)
    parser = parser_of("mems")
    given = parser.parse_args(["--reference", str(tmp_path / "g.fa"), "--queries", "q", "--output", "o"])
    with pytest.raises(InputError, match=f"--reference: .*g.fa {expected}"), parser.index(given):
        pass


def test_last_words(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are printed on stdout and warnings on stderr; an input error is one sentence and status 1."""
    summary = beside(tmp_path / "x.mems", "mems", "json")
    write_json_atomic(summary, {"counts": {"query_bases": 1234567, "identity": 0.5}, "warnings": ["Odd."]})
    with run_command():
        print_counts(summary)
    shown = capfd.readouterr()
    assert shown.out == "query bases 1,234,567, identity 0.5\n"
    assert shown.err.splitlines()[-1] == "warning: Odd."

    with pytest.raises(SystemExit) as ended, run_command():
        raise InputError("q.fa: is empty.")
    assert ended.value.code == "quire: error: q.fa: is empty."
    monkeypatch.setattr(interrupts.os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as ended, run_command():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capfd.readouterr().err == "quire: error: interrupted with Ctrl-C; no output was written.\n"


@pytest.mark.parametrize(("ignored", "status"), [(False, 130), (True, 0)])
def test_an_interrupt_while_modules_load(ignored: bool, status: int) -> None:
    """One line and no traceback appear, even if the loading module turns the interrupt into another exception."""
    script = """
import os, signal
from quire.run.interrupts import loading
with loading():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 0.05)
    except BaseException:
        raise ImportError
"""
    # Shells start background processes with the signal ignored.
    handler = "SIG_IGN" if ignored else "default_int_handler"
    script = f"import signal; signal.signal(signal.SIGINT, signal.{handler})" + script
    before = signal.getsignal(signal.SIGINT)
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stderr == ("" if ignored else interrupts.LINE)
    assert signal.getsignal(signal.SIGINT) is before


def test_threads_are_not_waited_for_after_an_exception() -> None:
    begun, end = threading.Event(), threading.Event()
    ran: list[int] = []
    futures: list[Future[None]] = []

    def work() -> None:
        begun.set()
        end.wait(60)

    def fail() -> None:
        with interrupts.worker_threads(1, "test") as pool:
            futures.extend((pool.submit(work), pool.submit(ran.append, 1)))
            begun.wait(60)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    running, waiting = futures
    assert not running.done()
    assert waiting.cancelled()
    end.set()
    running.result(60)
    with interrupts.worker_threads(2, "test") as pool:
        last = pool.submit(ran.append, 2)
    assert last.done()
    assert ran == [2]


def test_outputs_stand_apart(tmp_path: Path) -> None:
    """Additional outputs never have the name of the first output or of another search; no input is overwritten."""
    assert beside(Path("a/places.bam"), "bam", "counts.tsv") == Path("a/places.counts.tsv")
    for name in ("x.json", "x.v1", "x.bam"):
        assert beside(Path(name), "mems", "json") == Path(f"{name}.json")
    (tmp_path / "q.fa").write_text(">q\nA\n")
    (tmp_path / "same.fa").symlink_to(tmp_path / "q.fa")
    require_apart([tmp_path / "other.fa"], [str(tmp_path / "q.fa")])
    with pytest.raises(InputError, match="is an input of this command"):
        require_apart([tmp_path / "new", tmp_path / "same.fa"], ["none.fa", str(tmp_path / "q.fa")])


@pytest.mark.parametrize("output", [".", "", "..", "FOLDER"])
def test_an_output_is_a_file(output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path) if output == "FOLDER" else output
    with pytest.raises(SystemExit) as ended:
        parser_of("mems").parse_args(["--reference", "r", "--queries", "q", "--output", path])
    assert ended.value.code == 2
    assert "is a folder, not a file name" in capsys.readouterr().err
