"""Digests of rules' sources follow imports, kernels included, and nothing else; packages import in one order."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from quire import sources

from tests.workflow.runs import REPOSITORY

LIBRARY = sources.SCRIPTS / "quire"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write a small library: a script that imports a package, which imports a kernel module inside a function.

    The module names one kernel of its folder, which includes headers of another folder.
    """
    files = {
        "job.py": "from quire import stage\n",
        "other.py": "import quire.unrelated\n",
        "quire/__init__.py": "",
        "quire/unrelated.py": "",
        "quire/stage/__init__.py": "from quire.stage.inner import run\n",
        "quire/stage/inner.py": "def run():\n    from quire.kernels import fast\n    import numpy\n",
        "quire/kernels/__init__.py": "",
        "quire/kernels/fast.py": "import quire.stage\nSOURCE = 'quire/kernels/fast.cu'\n",
        "quire/kernels/fast.cu": '#include "quire/shared/types.cuh"\n__global__ void f() {}',
        "quire/shared/types.cuh": '  #include "quire/shared/words.cuh"\n',
        "quire/shared/words.cuh": "typedef unsigned u32;",
        "quire/shared/other.cuh": "typedef unsigned u64;",
        "quire/kernels/slow.py": "SOURCE = 'quire/kernels/slow.cu'\n",
        "quire/kernels/slow.cu": "__global__ void g() {}",
    }
    scripts = tmp_path / "workflow" / "scripts"
    for name, text in files.items():
        path = scripts / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sources, "SCRIPTS", scripts)
    forget()
    yield scripts
    forget()


def forget() -> None:
    """Clear the caches of the sources."""
    for name in ("imports", "named_kernels", "_needed_files", "_module_file", "_name_and_digest"):
        getattr(sources, name).cache_clear()


def test_dependencies_follow_imports(tree: Path) -> None:
    """Parent packages, late imports, cycles, kernels and their headers are found; nothing else is."""
    found = {path.relative_to(tree).as_posix() for path in sources.dependencies(tree / "job.py")}
    assert found == {
        "job.py",
        "quire/__init__.py",
        "quire/stage/__init__.py",
        "quire/stage/inner.py",
        "quire/kernels/__init__.py",
        "quire/kernels/fast.py",
        "quire/kernels/fast.cu",
        "quire/shared/types.cuh",
        "quire/shared/words.cuh",
    }


@pytest.mark.parametrize(
    ("changed", "job", "other"),
    [
        ("quire/kernels/fast.cu", True, False),
        ("quire/shared/words.cuh", True, False),
        ("quire/shared/other.cuh", False, False),
        ("quire/stage/inner.py", True, False),
        ("quire/unrelated.py", False, True),
        ("quire/kernels/slow.py", False, False),
        ("quire/kernels/slow.cu", False, False),
        ("quire/__init__.py", True, True),
    ],
)
def test_digest_changes_with_what_is_imported(changed: str, job: bool, other: bool, tree: Path) -> None:
    """Editing a file changes the digests of exactly the scripts that depend on it."""
    before = {script: sources.digest(script) for script in ("job.py", "other.py")}
    with (tree / changed).open("a") as stream:
        stream.write("\nedited = 1\n" if changed.endswith(".py") else "\nint edited;\n")
    forget()
    assert (sources.digest("job.py") != before["job.py"]) is job
    assert (sources.digest("other.py") != before["other.py"]) is other


def test_digest_ignores_comments_and_docstrings(tree: Path) -> None:
    """Editing comments or docstrings triggers no rerun."""
    inner, kernel = tree / "quire/stage/inner.py", tree / "quire/kernels/fast.cu"
    digests = set()
    for prose in ("Run.", "Run fast."):
        inner.write_text(f'# {prose}\ndef run():\n    """{prose}"""\n    from quire.kernels import fast\n')
        kernel.write_text(f'// {prose}\n#include "quire/shared/types.cuh"\n/* {prose} */\n__global__ void f() {{}}')
        forget()
        digests.add(sources.digest("job.py"))
    assert len(digests) == 1


