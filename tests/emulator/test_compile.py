"""Check that every kernel compiles for every supported card with both compilers without spills, and the code cache."""

import hashlib
import importlib
import multiprocessing
import os
import re
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from quire.device import compiler
from quire.device.card import SOURCES
from quire.device.compiler import KernelError, cache_path, compile_kernel, cubin

from tests.emulator import nvrtc12
from tests.emulator.specialisations import all_specialisations, gpu_modules, named_by

pytestmark = pytest.mark.full

# Bytes of registers that a kernel may spill, by source, with the reason; other kernels spill none.
SPILLS = {
    # Launch bounds trade registers for resident blocks, since steps wait for memory; the largest blocks spill most.
    "quire/algorithms/seeding/search.cu": 300,
    # The most registers with which a multiprocessor of sm_90 holds 12 or 16 warps; none are spilled there.
    "quire/algorithms/pairhmm/pairhmm.cu": 32,
}
# Not needed by kernels or their tests: the engine writes BAM with the CPU's assembler.
ON_THE_HOST_TOO = {"quire.align.engines.gpu", "tests.support.simulated_batch"}
CUDA_13 = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
CUDA_12 = ["sm_70", *CUDA_13]  # kernels match lanes by value, which requires sm_70
# Every set of macros is compiled for the oldest and the newest, and for the cards that kernels are tuned on.
ALL_SETS = ["sm_75", "sm_90", "sm_120"]


def has_nvrtc() -> bool:
    try:
        from cupy_backends.cuda.libs import nvrtc

        return nvrtc.getVersion() >= (13, 0)
    except (ImportError, RuntimeError, OSError):  # no CuPy, or no libraries of its compiler
        return False


needs_nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="no CuPy with NVRTC of CUDA 13")


def test_every_source_is_named() -> None:
    named = {source for source, _ in all_specialisations()}
    sources = {str(path.relative_to(SOURCES)) for path in SOURCES.glob("quire/**/*.cu")}
    assert sources - named == set(), "no gpu.py names these in SOURCE or KERNELS"
    assert named - sources == set()


def test_every_module_that_asks_for_kernels_names_them() -> None:
    asking = [name for name in gpu_modules() if re.search(r"\bcard\.kernel\(", _text(name))]
    assert [name for name in asking if not named_by(importlib.import_module(name))] == []


def _text(module: str) -> str:
    return (SOURCES / (module.replace(".", "/") + ".py")).read_text()


def resources(log: str) -> dict[str, tuple[int, int, int]]:
    """Return registers, spilled bytes and static shared memory of each kernel in a compiler's log."""
    found = {}
    for part in log.split("Compiling entry function ")[1:]:
        name = re.match(r"'(\w+)'", part)[1]
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        spilled = sum(int(count) for count in re.findall(r"(\d+) bytes spill (?:stores|loads)", part))
        shared = re.search(r"(\d+) bytes smem", part)
        found[name] = (registers, spilled, int(shared[1]) if shared else 0)
    return found


def compile_all(specialisations, architectures: list[str], compile_one, record_property, title: str) -> list:
    """Compile, record a table of registers, fail on spills, and return the most spilled bytes and registers of each."""
    sources = [source for source, _ in specialisations]
    tasks = [(source, name, defines) for source, defines in specialisations for name in architectures]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        logs = list(pool.map(lambda task: resources(compile_one(*task)[1]), tasks))
    rows, spills = [], []
    for index, (source, defines) in enumerate(specialisations):
        of_one = logs[index * len(architectures) : (index + 1) * len(architectures)]
        shown = sorted(defines.items()) if sources.count(source) > 1 else []
        macros = " ".join(f"{name}={value}" for name, value in shown)
        assert of_one[0], f"{source} has no kernel"
        for entry in sorted(of_one[0]):
            used = [one[entry] for one in of_one]
            cells = [f"{registers}{f'+{spilled}' if spilled else ''}" for registers, spilled, _ in used]
            rows.append((Path(source).stem, entry, *cells, str(max(shared for *_, shared in used)), macros))
            spills += [
                f"{source}, {entry}, {name}: {spilled} bytes"
                for name, (_, spilled, _) in zip(architectures, used, strict=True)
                if spilled > SPILLS.get(source, 0)
            ]
    heads = ("source", "kernel", *architectures, "shared", "macros")
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows]]
    record_property(f"table: {title}: registers of a thread (+ bytes spilled)", "\n".join(lines))
    assert spills == []
    firsts = range(0, len(logs), len(architectures))
    used = [[one[:2] for log in logs[at : at + len(architectures)] for one in log.values()] for at in firsts]
    return [(max(spilled for _, spilled in of_one), max(registers for registers, _ in of_one)) for of_one in used]


