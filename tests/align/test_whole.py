"""`map_unit` as a whole: warnings in the ledger, and failures."""

import json
import random
import time
from functools import partial

import pysam
import pytest
from quire.align.parameters import READS_PER_BATCH, READS_PER_BATCH_ON_CARD
from quire.align.unit import UnitReads, map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.device.backend import Backend
from quire.device.choice import use_backend
from quire.errors import InputError
from quire.io import ahead, samtools
from quire.io.files import BGZF_END
from quire.io.read_files import ReadFiles

from tests.support.builders import paired_lines, random_bases, random_read, write_bam, write_fasta, write_fastq
from tests.support.fake_probe import Machine
from tests.support.read_builders import READ_GROUP, build_index


@pytest.fixture
def run(tmp_path):
    generator = random.Random(5)
    fasta = tmp_path / "genome.fa"
    write_fasta(fasta, {"one": random_bases(generator, 3000)})
    indexed = build_index(tmp_path, fasta)

    def mapped(fastq=(), bam=(), reads_per_batch=100, **options):
        (tmp_path / "out").mkdir(exist_ok=True)
        outputs = UnitFiles(*(tmp_path / "out" / name for name in ("out.bam", "ledger.json", "insert_size.json")))
        settings = MappingSettings(threads=1, reads_per_batch=reads_per_batch)
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


def test_another_sample_in_the_read_groups_is_told_in_the_ledger(run, tmp_path):
    """A BAM of another person in a sample's row may be a swap; sarek's names of samples are no other sample."""
    lines = [line for i in range(20) for line in paired_lines(f"r{i}", "one", (1 + i, 201 + i), 50, "x", "I")]
    own = READ_GROUP.sample
    for name, is_other in (("NA12891", True), (f"{own}0", True), (own, False), (f"family_{own}", False), (None, False)):
        groups = ["@RG\tID:x" + (f"\tSM:{name}" if name else "")]
        bam = write_bam(tmp_path / "reads.bam", {"one": 3000}, lines, groups)
        said = f"{bam} is of sample {name} by its read groups: check that it is the file of {own}."
        assert run(bam=[bam])["warnings"] == ([said] if is_other else [])


def test_a_failure_leaves_no_copy_of_the_reads(run, tmp_path):
    """A coordinate-sorted BAM is collated next to the outputs; a name without a UMI stops the job in between."""
    lines = []
    for i in range(3000):
        name = f"r{i}:ACGT" if i != 1500 else "r"
        lines += paired_lines(name, "one", (1 + i % 2000, 201 + i % 2000), 50, "S.a", "I")
    plain = write_bam(tmp_path / "plain.bam", {"one": 3000}, lines, ["@RG\tID:S.a\tSM:S"])
    pysam.sort("-o", str(tmp_path / "sorted.bam"), str(plain), catch_stdout=False)
    with pytest.raises(InputError, match=r"align.umi: read \d+ \(r\) has no UMI") as failure:
        run(bam=[tmp_path / "sorted.bam"], umis=True)
    assert failure.traceback  # keeps the frames of the job alive, as in a failed job
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("kind", ["fastq", "bam"])
def test_reading_begins_again_where_the_card_is_not_to_be_had(run, tmp_path, monkeypatch, kind):
    """The batch size is a guess at first; no read is counted twice, and no file remains."""
    generator = random.Random(7)
    reads = [random_read(generator, f"r{i}:ACGT", 50) for i in range(300)]
    given = {"fastq": [write_fastq(tmp_path / "reads.fq.gz", reads, "bgzip")]}
    if kind == "bam":
        lines = [f"{name}\t4\t*\t0\t0\t*\t*\t0\t0\t{50 * 'C'}\t{50 * 'I'}" for name in range(300)]
        lines += [f"x{i}:A\t256\tone\t9\t0\t50M\t*\t0\t0\t*\t*" for i in range(5)]
        given = {"bam": [write_bam(tmp_path / "reads.bam", {"one": 3000}, lines)]}
    monkeypatch.setattr("quire.align.unit.use_backend", partial(use_backend, load_probe=lambda: Machine(driver=0)))
    expected = run(**given, reads_per_batch="auto")
    sizes = []
    begin = UnitReads.__init__

    def counted(self, inputs, reads_per_batch, *others):
        sizes.append(reads_per_batch)
        begin(self, inputs, reads_per_batch, *others)

    monkeypatch.setattr(UnitReads, "__init__", counted)
    monkeypatch.setattr("quire.align.unit.may_have_card", lambda _: True)
    assert run(**given, reads_per_batch="auto") == expected
    guessed = [READS_PER_BATCH_ON_CARD] if kind == "fastq" else []  # a BAM is not read before the size is known
    assert sizes == [*guessed, READS_PER_BATCH]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["insert_size.json", "ledger.json", "out.bam"]


def test_few_reads_leave_a_card_alone(run, tmp_path, monkeypatch):
    """Even looking for a usable card would take longer; the outputs tell why the CPU was chosen."""
    fastq = write_fastq(tmp_path / "reads.fq.gz", [random_read(random.Random(8), "r", 50)], "bgzip")
    monkeypatch.setattr("quire.device.backend.may_have_card", lambda requested: requested != "cpu")
    monkeypatch.setattr("quire.align.unit.use_backend", None)
    backend = run([fastq], reads_per_batch="auto")["backend"]
    assert backend == Backend("cpu", "the reads are few: opening a card would take longer.").to_json()


def test_a_file_that_samtools_orders_is_read_once(run, tmp_path, monkeypatch):
    """No second reader starts while samtools is still working for the first one in a folder of the same name."""
    lines = []
    for i in range(300):
        lines += paired_lines(f"r{i}", "one", (1 + i % 2000, 201 + i % 2000), 50, "S.a", "I")
    plain = write_bam(tmp_path / "plain.bam", {"one": 3000}, lines, ["@RG\tID:S.a\tSM:S"])
    pysam.sort("-o", str(tmp_path / "sorted.bam"), str(plain), catch_stdout=False)
    begun = []

    def slowly(*arguments):
        begun.append(arguments)
        time.sleep(1)
        collate(*arguments)

    collate = samtools.collate
    monkeypatch.setattr(samtools, "collate", slowly)
    monkeypatch.setattr(ahead, "FAREWELL_SECONDS", 0.01)
    monkeypatch.setattr("quire.align.unit.may_have_card", lambda _: True)
    assert run(bam=[tmp_path / "sorted.bam"], reads_per_batch="auto")["counts"]["reads"] == 600
    assert len(begun) == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["insert_size.json", "ledger.json", "out.bam"]
