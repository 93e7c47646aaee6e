"""Reads from a BAM: columns against pysam, filters, thinning, adaptors, clips and overlapping mates."""

import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import InputError
from quire.rescore.reads import source
from quire.rescore.reads.clipping_cpu import INSERTED, bases_within, region_reads
from quire.rescore.reads.filters_cpu import FILTERS, thinned_out
from quire.rescore.reads.source import ReadSource

from tests.support.builders import random_bases
from tests.support.defaults import calling_parameters
from tests.support.simulation import Genome, indexed_bam

CONTIGS = {"HLA:01,*x": 5000}
NAME = "HLA:01,*x"


def line(
    name: str, flag: int, position: int, cigar: str, bases: str, quality: int = 60, mate: int = 0, size: int = 0
) -> str:
    """Return SAM text; positions are 1-based, and 0 means no mate."""
    fields = [name, flag, NAME, position, quality, cigar, "=" if mate else "*", mate, size, bases, "I" * len(bases)]
    return "\t".join(map(str, fields))


def load(folder: Path, lines: list[str], start: int = 0, end: int = 5000, **settings: float):
    """Return reads and named counts of a BAM with these lines."""
    lines = sorted(lines, key=lambda text: int(text.split("\t")[3]))
    bam = indexed_bam(folder / "reads.bam", CONTIGS, lines)
    reads, counts = ReadSource(bam).fetch(NAME, start, end, np.array([[start, end]]), calling_parameters(**settings))
    return reads, dict(zip(FILTERS, counts.tolist(), strict=True))


def test_columns_are_what_pysam_reads(tmp_path) -> None:
    generator = random.Random(1)
    reference = random_bases(generator, 5000)
    variants = [(1000, reference[1000:1006], reference[1000]), (2000, reference[2000], reference[2000] + "ACGTACG")]
    lines = Genome(NAME, reference, [variants]).sam_lines(generator, 200)
    reads, counts = load(tmp_path, lines)
    assert counts["used"] == 400
    with pysam.AlignmentFile(str(tmp_path / "reads.bam")) as bam:
        for i, record in enumerate(bam):
            bases = slice(reads.base_offsets[i], reads.base_offsets[i + 1])
            assert "".join("ACGTN"[b] for b in reads.bases[bases]) == record.query_sequence
            assert reads.qualities[bases].tolist() == list(record.query_qualities)
            assert (reads.aligned_start[i], reads.aligned_end[i]) == (record.reference_start, record.reference_end)
            assert reads.mate_start[i] == record.next_reference_start
            elements = reads.cigar[reads.cigar_offsets[i] : reads.cigar_offsets[i + 1]]
            assert [(int(e & 15), int(e >> 4)) for e in elements] == record.cigartuples
            assert bool(reads.reverse[i]) == record.is_reverse


def test_every_filter_has_its_count(tmp_path) -> None:
    bases = "ACGTACGTAC" * 5
    flags = {"unmapped": 4, "secondary": 256, "duplicate": 1024, "failed_quality_check": 512, "used": 2048}
    lines = [line(name, flag, 100, "50M", bases) for name, flag in flags.items()]
    lines += [line("low", 0, 100, "50M", bases, 19), line("none", 0, 100, "50M", bases, 255)]
    lines += [line("spliced", 0, 100, "25M10N25M", bases), line("clip", 0, 100, "50S", bases)]
    _, counts = load(tmp_path, lines)
    assert counts == dict.fromkeys(FILTERS, 1) | {
        "low_mapping_quality": 2,
        "malformed": 2,
        "no_copies": 0,
        "thinned": 0,
    }


def test_reads_are_counted_where_they_start_and_by_one_job_only(tmp_path) -> None:
    lines = [line(f"r{i}", 0, 50 + i, "50M", "ACGTACGTAC" * 5) for i in range(100)]
    bam = indexed_bam(tmp_path / "reads.bam", CONTIGS, lines)
    total = 0
    for span in ((0, 77), (77, 120), (120, 5000)):
        _, counts = ReadSource(bam).fetch(NAME, *span, np.array([span]), calling_parameters())
        total += counts.sum()
    assert total == 100
    _, counts = ReadSource(bam).fetch(NAME, 0, 5000, np.array([[0, 50], [60, 70], [140, 5000]]), calling_parameters())
    assert counts.sum() == 1 + 10 + 9


