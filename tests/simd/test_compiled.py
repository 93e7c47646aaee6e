"""Compiled kernels are kept under what they are compiled from, checked when they are read, and removed when unused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import quire
from quire.simd import compiled, stamps

LIBRARY = Path(quire.__file__).parents[1]
MODULES = {
    "quire/kernels/__init__.py": "from quire.kernels.unrelated import other\n",
    "quire/kernels/unrelated.py": "def other():\n    return 0\n",
    "quire/kernels/inner.py": "from quire.simd.compiled import inlined\n\n@inlined\ndef two(x):\n    return 2 * x\n",
    "quire/kernels/outer.py": (
        "from quire.kernels.inner import two\nfrom quire.simd.compiled import compiled\n\n"
        "@compiled\ndef four(x):\n    return two(two(x))\n"
    ),
}
RUN = (
    "import logging; logging.basicConfig()\n"
    "from quire.kernels.outer import four\n"
    "print(four(3), sum(four.stats.cache_hits.values()), sum(four.stats.cache_misses.values()))"
)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A small library with two modules of kernels, one of which uses the other."""
    for name in (
        "__init__.py",
        "cache.py",
        "errors.py",
        "sources.py",
        "simd/__init__.py",
        "simd/compiled.py",
        "simd/late_code.py",
        "simd/numba_shortcuts.py",
        "simd/stamps.py",
    ):
        target = tmp_path / "quire" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LIBRARY / "quire" / name, target)
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


# An upgrade of the library between two imports of a process.
UPGRADED = (
    "import logging; logging.basicConfig()\n"
    "import quire.kernels.inner, pathlib\n"
    "source = pathlib.Path(quire.kernels.inner.__file__)\n"
    "source.write_text(source.read_text().replace('2 * x', '3 * x'))\n"
) + RUN.partition("\n")[2]
LINK = "source.with_name('linked.py').hardlink_to(source)"


def run(library: Path, program: str = RUN) -> tuple[int, int, int, str]:
    """Answer of the kernel in a new process, how often its code was found and was not, and the log."""
    environment = {**os.environ, "PYTHONPATH": str(library), "XDG_CACHE_HOME": str(library / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", program], text=True, env=environment, capture_output=True, check=True)
    answer, hits, misses = map(int, done.stdout.split())
    return answer, hits, misses, done.stderr


def kept(library: Path) -> list[Path]:
    """The files of compiled code of the outer module."""
    return sorted((library / "cache/quire/numba").glob("quire.kernels.outer-*/*.nb[ic]"))


def test_code_is_found_again(library: Path) -> None:
    assert run(library)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


@pytest.mark.parametrize(
    ("edited", "again"),
    [
        ("quire/kernels/outer.py", True),
        ("quire/kernels/inner.py", True),
        ("quire/simd/compiled.py", True),
        ("quire/kernels/unrelated.py", False),
        ("quire/kernels/__init__.py", False),
    ],
)
def test_an_edit_compiles_what_depends_on_it(library: Path, edited: str, again: bool) -> None:
    """Imports decide, not the names of files or the packages that they lie in."""
    run(library)
    with (library / edited).open("a") as stream:
        stream.write("\n# edited\n")
    assert run(library)[:3] == (12, int(not again), int(again))


def test_a_changed_function_of_another_module_changes_the_answer(library: Path) -> None:
    run(library)
    inner = library / "quire/kernels/inner.py"
    inner.write_text(inner.read_text().replace("2 * x", "3 * x"))
    assert run(library)[:3] == (27, 0, 1)


def test_what_changes_while_a_process_runs_is_not_kept(library: Path) -> None:
    """The process works with what it imported, and the next one with what is there; the log says so."""
    answer, hits, misses, log = run(library, UPGRADED)
    assert (answer, hits, misses) == (12, 0, 1)
    assert log.count("quire/kernels/inner.py: changed while this process ran") == 1
    assert run(library)[:3] == (27, 0, 1)
    assert run(library)[:3] == (27, 1, 0)


def test_sources_of_a_server_whose_clock_is_ahead(library: Path) -> None:
    for path in library.rglob("*.py"):
        os.utime(path, (2**32, 2**32))
    assert run(library)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


def test_a_source_that_is_only_linked_is_the_same(library: Path) -> None:
    """A link changes what the disk says of the file, but not the file."""
    program = UPGRADED.replace("source.write_text(source.read_text().replace('2 * x', '3 * x'))", LINK)
    assert LINK in program
    assert run(library, program)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_flipped_bit_is_noticed(library: Path, place: float) -> None:
    """In the index and in the code: the kernel is compiled again, and the log says so."""
    run(library)
    for path in kept(library):
        data = bytearray(path.read_bytes())
        data[int(place * len(data))] ^= 4
        path.write_bytes(data)
        answer, hits, misses, log = run(library)
        assert (answer, hits, misses) == (12, 0, 1)
        assert f"{path}: is damaged" in log
        assert run(library)[:3] == (12, 1, 0)


def test_truncated_files_are_noticed(library: Path) -> None:
    run(library)
    for path in kept(library):
        path.write_bytes(path.read_bytes()[:20])
        assert run(library)[:3] == (12, 0, 1)


def test_two_processes_never_leave_code_under_the_name_of_other_code(tmp_path: Path, monkeypatch) -> None:
    """Both read an index without either's code, and write: what is found later is right or compiled again."""
    files = [compiled._CheckedFile(str(tmp_path), "kernel", "stamp") for _ in range(2)]
    monkeypatch.setattr(files[1], "_load_index", dict)
    files[0].save("int64", "code of int64")
    files[1].save("float32", "code of float32")
    later = compiled._CheckedFile(str(tmp_path), "kernel", "stamp")
    assert later.load("float32") == "code of float32"
    assert later.load("int64") is None
    later.save("int64", "code of int64")
    assert [later.load(key) for key in ("int64", "float32")] == ["code of int64", "code of float32"]


def test_only_what_nobody_used_for_a_month_is_removed(tmp_path: Path) -> None:
    names = {
        "quire.align.records-0123456789abcdef": False,
        "0123456789abcdef": False,
        "quire.io.bam-fedcba9876543210": True,
        "somebody_elses": True,
    }
    for name in names:
        (tmp_path / name).mkdir()
        if name != "quire.io.bam-fedcba9876543210":
            os.utime(tmp_path / name, (0, 0))
    compiled.prune.__wrapped__(tmp_path)
    assert {name: (tmp_path / name).exists() for name in names} == names


@pytest.mark.parametrize("chosen", [True, False])
def test_the_folder(tmp_path: Path, chosen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's choice, else the user's cache; the working directory where that cannot be written."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen") if chosen else "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    wanted = tmp_path / ("chosen" if chosen else "quire/numba")
    assert stamps.kernels_root.__wrapped__() == wanted
    shutil.rmtree(wanted)
    wanted.write_text("a file in the way")
    assert stamps.kernels_root.__wrapped__() == tmp_path / ".quire-cache/numba"