def test_digest_does_not_depend_on_where_the_tree_stands(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the tree elsewhere has the same digest."""
    before = sources.digest("job.py")
    shutil.copytree(tree, tmp_path / "elsewhere" / "scripts")
    monkeypatch.setattr(sources, "SCRIPTS", tmp_path / "elsewhere" / "scripts")
    forget()
    assert sources.digest("job.py") == before


def test_every_script_depends_on_its_stage() -> None:
    """In the real tree each rule's script leads to the library of its stage."""
    stages = {
        "pack_reference.py": "reference/construction.py",
        "index_page.py": "index/construction.py",
        "map_unit.py": "io/fastq/__init__.py",
        "finish_sample.py": "finish/sample.py",
        "rescore_interval.py": "algorithms/pairhmm/cpu.py",
        "calibrate_repeats.py": "rescore/dragen/estimation_cpu.py",
        "call_structural.py": "structural/support.py",
        "gather_variants.py": "io/vcf.py",
        "write_beagle.py": "rescore/beagle.py",
        "annotate_variants.py": "rescore/consequences.py",
        "annotate_by_program.py": "rescore/annotators.py",
        "search_complete.py": "algorithms/complete/seeds/cpu.py",
        "find_mems.py": "algorithms/mems/cpu.py",
        "align_pairwise.py": "algorithms/pairwise/cpu.py",
        "list_low_coverage.py": "finish/counts/records_cpu.py",
        "count_target.py": "finish/counts/records_cpu.py",
        "count_known_sites.py": "io/frequencies.py",
        "compare_truth.py": "report/known_variants.py",
        "write_report.py": "report/page.py",
    }
    for script, module in stages.items():
        found = sources.dependencies(sources.SCRIPTS / script)
        assert REPOSITORY / "workflow/scripts/quire" / module in found, script


def test_every_kernel_is_named_by_a_module() -> None:
    """No kernel escapes the digests: each is named by a module, or included by one that is."""
    found = {kernel for module in (sources.SCRIPTS / "quire").rglob("*.py") for kernel in sources.dependencies(module)}
    kernels = {path for path in (sources.SCRIPTS / "quire").rglob("*.cu*") if path.suffix in (".cu", ".cuh")}
    assert REPOSITORY / "workflow/scripts/quire/device/types.cuh" in kernels
    assert kernels <= found, sorted(map(str, kernels - found))


def package_of(path: Path) -> str:
    """Return the top-level package or module of the library that a file belongs to."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def imported_packages() -> dict[str, set[str]]:
    """Return the library's top-level packages and modules, each with the others that it imports anywhere."""
    found: dict[str, set[str]] = {package_of(path): set() for path in LIBRARY.rglob("*.py")}
    for path in LIBRARY.rglob("*.py"):
        names = [imported.name.split(".") for imported in sources.imports(path)]
        found[package_of(path)] |= {parts[1] for parts in names if parts[0] == "quire" and len(parts) > 1}
    del found["__init__"]
    return {package: {name for name in imported if name in found} - {package} for package, imported in found.items()}


def test_the_table_of_the_architecture_is_true() -> None:
    """docs/architecture.md names every package of the library, in an order in which each imports only earlier ones."""
    text = (REPOSITORY / "docs/architecture.md").read_text()
    table = text.split("| package | what | imports |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[re.findall(r"`(\w+)`", cell) for cell in line.split("|")] for line in table]
    told = {package: set(row[3]) for row in rows for package in row[1]}
    found = imported_packages()
    assert told == found, "\n".join(
        f"{package}: told {sorted(told.get(package, ()))}, found {sorted(found.get(package, ()))}"
        for package in sorted(told | found)
        if told.get(package) != found.get(package)
    )
    above: set[str] = set()
    for row in rows:
        assert set(row[3]) <= above, f"{row[1]}: {set(row[3]) - above} do not stand in a row above"
        above |= set(row[1])


def test_class_names_are_unique() -> None:
    """Every class name is unique in the library, so that it can be used without its module."""
    places: dict[str, list[str]] = {}
    for path in sorted(LIBRARY.rglob("*.py")):
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE):
            places.setdefault(name, []).append(path.relative_to(LIBRARY).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
