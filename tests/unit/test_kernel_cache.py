"""Where compiled kernels are kept: one folder for each state of the sources, unless the user names one."""

import os
import subprocess
import sys
from pathlib import Path

import quire

PRINT_FOLDER = "import os, quire; print(os.environ['NUMBA_CACHE_DIR'])"


def folder_of(library: Path, **variables: str) -> str:
    """The folder that a new process chooses."""
    environment = {name: value for name, value in os.environ.items() if "CACHE_DIR" not in name}
    environment |= {"PYTHONPATH": str(library), "XDG_CACHE_HOME": str(library / "cache"), **variables}
    return subprocess.check_output([sys.executable, "-c", PRINT_FOLDER], text=True, env=environment).strip()


def test_the_folder_follows_the_sources(tmp_path: Path) -> None:
    (tmp_path / "quire").mkdir()
    for name in ("__init__.py", "cache.py"):
        (tmp_path / "quire" / name).write_bytes(Path(quire.__file__).with_name(name).read_bytes())
    kernel = tmp_path / "quire/kernel.py"
    kernel.write_text("ONE = 1\n")
    before = folder_of(tmp_path)
    assert before.startswith(str(tmp_path / "cache"))
    assert folder_of(tmp_path) == before
    kernel.write_text("ONE = 2\n")
    after = folder_of(tmp_path)
    assert after != before
    # A job inherits the environment of a Snakemake that was started before the change.
    assert folder_of(tmp_path, NUMBA_CACHE_DIR=before, QUIRE_CHOSE_CACHE_DIR=before) == after
    assert folder_of(tmp_path, NUMBA_CACHE_DIR="/chosen") == "/chosen"
    assert folder_of(tmp_path, NUMBA_CACHE_DIR="/chosen", QUIRE_CHOSE_CACHE_DIR=before) == "/chosen"