def test_deep_positions_are_thinned_alike_by_all(tmp_path) -> None:
    lines = [line(f"r{i}", 0, 100, "50M", "ACGTACGTAC" * 5) for i in range(80)]
    lines += [line(f"s{i}", 0, 101, "50M", "ACGTACGTAC" * 5) for i in range(5)]
    reads, counts = load(tmp_path, lines, maximum_reads_per_start=30)
    assert (counts["used"], counts["thinned"]) == (35, 50)
    assert len(reads.start) == 35
    assert reads.base_offsets[-1] == len(reads.bases) == 35 * 50
    again, _ = load(tmp_path, lines, 120, 130, maximum_reads_per_start=30)
    assert (again.name_hash == reads.name_hash).all()
    assert len(thinned_out(np.array([5, 5, 6]), np.array([1, 2, 3], np.uint64), 2)) == 0


def test_reads_are_not_expected_to_be_too_few(tmp_path, monkeypatch) -> None:
    """Test a pile before the fetched span in the same window of the index, whose bytes include both."""
    monkeypatch.setattr(source, "_TELLING_READS", 500)
    generator = random.Random(4)
    piles = ((1000, 12_000, 20_000), (13_000, 20_000, 1500), (100_000, 120_000, 10_000), (170_000, 250_000, 4000))
    starts = sorted(generator.randrange(low, high) for low, high, reads in piles for _ in range(reads))
    lines = [line(f"r{n}", 0, start, "50M", random_bases(generator, 50)) for n, start in enumerate(starts)]
    reads = ReadSource(indexed_bam(tmp_path / "reads.bam", {NAME: 300_000}, lines))
    for low, high in ((14_000, 22_000), (160_000, 240_000), (14_000, 18_000), (245_000, 300_000), (0, 300_000)):
        reads.fetch(NAME, low, high, np.array([[low, high]]), calling_parameters())
        expected = reads.estimated_reads(NAME, 98_304, 131_072)
        assert expected is not None
        assert expected >= 10_000


def test_an_unknown_contig_or_no_reads(tmp_path) -> None:
    bam = indexed_bam(tmp_path / "reads.bam", CONTIGS, [])
    for contig in (NAME, "elsewhere"):
        reads, counts = ReadSource(bam).fetch(contig, 0, 100, np.array([[0, 100]]), calling_parameters())
        assert len(reads.start) == counts.sum() == 0
    (tmp_path / "reads.bam.bai").unlink()
    with pytest.raises(InputError, match="no index"):
        ReadSource(bam)
    (tmp_path / "text.bam").write_text("this is text")
    with pytest.raises(InputError, match=r"text\.bam"):
        ReadSource(tmp_path / "text.bam")


def clipped(
    folder: Path, lines: list[str], low: int = 0, high: int = 5000
) -> dict[str, tuple[str, list[int], int, int]]:
    """Return bases, qualities and span of every read in a region, in the order of the file."""
    reads, _ = load(folder, lines)
    found = region_reads([reads], np.array([[low, high]]))
    result = {}
    for i in range(len(found.start)):
        own = slice(found.base_offsets[i], found.base_offsets[i + 1])
        text = "".join("ACGTN"[b] for b in found.bases[own])
        result[f"{found.start[i]}{'-' if found.reverse[i] else '+'}"] = (
            text, found.qualities[own].tolist(), int(found.start[i]), int(found.end[i]),
        )  # fmt: skip
    return result


