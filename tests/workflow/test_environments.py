"""Conda environments: each pins its scripts' imports at the versions of the requirements.

Each environment is also built from PyPI's packages, and the rules run in it: see stand_in_conda.py.
"""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest
from quire import sources

from tests.workflow import stand_in_conda
from tests.workflow.conftest import TRUTH
from tests.workflow.import_guard import JOURNAL
from tests.workflow.runs import REPOSITORY, SMALL, Run
from tests.workflow.stand_in_conda import PYPI_NAMES, pins
from tests.workflow.test_annotation import GENES
from tests.workflow.test_annotators import install

pytestmark = pytest.mark.full

# CuPy and its dependencies have their own environment, which rules use if device.backend is gpu.
GPU_ENVIRONMENT = "gpu"
GPU_PACKAGES = {"cupy-cuda13x", "nvidia-cuda-nvrtc"}
CUPY_MODULES = {"cupy", "cupyx", "cupy_backends"}
# These scripts import modules that may look for a card, but never look for one themselves.
LOOK_FOR_NO_CARD = {
    "calibrate_repeats.py",
    "call_structural.py",
    "check_gvcfs.py",
    "import_gvcf.py",
    "joint_genotype.py",
    "split_intervals.py",
    "write_report.py",
}
_GENOME = str(SMALL / "genome.fa.gz")
SEARCHES = {
    "complete": [{"name": "x", "reads": str(SMALL / "NA12878_R1.fastq.gz"), "report": "best"}],
    "mems": [{"name": "x", "queries": _GENOME, "min_length": 100}],
    "pairwise": [{"name": "x", "query": f"{_GENOME}:chr22:1-2000", "target": f"{_GENOME}:chr22:1001-3000"}],
}
# Packages that the machine's driver must support; the other environments have no CUDA packages.
CUDA_PINS = {"cuda-version", "cuda-nvrtc"}
# Programs that a script starts, by environment; PyPI has neither (bioconda alone).
PROGRAMS = {"snpeff": "snpeff", "vep": "ensembl-vep"}
CONDA_NAMES = {name: conda_name for conda_name, name in PYPI_NAMES.items()}
REQUIREMENT = re.compile(r'[\w.-]+==[\w.]+(; sys_platform == "linux")?')
RULE = re.compile(
    r"^ *(?:rule|checkpoint) \w+:.*?"
    r'(?:envs/(?P<environment>\w+)\.yaml"|environment\("(?P<without_card>\w+)"\)).*?scripts/(?P<script>\w+\.py)"',
    re.MULTILINE | re.DOTALL,
)


def rules() -> list[tuple[str, str]]:
    """Return (script, environment) of every rule that runs a script; twice for a rule that may run on a card."""
    texts = [path.read_text() for path in sorted((REPOSITORY / "workflow/rules").glob("*.smk"))]
    pairs = []
    for found in (found for text in texts for found in RULE.finditer(text)):
        names = [found["environment"]] if found["environment"] else [found["without_card"], GPU_ENVIRONMENT]
        pairs += [(found["script"], name) for name in names]
    return pairs


def environment(name: str) -> dict[str, str]:
    """Return the versions of a conda environment by conda's package name."""
    return stand_in_conda.environment(REPOSITORY / "envs" / f"{name}.yaml")


@cache
def imported_modules(script: str) -> frozenset[str]:
    """Return the top-level modules that a script imports, at any depth through the library."""
    modules: set[str] = set()
    for path in sources.dependencies(sources.SCRIPTS / script):
        if path.suffix == ".py":
            modules |= {found.name.split(".")[0] for found in sources.imports(path)}
    return frozenset(modules)


@cache
def imported_packages(script: str) -> frozenset[str]:
    """Return the PyPI names of a script's third-party packages except CuPy, which need not be installed here."""
    modules = imported_modules(script) - sys.stdlib_module_names - {"quire"} - CUPY_MODULES
    providers = packages_distributions()
    return frozenset(providers[module][0].lower() for module in modules)


def test_every_rule_is_seen() -> None:
    """`rules` finds a rule for every script, so that the next test covers all of them."""
    assert {script for script, _ in rules()} == {path.name for path in sources.SCRIPTS.glob("*.py")}