@needs_nvrtc
def test_cuda_13(record_property) -> None:
    """On the other architectures two sets of macros of each source are enough: most spilled bytes, most registers."""
    every = all_specialisations()
    used = compile_all(every, ALL_SETS, compile_kernel, record_property, "CUDA 13")
    chosen = []
    for source in {source: None for source, _ in every}:
        numbers = [at for at, one in enumerate(every) if one[0] == source]
        largest = {max(numbers, key=lambda at: used[at]), max(numbers, key=lambda at: used[at][::-1])}
        chosen += [every[at] for at in sorted(largest)]
    others = [name for name in CUDA_13 if name not in ALL_SETS]
    compile_all(chosen, others, compile_kernel, record_property, "CUDA 13, other cards")


@pytest.mark.skipif(nvrtc12.library() is None, reason="no NVRTC of CUDA 12 (nvidia-cuda-nvrtc-cu12)")
def test_cuda_12(record_property) -> None:
    """One set of macros per source is enough here, since all sets use the same language features."""
    one_each = list({source: (source, defines) for source, defines in all_specialisations()}.values())
    compile_one = partial(nvrtc12.compile_kernel, nvrtc12.library())
    compile_all(one_each, CUDA_12, compile_one, record_property, "CUDA 12")


# ---- errors and the cache ----


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a folder with a kernel and a header in place of Quire's, and use a separate cache."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "kernel.cu").write_text(
        '#include "header.cuh"\nextern "C" __global__ void probe(int* out) {\n    out[0] = value() + EXTRA;\n}\n'
    )
    (folder / "header.cuh").write_text("__device__ int value() {\n    return 1;\n}\n")
    monkeypatch.setattr(compiler, "SOURCES", folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler.read_source.cache_clear()
    yield folder
    compiler.read_source.cache_clear()


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    compiler.read_source.cache_clear()


ARGUMENTS = ("kernel.cu", "sm_90", {"EXTRA": 2})


@needs_nvrtc
@pytest.mark.parametrize(
    ("file", "before", "after", "where"),
    [
        ("kernel.cu", "value()", "valeu()", r"kernel\.cu\(3\): error: .*valeu"),
        ("header.cuh", "return 1", "return one", r"header\.cuh\(2\): error: .*one"),
        ("kernel.cu", '"header.cuh"', '"heather.cuh"', r"kernel\.cu\(1\): there is no heather\.cuh"),
    ],
)
def test_an_error_names_file_and_line(sources: Path, file: str, before: str, after: str, where: str) -> None:
    edit(sources / file, before, after)
    with pytest.raises(KernelError, match=where):
        compile_kernel(*ARGUMENTS)
    library = nvrtc12.library()
    if library:
        with pytest.raises(KernelError, match=where):
            nvrtc12.compile_kernel(library, *ARGUMENTS)


@needs_nvrtc
def test_compiling_is_announced_once(sources: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The message appears once when a job begins on a new card, and never if the code is cached."""
    compiler._announce.cache_clear()
    with caplog.at_level("INFO", "quire.device.compiler"):
        for entry in (2, 3, 3):
            cubin("kernel.cu", "sm_90", {"EXTRA": entry})
        assert caplog.messages == [
            "kernels for sm_90 are compiled as they are needed, once for this card: some seconds"
        ]
        caplog.clear()
        compiler._announce.cache_clear()
        cubin(*ARGUMENTS)
        assert not caplog.messages


@needs_nvrtc
def test_the_cache_is_used_and_its_key_changes(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cupy_backends.cuda.libs import nvrtc

    code = cubin(*ARGUMENTS)
    with monkeypatch.context() as patched:
        patched.setattr(compiler, "compile_kernel", lambda *_: pytest.fail("compiled again"))
        assert cubin(*ARGUMENTS) == code
    paths = [cache_path(*ARGUMENTS), cache_path("kernel.cu", "sm_80", {"EXTRA": 2})]
    paths.append(cache_path("kernel.cu", "sm_90", {"EXTRA": 3}))
    with monkeypatch.context() as patched:
        patched.setattr(compiler, "OPTIONS", (*compiler.OPTIONS, "-lineinfo"))
        paths.append(cache_path(*ARGUMENTS))
    with monkeypatch.context() as patched:
        patched.setattr(nvrtc, "getVersion", lambda: (13, 99))
        paths.append(cache_path(*ARGUMENTS))
    edit(sources / "header.cuh", "return 1", "return 4")
    paths.append(cache_path(*ARGUMENTS))
    assert len(set(paths)) == 6
    assert cubin(*ARGUMENTS) != code


@needs_nvrtc
def test_machine_code_is_whole(sources: Path) -> None:
    """The tables named by its header lie within it, to the last byte."""
    code = cubin(*ARGUMENTS)
    programs, sections = struct.unpack_from("<2Q", code, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<4H", code, 54)
    assert len(code) >= max(programs + program_size * program_count, sections + section_size * section_count) > 1000


@needs_nvrtc
@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_damaged_file_of_the_cache_is_replaced(sources: Path, damage: bytes | None) -> None:
    code = cubin(*ARGUMENTS)
    path = cache_path(*ARGUMENTS)
    kept = path.read_bytes()
    path.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]) if damage is None else damage)
    assert cubin(*ARGUMENTS) == code
    assert path.read_bytes() == kept
    assert [item.name for item in path.parent.iterdir()] == [path.name]


@needs_nvrtc
def test_machine_code_that_others_can_write_is_not_used(sources: Path) -> None:
    code = cubin(*ARGUMENTS)
    path = cache_path(*ARGUMENTS)
    path.write_bytes(hashlib.sha256(b"hostile").digest() + b"hostile")
    path.chmod(0o666)
    assert cubin(*ARGUMENTS) == code
    assert path.stat().st_mode & 0o022 == 0


@needs_nvrtc
def test_without_a_place_for_the_cache(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no folder can be created in it, not even by root
    assert cubin(*ARGUMENTS)[:4] == b"\x7fELF"


def _cubin_of(folder: str, _number: int) -> bytes:
    compiler.SOURCES = Path(folder)
    return cubin(*ARGUMENTS)


@needs_nvrtc
def test_processes_that_compile_at_once(sources: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        codes = pool.starmap(_cubin_of, [(str(sources), number) for number in range(8)])
    assert set(codes) == {cubin(*ARGUMENTS)}
    assert len(list(cache_path(*ARGUMENTS).parent.iterdir())) == 1


# ---- imports ----

BLOCKED = """
import importlib, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "llvmlite", "pysam", "pandas", "jsonschema", "yaml", "isal", "snakemake"):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocked())
sys.path[:0] = [sys.argv[1], sys.argv[2]]
for name in sys.argv[3:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        if "is blocked" in str(error):
            print(f"{name}: {error}")
"""


def test_a_machine_with_numpy_and_cupy_alone_can_run_kernel_tests() -> None:
    """Contract 6: no test here needs a package of the workflow, except comparisons with the CPU's functions."""
    root = Path(__file__).parents[2]
    tests = [*root.glob("tests/**/test_*_gpu.py"), *root.glob("tests/emulator/*.py")]
    modules = {".".join(path.relative_to(root).with_suffix("").parts) for path in tests}
    assert len(modules) > 20
    names = sorted({*gpu_modules(), *modules} - ON_THE_HOST_TOO)
    command = [sys.executable, "-c", BLOCKED, str(SOURCES), str(root), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == ""