def test_soft_clips_come_back_only_when_the_fragment_is_known(tmp_path) -> None:
    bases = random_bases(random.Random(2), 100)
    single = clipped(tmp_path, [line("a", 0, 1001, "10S80M10S", bases)])
    assert single == {"1000+": (bases[10:90], [40] * 80, 1000, 1080)}
    pair = [
        line("p", 99, 1001, "10S80M10S", bases, mate=1201, size=300),
        line("p", 147, 1201, "100M", bases, mate=1001, size=-300),
    ]
    assert clipped(tmp_path, pair)["990+"] == (bases, [40] * 100, 990, 1090)


def test_bases_beyond_the_mate_are_adaptor(tmp_path) -> None:
    bases = random_bases(random.Random(3), 100)
    pair = [
        line("p", 99, 1001, "60M40S", bases, mate=1001, size=60),
        line("p", 147, 1001, "40S60M", bases, mate=1001, size=-60),
    ]
    found = clipped(tmp_path, pair)
    assert (found["1000+"][0], found["1000-"][0]) == (bases[:60], bases[40:])


def test_ends_of_poor_quality_and_what_lies_outside_are_cut(tmp_path) -> None:
    bases = random_bases(random.Random(4), 60)
    text = line("a", 0, 1001, "20M5I10M5D25M", bases)
    text = text[:-60] + "#" * 3 + "I" * 55 + "#" * 2
    whole = clipped(tmp_path, [text])
    assert whole == {"1003+": (bases[3:58], [40] * 55, 1003, 1058)}
    part = clipped(tmp_path, [text], 1010, 1032)
    assert part == {"1010+": (bases[10:35], [40] * 25, 1010, 1030)}
    inside_deletion = clipped(tmp_path, [text], 1032, 1040)
    assert inside_deletion == {"1035+": (bases[35:40], [40] * 5, 1035, 1040)}
    reads, _ = load(tmp_path, [text])
    positions = region_reads([reads], np.array([[1010, 1032]])).positions
    assert positions.tolist() == [*range(1010, 1020), *[INSERTED] * 5, *range(1020, 1030)]


def test_insertions_at_the_edge_of_what_is_cut_stay(tmp_path) -> None:
    bases = random_bases(random.Random(6), 60)
    text = line("a", 0, 1001, "4I20M5I10M5D18M3I", bases)
    whole = clipped(tmp_path, [text])
    assert whole == {"1000+": (bases, [40] * 60, 1000, 1053)}
    # [1020, 1030) is between the second insertion and the deletion, so both sides of the insertion keep it.
    assert clipped(tmp_path, [text], 1020, 1030)["1020+"] == (bases[24:39], [40] * 15, 1020, 1030)
    assert clipped(tmp_path, [text], 1010, 1020)["1010+"] == (bases[14:29], [40] * 15, 1010, 1020)
    assert clipped(tmp_path, [text], 1021, 1030)["1021+"] == (bases[30:39], [40] * 9, 1021, 1030)
    assert clipped(tmp_path, [text], 1010, 1019)["1010+"] == (bases[14:23], [40] * 9, 1010, 1019)
    # Poor ends are cut within an insertion; a read with only an insertion left is dropped.
    poor = text[:-60] + "#" * 2 + "I" * 58
    assert clipped(tmp_path, [poor])["1000+"] == (bases[2:], [40] * 58, 1000, 1053)
    assert clipped(tmp_path, [text[:-60] + "I" * 4 + "#" * 56]) == {}
    reads, _ = load(tmp_path, [text])
    found = region_reads([reads], np.array([[1000, 1053]]))
    assert bases_within(found, 0, 1020, 1030) == (24, 39)
    assert bases_within(found, 0, 1010, 1020) == (14, 29)
    assert bases_within(found, 0, 1035, 1053) == (39, 60)
    first, end = bases_within(found, 0, 1030, 1035)
    assert first >= end


def test_inserted_ends_are_not_taken_for_the_mates_bases(tmp_path) -> None:
    bases = random_bases(random.Random(7), 110)
    pair = [
        line("p", 99, 1001, "60M4I", bases[:60] + "ACGT", mate=1041, size=90),
        line("p", 147, 1041, "5I50M", "TTTTT" + bases[40:90], mate=1001, size=-90),
    ]
    found = clipped(tmp_path, pair)
    assert found["1000+"][1] == [40] * 40 + [20] * 20 + [40] * 4
    assert found["1040-"][1] == [40] * 5 + [20] * 20 + [40] * 30


