"""Records of difficult reads on a difficult genome, against the FASTA, the mate, samtools and Picard."""

import random
import re
import shutil
import subprocess
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import pysam
import pytest
from quire.algorithms.extension import END_BONUS
from quire.align.mapper import Mapper
from quire.errors import QuireError
from quire.finish.counts.outputs import CountsOutputs
from quire.finish.marking import Marking
from quire.finish.sample import SampleFormat, SampleOutputs, UnsortedUnit, finish_sample
from quire.finish.sorting import Effort

from tests.support.awkward_genomes import awkward_genome, awkward_pairs
from tests.support.bucket_builders import buckets_of
from tests.support.builders import Read, reverse_complement, write_fasta
from tests.support.read_builders import Mapped, build_index, map_files, write_pairs

PAIRS = 1500


class Run:
    """Genome, reads and records of a run; single-end runs contain R1 only."""

    def __init__(self, folder: Path, paired: bool) -> None:
        generator = random.Random(3)
        # calmd writes ambiguity codes into MD, Quire writes N (docs/formats.md): only N here.
        self.genome = {name: s.upper() for name, s in awkward_genome(generator, iupac=False).items()}
        self.fasta = write_fasta(folder / "genome.fa", self.genome)
        self.pairs = awkward_pairs(generator, self.genome, PAIRS)
        mates = write_pairs(folder, self.pairs)
        indexed = build_index(folder, self.fasta)
        self.reference = indexed.directory
        self.mapped: Mapped = map_files(folder, indexed, mates if paired else mates[:1], 400)
        self.records = self.mapped.records()
        self.paired = paired

    def source(self, record: pysam.AlignedSegment) -> Read:
        """Return the read of a record."""
        return self.pairs[int(record.query_name[1:])][1 if record.is_read2 else 0]

    def by_read(self) -> dict[tuple[str, bool], list[pysam.AlignedSegment]]:
        """Return the records of each read, the primary one first."""
        grouped: dict[tuple[str, bool], list[pysam.AlignedSegment]] = {}
        for record in self.records:
            grouped.setdefault((record.query_name, record.is_read2), []).append(record)
        return grouped


@pytest.fixture(scope="module", params=[True, False], ids=["paired", "single"])
def run(request, tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("records"), request.param)


def test_every_read_is_there_once_in_the_order_of_the_files(run):
    primary = [record for record in run.records if not record.is_supplementary]
    wanted = []
    for name, pair in enumerate(run.pairs):
        wanted += [(f"p{name}", mate) for mate in range(2 if run.paired else 1)]
        assert pair[0].name == f"p{name}"
    assert [(record.query_name, int(record.is_read2)) for record in primary] == wanted
    for records in run.by_read().values():
        assert [record.is_supplementary for record in records] == [False] + [True] * (len(records) - 1)


def test_bases_and_qualities_are_the_reads(run):
    for record in run.records:
        source = run.source(record)
        bases, qualities = source.bases, source.qualities
        if record.is_reverse:
            bases, qualities = reverse_complement(bases), qualities[::-1]
        leading, trailing = hard_clips(record)
        assert (record.query_sequence or "") == bases[leading : len(bases) - trailing]
        if record.query_qualities is not None:
            text = "".join(chr(33 + quality) for quality in record.query_qualities)
            assert text == qualities[leading : len(qualities) - trailing]


def hard_clips(record) -> tuple[int, int]:
    cigar = record.cigartuples or []
    return (
        cigar[0][1] if cigar and cigar[0][0] == 5 else 0,
        cigar[-1][1] if len(cigar) > 1 and cigar[-1][0] == 5 else 0,
    )


def test_cigar_score_and_differences_agree_with_the_genome(run):
    for record in run.records:
        if record.is_unmapped:
            assert record.cigartuples is None
            assert record.mapping_quality == 0
            assert not {"NM", "MD", "AS", "XS", "SA"} & {tag for tag, _ in record.get_tags()}
            continue
        operations = record.cigartuples
        clip = 5 if record.is_supplementary else 4
        inner = [operation for operation, _ in operations if operation != clip]
        assert set(inner) <= {0, 1, 2}
        assert inner[0] == inner[-1] == 0
        assert all(a != b for a, b in pairwise(inner))
        assert record.infer_read_length() == len(run.source(record).bases)
        contig = run.genome[record.reference_name]
        assert record.reference_end <= len(contig)
        assert not re.search("N{20}", contig[record.reference_start : record.reference_end])  # islands end at such runs
        score, edits = described(record, contig)
        assert record.get_tag("AS") == score
        assert record.get_tag("NM") == edits
        # An alignment below 30 is reported only next to its mate; one of the whole read gets a bonus, as in bwa mem.
        earned = score + (END_BONUS if all(operation != clip for operation, _ in operations) else 0)
        assert earned >= min(19 if record.is_proper_pair else 30, len(run.source(record).bases) - 5)
        if "N" not in contig[record.reference_start : record.reference_end]:
            rebuilt = [letter for _, _, letter in record.get_aligned_pairs(with_seq=True) if letter]
            assert "".join(rebuilt).upper() == contig[record.reference_start : record.reference_end]


