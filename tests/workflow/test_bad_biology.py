"""Reads and contigs at their worst in one small run; `python -m bench.biology` has the large ones."""

import gzip
from pathlib import Path

import numpy as np
import pysam
import pytest

from bench.biology import LENGTH, Place, copies, record, reverse_complement
from tests.workflow.runs import Run, errors_of

COUNT = 300


def gzipped(path: Path, text: str) -> str:
    path.write_bytes(gzip.compress(text.encode()))
    return str(path)


@pytest.mark.full
def test_reads_and_contigs_at_their_worst(tmp_path: Path) -> None:
    place = Place(1, np.random.default_rng(1))
    genome, unit = place.genome(30_000), place.genome(300)
    contigs = {
        "c": genome,
        "a": place.genome(2000) + "A" * 3000 + place.genome(2000),
        "tandem": unit * 30,
        "n": "N" * 5000,
        "twenty": place.genome(20),
    }
    (tmp_path / "genome.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in contigs.items()))
    pair = genome[1000:1150], reverse_complement(genome[1200:1350])
    reads = {
        "copies": copies(pair, COUNT),
        "poly_a": copies(["A" * LENGTH, "T" * LENGTH], COUNT),
        "all_n": copies(["N" * LENGTH, "N" * LENGTH], COUNT, "#"),
        "one_base": copies(["A", "T"], COUNT),
        "tandem": place.pairs(contigs["tandem"], COUNT),
        "quality_2": copies(pair, COUNT, "#"),
        "beyond": copies([contigs["twenty"] + genome[:130], "C" * LENGTH], COUNT),
    }
    units = [
        {"sample": name, "unit": "u"}
        | {f"fq{mate}": gzipped(tmp_path / f"{name}_{mate}.fq.gz", text) for mate, text in enumerate(texts, 1)}
        | {"platform": "ILLUMINA", "library": "l"}
        for name, texts in reads.items()
    ]
    samples = [{"sample": name, "ploidy": "2"} for name in reads]
    run = Run(tmp_path / "run", {"reference": {"fasta": str(tmp_path / "genome.fa")}}, samples, units)
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    records = {}
    for name in reads:
        with pysam.AlignmentFile(str(run.output / "align" / f"{name}.bam")) as stream:
            records[name] = [one for one in stream.fetch(until_eof=True) if not one.is_secondary]
        assert sum(not one.is_supplementary for one in records[name]) == 2 * COUNT
        assert not any(one.reference_name == "n" for one in records[name])
    assert sum(one.is_duplicate for one in records["copies"]) == 2 * (COUNT - 1)
    assert sum(one.is_duplicate for one in records["quality_2"]) == 2 * (COUNT - 1)
    for name in ("all_n", "one_base"):
        assert all(one.is_unmapped and not one.is_duplicate for one in records[name])
    for name, contig in (("poly_a", "a"), ("tandem", "tandem")):
        assert all(one.reference_name == contig and one.mapping_quality < 20 for one in records[name])
    with pysam.VariantFile(str(run.output / "rescore" / "all.vcf.gz")) as calls:
        assert list(calls.header.samples) == list(reads)
        assert not any(call.pos for call in calls if call.contig != "c")


@pytest.mark.full
def test_a_read_that_is_too_long_is_one_sentence(tmp_path: Path) -> None:
    place = Place(1, np.random.default_rng(1))
    genome = place.genome(70_000)
    (tmp_path / "genome.fa").write_text(f">c\n{genome}\n")
    text = place.pairs(genome, 10)[0] + record("long", genome[:65_535])
    unit = {"sample": "s", "unit": "u", "fq1": gzipped(tmp_path / "long.fq.gz", text)}
    units = [unit | {"platform": "ILLUMINA", "library": "l"}]
    run = Run(
        tmp_path / "run", {"reference": {"fasta": str(tmp_path / "genome.fa")}}, [{"sample": "s", "ploidy": "2"}], units
    )
    result = run.snakemake("align")
    assert result.returncode != 0
    assert "record 11 (long) is 65535 bases long, and the longest read accepted is 1024" in errors_of(result.stdout)[-1]
