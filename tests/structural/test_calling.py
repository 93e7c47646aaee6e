"""Structural variants of each kind in reads that are aligned exactly where they come from, and their evidence."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire import reference
from quire.finish.counts.sample import FinishedSample
from quire.finish.evidence_cpu import LEAST_CLIP, LEAST_GAP, WINDOW
from quire.io.files import read_json
from quire.structural.caller import StructuralRequest, call_structural
from quire.structural.evidence_cpu import collect

from tests.support.rearranged import Chromosome, Piece, write_bam
from tests.support.rearranged_genome import ONE, PLAIN, TWO, RearrangedGenome

DEPTH = 60


class Called:
    """The alignments of two samples, one of them homozygous for the rearranged chromosomes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, RearrangedGenome()
        self.made.write_fasta(folder / "genome.fa")
        reference.build(folder / "genome.fa", folder / "reference", 1 << 20)
        rearranged = self.made.rearranged
        for number, (name, own) in enumerate({"het": [rearranged, PLAIN], "hom": [rearranged, rearranged]}.items()):
            write_bam(folder / f"{name}.bam", self.made.genome, own, DEPTH, name, number)

    def call(self, *names: str, threads: int = 2, ploidies: Path | None = None) -> Path:
        """Call samples together, the heterozygous one as female."""
        output = self.folder / f"{'_'.join(names)}{'.ploidies' if ploidies else ''}.vcf.gz"
        of_all = {"ploidy": 2, "sex": "unknown"}
        samples = [{**of_all, "sample": name, "bam": str(self.folder / f"{name}.bam")} for name in names]
        samples[0]["sex"] = "female"
        files = self.folder / "reference", samples, output, Path(f"{output}.tbi"), self.folder / "genome.fa"
        call_structural(StructuralRequest(*files, threads, ploidies, counts=output.with_suffix(".json")))
        return output


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Called:
    """Make the sample once."""
    return Called(tmp_path_factory.mktemp("rearranged"))


@pytest.fixture(scope="module")
def called(sample: Called) -> Path:
    """Call both samples together."""
    return sample.call("het", "hom")


def test_each_kind_has_exact_ends(sample: Called, called: Path) -> None:
    """One record for each variant, two for each junction of the translocation; ends within the micro-homology."""
    sample.made.check(called)


def test_genotypes_of_both_samples(called: Path) -> None:
    """Each variant is heterozygous in one sample and homozygous in the other, and passes."""
    with pysam.VariantFile(str(called)) as variants:
        for record in variants:
            genotypes = [sorted(own["GT"]) for own in record.samples.values()]
            assert (genotypes, [*record.filter]) == ([[0, 1], [1, 1]], ["PASS"]), str(record)


def test_junctions_with_a_contig_that_a_sample_lacks(sample: Called) -> None:
    """Neither record of a translocation has a genotype of a sample without the other contig."""
    (sample.folder / "ploidies.bed").write_text(f"two\t0\t{TWO}\t0\tfemale\n")
    with pysam.VariantFile(str(sample.call("het", "hom", ploidies=sample.folder / "ploidies.bed"))) as variants:
        found = [(own.info["SVTYPE"] == "BND", own.samples["het"]["GT"], own.samples["hom"]["GT"]) for own in variants]
    assert sorted(found) == [(False, (0, 1), (1, 1))] * 5 + [(True, (None,), (1, 1))] * 4


def test_a_sample_without_reads_has_no_genotypes(sample: Called, called: Path) -> None:
    """Neither does depth give it genotypes, nor does it change those of the others."""
    write_bam(sample.folder / "none.bam", sample.made.genome, [], 1, "none")
    with pysam.VariantFile(str(sample.call("het", "hom", "none"))) as more, pysam.VariantFile(str(called)) as fewer:
        for record, known in zip(more, fewer, strict=True):
            assert record.samples["none"]["GT"] == (None, None), str(record)
            assert record.info["AC"] == known.info["AC"]
            assert record.info["AN"] == 4