def test_overlapping_mates_are_one_observation(tmp_path) -> None:
    bases = random_bases(random.Random(5), 150)
    second = bases[50:]
    wrong = second[:20] + ("A" if second[20] != "A" else "C") + second[21:]
    pair = [
        line("p", 99, 1001, "100M", bases[:100], mate=1051, size=150),
        line("p", 147, 1051, "100M", wrong, mate=1001, size=-150),
    ]
    found = clipped(tmp_path, pair)
    assert found["1000+"][1] == [40] * 50 + [20] * 20 + [0] + [20] * 29
    assert found["1050-"][1] == [20] * 20 + [0] + [20] * 29 + [40] * 50
    reads, _ = load(tmp_path, pair)
    summed = region_reads([reads], np.array([[900, 1300]]), summed=True).qualities.tolist()
    assert summed == [40] * 50 + [60] * 20 + [0] + [60] * 29 + [0] * 50 + [40] * 50  # at most 60
    weak = [own.replace("I", "3") for own in pair]  # of quality 18
    reads, _ = load(tmp_path, weak)
    assert region_reads([reads], np.array([[900, 1300]]), summed=True).qualities[50] == 36


def test_samples_come_together_region_by_region(tmp_path) -> None:
    generator = random.Random(6)
    reference = random_bases(generator, 5000)
    lines = Genome(NAME, reference, [[]]).sam_lines(generator, 300)
    reads, _ = load(tmp_path, lines)
    spans = np.array([[500, 700], [650, 900], [4000, 4300]])
    alone = region_reads([reads], spans)
    twice = region_reads([reads, reads], spans)
    assert (np.diff(twice.region_offsets) == 2 * np.diff(alone.region_offsets)).all()
    for r in range(3):
        first, last = alone.region_offsets[r], alone.region_offsets[r + 1]
        for sample in range(2):
            at = twice.region_offsets[r] + sample * (last - first)
            assert (twice.sample[at : at + last - first] == sample).all()
            mine = slice(alone.base_offsets[first], alone.base_offsets[last])
            theirs = slice(twice.base_offsets[at], twice.base_offsets[at + last - first])
            assert (alone.bases[mine] == twice.bases[theirs]).all()
            assert (alone.qualities[mine] == twice.qualities[theirs]).all()


def test_samples_stand_side_by_side_in_every_region(tmp_path) -> None:
    """Merged samples have the reads of each sample one after another in a region, with their bases."""
    generator = random.Random(5)
    spans = np.array([[1000, 1200], [1150, 1400], [3000, 3100], [4000, 4900]])
    alone = []
    for sample in range(3):
        starts = sorted(generator.randrange(900, 4900) for _ in range(40 * sample))
        lines = [line(f"r{n}", 0, start, "70M", random_bases(generator, 70)) for n, start in enumerate(starts)]
        (tmp_path / str(sample)).mkdir()
        alone.append(load(tmp_path / str(sample), lines)[0])
    together, parts = region_reads(alone, spans), [region_reads([reads], spans) for reads in alone]
    at = 0
    for region in range(len(spans)):
        assert together.region_offsets[region] == at
        for sample, part in enumerate(parts):
            for i in range(*part.region_offsets[region : region + 2].tolist()):
                assert together.sample[at] == sample
                assert [together.start[at], together.end[at]] == [part.start[i], part.end[i]]
                found = slice(*together.base_offsets[at : at + 2].tolist())
                own = slice(*part.base_offsets[i : i + 2].tolist())
                for name in ("bases", "qualities", "positions"):
                    assert getattr(together, name)[found].tolist() == getattr(part, name)[own].tolist()
                at += 1
    assert at == together.region_offsets[-1] == len(together.start) > 20
