"""Outputs appear complete or not at all, and leftovers of killed jobs are removed."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pysam
import pytest
from quire.errors import InputError, QuireError
from quire.io import samtools
from quire.io.files import (
    atomic_directory,
    atomic_path,
    htslib_path,
    read_json,
    scratch_directory,
    write_json_atomic,
)

KILLED = """
import os, sys
from quire.io.files import atomic_directory, atomic_path, scratch_directory
with atomic_path(sys.argv[1] + "/x.bam") as a, atomic_directory(sys.argv[1] + "/d") as b:
    with scratch_directory(sys.argv[1], "work") as c:
        a.write_text("half"), (b / "f").write_text("half"), (c / "f").write_text("half")
        os.kill(os.getpid(), 9)
"""


def test_leftovers_of_killed_jobs_are_removed(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=environment).returncode == -9
    assert len(list(tmp_path.iterdir())) == 3
    # Files of another running process, and files that are no leftovers of these names, stay.
    mine = next(tmp_path.glob(".x.bam.*"))
    alive = mine.with_name(mine.name.replace(mine.name.split(".")[-2], str(os.getppid())))
    other = tmp_path / ".y.x.bam.local.1.tmp"
    alive.write_text("")
    other.write_text("")
    with atomic_path(tmp_path / "x.bam") as path, scratch_directory(tmp_path, "work") as scratch:
        path.write_text("whole")
        assert list(scratch.iterdir()) == []
    with atomic_directory(tmp_path / "d") as folder:
        (folder / "f").write_text("whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([other.name, alive.name, "d", "x.bam"])


def test_a_directory_takes_the_place_of_a_file(tmp_path: Path) -> None:
    """A file of an earlier version is replaced when the directory is complete, not before."""
    final = tmp_path / "unit.buckets"
    final.write_text("one file")
    with pytest.raises(KeyError), atomic_directory(final):
        raise KeyError
    assert final.read_text() == "one file"
    with atomic_directory(final) as folder:
        (folder / "f").write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["unit.buckets"]
    assert (final / "f").read_text() == "whole"


def test_scratch_directory_is_deleted_on_error(tmp_path: Path) -> None:
    with (
        pytest.raises(QuireError, match="temporary files cannot be written"),
        scratch_directory(tmp_path, "w") as folder,
    ):
        (folder / "missing" / "f").write_text("")
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_is_not_of_the_file_is_not_blamed_on_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"libx\.so"), atomic_path(tmp_path / "x.bam"):
        ctypes.CDLL("libx.so")
    assert list(tmp_path.iterdir()) == []


def test_every_byte_of_a_json_file_counts(tmp_path: Path) -> None:
    path, content = tmp_path / "one.json", {"counts": {"reads": 100}, "warnings": []}
    for one in ({}, content):
        write_json_atomic(path, one)
        assert read_json(path) == one
    whole = path.read_bytes()
    changed = [whole[:at] + bytes([byte ^ 1 << at % 8]) + whole[at + 1 :] for at, byte in enumerate(whole)]
    comma = whole.rindex(b',\n  "checksum"')
    changed.append(whole[:comma] + whole[comma + 1 :])
    for damaged in [*changed, *(whole[:at] for at in range(len(whole))), whole + b"\n", b"", b"[]"]:
        path.write_bytes(damaged)
        with pytest.raises(QuireError, match=r"one\.json: does not match its checksum .*\.$"):
            read_json(path)
    (tmp_path / "other.json").write_bytes(whole)
    with pytest.raises(QuireError, match=r"other\.json: does not match its checksum"):
        read_json(tmp_path / "other.json")
    with pytest.raises(QuireError, match=r"absent\.json: cannot be read \(No such file or directory\); run"):
        read_json(tmp_path / "absent.json")


@pytest.mark.parametrize("name", ["-x.bam", "-", "data:x.bam", "http:x.bam", "s3:x.bam", "file:x.bam", "mem:x.bam"])
def test_names_that_htslib_takes_for_more(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the working directory is read and written under its own name, and no option or address."""
    monkeypatch.chdir(tmp_path)
    with pysam.AlignmentFile(str(tmp_path / name), "wb", header={"CO": [name]}):
        pass
    samtools.to_bam(Path(name), Path(f"{name}.copy"), None, 1)
    with pysam.AlignmentFile(str(tmp_path / f"{name}.copy"), check_sq=False) as copy:
        assert copy.header.to_dict()["CO"] == [name]
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}.copy"}


def test_a_name_of_two_files(tmp_path: Path) -> None:
    """Htslib reads `a.bam` if it is asked for `a.bam##idx##b`."""
    with pytest.raises(InputError, match=r"a\.bam##idx##b: has ##idx## in its name"):
        htslib_path(tmp_path / "a.bam##idx##b")