def test_calls_are_counted(sample: Called, called: Path) -> None:
    """By kind and size, a translocation once, and by sample those that it carries."""
    found: dict[tuple[str, str], list[int]] = {}
    with pysam.VariantFile(str(called)) as variants:
        for record in variants:
            size = record.info.get("SVLEN", (None,))[0]
            classes = ("50 to 99", 100), ("100 to 999", 1000), ("1,000 to 9,999", 10_000), ("10,000 to 99,999", 10**5)
            name = "" if size is None else next(name for name, end in classes if size < end)
            row = found.setdefault((record.info["SVTYPE"], name), [0, 0, 0])
            share = 2 if record.info["SVTYPE"] == "BND" else 1
            for at, carries in enumerate([True, *(1 in own["GT"] for own in record.samples.values())]):
                row[at] += carries / share
    counts = read_json(called.with_suffix(".json"))
    assert counts["samples"] == ["het", "hom"]
    assert {(row["kind"], row["size"]): [row["records"], *row["carried"]] for row in counts["rows"]} == found
    assert len(found) > 4


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_other_programs_read_it_without_a_warning(called: Path) -> None:
    """Bcftools says nothing about the file."""
    done = subprocess.run(["bcftools", "view", str(called)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("##fileformat=VCFv4.4\n")


def test_threads_change_nothing(sample: Called, called: Path) -> None:
    """The evidence and the file are the same for any number of threads."""
    files = sample.folder / "het.bam", sample.folder / "reference", sample.folder / "genome.fa"
    one, four = (collect(FinishedSample("het", *files), sample.folder / "scratch", threads) for threads in (1, 4))
    for name in one._fields:
        assert np.array_equal(getattr(one, name), getattr(four, name)), name
    bytes_of_two = called.read_bytes()
    assert sample.call("het", "hom", threads=1).read_bytes() == bytes_of_two


def test_alignments_of_many_gaps_have_room(sample: Called) -> None:
    """Each long gap gives two rows, however many of them an alignment has."""
    path, gaps = sample.folder / "gaps.bam", 150
    with pysam.AlignmentFile(str(sample.folder / "het.bam")) as bam:
        header = bam.header
    with pysam.AlignmentFile(str(path), "wb", header=header) as made:
        for number in range(3):
            record = pysam.AlignedSegment(header)
            record.query_name, record.reference_id, record.reference_start, record.mapping_quality = "r", 0, number, 60
            record.query_sequence = "A" * (gaps + 1)
            record.cigartuples = [*[(0, 1), (2, LEAST_GAP)] * gaps, (0, 1)]
            made.write(record)
    pysam.index(str(path))
    files = path, sample.folder / "reference", sample.folder / "genome.fa"
    assert len(collect(FinishedSample("gaps", *files), sample.folder / "scratch", 1).clips) == 3 * 2 * gaps


def test_evidence_is_that_of_each_record(sample: Called) -> None:
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


def test_crams_give_the_same(sample: Called, called: Path) -> None:
    """Each CRAM is decoded once, with one index of the FASTA, and nothing is left of that."""
    given, fasta = [], sample.folder / "copy.fa"
    fasta.write_bytes((sample.folder / "genome.fa").read_bytes())
    for name in ("het", "hom"):
        cram, bam = sample.folder / f"{name}.cram", sample.folder / f"{name}.bam"
        pysam.view("-C", "-T", str(sample.folder / "genome.fa"), "-o", str(cram), str(bam), catch_stdout=False)
        pysam.index(str(cram))
        given.append({"sample": name, "ploidy": 2, "bam": str(cram)})
    output = sample.folder / "crams.vcf.gz"
    call_structural(StructuralRequest(sample.folder / "reference", given, output, Path(f"{output}.tbi"), fasta, 2))
    with pysam.VariantFile(str(output)) as ours, pysam.VariantFile(str(called)) as others:
        assert [str(record) for record in ours] == [str(record) for record in others]
    assert not [path for path in sample.folder.iterdir() if "decoded" in path.name]


def test_contigs_joined_at_their_ends(sample: Called) -> None:
    """The last bases of two contigs, or the first ones, are joined: breakpoints after all bases, and before them."""
    one, two = PLAIN[0][0], PLAIN[1][0]
    assert isinstance(one, Piece)
    assert isinstance(two, Piece)
    for name, joined, positions in (
        ("tails", [one, two._replace(reverse=True)], {("one", ONE), ("two", TWO)}),
        ("heads", [one._replace(reverse=True), two], {("one", 1), ("two", 1)}),
    ):
        write_bam(sample.folder / f"{name}.bam", sample.made.genome, [[joined], [joined]], DEPTH, name, 9)
        pysam.index(str(sample.folder / f"{name}.bam"))
        with pysam.VariantFile(str(sample.call(name))) as variants:
            found = {(record.contig, record.pos): record for record in variants}
        assert set(found) == positions
        assert all([*record.filter] == ["PASS"] and record.samples[0]["GT"] == (1, 1) for record in found.values())


def test_gaps_of_the_reference(tmp_path: Path) -> None:
    """N beside a junction fits no read, and the gap alone is no deletion."""
    generator = np.random.default_rng(2)
    known = ["".join("ACGT"[code] for code in generator.integers(0, 4, 1000)) for _ in range(2)]
    genome = {"one": known[0] + "N" * 300 + known[1]}
    (tmp_path / "genome.fa").write_text(f">one\n{genome['one']}\n")
    reference.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    for name, start, end, count in (("over", 900, 1400, 1), ("gap", 1000, 1300, 0)):
        own: list[Chromosome] = [[Piece("one", 0, start), Piece("one", end, 2300)]]
        bam, output = tmp_path / f"{name}.bam", tmp_path / f"{name}.vcf.gz"
        write_bam(bam, genome, [own, own], DEPTH, name, 1)
        pysam.index(str(bam))
        samples = [{"sample": name, "ploidy": 2, "bam": str(bam)}]
        files = tmp_path / "reference", samples, output, Path(f"{output}.tbi"), tmp_path / "genome.fa"
        call_structural(StructuralRequest(*files, 1))
        with pysam.VariantFile(str(output)) as variants:
            found = [*variants]
        assert len(found) == count
        for record in found:
            assert record.pos <= start <= record.pos + record.info.get("HOMLEN", (0,))[0]
            assert record.info["SVLEN"] == (end - start,)
            assert record.samples[0]["GT"] == (1, 1)
            assert record.samples[0]["SR"] > 20


def test_nothing_in_plain_reads(sample: Called) -> None:
    """Reads of the reference alone give no record."""
    write_bam(sample.folder / "plain.bam", sample.made.genome, [PLAIN, PLAIN], DEPTH, "plain", 7)
    with pysam.VariantFile(str(sample.call("plain"))) as variants:
        assert [*variants] == []


def test_a_deletion_that_no_read_is_clipped_at(sample: Called) -> None:
    """Pairs that are too far apart show a deletion without its exact ends."""
    made, start, size = sample.made, 12_000, 700
    deleted: list[Chromosome] = [[Piece("one", 0, start), Piece("one", start + size, ONE)], [Piece("two", 0, TWO)]]
    write_bam(sample.folder / "whole.bam", made.genome, [deleted, deleted], DEPTH, "pairs", 3)
    bam = sample.folder / "pairs.bam"
    with pysam.AlignmentFile(str(sample.folder / "whole.bam")) as whole:
        clipped = {record.query_name for record in whole if record.cigarstring != "100M"}
        with pysam.AlignmentFile(str(bam), "wb", template=whole) as kept:
            for record in whole.fetch():
                if record.query_name not in clipped:
                    kept.write(record)
    pysam.index(str(bam))
    with pysam.VariantFile(str(sample.call("pairs"))) as variants:
        (found,) = [*variants]
    assert found.info["IMPRECISE"]
    assert [*found.filter] == ["PASS"]
    assert found.samples[0]["GT"] == (1, 1)
    assert 0.7 <= found.info["SVLEN"][0] / size <= 1.4
    assert abs(found.start - start) <= 150
