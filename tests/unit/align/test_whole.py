"""What `map_unit` tells of its input beyond the records: warnings in the ledger, refusals before the mapping."""

import json
import random

import pytest
from quire.align.unit import map_unit
from quire.errors import QuireError
from quire.io import samtools
from quire.io.files import BGZF_END

from tests.builders import random_bases, random_read, write_fasta, write_fastq
from tests.unit.align.builders_align import READ_GROUP, build_index


@pytest.fixture
def run(tmp_path):
    generator = random.Random(5)
    fasta = tmp_path / "genome.fa"
    write_fasta(fasta, {"one": random_bases(generator, 3000)})
    indexed = build_index(tmp_path, fasta)

    def mapped(fastq, **parameters):
        outputs = [tmp_path / name for name in ("out.bam", "ledger.json", "insert_size.json")]
        settings = {"reads_per_batch": 100, **parameters}
        map_unit(indexed.directory, indexed.pages, fastq, None, READ_GROUP, *outputs, settings, 1)
        return json.loads(outputs[1].read_text())

    return mapped


def test_missing_closing_block_is_told_in_the_ledger(run, tmp_path):
    generator = random.Random(6)
    reads = [random_read(generator, f"r{i}", 50) for i in range(20)]
    fastq = write_fastq(tmp_path / "reads.fq.gz", reads, "bgzip")
    assert run(fastq)["warnings"] == []
    assert fastq.read_bytes().endswith(BGZF_END)
    fastq.write_bytes(fastq.read_bytes()[: -len(BGZF_END)])
    assert run(fastq)["warnings"] == [f"{fastq} has no closing bgzip block: if it was cut there, reads are missing."]


def test_contig_too_long_for_bai_is_refused_before_the_mapping(run, tmp_path, monkeypatch):
    fastq = write_fastq(tmp_path / "reads.fq", [random_read(random.Random(7), "r", 50)])
    monkeypatch.setattr(samtools, "LARGEST_BAI_CONTIG", 2999)
    with pytest.raises(QuireError, match=r"contig one has 3000 bases .* set align\.index: csi"):
        run(fastq, format="bam", index="bai")
    assert not (tmp_path / "out.bam").exists()
    assert run(fastq, format="bam", index="csi")["counts"]["reads"] == 1
