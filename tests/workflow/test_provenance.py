"""The RO-Crate of a run, by a report plugin of Snakemake that is no part of Quire."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, Run

pytestmark = pytest.mark.full

PLUGIN = ("snakemake-report-plugin-fairscape==0.1.0", "fairscape-conversion==0.1.0", "fairscape-models==1.2.6")


def test_ro_crate_of_a_run(continued: Callable[[], Run], tmp_path: Path) -> None:
    """The crate has every job of the run, and leads from the variants back to the reads."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    got = subprocess.run([*pip, "--target", str(tmp_path / "plugin"), *PLUGIN], capture_output=True, text=True)
    if got.returncode:
        pytest.skip(f"pip reaches no packages: {got.stderr.strip()[-300:]}")
    run = continued()
    path = os.pathsep.join(filter(None, (str(tmp_path / "plugin"), os.environ.get("PYTHONPATH"))))
    result = run.snakemake("--reporter", "fairscape", PYTHONPATH=path)
    assert result.returncode == 0, result.stdout

    crate = json.loads((run.folder / "ro-crate-metadata.json").read_text())
    assert crate["@graph"][0]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    entities = {entity["@id"]: entity for entity in crate["@graph"]}
    files = {entity["contentUrl"]: entity for entity in entities.values() if "contentUrl" in entity}
    waiting, rules, used = [files["out/rescore/all.vcf.gz"]], set(), set()
    while waiting:
        file = waiting.pop()
        used.add(file["name"])
        for job in (entities[made["@id"]] for made in file.get("generatedBy", ())):
            if job["name"] not in rules:
                rules.add(job["name"])
                waiting += [entities[given["@id"]] for given in job["usedDataset"]]
    assert {"map_unit (sample=NA12878, unit=lane_1)", "finish_sample (sample=NA12878)", "gather_variants"} <= rules
    assert {"NA12878_R1.fastq.gz", "NA12878_R2.fastq.gz", "genome.fa.gz"} <= used
    handbook = (REPOSITORY / "config/README.md").read_text()
    assert all(package.replace("==", " ") in handbook for package in PLUGIN[:1])