@pytest.mark.parametrize(("script", "name"), rules())
def test_environment_holds_what_the_script_imports(script: str, name: str) -> None:
    """Every import of the script is pinned in its environment at the version of the requirements."""
    found, required = environment(name), pins("requirements.txt") | pins("requirements-gpu.txt")
    for package in imported_packages(script) | (GPU_PACKAGES if name == GPU_ENVIRONMENT else set()):
        conda_name = CONDA_NAMES.get(package, package)
        assert conda_name in found, f"envs/{name}.yaml lacks {conda_name}, which {script} imports"
        assert found[conda_name] == required[package], f"envs/{name}.yaml: {conda_name} differs from requirements"


@pytest.mark.parametrize("name", sorted({name for _, name in rules()}))
def test_environment_holds_nothing_else(name: str) -> None:
    """No environment names a package that none of its scripts imports, or a version that is not exact."""
    needed = {"python", PROGRAMS.get(name, "python")} | ({"cupy", *CUDA_PINS} if name == GPU_ENVIRONMENT else set())
    for script, used in rules():
        if used == name:
            needed |= {CONDA_NAMES.get(package, package) for package in imported_packages(script)}
    if "numba" in needed:
        needed.add("llvmlite")  # Numba's other half, pinned with it
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
    """Only the files for cards have CuPy; both have the same packages for their CUDA, and the same version of CuPy."""
    newer, older = pins("requirements-gpu.txt"), pins("requirements-gpu-cuda12.txt")
    run = pins("requirements.txt")
    assert not set(run) & (set(newer) | set(older))
    assert {name.replace("13x", "12x") for name in newer} == {name.removesuffix("-cu12") for name in older}
    assert newer["cupy-cuda13x"] == older["cupy-cuda12x"]
    tested = pins("requirements-test.txt")
    for packages in (newer, older):
        assert all(tested.get(name, version) == version for name, version in packages.items())
    # The compiler and CuPy's headers are of the CUDA version that conda's pin names.
    assert newer["nvidia-cuda-nvrtc"].startswith(environment(GPU_ENVIRONMENT)["cuda-version"] + ".")
    for packages, suffix in ((newer, ""), (older, "-cu12")):
        compiler, headers = (packages[f"nvidia-cuda-{part}{suffix}"].split(".")[:2] for part in ("nvrtc", "runtime"))
        assert compiler == headers


def test_scripts_that_look_for_a_card_can_have_cupy() -> None:
    """Exactly the rules whose scripts may import CuPy use the environment with CuPy."""
    with_cupy = {script for script, _ in rules() if CUPY_MODULES & imported_modules(script)}
    assert with_cupy > LOOK_FOR_NO_CARD
    assert {script for script, name in rules() if name == GPU_ENVIRONMENT} == with_cupy - LOOK_FOR_NO_CARD


def test_every_pin_stands_in_the_table_of_recipes() -> None:
    """docs/environments.md lists where the recipe of each package of each environment was found."""
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \|", (REPOSITORY / "docs/environments.md").read_text(), re.MULTILINE)
    pinned = {pin for name in environments() for pin in environment(name).items()}
    assert pinned == set(rows)


def environments() -> list[str]:
    """Return the names of the environments."""
    return sorted(path.stem for path in (REPOSITORY / "envs").glob("*.yaml"))


