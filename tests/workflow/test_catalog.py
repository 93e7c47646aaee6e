"""The rules of the Snakemake workflow catalog for standardized usage, and Quire as a module from GitHub."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from quire.cache import cache_root

from tests.workflow.runs import REPOSITORY, SMALL, Run, errors_of
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full

# What `snakedeploy deploy-workflow https://github.com/owner/quire . --tag v1` (0.17.1) writes.
DEPLOYED = """
from snakemake.utils import min_version

min_version("6.10.0")

configfile: "config/config.yaml"

module quire:
    snakefile:
        github("owner/quire", path="workflow/Snakefile", tag="v1")
    config:
        config

use rule * from quire
"""


def clean_copy(folder: Path) -> Path:
    """Copy what a clone has, without what runs and tests left in it."""
    ignored = shutil.ignore_patterns(".*cache*", "__pycache__", ".venv", ".*-tools", ".snakemake", "results", ".git")
    return shutil.copytree(REPOSITORY, folder, ignore=ignored)


def test_the_repository_has_what_the_catalog_asks_for() -> None:
    """See https://snakemake.github.io/snakemake-workflow-catalog/docs/about/adding_workflows.html."""
    assert {"snakemake", "workflow"} <= set(re.findall(r"\w+", (REPOSITORY / "README.md").read_text().lower()))
    assert (REPOSITORY / "workflow/Snakefile").is_file()
    assert list((REPOSITORY / "workflow/rules").glob("*.smk"))
    assert (REPOSITORY / "config/README.md").is_file()
    usage = yaml.safe_load((REPOSITORY / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert set(usage["software-stack-deployment"]) <= {"conda", "apptainer", "apptainer+conda"}


def test_lint_of_a_clone_as_it_is(tmp_path: Path) -> None:
    """The catalog runs `snakemake --lint` in a clone, whose template names files that do not exist."""
    for arguments in ((), ("-s", "workflow/Snakefile")):
        command = [sys.executable, "-m", "snakemake", "--lint", *arguments]
        folder = clean_copy(tmp_path / f"clone{len(arguments)}")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, "in a good condition" in done.stderr) == (0, True), done.stderr


@pytest.fixture
def deployed(finished: Run, tmp_path: Path) -> Run:
    """Return a run with Quire as a module from GitHub, whose address git replaces by that of a local repository."""
    github = clean_copy(tmp_path / "github")
    git = ["git", "-C", str(github), "-c", "user.name=x", "-c", "user.email=x@localhost"]
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all"), ("tag", "v1")):
        subprocess.run([*git, *command], check=True)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "quire").symlink_to(cache_root())  # compiled kernels
    fasta = {"fasta": str(SMALL / "genome.fa.gz"), "index_directory": str(finished.output / "index")}
    run = Run(tmp_path / "run", config={"reference": fasta})
    (run.folder / "config").mkdir()
    (run.folder / "config.yaml").rename(run.folder / "config/config.yaml")
    (run.folder / "workflow").mkdir()
    (run.folder / "workflow/Snakefile").write_text(DEPLOYED)
    run.command = lambda *arguments: [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    snakemake, replaced = run.snakemake, {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_VALUE_0": "https://github.com/owner/"}
    replaced["GIT_CONFIG_KEY_0"] = f"url.{tmp_path}/.insteadOf"
    github.rename(tmp_path / "quire")
    run.snakemake = lambda *arguments: snakemake(*arguments, XDG_CACHE_HOME=str(cache), **replaced)
    return run


def test_a_module_from_github(deployed: Run) -> None:
    """The deployed workflow runs from reads to the report, and a second run has nothing to do."""
    result = deployed.snakemake()
    assert result.returncode == 0, result.stdout
    assert {"map_unit", "finish_sample", "gather_variants", "write_report"} <= finished_rules(result.stdout)
    assert (deployed.output / "report/report.html").is_file()
    (files,) = (deployed.folder.parent / "cache/snakemake").rglob("workflow/scripts/quire/__init__.py")
    assert str(files.parents[3]).rpartition("-")[0].endswith("github.com/owner/quire")
    assert "Nothing to be done" in deployed.snakemake().stdout


def test_a_module_that_names_the_other_snakefile(deployed: Run) -> None:
    """Single files without the library are refused with a sentence."""
    snakefile = deployed.folder / "workflow/Snakefile"
    snakefile.write_text(DEPLOYED.replace('path="workflow/Snakefile"', 'path="Snakefile"'))
    refused = deployed.snakemake("--dry-run")
    assert refused.returncode != 0
    assert errors_of(refused.stdout) == [
        'quire: error: Quire as a module needs path="workflow/Snakefile" in github(...), or a clone.'
    ]
