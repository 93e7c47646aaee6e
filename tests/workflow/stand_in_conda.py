"""A conda for tests, where no channel can be reached: it makes environments of PyPI's packages at the same versions.

Snakemake starts it as `conda` (see `install`) and gets from it what it would get from conda: a folder whose
`bin/python` imports what the environment's file names, and what that needs. Transitive packages are those of the
requirements. Whatever else the machine has stays out: see import_guard.py.
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
# What PyPI calls a package where conda-forge and bioconda call it something else.
PYPI_NAMES = {
    "cuda-nvrtc": "nvidia-cuda-nvrtc",
    "cupy": "cupy-cuda13x",
    "libdivsufsort": "pydivsufsort",
    "python-isal": "isal",
}
# A name without content (conda resolves CUDA's packages by it), and what conda's cupy depends on by itself.
ONLY_CONDA = {"cuda-version"}
OF_CUPY = ("cuda-pathfinder", "nvidia-cuda-runtime")
# Environments that get the Python that runs: their kernels take minutes to compile, and those that the other tests have
# compiled are for this one. The rest get the version that they pin, so that both cases are seen.
WITH_THIS_PYTHON = ("align", "rescore")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def pins(name: str) -> dict[str, str]:
    """Versions of a requirements file by normalised package name."""
    lines = (REPOSITORY / name).read_text().splitlines()
    found = [line.split(";")[0].split("==") for line in lines if line and not line.startswith(("#", "-"))]
    return {package.lower().replace("_", "-"): version for package, version in found}


def lock() -> dict[str, str]:
    """Versions of all packages that a run may need, by normalised name."""
    return {package: version for name in LOCK for package, version in pins(name).items()}


def environment(path: Path) -> dict[str, str]:
    """Versions of a conda environment by conda's package name."""
    return dict(package.split("=", 1) for package in yaml.safe_load(path.read_text())["dependencies"])


def interpreter(path: Path, version: str) -> str:
    """A Python of the minor version that an environment's file names, or the one that runs if there is none."""
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
    """Let the environment's Python refuse what it would find outside itself, in every process."""
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
    """Lay out what Snakemake looks for in a conda installation; the folder for PATH is returned."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    conda = binaries / "conda"
    conda.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(__file__)} {folder} "$@"\n')
    conda.chmod(0o755)
    (binaries / "activate").write_text('export PATH="$1/bin:$PATH" CONDA_PREFIX="$1"\n')
    return binaries


def main(folder: str, *arguments: str) -> None:
    """Answer the commands of conda that Snakemake gives."""
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
