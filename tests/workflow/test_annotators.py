"""SnpEff with a small database made here, and VEP's command line, through Snakemake."""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from quire.errors import InputError
from quire.rescore.annotators import annotate

from tests.workflow.runs import SMALL, Run, errors_of
from tests.workflow.test_annotation import GENES
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full

STAND_IN = Path(__file__).with_name("stand_in_annotator.py")


def install(folder: Path, program: str, text: str = "") -> str:
    """Make the stand-in, or a script, a program of this name, and return a PATH that finds it first."""
    folder.mkdir(exist_ok=True)
    (folder / program).write_text(text or f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" {program} "$@"\n')
    (folder / program).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def fields(path: Path, column: str) -> list[str]:
    """Return a field of INFO of each record, as text."""
    with gzip.open(path, "rt") as stream:
        infos = [line.split("\t")[7].split(";") for line in stream if not line.startswith("#")]
    return ["".join(word for word in info if word.startswith(f"{column}=")) for info in infos]


def test_snpeff_on_a_small_database(continued: Callable[[], Run]) -> None:
    """Its predictions agree with csq's on missense variants; adding them maps and calls nothing."""
    if shutil.which("snpEff") is None:
        pytest.skip("SnpEff is not installed (Debian's package snpeff)")
    run = continued()
    database = run.folder / "the databases" / "small.1"
    database.mkdir(parents=True)
    lines = "".join(
        f"chr22\ttest\texon\t{start}\t{end}\t.\t+\t.\tID=exon:E{start};Parent=transcript:T1\n"
        for start, end in ((1001, 8999), (20001, 39000))
    )
    (database / "genes.gff").write_text(GENES + lines)
    (database / "sequences.fa").write_bytes(gzip.decompress((SMALL / "genome.fa.gz").read_bytes()))
    (run.folder / "data").symlink_to(database.parent)
    built = ["build", "-Xmx1g", "-noLog", "-gff3", "-noCheckCds", "-noCheckProtein", "-dataDir", f"{run.folder}/data"]
    subprocess.run(["snpEff", *built, "-configOption", "small.1.genome=small.1", "small.1"], check=True)
    (run.folder / "genes.gff3").write_text((database / "genes.gff").read_text())

    where = {"database": "small.1", "database_directory": "the databases", "options": "-no-downstream -no-upstream"}
    run.config["annotate"] = {"gff3": "genes.gff3", "program": "SnpEff", **where}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    ran = finished_rules(result.stdout)
    assert {"annotate_by_snpeff", "annotate_variants", "write_report"} <= ran
    assert not ran & {"map_unit", "finish_sample", "rescore_interval"}
    annotated = run.output / "annotate/all.snpeff.vcf.gz"
    ours, theirs = fields(run.output / "annotate/all.csq.vcf.gz", "BCSQ"), fields(annotated, "ANN")
    missense = [[i for i, text in enumerate(found) if "missense" in text] for found in (ours, theirs)]
    assert missense[0] == missense[1] != []
    assert all("|ONE|" in text for text in theirs)
    with pysam.VariantFile(str(annotated)) as variants:
        assert next(iter(variants.fetch("chr22", 20000, 21000)), None) is not None
    assert 'href="../annotate/all.snpeff.vcf.gz"' in (run.output / "report/report.html").read_text()
    assert "Nothing to be done" in run.snakemake().stdout


def test_the_command_of_vep(continued: Callable[[], Run]) -> None:
    """A stand-in checks the arguments; the database's name gives species, release and assembly."""
    run = continued()
    cache = run.folder / "cache/homo_sapiens/105_GRCh38"
    cache.mkdir(parents=True)
    (cache / "info.txt").write_text("species homo_sapiens\n")
    where = {"database": "homo_sapiens/105_GRCh38", "database_directory": "cache", "options": "--everything"}
    run.config["annotate"] = {"program": "vep", **where}
    run.write()
    path = install(run.folder / "programs", "vep")
    result = run.snakemake("call", PATH=path)
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {"annotate_by_vep"}
    found = fields(run.output / "annotate/all.vep.vcf.gz", "CSQ")
    assert len(found) > 50
    assert set(found) == {"CSQ=x"}


def test_a_program_that_is_not_installed() -> None:
    with pytest.raises(InputError, match=r"no-such is not installed; install it, or run with --sdm conda\.$"):
        annotate(["no-such"], "data", "variants.vcf.gz", "output.vcf.gz", "output.vcf.gz.tbi")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/sh\necho broken >&2\nexit 3\n", "snpEff ended with status 3 after 0 of"),
        ("#!/bin/sh\ntrue\n", "snpEff ended with status 0 after 0 of"),
    ],
)
def test_a_program_that_fails(text: str, expected: str, continued: Callable[[], Run]) -> None:
    run = continued()
    (run.folder / "small.1").mkdir()
    (run.folder / "small.1/snpEffectPredictor.bin").write_text("x")
    run.config["annotate"] = {"program": "snpeff", "database": "small.1", "database_directory": "."}
    run.write()
    path = install(run.folder / "programs", "snpEff", text)
    result = run.snakemake("call", PATH=path)
    assert result.returncode != 0
    (error,) = errors_of(result.stdout)[-1:]
    assert expected in error
    assert not (run.output / "annotate/all.snpeff.vcf.gz").exists()
