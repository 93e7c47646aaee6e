"""Each conda environment names, at exact versions, what its scripts import, equal to the requirements."""

import re
import sys
from functools import cache
from importlib.metadata import packages_distributions

import pytest
import yaml
from quire import sources

from tests.workflow.runs import REPOSITORY

# CuPy and what it needs stand in an environment of their own, which rules take where device.backend is gpu.
GPU_ENVIRONMENT = "gpu"
GPU_PACKAGES = {"cupy-cuda13x", "nvidia-cuda-nvrtc"}
CUPY_MODULES = {"cupy", "cupyx", "cupy_backends"}
# What a machine's driver must support; the other environments know of no CUDA.
CUDA_PINS = {"cuda-version", "cuda-nvrtc"}
# What conda-forge and bioconda call a package where PyPI calls it something else.
CONDA_NAMES = {
    "cupy-cuda13x": "cupy",
    "isal": "python-isal",
    "matplotlib": "matplotlib-base",
    "nvidia-cuda-nvrtc": "cuda-nvrtc",
}
REQUIREMENT = re.compile(r'[\w.-]+==[\w.]+(; sys_platform == "linux")?')
RULE = re.compile(
    r"^(?:rule|checkpoint) \w+:.*?"
    r'(?:envs/(?P<environment>\w+)\.yaml"|environment\("(?P<without_card>\w+)"\)).*?scripts/(?P<script>\w+\.py)"',
    re.MULTILINE | re.DOTALL,
)


def rules() -> list[tuple[str, str]]:
    """(script, environment) of every rule that runs a script; twice for a rule that may run on a card."""
    texts = [path.read_text() for path in sorted((REPOSITORY / "workflow/rules").glob("*.smk"))]
    pairs = []
    for found in (found for text in texts for found in RULE.finditer(text)):
        names = [found["environment"]] if found["environment"] else [found["without_card"], GPU_ENVIRONMENT]
        pairs += [(found["script"], name) for name in names]
    return pairs


def pins(name: str) -> dict[str, str]:
    """Versions of a requirements file by normalised package name."""
    lines = (REPOSITORY / name).read_text().splitlines()
    found = [line.split(";")[0].split("==") for line in lines if line and not line.startswith(("#", "-"))]
    return {package.lower().replace("_", "-"): version for package, version in found}


def environment(name: str) -> dict[str, str]:
    """Versions of a conda environment by conda's package name."""
    content = yaml.safe_load((REPOSITORY / "envs" / f"{name}.yaml").read_text())
    return dict(package.split("=", 1) for package in content["dependencies"])


@cache
def imported_modules(script: str) -> frozenset[str]:
    """Top-level modules that a script imports, at any depth through the library."""
    modules: set[str] = set()
    for path in sources.dependencies(sources.SCRIPTS / script):
        if path.suffix == ".py":
            modules |= {name.split(".")[0] for name in sources.imported_names(path)}
    return frozenset(modules)


@cache
def imported_packages(script: str) -> frozenset[str]:
    """PyPI names of the third-party packages that a script imports, CuPy apart: it need not be installed here."""
    modules = imported_modules(script) - sys.stdlib_module_names - {"quire"} - CUPY_MODULES
    distributions = packages_distributions()
    return frozenset(distributions[module][0].lower() for module in modules)


def test_every_rule_is_seen() -> None:
    """The search above finds a rule for every script, so that none escapes the next test."""
    assert {script for script, _ in rules()} == {path.name for path in sources.SCRIPTS.glob("*.py")}


@pytest.mark.parametrize(("script", "name"), rules())
def test_environment_holds_what_the_script_imports(script: str, name: str) -> None:
    """Every import of the script is pinned in its environment at the version of the requirements."""
    found, required = environment(name), pins("requirements.txt") | pins("requirements-gpu.txt")
    for package in imported_packages(script) | (GPU_PACKAGES if name == GPU_ENVIRONMENT else set()):
        conda_name = CONDA_NAMES.get(package, package)
        assert conda_name in found, f"envs/{name}.yaml lacks {conda_name}, which {script} imports"
        assert found[conda_name] == required[package], f"envs/{name}.yaml: {conda_name} differs from the requirements"


@pytest.mark.parametrize("name", sorted({name for _, name in rules()}))
def test_environment_holds_nothing_else(name: str) -> None:
    """No environment names a package that none of its scripts imports, or a version that is not exact."""
    needed = {"python"} | ({"cupy", *CUDA_PINS} if name == GPU_ENVIRONMENT else set())
    for script, used in rules():
        if used == name:
            needed |= {CONDA_NAMES.get(package, package) for package in imported_packages(script)}
    found = environment(name)
    assert set(found) <= needed
    assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in found.values())


def test_requirements_are_exact_and_nested() -> None:
    """Every requirement is pinned with ==, the test tools contain the run's requirements, and no rule lacks a pin."""
    for name in ("requirements.txt", "requirements-test.txt", "requirements-gpu.txt", "requirements-gpu-cuda12.txt"):
        for line in (REPOSITORY / name).read_text().splitlines():
            assert line.startswith(("#", "-r requirements.txt")) or REQUIREMENT.fullmatch(line), line
    assert not set(pins("requirements.txt")) & set(pins("requirements-test.txt"))


def test_packages_for_cards_stand_apart() -> None:
    """Nobody without a card installs CuPy; both files for cards add the same kinds of package at the same CuPy."""
    newer, older = pins("requirements-gpu.txt"), pins("requirements-gpu-cuda12.txt")
    run = pins("requirements.txt")
    assert not set(run) & (set(newer) | set(older))
    assert {name.replace("13x", "12x") for name in newer} == {name.removesuffix("-cu12") for name in older}
    assert newer["cupy-cuda13x"] == older["cupy-cuda12x"]
    tested = pins("requirements-test.txt")
    for packages in (newer, older):
        assert all(tested.get(name, version) == version for name, version in packages.items())
    # The compiler and the headers that CuPy includes are of one CUDA, that which conda's pin names.
    assert newer["nvidia-cuda-nvrtc"].startswith(environment(GPU_ENVIRONMENT)["cuda-version"] + ".")
    for packages, suffix in ((newer, ""), (older, "-cu12")):
        compiler, headers = (packages[f"nvidia-cuda-{part}{suffix}"].split(".")[:2] for part in ("nvrtc", "runtime"))
        assert compiler == headers


def test_scripts_that_look_for_a_card_can_have_cupy() -> None:
    """A rule whose script may import CuPy takes the environment that holds it, and no other rule does."""
    with_cupy = {script for script, _ in rules() if CUPY_MODULES & imported_modules(script)}
    with_cupy.remove("warm_up.py")  # compiles what the CPU runs
    assert {script for script, name in rules() if name == GPU_ENVIRONMENT} == with_cupy
