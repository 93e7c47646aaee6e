"""What `map_unit` tells of its input beyond the records: warnings in the ledger."""

import json
import random

import pytest
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs, UnitOutputs
from quire.io.files import BGZF_END
from quire.io.read_files import ReadFiles

from tests.support.builders import random_bases, random_read, write_fasta, write_fastq
from tests.support.read_builders import READ_GROUP, build_index


@pytest.fixture
def run(tmp_path):
    generator = random.Random(5)
    fasta = tmp_path / "genome.fa"
    write_fasta(fasta, {"one": random_bases(generator, 3000)})
    indexed = build_index(tmp_path, fasta)

    def mapped(fastq):
        outputs = UnitOutputs(*(tmp_path / name for name in ("out.bam", "ledger.json", "insert_size.json")))
        settings = MappingSettings(threads=1, reads_per_batch=100)
        map_unit(UnitInputs(indexed.directory, indexed.pages, ReadFiles([fastq])), outputs, READ_GROUP, settings)
        return json.loads(outputs.ledger.read_text())

    return mapped


def test_missing_closing_block_is_told_in_the_ledger(run, tmp_path):
    generator = random.Random(6)
    reads = [random_read(generator, f"r{i}", 50) for i in range(20)]
    fastq = write_fastq(tmp_path / "reads.fq.gz", reads, "bgzip")
    assert run(fastq)["warnings"] == []
    assert fastq.read_bytes().endswith(BGZF_END)
    fastq.write_bytes(fastq.read_bytes()[: -len(BGZF_END)])
    assert run(fastq)["warnings"] == [f"{fastq} has no closing bgzip block: if it was cut there, reads are missing."]