@pytest.fixture(scope="module")
def index_of_packages(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip the test if pip cannot reach a package index."""
    folder = tmp_path_factory.mktemp("reached")
    command = ["download", "--quiet", "--no-deps", "--no-cache-dir", "--retries=1", "--timeout=20", "--dest", folder]
    smallest = f"markupsafe=={pins('requirements.txt')['markupsafe']}"
    tried = subprocess.run([*stand_in_conda.PIP, *command, smallest], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no environment can be made, since pip reaches no packages: {tried.stderr.strip()[-300:]}")


@pytest.fixture
def big_folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that is deleted after the test, because environments are large."""
    folder = tmp_path / "environments"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def assert_locked(prefix: Path) -> None:
    """Check that every package that pip installed into an environment has the version pinned in the requirements."""
    locked = stand_in_conda.lock()
    for found in distributions(path=[str(path) for path in prefix.glob("lib/python*/site-packages")]):
        assert locked.get(found.name.lower().replace("_", "-")) == found.version, found.name


def test_guard_hides_what_the_environment_lacks(tmp_path: Path) -> None:
    """A script may import Snakemake from the driver's packages, but not Snakemake's dependencies."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    stand_in_conda.guard(tmp_path)
    code = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r}); import "
    for modules, status in (("snakemake.logging", 0), ("yaml", 1), ("snakemake.logging, numpy.linalg", 1)):
        ran = subprocess.run([tmp_path / "bin/python", "-c", code + modules], capture_output=True, text=True)
        assert ran.returncode == status, ran.stderr
        assert status == 0 or "but in the environment of Snakemake" in ran.stderr


@pytest.mark.timeout(1200)  # four environments, and possibly kernels to compile
@pytest.mark.usefixtures("index_of_packages")
def test_every_rule_runs_in_its_environment(tmp_path: Path, big_folder: Path) -> None:
    """With `--use-conda`, every rule from FASTQ to report imports only from its own environment."""
    config = {"report": {"truth": TRUTH}, "callable": {"minimum_depth": 4}, "structural": {"enabled": True}, **SEARCHES}
    run = Run(tmp_path / "run", config=config)
    sites, genes = run.folder / "sites.vcf", run.folder / "genes.gff3"
    sites.write_text("##fileformat=VCFv4.2\nchr22\t20000\t.\tA\tC\t.\tPASS\tAF=0.4\n")
    genes.write_text(GENES)
    run.config["report"]["known_sites"] = sites.name
    databases = {"snpeff": "small.1/snpEffectPredictor.bin", "vep": "homo_sapiens/105_GRCh38/info.txt"}
    for database in databases.values():
        (run.folder / database).parent.mkdir(parents=True)
        (run.folder / database).write_text("x")
    conda = stand_in_conda.install(tmp_path / "conda")
    install(conda, "snpEff")
    path = install(conda, "vep")
    journal = tmp_path / "journal"
    for gvcf, (program, database) in zip((False, True), databases.items(), strict=True):
        # Joint and gVCF calling have different rules, and one program annotates.
        name = str(Path(database).parent)
        run.config["annotate"] = {"gff3": genes.name, "program": program, "database": name, "database_directory": "."}
        # A target adds a rule that counts over it; DRAGEN's error models add one that scans repeats.
        models = "dragen" if gvcf else "gatk"
        run.config["rescore"] = {"gvcf": gvcf, "intervals": TRUTH["bed"], "error_model": models, "beagle": True}
        run.write()
        result = run.snakemake("--use-conda", "--conda-prefix", str(big_folder), PATH=path, **{JOURNAL: str(journal)})
        assert result.returncode == 0, result.stdout
    assert json.loads((run.output / "report/summary.json").read_text())

    texts = {name: (REPOSITORY / "envs" / f"{name}.yaml").read_text() for name in environments()}
    made = {str(path.with_suffix("")): path.read_text() for path in big_folder.glob("*.yaml")}
    ran = set()
    for prefix, argument in map(json.loads, journal.read_text().splitlines()):
        if argument.endswith(".py"):
            ran.add((Path(argument).name.partition(".")[2], made[prefix]))
    # Of servers, in test_remote.py; after another format, with the imports of finish_sample, in test_road.py.
    elsewhere = {("fetch_input.py", "index"), ("convert_alignments.py", "align"), ("name_assembly.py", "align")}
    expected = {(script, name) for script, name in rules() if name != GPU_ENVIRONMENT} - elsewhere
    assert ran == {(script, texts[name]) for script, name in expected}
    for prefix in made:
        assert_locked(Path(prefix))


@pytest.mark.usefixtures("index_of_packages")
def test_environment_for_cards_imports_all_modules(big_folder: Path) -> None:
    """Every module that scripts for cards import, CuPy's users included, imports in their environment."""
    stand_in_conda.create(REPOSITORY / "envs" / f"{GPU_ENVIRONMENT}.yaml", big_folder)
    assert_locked(big_folder)
    files = {
        path.relative_to(sources.SCRIPTS).with_suffix("")
        for script, name in rules()
        if name == GPU_ENVIRONMENT
        for path in sources.dependencies(sources.SCRIPTS / script)
        if path.suffix == ".py"
    }
    modules = sorted(".".join(file.parts).removesuffix(".__init__") for file in files if len(file.parts) > 1)
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]; import cupy"
    command = [str(big_folder / "bin/python"), "-c", code, *modules]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(sources.SCRIPTS), "HOME": str(big_folder)})