def described(record, contig: str) -> tuple[int, int]:
    """Return the score in bwa mem's scheme and the edit distance, base by base."""
    score = edits = 0
    place, position = 0, record.reference_start
    for operation, length in record.cigartuples:
        if operation == 4:
            place += length
        elif operation in (1, 2):
            score -= 6 + length
            edits += length
            place += length if operation == 1 else 0
            position += length if operation == 2 else 0
        elif operation == 0:
            for a, b in zip(
                record.query_sequence[place : place + length], contig[position : position + length], strict=True
            ):
                ambiguous = "N" in (a, b)
                score += -1 if ambiguous else 1 if a == b else -4
                edits += ambiguous or a != b
            place, position = place + length, position + length
    return score, edits


def test_samtools_writes_the_same_md_and_nm(run):
    text = pysam.samtools.calmd(str(run.mapped.bam), str(run.fasta)).splitlines()
    lines = [line.split("\t") for line in text if not line.startswith("@")]
    assert len(lines) == len(run.records)
    checked = 0
    for line, record in zip(lines, run.records, strict=True):
        tags = {tag[:2]: tag[5:] for tag in line[11:]}
        if not record.is_unmapped:
            assert tags["MD"] == record.get_tag("MD")
            assert int(tags["NM"]) == record.get_tag("NM")
            checked += 1
    assert checked > PAIRS / 2


def test_pairs_describe_each_other(run):
    grouped = run.by_read()
    for (_, second), records in grouped.items():
        if not run.paired:
            assert all(record.flag & ~(4 | 16 | 2048) == 0 for record in records)
            assert all(record.next_reference_id == -1 and record.template_length == 0 for record in records)
            continue
        first = records[0]
        mate = grouped[first.query_name, not second][0]
        for record in records:
            assert record.is_paired
            assert record.is_read1 != record.is_read2
            assert record.is_proper_pair == mate.is_proper_pair
            assert record.mate_is_unmapped == mate.is_unmapped
            assert record.mate_is_reverse == mate.is_reverse
            assert (record.next_reference_id, record.next_reference_start) == (mate.reference_id, mate.reference_start)
            assert record.has_tag("MC") != mate.is_unmapped
            if record.has_tag("MC"):
                assert record.get_tag("MC") == mate.cigarstring
            assert record.template_length == template(record, mate)
        assert first.template_length == -mate.template_length
        if first.is_unmapped:
            assert (first.reference_id, first.reference_start) == (mate.reference_id, mate.reference_start)
            assert not first.is_reverse
        if first.is_proper_pair:
            assert first.reference_id == mate.reference_id
            assert first.is_reverse != mate.is_reverse


def template(record, mate) -> int:
    """Return the signed span between the aligned 5' ends (bwa mem); 0 if they are equal or on different contigs."""
    if record.is_unmapped or mate.is_unmapped or record.reference_id != mate.reference_id:
        return 0
    here, there = (r.reference_end - 1 if r.is_reverse else r.reference_start for r in (record, mate))
    return 0 if here == there else there - here + (1 if there > here else -1)


def test_proper_pairs_are_within_the_insert_size(run):
    low, high = run.mapped.insert_size["FR"]["low"], run.mapped.insert_size["FR"]["high"]
    proper = 0
    for records in run.by_read().values():
        record = records[0]
        if record.is_proper_pair and not record.is_reverse:
            proper += 1
            begin = record.reference_start - soft_clips(record.cigartuples)[0]
            end = record.next_reference_start + mate_span(record.get_tag("MC"))
            assert low <= end - begin <= high
    assert (proper > PAIRS / 2) == run.paired


def soft_clips(cigar) -> tuple[int, int]:
    return cigar[0][1] if cigar[0][0] == 4 else 0, cigar[-1][1] if cigar[-1][0] == 4 else 0


