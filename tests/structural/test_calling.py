"""Structural variants of each kind in reads that are aligned exactly where they come from, and their evidence."""

import random
import subprocess
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire import reference
from quire.finish.counts.sample import FinishedSample
from quire.structural.caller import StructuralRequest, call_structural
from quire.structural.evidence_cpu import LEAST_CLIP, WINDOW, collect

from tests.support.rearranged import Chromosome, Piece, write_bam

DEPTH = 60
ONE, TWO = 24_000, 8_000
INSERTED, LONG = 180, 900
# The variants of the rearranged chromosome, in order (0-based, half-open).
DELETION, DUPLICATION, INVERSION, INSERTION, COPY = (2000, 2400), (5000, 5700), (8000, 8900), 11_000, 13_000
SOURCE = (20_000, 21_200)  # of the copied bases
BREAK = 16_000, 4_000  # the places of a reciprocal translocation


class Sample:
    """A genome with a rearranged haplotype, its reference and the alignments of two samples."""

    def __init__(self, folder: Path) -> None:
        generator = random.Random(5)
        self.genome = {name: "".join(generator.choices("ACGT", k=size)) for name, size in (("one", ONE), ("two", TWO))}
        self.inserted = "".join(generator.choices("ACGT", k=INSERTED))
        (folder / "genome.fa").write_text("".join(f">{name}\n{text}\n" for name, text in self.genome.items()))
        reference.build(folder / "genome.fa", folder / "reference", 1 << 20)
        self.folder = folder
        self.rearranged = [self._first(), [Piece("two", 0, BREAK[1]), Piece("one", BREAK[0], ONE)]]
        plain: list[Chromosome] = [[Piece("one", 0, ONE)], [Piece("two", 0, TWO)]]
        haplotypes = {"het": [self.rearranged, plain], "hom": [self.rearranged, self.rearranged]}
        for number, (name, own) in enumerate(haplotypes.items()):
            write_bam(folder / f"{name}.bam", self.genome, own, DEPTH, name, number)

    def _first(self) -> Chromosome:
        (a, b), (c, d), (e, f) = DELETION, DUPLICATION, INVERSION
        spans = [(0, a, False), (b, d, False), (c, e, False), (e, f, True), (f, INSERTION, False)]
        return [
            *(Piece("one", *span) for span in spans),
            self.inserted,
            Piece("one", INSERTION, COPY),
            Piece("one", *SOURCE, True),
            Piece("one", COPY, BREAK[0]),
            Piece("two", BREAK[1], TWO),
        ]

    def call(self, *names: str) -> Path:
        """Call samples together."""
        output = self.folder / f"{'_'.join(names)}.vcf.gz"
        samples = [{"sample": name, "ploidy": 2, "bam": str(self.folder / f"{name}.bam")} for name in names]
        index = Path(f"{output}.tbi")
        call_structural(
            StructuralRequest(self.folder / "reference", samples, output, index, self.folder / "genome.fa", 2)
        )
        return output


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Make the sample once."""
    return Sample(tmp_path_factory.mktemp("rearranged"))


@pytest.fixture(scope="module")
def called(sample: Sample) -> Path:
    """Call both samples together."""
    return sample.call("het", "hom")


def test_each_kind_has_exact_ends(sample: Sample, called: Path) -> None:
    """One record for each variant, two for each junction of the translocation; ends within the micro-homology."""
    with pysam.VariantFile(str(called)) as variants:
        records = [*variants]
    spans = {"DEL": DELETION, "DUP": DUPLICATION, "INV": INVERSION}
    for kind, (start, end) in spans.items():
        (record,) = [one for one in records if one.info["SVTYPE"] == kind]
        homology = record.info.get("HOMLEN", (0,))[0]
        assert record.start + 1 <= start <= record.start + 1 + homology
        assert record.info["SVLEN"] == (end - start,)
        assert abs(record.stop - end) <= homology
    insertions = [one for one in records if one.info["SVTYPE"] == "INS"]
    assert [one.info["SVLEN"][0] for one in insertions] == [INSERTED, SOURCE[1] - SOURCE[0]]
    letters = sample.genome["one"]
    for record, at, text in (
        (insertions[0], INSERTION, sample.inserted),
        (insertions[1], COPY, _other_strand(letters[slice(*SOURCE)])),
    ):
        before = letters[: record.start] + record.alts[0] + letters[record.stop :]
        assert before == letters[:at] + text + letters[at:]
    breakends = [one for one in records if one.info["SVTYPE"] == "BND"]
    assert len(records) == 5 + 4
    assert len(breakends) == 4
    assert {one.info["MATEID"][0] for one in breakends} == {one.id for one in breakends}
    for record in breakends:
        assert abs(record.start - BREAK[record.contig == "two"]) <= 1 + record.info.get("HOMLEN", (0,))[0]


def _other_strand(letters: str) -> str:
    return letters.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def test_genotypes_of_both_samples(called: Path) -> None:
    """Each variant is heterozygous in one sample and homozygous in the other, and passes."""
    with pysam.VariantFile(str(called)) as variants:
        for record in variants:
            genotypes = [sorted(own["GT"]) for own in record.samples.values()]
            assert (genotypes, [*record.filter]) == ([[0, 1], [1, 1]], ["PASS"]), str(record)


def test_other_programs_read_it_without_a_warning(called: Path) -> None:
    """Bcftools says nothing about the file."""
    done = subprocess.run(["bcftools", "view", str(called)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("##fileformat=VCFv4.4\n")


def test_threads_change_nothing(sample: Sample, called: Path) -> None:
    """One sample alone has the same evidence for any number of threads, and the same file for any number of them."""
    files = sample.folder / "het.bam", sample.folder / "reference", sample.folder / "genome.fa"
    one, four = (collect(FinishedSample("het", *files), sample.folder / "scratch", threads) for threads in (1, 4))
    for name in one._fields:
        assert np.array_equal(getattr(one, name), getattr(four, name)), name


def test_evidence_is_that_of_each_record(sample: Sample) -> None:
    """Clips, unusual pairs and starts equal those counted record by record."""
    files = sample.folder / "het.bam", sample.folder / "reference", sample.folder / "genome.fa"
    found = collect(FinishedSample("het", *files), sample.folder / "scratch", 2)
    clips, pairs, starts = [], 0, 0
    with pysam.AlignmentFile(str(files[0])) as bam:
        for record in bam.fetch(until_eof=True):
            if record.is_unmapped:
                continue
            for right, place in ((False, 0), (True, -1)):
                operation, size = (record.cigartuples or [])[place]
                if operation in (4, 5) and size >= LEAST_CLIP:
                    at = record.reference_end if right else record.reference_start
                    clips.append((record.reference_id, int(right), at, size, int(record.is_supplementary)))
            starts += not record.is_supplementary
            pairs += not record.is_supplementary and _is_unusual(record, found.usual)
    own = found.clips
    columns = (own["contig"], own["right"], own["position"], own["length"], own["supplementary"])
    assert sorted(clips) == sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert len(found.pairs) == pairs
    assert found.starts.sum() == starts
    assert found.first_window.tolist() == [0, ONE // WINDOW, (ONE + TWO) // WINDOW]
    split = found.clips["name"][found.split]
    assert len(split)
    assert np.array_equal(split[:, 0], split[:, 1])


def _is_unusual(record: pysam.AlignedSegment, usual: int) -> bool:
    if record.mate_is_unmapped:
        return False
    if record.reference_id != record.next_reference_id or record.is_reverse == record.mate_is_reverse:
        return True
    size = -record.template_length if record.is_reverse else record.template_length
    return size < 0 or size > usual


def test_nothing_in_plain_reads(sample: Sample) -> None:
    """Reads of the reference alone give no record."""
    plain: list[Chromosome] = [[Piece("one", 0, ONE)], [Piece("two", 0, TWO)]]
    write_bam(sample.folder / "plain.bam", sample.genome, [plain, plain], DEPTH, "plain", 7)
    with pysam.VariantFile(str(sample.call("plain"))) as variants:
        assert [*variants] == []
