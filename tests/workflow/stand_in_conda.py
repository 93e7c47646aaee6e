"""A stand-in for conda in tests without channels: it makes environments of PyPI's packages at the same versions.

Snakemake starts it as `conda` (see `install`) and gets the same result as from conda: a folder whose `bin/python`
imports the packages of the environment's file and their dependencies. Transitive packages have the versions of the
requirements. All other packages of the machine are hidden: see import_guard.py.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
GUARD = Path(__file__).with_name("import_guard.py")
LOCK = ("requirements.txt", "requirements-gpu.txt")
# PyPI names of packages that conda-forge or bioconda names differently.
PYPI_NAMES = {
    "cuda-nvrtc": "nvidia-cuda-nvrtc",
    "cupy": "cupy-cuda13x",
    "python-isal": "isal",
}
# Dependencies that only conda has: an empty package by which it resolves CUDA's packages, and programs.
ONLY_CONDA = {"cuda-version", "ensembl-vep", "snpeff"}
OF_CUPY = ("cuda-pathfinder", "nvidia-cuda-runtime")
# Environments that use the running Python: their kernels take minutes to compile, and this Python shares those that
# other tests compiled. The others use the version that they pin, so that both cases are tested.
WITH_THIS_PYTHON = ("align", "rescore", "snpeff", "vep")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def pins(name: str) -> dict[str, str]:
    """Return the versions of a requirements file by normalised package name."""
    lines = (REPOSITORY / name).read_text().splitlines()
    found = [line.split(";")[0].split("==") for line in lines if line and not line.startswith(("#", "-"))]
    return {package.lower().replace("_", "-"): version for package, version in found}


def lock() -> dict[str, str]:
    """Return the versions of all packages that a run may need, by normalised name."""
    return {package: version for name in LOCK for package, version in pins(name).items()}


def environment(path: Path) -> dict[str, str]:
    """Return the versions of a conda environment by conda's package name."""
    return dict(package.split("=", 1) for package in yaml.safe_load(path.read_text())["dependencies"])


def interpreter(path: Path, version: str) -> str:
    """Return a Python of the minor version in an environment's file, or the running one if none is installed."""
    if path.read_text() in [(REPOSITORY / "envs" / f"{name}.yaml").read_text() for name in WITH_THIS_PYTHON]:
        return sys.executable
    minor = ".".join(version.split(".")[:2])
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in (f"python{minor}", *sorted(map(str, versions.glob(f"{minor}.*/bin/python{minor}")))):
        if shutil.which(candidate) and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    return sys.executable


def create(path: Path, prefix: Path) -> None:
    """Make the environment of a file.

    Raises:
        subprocess.CalledProcessError: venv or pip failed.
    """
    wanted, locked = environment(path), lock()
    subprocess.run([interpreter(path, wanted.pop("python")), "-m", "venv", "--without-pip", str(prefix)], check=True)
    names = [PYPI_NAMES.get(name, name) for name in wanted if name not in ONLY_CONDA]
    names += OF_CUPY if "cupy" in wanted else ()
    constraints = [argument for name in LOCK for argument in ("--constraint", str(REPOSITORY / name))]
    subprocess.run(
        [*PIP, "--python", str(prefix / "bin/python"), "install", "--quiet", "--only-binary=:all:", "--no-compile",
         *constraints, *(f"{name}=={locked[name]}" for name in names)],
        check=True,
    )  # fmt: skip
    guard(prefix)


def guard(prefix: Path) -> None:
    """Make every process of the environment's Python refuse imports from outside it."""
    command = "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('stdlib'))"
    python = str(prefix / "bin/python")
    packages, library = subprocess.run(
        [python, "-c", command], check=True, text=True, stdout=subprocess.PIPE
    ).stdout.split()
    here = sysconfig.get_paths()
    foreign = [here["purelib"], here["platlib"]] + ([here["stdlib"]] if here["stdlib"] != library else [])
    (Path(packages) / "import_guard.py").write_text(GUARD.read_text())
    (Path(packages) / "import_guard.pth").write_text(f"import import_guard; import_guard.refuse({foreign!r})\n")


def install(folder: Path) -> Path:
    """Create the files that Snakemake expects of a conda installation, and return the folder for PATH."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    conda = binaries / "conda"
    conda.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(__file__)} {folder} "$@"\n')
    conda.chmod(0o755)
    (binaries / "activate").write_text('export PATH="$1/bin:$PATH" CONDA_PREFIX="$1"\n')
    return binaries


def main(folder: str, *arguments: str) -> None:
    """Execute the conda commands that Snakemake uses."""
    match arguments:
        case ("info", "--json"):
            print(json.dumps({"conda_prefix": folder, "platform": "linux-64"}))
        case ("--version",):
            print("conda 99.0.0")
        case ("config", "--get", "channel_priority", "--json"):
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ("env", "create", "--quiet", "--no-default-packages", "--file", path, "--prefix", prefix):
            create(Path(path), Path(prefix))
        case ("clean", *_):
            pass
        case _:
            sys.exit(f"stand_in_conda: unknown command {shlex.join(arguments)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
