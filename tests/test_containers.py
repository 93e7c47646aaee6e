"""The two container files: the same content in both, with the pins of the environments."""

import re

import yaml

from tests.workflow.runs import REPOSITORY

FOLDER = REPOSITORY / "containers"
BASE = r"docker\.io/library/python:([\d.]+)-slim-bookworm"
DOCKERFILE, DEFINITION = ((FOLDER / name).read_text() for name in ("Dockerfile", "quire.def"))


def test_both_have_the_python_of_the_environments() -> None:
    (docker,) = re.findall(rf"^FROM {BASE}$", DOCKERFILE, re.MULTILINE)
    (apptainer,) = re.findall(rf"^From: {BASE}$", DEFINITION, re.MULTILINE)
    assert docker == apptainer
    for path in (REPOSITORY / "envs").glob("*.yaml"):
        pins = dict(pin.split("=") for pin in yaml.safe_load(path.read_text())["dependencies"])
        assert pins.get("python", docker) == docker, path


def test_both_copy_the_same_files() -> None:
    copied = [line.split()[1:] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    docker = {name for *names, _ in copied for name in names}
    apptainer = dict(re.findall(r"^    (\S+) (/opt/quire/\S+)$", DEFINITION, re.MULTILINE))
    assert docker == set(apptainer)
    assert all(target == f"/opt/quire/{name}" for name, target in apptainer.items())
    assert all((REPOSITORY / name).exists() for name in docker)


def test_both_take_the_same_arguments() -> None:
    docker = set(re.findall(r'^ARG (\w+)=""$', DOCKERFILE, re.MULTILINE))
    assert docker == set(re.findall(r"^    (\w+)=$", DEFINITION, re.MULTILINE)) != set()
    script = (FOLDER / "install.sh").read_text()
    assert all(f"${{{name}:" in script for name in docker)
    # Installed as by the Makefile.
    (options,) = re.findall(r"--only-binary=:all: --no-binary connection_pool", script)
    assert options in (REPOSITORY / "Makefile").read_text()
