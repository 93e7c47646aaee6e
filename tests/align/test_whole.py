"""What `map_unit` tells of its input beyond the records: warnings in the ledger."""

import json
import random

import pysam
import pytest
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs, UnitOutputs
from quire.errors import InputError
from quire.io.files import BGZF_END
from quire.io.read_files import ReadFiles

from tests.support.builders import paired_lines, random_bases, random_read, write_bam, write_fasta, write_fastq
from tests.support.read_builders import READ_GROUP, build_index


@pytest.fixture
def run(tmp_path):
    generator = random.Random(5)
    fasta = tmp_path / "genome.fa"
    write_fasta(fasta, {"one": random_bases(generator, 3000)})
    indexed = build_index(tmp_path, fasta)

    def mapped(fastq=(), bam=(), **options):
        (tmp_path / "out").mkdir(exist_ok=True)
        outputs = UnitOutputs(*(tmp_path / "out" / name for name in ("out.bam", "ledger.json", "insert_size.json")))
        settings = MappingSettings(threads=1, reads_per_batch=100)
        inputs = UnitInputs(indexed.directory, indexed.pages, ReadFiles(fastq, bam=bam))
        map_unit(inputs, outputs, READ_GROUP, settings, **options)
        return json.loads(outputs.ledger.read_text())

    return mapped


def test_missing_closing_block_is_told_in_the_ledger(run, tmp_path):
    generator = random.Random(6)
    reads = [random_read(generator, f"r{i}", 50) for i in range(20)]
    fastq = write_fastq(tmp_path / "reads.fq.gz", reads, "bgzip")
    assert run([fastq])["warnings"] == []
    assert fastq.read_bytes().endswith(BGZF_END)
    fastq.write_bytes(fastq.read_bytes()[: -len(BGZF_END)])
    assert run([fastq])["warnings"] == [f"{fastq} has no closing bgzip block: if it was cut there, reads are missing."]


def test_a_failure_leaves_no_copy_of_the_reads(run, tmp_path):
    """A BAM file sorted by coordinate is collated beside the outputs; a name without a UMI stops the job amid it."""
    lines = []
    for i in range(3000):
        name = f"r{i}:ACGT" if i != 1500 else "r"
        lines += paired_lines(name, "one", (1 + i % 2000, 201 + i % 2000), 50, "S.a", "I")
    plain = write_bam(tmp_path / "plain.bam", {"one": 3000}, lines, ["@RG\tID:S.a\tSM:S"])
    pysam.sort("-o", str(tmp_path / "sorted.bam"), str(plain), catch_stdout=False)
    with pytest.raises(InputError, match=r"align.umi: read \d+ \(r\) has no UMI") as failure:
        run(bam=[tmp_path / "sorted.bam"], umis=True)
    assert failure.traceback  # holds the frames of the job, as the sentence about a failed job's does
    assert list((tmp_path / "out").iterdir()) == []
