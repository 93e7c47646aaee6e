"""The digest of a rule's sources follows imports, kernels included, and nothing else."""

import re
import shutil
from pathlib import Path

import pytest
from quire import sources

from tests.workflow.runs import REPOSITORY


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small library: a script that imports a package, which imports a kernel module from inside a function.

    The module names one kernel of its folder, which includes headers of another folder.
    """
    files = {
        "job.py": "from quire import stage\n",
        "other.py": "import quire.unrelated\n",
        "quire/__init__.py": "",
        "quire/unrelated.py": "",
        "quire/stage/__init__.py": "from quire.stage.inner import run\n",
        "quire/stage/inner.py": "def run():\n    from ..kernels import fast\n    import numpy\n",
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
    return scripts


def forget() -> None:
    """Forget what was read of the sources."""
    sources.imported_names.cache_clear()
    sources.named_kernels.cache_clear()


def test_dependencies_follow_imports(tree: Path) -> None:
    """Packages on the way, relative and late imports, circles, kernels and their headers are found; the rest is not."""
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
    """Editing a file changes the digests of the scripts that depend on it and of no others."""
    before = {script: sources.digest(script) for script in ("job.py", "other.py")}
    with (tree / changed).open("a") as stream:
        stream.write("\n# edited\n" if changed.endswith(".py") else "\n// edited\n")
    forget()
    assert (sources.digest("job.py") != before["job.py"]) is job
    assert (sources.digest("other.py") != before["other.py"]) is other


def test_digest_does_not_depend_on_where_the_tree_stands(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the tree elsewhere has the same digest."""
    before = sources.digest("job.py")
    shutil.copytree(tree, tmp_path / "elsewhere" / "scripts")
    monkeypatch.setattr(sources, "SCRIPTS", tmp_path / "elsewhere" / "scripts")
    assert sources.digest("job.py") == before


def test_every_script_depends_on_its_stage() -> None:
    """In the real tree each rule's script leads to the library of its stage."""
    stages = {
        "reference.py": "reference/construction.py",
        "index_page.py": "index/construction.py",
        "map_unit.py": "io/fastq.py",
        "finish_sample.py": "align/finish.py",
        "rescore_interval.py": "algorithms/pairhmm/cpu.py",
        "gather.py": "rescore/vcf.py",
        "report.py": "report/page.py",
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


def test_imports_point_up_the_table_of_the_architecture() -> None:
    """A package imports what docs/architecture.md puts above it; of its own row only what the text names."""
    table = (REPOSITORY / "docs/architecture.md").read_text().split("| package | what | reads |")[1].split("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    level = {package: number for number, packages in enumerate(rows) for package in packages}
    root = sources.SCRIPTS / "quire"
    assert set(level) == {path.stem for path in root.iterdir() if path.name[0] not in "_."}
    same_row = {
        ("ledger", "io"), ("oriented", "batch"), ("config", "sheets"), ("config", "peek"), ("align", "index"),
        *((stage, "reference") for stage in ("index", "align", "rescore", "report")),
    }  # fmt: skip
    for path in root.rglob("*.py"):
        package = path.relative_to(root).parts[0].removesuffix(".py")
        for name in sources.imported_names(path):
            imported = name.split(".")[1] if name.startswith("quire.") else package
            allowed = imported == package or (package, imported) in same_row or package == "__init__"
            assert allowed or level[imported] < level[package], f"{path}: imports {name}"
