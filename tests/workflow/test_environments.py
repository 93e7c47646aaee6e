"""Each conda environment names, at exact versions, what its scripts import, equal to the requirements."""

import re
import sys
from functools import cache
from importlib.metadata import packages_distributions

import pytest
import yaml
from quire import sources

from tests.workflow.runs import REPOSITORY

# What conda-forge and bioconda call a package where PyPI calls it something else.
CONDA_NAMES = {"isal": "python-isal", "matplotlib": "matplotlib-base"}
RULE = re.compile(
    r'^(?:rule|checkpoint) \w+:.*?envs/(?P<environment>\w+)\.yaml".*?scripts/(?P<script>\w+\.py)"',
    re.MULTILINE | re.DOTALL,
)


def rules() -> list[tuple[str, str]]:
    """(script, environment) of every rule that runs a script."""
    texts = [path.read_text() for path in sorted((REPOSITORY / "workflow/rules").glob("*.smk"))]
    return [(found["script"], found["environment"]) for text in texts for found in RULE.finditer(text)]


def pins(name: str) -> dict[str, str]:
    """Versions of a requirements file by normalised package name."""
    lines = (REPOSITORY / name).read_text().splitlines()
    found = [line.split("==") for line in lines if line and not line.startswith(("#", "-"))]
    return {package.lower().replace("_", "-"): version for package, version in found}


def environment(name: str) -> dict[str, str]:
    """Versions of a conda environment by conda's package name."""
    content = yaml.safe_load((REPOSITORY / "envs" / f"{name}.yaml").read_text())
    return dict(package.split("=", 1) for package in content["dependencies"])


@cache
def imported_packages(script: str) -> frozenset[str]:
    """PyPI names of the third-party packages that a script imports, at any depth through the library."""
    modules: set[str] = set()
    for path in sources.dependencies(sources.SCRIPTS / script):
        if path.suffix == ".py":
            modules |= {name.split(".")[0] for name in sources.imported_names(path)}
    modules -= set(sys.stdlib_module_names) | {"quire"}
    distributions = packages_distributions()
    return frozenset(distributions[module][0].lower() for module in modules)


def test_every_rule_is_seen() -> None:
    """The search above finds a rule for every script, so that none escapes the next test."""
    assert {script for script, _ in rules()} == {path.name for path in sources.SCRIPTS.glob("*.py")}


@pytest.mark.parametrize(("script", "name"), rules())
def test_environment_holds_what_the_script_imports(script: str, name: str) -> None:
    """Every import of the script is pinned in its environment at the version of requirements.txt."""
    found, required = environment(name), pins("requirements.txt")
    for package in imported_packages(script):
        conda_name = CONDA_NAMES.get(package, package)
        assert conda_name in found, f"envs/{name}.yaml lacks {conda_name}, which {script} imports"
        assert found[conda_name] == required[package], f"envs/{name}.yaml: {conda_name} differs from requirements.txt"


@pytest.mark.parametrize("name", sorted({name for _, name in rules()}))
def test_environment_holds_nothing_else(name: str) -> None:
    """No environment names a package that none of its scripts imports, or a version that is not exact."""
    needed = {"python"}
    for script, used in rules():
        if used == name:
            needed |= {CONDA_NAMES.get(package, package) for package in imported_packages(script)}
    found = environment(name)
    assert set(found) <= needed
    assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in found.values())


def test_requirements_are_exact_and_nested() -> None:
    """Every requirement is pinned with ==, the test tools contain the run's requirements, and no rule lacks a pin."""
    for name in ("requirements.txt", "requirements-test.txt"):
        for line in (REPOSITORY / name).read_text().splitlines():
            assert line.startswith(("#", "-r requirements.txt")) or re.fullmatch(r"[\w.-]+==[\w.]+", line), line
    assert not set(pins("requirements.txt")) & set(pins("requirements-test.txt"))
