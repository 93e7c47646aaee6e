"""Calling by gVCF through Snakemake: jobs per sample, joint genotyping, and gVCFs from other runs."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.support.gvcf import lines_of, sample_of
from tests.workflow.runs import SMALL, Run, errors_of
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full
GIVEN = (5000, 12500, 20500, 30000)  # 1-based positions without a variant


def renamed(gvcf: Path, target: Path, old: str, new: str) -> None:
    """Copy a gVCF under another sample's name, with its index."""
    with pysam.BGZFile(str(gvcf), "rb", None) as stream, pysam.BGZFile(str(target), "wb", None) as copy:
        for line in stream:
            named = line.startswith(b"#CHROM")
            copy.write((line.replace(old.encode(), new.encode()) if named else line) + b"\n")
    pysam.tabix_index(str(target), preset="vcf", force=True)


def unphased(fields: list[str]) -> list[str]:
    """Return the alleles of the first sample's genotype, sorted; only calling by gVCF phases them."""
    return sorted(sample_of(fields)["GT"].replace("|", "/").split("/"))


def test_gvcfs_of_this_run_and_of_others(finished: Run, continued: Callable[[], Run]) -> None:
    """Calls equal those of joint calling, do not depend on pieces, and an added gVCF repeats only genotyping."""
    run = continued()
    run.config["rescore"] = {"gvcf": True}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert {"rescore_sample", "import_gvcf", "joint_genotype"} <= finished_rules(result.stdout)
    assert not finished_rules(result.stdout) & {"map_unit", "rescore_interval"}
    gvcf = run.output / "rescore/NA12878.g.vcf.gz"
    whole, calls = lines_of(gvcf), lines_of(run.output / "rescore/all.vcf.gz")
    at_once = {tuple(f[1:5]): unphased(f) for f in lines_of(finished.output / "rescore/all.vcf.gz")}
    by_gvcf = {tuple(f[1:5]): unphased(f) for f in calls}
    same = sum(at_once.get(site) == genotype for site, genotype in by_gvcf.items())
    assert same >= 0.95 * max(len(at_once), len(by_gvcf))
    assert "Nothing to be done" in run.snakemake().stdout

    run.config["rescore"] = {"gvcf": True, "interval_size": 15000}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert len(json.loads((run.output / "rescore/pieces.json").read_text())["pieces"]) >= 3
    assert lines_of(gvcf) == whole
    assert lines_of(run.output / "rescore/all.vcf.gz") == calls

    renamed(gvcf, run.folder / "other.g.vcf.gz", "NA12878", "other")
    run.config["rescore"] = {"gvcf": True, "interval_size": 15000, "more_gvcfs": ["other.g.vcf.gz"]}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert not finished_rules(result.stdout) & {"rescore_sample"}
    joined = lines_of(run.output / "rescore/all.vcf.gz")
    assert len(joined) >= len(calls)
    for fields in joined:
        assert fields[9] == fields[10]

    shutil.copy(gvcf, run.folder / "again.g.vcf.gz")
    shutil.copy(f"{gvcf}.tbi", run.folder / "again.g.vcf.gz.tbi")
    run.config["rescore"] = {"gvcf": True, "interval_size": 15000, "more_gvcfs": ["again.g.vcf.gz"]}
    run.write()
    result = run.snakemake()
    assert result.returncode != 0
    assert any("sample 'NA12878' is in the sheet of samples too" in error for error in errors_of(result.stdout))


def test_ploidy_goes_by_region_and_sex(continued: Callable[[], Run]) -> None:
    """A change of ploidy by region and sex, and given alleles, repeat calling, joint and by gVCF, but not mapping."""
    run = continued()
    (run.folder / "ploidy.bed").write_text("chr22\t0\t20000\t1\tmale\nchr22\t0\t40001\t3\tfemale\n")
    run.samples = [{"sample": "NA12878", "ploidy": "2", "sex": "1"}]
    letters = (
        gzip.decompress((SMALL / "genome.fa.gz").read_bytes()).decode().split("\n", 1)[1].replace("\n", "").upper()
    )
    given = {(position, letters[position - 1], "A" if letters[position - 1] != "A" else "C") for position in GIVEN}
    records = [f"chr22\t{position}\t.\t{reference}\t{other}\n" for position, reference, other in sorted(given)]
    (run.folder / "panel.vcf").write_text("".join(["##fileformat=VCFv4.2\n", *records]))
    for gvcf in (False, True):
        run.config["rescore"] = {"ploidy_regions": "ploidy.bed", "alleles": "panel.vcf", "gvcf": gvcf}
        run.write()
        result = run.snakemake()
        assert result.returncode == 0, result.stdout
        assert "map_unit" not in finished_rules(result.stdout)
        ploidies = {
            (int(fields[1]) > 20000, len(re.split("[/|]", sample_of(fields)["GT"])))
            for fields in lines_of(run.output / "rescore/all.vcf.gz")
        }
        assert ploidies == {(False, 1), (True, 2)}
        found = {(int(f[1]), f[3], f[4]): sample_of(f) for f in lines_of(run.output / "rescore/all.vcf.gz")}
        assert [{*re.split("[/|]", found[allele]["GT"])} for allele in sorted(given)] == [{"0"}] * len(GIVEN)
        assert all(int(found[allele]["DP"]) > 10 for allele in given)
