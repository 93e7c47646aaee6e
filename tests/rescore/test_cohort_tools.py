"""The joint VCF as other programs read it: pixy, bio2zarr and sgkit (make cohort-tools pixy)."""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage

from tests.support.calling import genotype_gvcfs
from tests.support.gvcf import REAL, lines_of
from tests.workflow.runs import REPOSITORY

pytestmark = pytest.mark.full

TOOLS = REPOSITORY / ".cohort-tools/bin"
CONTIG, LENGTH, WINDOW = "chr22_8kb", 8000, 2000
POPULATIONS = {"A": "one", "B": "one", "C": "two"}
# What sgkit finds, as JSON: genotypes, counts of called samples, heterozygotes, PL, and the texts of the alleles.
READ_BY_SGKIT = """
import json, sys, sgkit
data = sgkit.load_dataset(sys.argv[1])
stats = sgkit.variant_stats(data)
json.dump({
    "samples": data.sample_id.values.tolist(),
    "positions": data.variant_position.values.tolist(),
    "alleles": data.variant_allele.values.tolist(),
    "genotypes": data.call_genotype.values.tolist(),
    "PL": data.call_PL.values.tolist(),
    "called": stats.variant_n_called.values.tolist(),
    "heterozygous": stats.variant_n_het.values.tolist(),
}, sys.stdout)
"""


@pytest.fixture(scope="module")
def every_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Genotype three samples together at every site, with an index."""
    root = tmp_path_factory.mktemp("cohort")
    reference_stage.build(REAL / "genome.fa.gz", root / "reference", 1 << 20)
    for sample in POPULATIONS:
        shutil.copy(REAL / f"{sample}.g.vcf.gz", root)
        pysam.tabix_index(str(root / f"{sample}.g.vcf.gz"), preset="vcf")
    gvcfs = [root / f"{sample}.g.vcf.gz" for sample in POPULATIONS]
    genotype_gvcfs(root / "reference", gvcfs, [(CONTIG, 0, LENGTH)], root / "all.vcf.gz", 30.0, all_sites=True)
    pysam.tabix_index(str(root / "all.vcf.gz"), preset="vcf")
    return root / "all.vcf.gz"


def genotype_of(column: str) -> list[int]:
    """Return the alleles of a genotype, -1 for an unknown one."""
    return [-1 if a == "." else int(a) for a in column.split(":")[0].replace("|", "/").split("/")]


@pytest.mark.skipif(not (TOOLS / "pixy").exists(), reason="pixy is not installed (make pixy)")
@pytest.mark.skipif(shutil.which("tabix") is None, reason="tabix, which pixy needs, is not installed")
def test_pixy_takes_all_sites(every_site: Path, tmp_path: Path) -> None:
    """Sites, differences and comparisons of pi are those of the genotypes; pixy leaves out indels and '*'."""
    expected: dict[tuple[str, int], list[int]] = {}
    for fields in lines_of(every_site):
        if len(fields[3]) > 1 or len(fields[4]) > 1 or fields[4] == "*":
            continue
        for population in ("one", "two"):
            columns = [9 + n for n, (_, own) in enumerate(POPULATIONS.items()) if own == population]
            alleles = [a for column in columns for a in genotype_of(fields[column]) if a >= 0]
            changed = sum(a > 0 for a in alleles)
            counts = expected.setdefault((population, (int(fields[1]) - 1) // WINDOW * WINDOW + 1), [0, 0, 0])
            counts[0] += len(alleles) > 0
            counts[1] += changed * (len(alleles) - changed)
            counts[2] += len(alleles) * (len(alleles) - 1) // 2
    (tmp_path / "populations.txt").write_text("".join(f"{name}\t{own}\n" for name, own in POPULATIONS.items()))
    given = ["--stats", "pi", "--vcf", every_site, "--populations", tmp_path / "populations.txt"]
    given += ["--window_size", str(WINDOW), "--output_folder", tmp_path, "--output_prefix", "pixy"]
    ran = subprocess.run([TOOLS / "pixy", *given], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with (tmp_path / "pixy_pi.txt").open() as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    keys = ("no_sites", "count_diffs", "count_comparisons")
    found = {(row["pop"], int(row["window_pos_1"])): [int(row[key]) for key in keys] for row in rows}
    assert found == expected
    assert any(differences for _, differences, _ in found.values())


@pytest.mark.skipif(not (TOOLS / "vcf2zarr").exists(), reason="bio2zarr is not installed (make cohort-tools)")
def test_sgkit_opens_what_bio2zarr_makes(every_site: Path, tmp_path: Path) -> None:
    """Alleles, genotypes and likelihoods are those of the VCF."""
    store = tmp_path / "all.vcz"
    subprocess.run([TOOLS / "vcf2zarr", "convert", "-Q", every_site, store], check=True, capture_output=True)
    ran = subprocess.run([TOOLS / "python", "-c", READ_BY_SGKIT, store], check=True, capture_output=True, text=True)
    found, lines = json.loads(ran.stdout), lines_of(every_site)
    assert found["samples"] == list(POPULATIONS)
    assert found["positions"] == [int(fields[1]) for fields in lines]
    for n, fields in enumerate(lines):
        alleles = [fields[3], *([] if fields[4] == "." else fields[4].split(","))]
        assert [text for text in found["alleles"][n] if text] == alleles
        genotypes = [genotype_of(column) for column in fields[9:]]
        assert found["genotypes"][n] == genotypes
        assert found["called"][n] == sum(-1 not in own for own in genotypes)
        assert found["heterozygous"][n] == sum(-1 not in own and len(set(own)) > 1 for own in genotypes)
        for column, phreds in zip(fields[9:], found["PL"][n], strict=True):
            values = dict(zip(fields[8].split(":"), column.split(":"), strict=False))
            assert ",".join(str(value) for value in phreds if value >= 0) == values.get("PL", "").replace(".", "")
