"""Tests of the stage `pairwise`: FASTA to PAF, BAM, summary and dots as other readers see them, and bad input."""

import gzip
import json
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.algorithms.pairwise import Mode, PairwiseAlignment, pair_of
from quire.algorithms.pairwise.recount import Columns, recount
from quire.algorithms.scoring import BWA_MEM
from quire.errors import InputError, QuireError
from quire.pairwise.alignment import PairwiseOutputs, PairwiseSettings, align_pair
from quire.pairwise.files import AlignedPair, SequenceRegion, bam_record, read_region, segments

from tests.oracles import pairwise as oracle
from tests.support.pairwise_cases import as_oracle

TARGET = "ACGTTGCATCGATTACGGATCCATGCANNTTGACCATTGCAAGCTTGGCATCGATCGGATTAC"
QUERY = "TTTTTTTT" + TARGET[10:26] + TARGET[29:50] + "GGGGG"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write two FASTA files: one query record, in lower case and compressed, and two target records."""
    with gzip.open(tmp_path / "query.fa.gz", "wt") as stream:
        stream.write(f">read some words\n{QUERY.lower()}\n")
    (tmp_path / "target.fa").write_text(f">other\nACGT\n>chr:1 x\n{TARGET[:30]}\n{TARGET[30:]}\n")
    return tmp_path


def run(folder: Path, query_region: str = "", target_region: str = "chr:1", **settings) -> dict:
    """Align the two files and return the summary."""
    settings = {"backend": "cpu", **settings}
    align_pair(
        ":".join(filter(None, (str(folder / "query.fa.gz"), query_region))),
        ":".join(filter(None, (str(folder / "target.fa"), target_region))),
        outputs_in(folder / "out"),
        PairwiseSettings("pair", **settings),
    )
    return json.loads((folder / "out" / "pair.json").read_text())


def outputs_in(folder: Path) -> PairwiseOutputs:
    return PairwiseOutputs(*(folder / f"pair.{kind}" for kind in ("paf", "bam", "json", "dots.json")))


def record_of(folder: Path) -> tuple[pysam.AlignedSegment, pysam.AlignmentHeader]:
    """Return the only record of the BAM."""
    with pysam.AlignmentFile(str(folder / "out" / "pair.bam")) as bam:
        (record,) = bam.fetch(until_eof=True)
        return record, bam.header


@pytest.mark.full
@pytest.mark.parametrize("mode", list(Mode))
def test_all_files_tell_the_oracles_alignment(folder: Path, mode: Mode) -> None:
    target = "GATC" + TARGET[5:60]
    (folder / "target.fa").write_text(f">chr\n{target}\n")
    summary = run(folder, "read:3-45", "chr:5-5,0", mode=mode.name.lower())
    query_codes, target_codes = (codes_of(text) for text in (QUERY[2:45], target[4:50]))
    pair = pair_of(query_codes, target_codes, BWA_MEM, mode)
    score, begin, end, target_begin, target_end, operations = oracle.align(pair)
    cigar = "".join(f"{length}{operation}" for operation, length in operations)

    (line,) = (folder / "out" / "pair.paf").read_text().splitlines()
    fields = line.split("\t")
    assert fields[:9] == [
        *("read", str(len(QUERY)), str(2 + begin), str(2 + end), "+"),
        *("chr", str(len(target)), str(4 + target_begin), str(4 + target_end)),
    ]
    tags = {tag[:2]: tag[5:] for tag in fields[12:]}
    assert (tags["cg"], int(tags["AS"]), tags["go"]) == (cigar, score, "Y")
    record, header = record_of(folder)
    assert header.references == ("chr",)
    assert header.lengths == (len(target),)
    assert (record.query_name, record.reference_start, record.flag) == ("read", 4 + target_begin, 0)
    hard, soft = f"{len(QUERY) - 45}H", f"{43 - end}S" if end < 43 else ""
    assert record.cigarstring == f"2H{f'{begin}S' if begin else ''}{cigar}{soft}{hard}"
    assert record.query_sequence == QUERY[2:45]
    assert (record.get_tag("AS"), record.get_tag("go")) == (score, "Y")
    # NM and the matches, counted from the bases that pysam pairs up.
    aligned = record.get_aligned_pairs()
    same = sum(i is not None and j is not None and QUERY[2 + i] == target[j] != "N" for i, j in aligned)
    clipped = begin + 43 - end
    assert int(fields[9]) == same == summary["counts"]["matches"]
    assert int(tags["NM"]) == record.get_tag("NM") == len(aligned) - clipped - same
    assert int(fields[10]) == len(aligned) - clipped
    assert summary["counts"]["score"] == score
    dots = json.loads((folder / "out" / "pair.dots.json").read_text())
    assert dots["target"] == {"name": "chr", "start": 4, "end": 50}
    assert [dots["segments"][0][:2], dots["segments"][-1][2:]] == ends_of_stretches(aligned)


def codes_of(text: str) -> np.ndarray:
    return np.array(["ACGTN".index(letter) for letter in text], np.uint8)


def ends_of_stretches(aligned: list[tuple[int | None, int | None]]) -> list[list[int]]:
    """Return the first paired bases and the end of the last, positions on the records."""
    paired = [(i, j) for i, j in aligned if i is not None and j is not None]
    return [[2 + paired[0][0], paired[0][1]], [3 + paired[-1][0], 1 + paired[-1][1]]]


def test_summary_says_what_was_done(folder: Path) -> None:
    summary = run(folder, threads=2, gap_open=3)
    assert (summary["tool"], summary["name"], summary["optimal"]) == ("pairwise", "pair", True)
    assert summary["settings"]["gap_open"] == 3
    assert summary["backend"]["name"] == "cpu"
    assert set(summary["identity"]) == set(summary["inputs"]) == {"query", "target"}
    assert set(summary["identity"]["query"]) == {"bytes", "modified"}
    counts = summary["counts"]
    assert counts["query_bases"] == len(QUERY)
    for side, gap in (("query", "inserted_bases"), ("target", "deleted_bases")):
        placed = counts["matches"] + counts["mismatches"] + counts[gap] + counts[f"{side}_bases_not_aligned"]
        assert placed == counts[f"{side}_bases"]


def test_settings_do_not_show_in_the_files(folder: Path) -> None:
    seen = set()
    for settings in ({}, {"threads": 2}):
        run(folder, **settings)
        seen.add(tuple((folder / "out" / f"pair.{kind}").read_bytes() for kind in ("paf", "bam", "dots.json")))
    assert len(seen) == 1


def test_nothing_aligned(folder: Path) -> None:
    (folder / "target.fa").write_text(">chr:1\nNNNNNNNNNN\n")
    summary = run(folder)
    assert "Nothing of read:1-50 and chr:1:1-10 is aligned" in summary["warnings"][0]
    assert (folder / "out" / "pair.paf").read_text() == ""
    record, _ = record_of(folder)
    assert record.is_unmapped
    assert record.query_sequence == QUERY
    assert json.loads((folder / "out" / "pair.dots.json").read_text())["segments"] == []


def test_more_operations_than_a_record_of_bam_holds(tmp_path: Path) -> None:
    """Long CIGARs are in the tag CG, which htslib reads."""
    times = 40_000
    query = SequenceRegion("q", 3 * times, 0, np.tile(np.array([0, 1, 2], np.uint8), times))
    target = SequenceRegion("t", 2 * times, 0, np.tile(np.array([0, 2], np.uint8), times))
    cigar = np.tile(np.array([1 << 4, 1 << 4 | 1, 1 << 4], np.uint32), times)
    alignment = PairwiseAlignment(0, 0, 3 * times, 0, 2 * times, cigar)
    columns = recount(pair_of(query.codes, target.codes, BWA_MEM, Mode.GLOBAL), alignment)
    assert columns == Columns(2 * times, 0, times, times, 0, 0)
    from quire.io.bam.writer import header_text, open_bam

    contigs = ["t"], [2 * times]
    with open_bam(tmp_path / "out.bam", header_text(*contigs, [], "0", "test"), *contigs) as bam:
        bam.write(bam_record(AlignedPair(query, target, alignment, columns, False)))
    with pysam.AlignmentFile(str(tmp_path / "out.bam")) as bam:
        (record,) = bam.fetch(until_eof=True)
    assert record.cigartuples == [(0, 1), (1, 1), (0, 1)] * times
    assert record.get_tag("go") == "N"


def test_segments_are_thinned() -> None:
    cigar = np.tile(np.array([5 << 4, 1 << 4 | 1], np.uint32), 100)
    alignment = PairwiseAlignment(0, 10, 610, 20, 520, cigar)
    assert len(segments(alignment)) == 100
    thinned = segments(alignment, 30)
    assert len(thinned) == 25
    assert thinned[0].tolist() == [10, 20, 10 + 3 * 6 + 5, 20 + 4 * 5]
    assert thinned[-1, 2:].tolist() == [609, 520]


@pytest.mark.parametrize(
    ("region", "expected"),
    [("chr:1", TARGET), ("chr:1:1-4", TARGET[:4]), ("chr:1:62-62", TARGET[61]), ("other:2-3", "CG"), ("other", "ACGT")],
)
def test_regions(folder: Path, region: str, expected: str) -> None:
    assert read_region(folder / "target.fa", region).codes.tolist() == codes_of(expected).tolist()


@pytest.mark.parametrize(
    ("query_region", "target_region", "sentence"),
    [
        ("", "", "target.fa: has 2 records, of which one can be aligned; say which, as .*target.fa:other"),
        ("", "chrX", r"target.fa: has no record chrX \(region chrX\); its records are other, chr:1."),
        ("", "chrX:1-5", r"target.fa: has no record chrX \(region chrX:1-5\)"),
        ("", "chr:1:5-64", "the region chr:1:5-64 does not lie in chr:1, which has 63 bases"),
        ("read:0-5", "chr:1", "the region read:0-5 does not lie in read"),
        ("read:5-4", "chr:1", "the region read:5-4 does not lie in read"),
    ],
)
def test_refuses_regions_that_are_not_there(folder: Path, query_region: str, target_region: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        run(folder, query_region, target_region)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("", "is empty"), (">p\nMKVLAEFQPLIWERTYHS\n", "looks like protein"), (">a\n>b\nACGT\n", "has no sequence")],
)
def test_refuses_what_is_no_nucleotide_fasta(folder: Path, content: str, sentence: str) -> None:
    (folder / "target.fa").write_text(content)
    with pytest.raises(InputError, match=sentence):
        run(folder, target_region="")


def test_refuses_scores_that_do_not_fit(folder: Path) -> None:
    with pytest.raises(InputError, match="are too large for sequences of 50 and 63 bases"):
        run(folder, match=1 << 23)


def test_refuses_names_that_bam_cannot_hold(folder: Path) -> None:
    with gzip.open(folder / "query.fa.gz", "wt") as stream:
        stream.write(f">{'x' * 255}\n{QUERY}\n")
    with pytest.raises(InputError, match="longer than the 254 letters of BAM"):
        run(folder)
    assert not (folder / "out").exists()


def test_refuses_what_does_not_fit_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire.algorithms.pairwise.cpu.MEMORY", 500)
    with pytest.raises(InputError, match="give regions, or anchors: mems"):
        run(folder)


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "out").write_text("a file")
    with pytest.raises(QuireError, match=r"pair\.paf: cannot be written"):
        run(folder)


def test_an_alignment_that_does_not_give_its_score_is_not_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.algorithms.pairwise.recount.Columns.score", lambda columns, scoring: -1)
    with pytest.raises(QuireError, match="the alignment scores -1, but"):
        run(folder)
    assert not (folder / "out").exists()


def test_recount_of_the_oracles_cases() -> None:
    pair = pair_of(codes_of("ACGTACGT"), codes_of("ACGACGTT"), BWA_MEM, Mode.GLOBAL)
    alignment = PairwiseAlignment(0, 0, 8, 0, 8, np.array([3 << 4, 1 << 4 | 1, 4 << 4, 1 << 4 | 2], np.uint32))
    columns = recount(pair, alignment)
    assert columns == Columns(7, 0, 1, 1, 1, 1)
    assert columns.score(BWA_MEM) == 7 - 14
    assert (columns.total, round(columns.identity, 3), round(columns.divergence, 3)) == (9, 0.778, 0.222)
    assert as_oracle(alignment)[5] == [("M", 3), ("I", 1), ("M", 4), ("D", 1)]
