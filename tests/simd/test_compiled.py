"""Check the cache of compiled kernels: keys from sources, checksums, and removal after disuse."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import quire
from numba import types
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
    """Write a small library with two modules of kernels, one of which uses the other."""
    for name in (
        "__init__.py",
        "start.py",
        "cache.py",
        "errors.py",
        "kernel_list.py",
        "source_text.py",
        "sources.py",
        "simd/__init__.py",
        "simd/compiled.py",
        "simd/processor.py",
        "simd/stamps.py",
    ):
        target = tmp_path / "quire" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LIBRARY / "quire" / name, target)
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


# The library is upgraded between two imports of a process.
UPGRADED = (
    "import logging; logging.basicConfig()\n"
    "import quire.kernels.inner, pathlib\n"
    "source = pathlib.Path(quire.kernels.inner.__file__)\n"
    "source.write_text(source.read_text().replace('2 * x', '3 * x'))\n"
) + RUN.partition("\n")[2]
LINK = "source.with_name('linked.py').hardlink_to(source)"


def run(library: Path, program: str = RUN) -> tuple[int, int, int, str]:
    """Return the kernel's answer in a new process, its numbers of cache hits and misses, and the log."""
    environment = {**os.environ, "PYTHONPATH": str(library), "XDG_CACHE_HOME": str(library / "cache")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # that of an edit within a second is stale
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", program], text=True, env=environment, capture_output=True, check=True)
    answer, hits, misses = map(int, done.stdout.split())
    return answer, hits, misses, done.stderr


def kept(library: Path) -> list[Path]:
    """Return the files of compiled code of the outer module."""
    return sorted((library / "cache/quire/numba").glob("quire.kernels.outer-*/*.nb[ic]"))


@pytest.mark.full
def test_code_is_found_again(library: Path) -> None:
    assert run(library)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


LOADED = (
    "import llvmlite.binding as llvm\n"
    "parse, sizes = llvm.parse_bitcode, []\n"
    "llvm.parse_bitcode = lambda code: sizes.append(len(code)) or parse(code)\n"
    "from quire.kernels.outer import four\n"
    "print(four(3), len(sizes), max(sizes))"
)
IMPORTED = (
    "import quire.kernels.outer\n"
    "from quire.simd.compiled import kernel_folder\n"
    "print(0, kernel_folder.cache_info().currsize, 0)"
)


@pytest.mark.full
def test_a_stored_kernel_holds_no_bitcode(library: Path) -> None:
    """Numba would parse it. What is left defines one name and has less than 2,000 bytes."""
    run(library)
    answer, parsed, largest, _ = run(library, LOADED)
    assert (answer, parsed) == (12, 1)
    assert largest < 2000


def test_an_import_digests_no_sources(library: Path) -> None:
    assert run(library, IMPORTED)[1] == 0


@pytest.mark.full
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
    """Imports decide, not the names of files or their packages."""
    run(library)
    with (library / edited).open("a") as stream:
        stream.write("\nedited = 1\n")
    assert run(library)[:3] == (12, int(not again), int(again))


@pytest.mark.full
def test_code_compiled_without_checks_is_not_used_with_checks(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    run(library)
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert run(library)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


def test_a_changed_function_of_another_module_changes_the_answer(library: Path) -> None:
    run(library)
    inner = library / "quire/kernels/inner.py"
    inner.write_text(inner.read_text().replace("2 * x", "3 * x"))
    assert run(library)[:3] == (27, 0, 1)


@pytest.mark.full
def test_what_changes_while_a_process_runs_is_not_kept(library: Path) -> None:
    """The process uses its imported code, the next process uses the new code, and the log reports the change."""
    answer, hits, misses, log = run(library, UPGRADED)
    assert (answer, hits, misses) == (12, 0, 1)
    assert log.count("quire/kernels/inner.py: changed while this process ran") == 1
    assert run(library)[:3] == (27, 0, 1)
    assert run(library)[:3] == (27, 1, 0)


@pytest.mark.full
def test_sources_of_a_server_whose_clock_is_ahead(library: Path) -> None:
    for path in library.rglob("*.py"):
        os.utime(path, (2**32, 2**32))
    assert run(library)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


@pytest.mark.full
def test_a_source_that_is_only_linked_is_the_same(library: Path) -> None:
    """A hard link changes the file's status but not the file."""
    program = UPGRADED.replace("source.write_text(source.read_text().replace('2 * x', '3 * x'))", LINK)
    assert LINK in program
    assert run(library, program)[:3] == (12, 0, 1)
    assert run(library)[:3] == (12, 1, 0)


@pytest.mark.full
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_flipped_bit_is_noticed(library: Path, place: float) -> None:
    """Damaged code is compiled again, and the log reports it."""
    run(library)
    for path in kept(library):
        data = bytearray(path.read_bytes())
        data[int(place * len(data))] ^= 4
        path.write_bytes(data)
        answer, hits, misses, log = run(library)
        assert (answer, hits, misses) == (12, 0, 1)
        assert f"{path}: is damaged" in log
        assert run(library)[:3] == (12, 1, 0)


@pytest.mark.full
def test_code_that_others_can_write_is_not_loaded(library: Path) -> None:
    run(library)
    (path,) = kept(library)
    path.chmod(0o664)
    answer, hits, misses, log = run(library)
    assert (answer, hits, misses) == (12, 0, 1)
    assert f"{path}: other users can write to it; the kernel is compiled again" in log
    assert run(library)[:3] == (12, 1, 0)


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_neither_read_nor_written(library: Path) -> None:
    run(library)
    folder = kept(library)[0].parent
    os.chown(folder, 65534, 65534)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    answer, hits, misses, log = run(library)
    assert (answer, hits, misses) == (12, 0, 1)
    assert f"{folder}: is not a folder of this user; its kernels are compiled in memory" in log
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.full
def test_a_file_in_place_of_the_folder(library: Path) -> None:
    run(library)
    folder = kept(library)[0].parent
    shutil.rmtree(folder)
    folder.write_text("")
    answer, hits, misses, log = run(library)
    assert (answer, hits, misses) == (12, 0, 1)
    assert f"{folder}: is not a folder of this user" in log


@pytest.mark.full
def test_without_a_folder_kernels_are_compiled_for_one_process(library: Path) -> None:
    """The temporary folder is gone afterwards."""
    for name in ("cache", ".quire-cache"):
        (library / name).write_text("a file in the way")
    (library / "temporary").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(library), "XDG_CACHE_HOME": str(library / "cache")}
    environment |= {"TMPDIR": str(library / "temporary"), "NUMBA_CACHE_DIR": ""}
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(command, text=True, env=environment, capture_output=True, check=True, cwd=library)
    assert done.stdout.split() == ["12", "0", "1"]
    assert not list((library / "temporary").iterdir())


def test_code_of_another_kernel_is_not_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The checksum covers the names of file and folder."""
    keys = [((kind,), ("x86_64", "cpu"), ("digest", "digest")) for kind in (types.int64, types.float32)]
    files = compiled._CodeFiles(str(tmp_path), "kernel", "stamp")
    paths = [Path(files._path_of(key)) for key in keys]
    for key in keys:
        files.save(key, f"code of {key[0]}")
    first, second = (path.read_bytes() for path in paths)
    paths[0].write_bytes(second)
    paths[1].write_bytes(first)
    assert [files.load(key) for key in keys] == [None, None]
    assert f"{paths[0]}: is damaged" in caplog.text


@pytest.mark.full
def test_a_mask_that_lets_groups_write_does_not_matter(library: Path) -> None:
    widely = "import os; os.umask(0)\n" + RUN
    assert run(library, widely)[:3] == (12, 0, 1)
    assert run(library, widely)[:3] == (12, 1, 0)
    assert kept(library)[0].parent.stat().st_mode & 0o022 == 0


def test_truncated_files_are_noticed(library: Path) -> None:
    run(library)
    for path in kept(library):
        path.write_bytes(path.read_bytes()[:20])
        assert run(library)[:3] == (12, 0, 1)


PAIR = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    first: int\n    second: int\n"
DIFFERENCE = (
    "from quire.simd.compiled import compiled\n\n@compiled\ndef difference(pair):\n    return pair[0] - pair.second\n"
)
RUN_PAIR = (
    "import logging; logging.basicConfig()\n"
    "from pair import Pair\n"
    "from quire.kernels.difference import difference\n"
    "print(difference(Pair(second=3, first=7)), *(sum(n.values()) for n in difference.stats[1:]))"
)
RUN_TUPLE = RUN_PAIR.replace("from pair import Pair\n", "").replace("Pair(second=3, first=7)", "Other(7, 3)")
RUN_TUPLE = "import collections; Other = collections.namedtuple('Other', ['first', 'second'])\n" + RUN_TUPLE


@pytest.fixture
def pairs(library: Path) -> Path:
    """Write the library with a kernel compiled for a class from a module that its own module does not import."""
    (library / "pair.py").write_text(PAIR)
    (library / "quire/kernels/difference.py").write_text(DIFFERENCE)
    assert run(library, RUN_PAIR)[:3] == (4, 0, 1)
    assert run(library, RUN_PAIR)[:3] == (4, 1, 0)
    return library


@pytest.mark.full
def test_a_class_that_is_gone_is_in_nobodys_way(pairs: Path) -> None:
    """A kernel that was once called with a removed class still accepts other types."""
    (pairs / "pair.py").unlink()
    assert run(pairs, RUN_TUPLE)[:3] == (4, 0, 1)


@pytest.mark.full
def test_other_fields_of_a_class_are_other_code(pairs: Path) -> None:
    """So is another order of fields of equal types, for which Numba's type names are the same."""
    (pairs / "pair.py").write_text(
        PAIR.replace("    first: int\n    second: int\n", "    second: int\n    first: int\n")
    )
    assert run(pairs, RUN_PAIR)[:3] == (0, 0, 1)


def test_code_for_other_types_has_another_name(tmp_path: Path) -> None:
    """Code that two processes write at the same time is available to a third."""
    keys = [((kind,), ("x86_64", "cpu"), ("digest", "digest")) for kind in (types.int64, types.float32)]
    for key in keys:
        compiled._CodeFiles(str(tmp_path), "kernel", "stamp").save(key, f"code of {key[0]}")
    later = compiled._CodeFiles(str(tmp_path), "kernel", "stamp")
    assert [later.load(key) for key in keys] == [f"code of {key[0]}" for key in keys]
    assert later.load((keys[0][0], ("x86_64", "another"), keys[0][2])) is None


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
    """It is the user's choice, else the user's cache, or the working directory if that cannot be written."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen") if chosen else "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    wanted = tmp_path / ("chosen" if chosen else "quire/numba")
    assert stamps.kernels_root.__wrapped__() == wanted
    shutil.rmtree(wanted)
    wanted.write_text("a file in the way")
    assert stamps.kernels_root.__wrapped__() == tmp_path / ".quire-cache/numba"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chosen").mkdir()
    os.chown(tmp_path / "chosen", 65534, 65534)
    assert stamps.kernels_root.__wrapped__() == tmp_path / ".quire-cache/numba"
    assert f"{tmp_path / 'chosen'}: belongs to another user" in caplog.text
