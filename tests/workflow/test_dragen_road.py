"""DRAGEN's error models through Snakemake: tables of each sample, then joint calls and calls by gVCF."""

import json
from collections.abc import Callable

import pytest
from quire.rescore.dragen.tables import read_tables

from tests.support.gvcf import lines_of, sample_of
from tests.workflow.runs import Run
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full


def test_calls_with_tables_of_the_sample(finished: Run, continued: Callable[[], Run]) -> None:
    """The sample is calibrated once; calls are nearly the default's, independent of pieces, and the same by gVCF."""
    run = continued()
    run.config["rescore"] = {"error_model": "dragen"}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) >= {"calibrate_repeats", "rescore_interval", "gather_variants"}
    assert not finished_rules(result.stdout) & {"map_unit", "finish_sample"}
    ledger = json.loads((run.output / "rescore/NA12878.repeats.json").read_text())
    assert (ledger["tables"], read_tables(run.output / "rescore/NA12878.repeats.txt").estimated) == ("defaults", False)
    assert sum(map(sum, ledger["sites"])) > 5000
    assert "too few sites" in (run.output / "logs/calibrate_repeats/NA12878.log").read_text()
    calls = lines_of(run.output / "rescore/all.vcf.gz")
    default = {tuple(f[1:5]): sample_of(f)["GT"] for f in lines_of(finished.output / "rescore/all.vcf.gz")}
    dragen = {tuple(f[1:5]): sample_of(f)["GT"] for f in calls}
    assert sum(default.get(site) == genotype for site, genotype in dragen.items()) >= 0.9 * len(default)
    qualities = [float(f[5]) for f in calls]
    assert 3 <= min(qualities) < max(qualities)
    assert {f[6] for f in calls} <= {"PASS", "SNV_QUAL", "INDEL_QUAL"}
    assert all((f[6] == "PASS") == (float(f[5]) >= 10.4139) for f in calls)

    run.config["rescore"] = {"error_model": "dragen", "interval_size": 15000}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert lines_of(run.output / "rescore/all.vcf.gz") == calls

    run.config["rescore"] = {"error_model": "dragen", "gvcf": True}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert "rescore_sample" in finished_rules(result.stdout)
    by_gvcf = {tuple(f[1:5]): sample_of(f)["GT"] for f in lines_of(run.output / "rescore/all.vcf.gz")}
    assert sum(dragen.get(site) == genotype for site, genotype in by_gvcf.items()) >= 0.9 * len(dragen)