def mate_span(cigar: str) -> int:
    """Return the reference bases, and the clipped bases after them."""
    operations = [(int(length), letter) for length, letter in re.findall(r"(\d+)([MIDS])", cigar)]
    span = sum(length for length, letter in operations if letter in "MD")
    return span + (operations[-1][0] if operations[-1][1] == "S" else 0)


def test_supplementary_records_and_sa_tags_name_each_other(run):
    split = 0
    for records in run.by_read().values():
        texts = [sa_text(record) for record in records] if len(records) > 1 else []
        for i, record in enumerate(records):
            others = "".join(text for j, text in enumerate(texts) if j != i)
            assert (record.get_tag("SA") if record.has_tag("SA") else "") == others
            assert record.mapping_quality <= records[0].mapping_quality
        split += len(records) > 1
        parts = [set(query_part(record)) for record in records if not record.is_unmapped]
        for i, part in enumerate(parts):
            for other in parts[:i]:
                assert 2 * len(part & other) < min(len(part), len(other))
    assert split > 20


def sa_text(record) -> str:
    cigar = record.cigarstring.replace("H", "S")
    strand = "-" if record.is_reverse else "+"
    fields = [record.reference_name, record.reference_start + 1, strand, cigar, record.mapping_quality]
    return ",".join(map(str, [*fields, record.get_tag("NM")])) + ";"


def query_part(record) -> range:
    """Return the aligned part of the read in the direction of sequencing."""
    cigar = record.cigartuples
    leading, trailing = (cigar[end][1] if cigar[end][0] in (4, 5) else 0 for end in (0, -1))
    if record.is_reverse:
        leading, trailing = trailing, leading
    return range(leading, record.infer_read_length() - trailing)


def test_the_ledger_counts_what_is_in_the_file(run):
    flags = Counter()
    for record in run.records:
        flags["supplementary"] += record.is_supplementary
        if not record.is_supplementary:
            flags["reads"] += 1
            flags["bases"] += record.query_length
            flags["unmapped" if record.is_unmapped else "mapped"] += 1
            flags["properly_paired"] += record.is_proper_pair
    assert run.mapped.ledger["counts"] == dict(flags)
    assert flags["mapped"] + flags["unmapped"] == PAIRS * (2 if run.paired else 1)
    assert flags["bases"] == sum(len(read.bases) for pair in run.pairs for read in pair[: 2 if run.paired else 1])


def test_a_batch_that_gets_lost_fails_the_unit(run, monkeypatch, tmp_path):
    search_ahead = Mapper._search_ahead
    monkeypatch.setattr(Mapper, "_search_ahead", lambda *arguments: islice(search_ahead(*arguments), 1, None))
    mates = write_pairs(tmp_path, run.pairs[:40])[: 2 if run.paired else 1]
    with pytest.raises(QuireError, match="the ledger does not balance") as caught:
        map_files(tmp_path, build_index(tmp_path, run.fasta), mates, batch=10)
    assert f"reads {40 * len(mates)} = " in str(caught.value)
    assert str(caught.value).split(";")[0].endswith(f" = {30 * len(mates)}")
    assert not (tmp_path / "out.bam").exists()


@pytest.mark.full
def test_samtools_and_picard_find_nothing(run, tmp_path):
    pysam.samtools.quickcheck(str(run.mapped.bam))
    output = tmp_path / "S.bam"
    counts = CountsOutputs(*(tmp_path / name for name in ("counts.json", "windows.bed.gz", "low_coverage.bed.gz")), 10)
    outputs = SampleOutputs(output, counts, tmp_path / "duplicates.tsv", tmp_path / "ledger.json")
    units, kind = [UnsortedUnit("u", "L", buckets_of(run.mapped.bam))], SampleFormat("bam", "bai", run.fasta)
    finish_sample("S", units, run.reference, outputs, kind, Marking(), Effort(1, 500))
    pysam.samtools.quickcheck(str(output))
    assert pysam.AlignmentFile(str(output)).count(until_eof=True) == len(run.records)
    picard = shutil.which("PicardCommandLine") or shutil.which("picard")
    if picard is None:
        pytest.skip("Picard is not installed")
    command = [picard, "ValidateSamFile", f"I={output}", "MODE=SUMMARY", "IGNORE=MISSING_PLATFORM_VALUE"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "No errors found" in done.stdout + done.stderr, done.stdout + done.stderr
