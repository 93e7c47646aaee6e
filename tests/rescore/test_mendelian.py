"""Mendelian errors of trios, counted while variants are gathered: by the definition, and as bcftools counts them."""

import random
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from quire.io.pedigree import read_pedigree
from quire.rescore.counting import counting_pool
from quire.rescore.variant_counts import VariantCounter

SAMPLES = ["mum", "son", "stranger", "dad", "girl"]
TRIOS = (("son", "dad", "mum"), ("girl", "dad", "mum"))
HEAD = [
    "##fileformat=VCFv4.2\n",
    "##contig=<ID=1>\n",
    "##contig=<ID=X>\n",
    '##FILTER=<ID=low,Description="x">\n',
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="x">\n',
    "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *SAMPLES]) + "\n",
]


def records(number: int) -> list[str]:
    """Return records of all kinds, with random genotypes."""
    generator = random.Random(9)
    lines = []
    for place in range(1, number + 1):
        kind = ("1", "A", "G", "PASS"), ("1", "A", "G", "."), ("X", "A", "G", "PASS"), ("1", "A", "G", "low")
        contig, before, after, passed = generator.choices((*kind, ("1", "A", "G,T", "PASS")), (9, 2, 1, 1, 1))[0]
        genotypes = generator.choices(("0/0", "0|1", "1/0", "1/1", "./.", "./1", "1"), (9, 3, 2, 3, 1, 1, 1), k=5)
        lines.append("\t".join([contig, str(place), ".", before, after, "50", passed, ".", "GT", *genotypes]))
    return lines


def pedigree(folder: Path) -> Path:
    (folder / "x.fam").write_text("".join(f"f {' '.join(trio)} 0 0\n" for trio in TRIOS))
    return folder / "x.fam"


def alleles(genotype: str) -> tuple[int, ...] | None:
    found = genotype.replace("|", "/").split("/")
    return None if len(found) != 2 or "." in found else tuple(sorted(map(int, found)))


def test_errors_by_the_definition(tmp_path: Path) -> None:
    """A child has one allele of each parent; counted by one process and by three."""
    lines = records(600)
    expected = []
    for child, father, mother in TRIOS:
        sites = errors = 0
        for line in lines:
            contig, _, _, _, after, _, passed, _, _, *columns = line.split("\t")
            own = [alleles(columns[SAMPLES.index(name)]) for name in (child, father, mother)]
            if contig == "1" and after == "G" and passed != "low" and None not in own and any(map(any, own)):
                sites += 1
                errors += own[0] not in {tuple(sorted(pair)) for pair in product(own[1], own[2])}
        expected.append({"child": child, "father": father, "mother": mother, "sites": sites, "errors": errors})
    assert min(row["errors"] for row in expected) > 20
    people = read_pedigree(pedigree(tmp_path))
    for processes in (1, 3):
        with counting_pool(HEAD, processes, people) as pool:
            for first in range(0, len(lines), 200):
                text = "\n".join([*lines[first : first + 200], ""]).encode()
                pool.add(text) if processes == 1 else pool._pipes[first // 200].send_bytes(text)
            pool._sent = 3 if processes == 3 else 0
        assert pool.counter.content()["trios"] == expected
    counter = VariantCounter(HEAD)
    counter.add(lines[0].encode())
    assert counter.content()["trios"] == []


def test_errors_are_those_of_bcftools(tmp_path: Path) -> None:
    """Its counts include the sites where all three have only the reference's allele, and those with one parent."""
    plugin = ["bcftools", "+mendelian"]
    if shutil.which("bcftools") is None or b"Usage" not in subprocess.run([*plugin, "-h"], capture_output=True).stderr:
        pytest.skip("bcftools +mendelian is not installed")
    lines = [line for line in records(3000) if line.split("\t")[6] != "low"]
    kept = [line for line in lines if line.startswith("1\t") and "G,T" not in line]
    kept = [line for line in kept if not any(g in ("./1", "1") for g in line.split("\t")[9:])]
    counter = VariantCounter(HEAD, read_pedigree(pedigree(tmp_path)))
    for line in kept:
        counter.add(line.encode())
    for row in counter.content()["trios"]:
        columns = [SAMPLES.index(row[name]) + 9 for name in ("child", "father", "mother")]
        whole = [line for line in kept if all(line.split("\t")[column] != "./." for column in columns)]
        (tmp_path / "x.vcf").write_text("".join(HEAD) + "".join(f"{line}\n" for line in whole))
        trio = f"{row['mother']},{row['father']},{row['child']}"
        said = subprocess.run([*plugin, tmp_path / "x.vcf", "-t", trio, "-m", "c"], capture_output=True, text=True)
        good, bad, _, names = next(line for line in said.stdout.splitlines() if not line.startswith("#")).split()
        plain = sum(all(line.split("\t")[column] == "0/0" for column in columns) for line in whole)
        assert names == trio
        assert (row["errors"], row["sites"]) == (int(bad), int(good) + int(bad) - plain)
        assert int(bad) > 100
