"""Indels longer than those of active regions: proposed by clipped reads, genotyped, and independent of cuts."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire import reference as reference_stage
from quire.io.vcf import VariantRecord
from quire.report.truth import Variant, normalise
from quire.rescore import chunks, intervals
from quire.rescore.long_indels import LongIndel, left_aligned
from quire.rescore.long_indels.breakpoints_cpu import Breakpoint, breakpoints, clips_of
from quire.rescore.long_indels.calls import Called, is_supported, merged, without_carried
from quire.rescore.long_indels.contigs_cpu import _k_mers, _walk
from quire.rescore.long_indels.proposals_cpu import continuation
from quire.rescore.long_indels.support import Carriers, Support
from quire.rescore.reads.source import ReadSource
from quire.rescore.window import Window

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_gvcf, call_variants
from tests.support.clipped import Base, novel, sam_lines, spelled
from tests.support.defaults import calling_parameters, default_settings
from tests.support.examples import examples
from tests.support.simulation import codes, indexed_bam

LENGTH, OTHER = 12_000, 3000
LETTERS = "ACGTN"


def text_of(bases: bytes) -> str:
    """Convert codes to letters."""
    return "".join(LETTERS[code] for code in bases)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[Variant, tuple[int, ...]]]:
    """Return a reference, reads of a diploid sample with long indels, and these with their genotypes."""
    root = tmp_path_factory.mktemp("long")
    generator = random.Random(5)
    reference, other = random_bases(generator, LENGTH), random_bases(generator, OTHER)
    write_fasta(root / "genome.fa", {"one": reference, "other": other})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    copy = [Base(other[p], "other", p) for p in range(1200, 1500)]
    twice = [Base(reference[p], "one", p) for p in range(7000, 7130)]
    planted = [
        (1000, 1150, [], (0, 1)),
        (2000, 2450, [], (1, 1)),
        (3000, 3000, novel(generator, 150), (0, 1)),
        (4000, 4000, novel(generator, 330), (1, 1)),
        (5000, 5000, copy, (0, 1)),
        (6000, 6000, copy[:120], (1, 1)),
        (7130, 7130, twice, (0, 1)),
        (8000, 8950, [], (0, 1)),
        (10_000, 10_060, novel(generator, 200), (1, 1)),
        (11_000, 11_001, [Base("ACGT"["ACGT".index(reference[11_000]) - 1], "", -1)], (0, 1)),
    ]
    haplotypes = [
        spelled("one", reference, [change[:3] for change in planted if change[3][number]]) for number in (0, 1)
    ]
    haplotypes_of_other = [Base(letter, "other", p) for p, letter in enumerate(other)]
    lines = sam_lines(generator, haplotypes, 2200)
    lines += [
        (contig, position, text.replace("pair", "elsewhere"))
        for contig, position, text in sam_lines(generator, [haplotypes_of_other], 400)
    ]
    lines.sort(key=lambda line: (line[0] != "one", line[1]))
    indexed_bam(root / "reads.bam", {"one": LENGTH, "other": OTHER}, [text for _, _, text in lines])
    expected = {}
    for start, end, inserted, genotype in planted:
        before, after = reference[start - 1 : end], reference[start - 1] + "".join(base.letter for base in inserted)
        variant = normalise("one", Variant(start - 1, before, after), lambda _, a, b: reference[a:b])
        expected[variant] = genotype
    return root, reference, expected


def called(root: Path, output: Path, pieces: list[tuple[int, int]], threads: int = 1, **changed) -> list[str]:
    """Return the lines of the records of some pieces of the first contig."""
    sheet = [{"sample": "reads", "ploidy": 2, "bam": root / "reads.bam"}]
    parameters = default_settings("rescore") | changed
    output.mkdir()
    lines = []
    for piece in pieces:
        part = output / f"{piece[0]}.vcf.gz"
        interval = [("one", *piece)]
        call_variants(root / "reference", sheet, interval, part, parameters, output / "ledger.json", threads=threads)
        with pysam.BGZFile(str(part)) as stream:
            lines += [line.decode() for line in stream if line[:1] != b"#"]
    return lines


def genotypes(lines: list[str], reference: str) -> dict[Variant, tuple[int, ...]]:
    """Return normalised variants of records with one alternate allele, and their genotypes."""
    found = {}
    for line in lines:
        fields = line.split("\t")
        variant = Variant(int(fields[1]) - 1, fields[3], fields[4].removesuffix(",<NON_REF>"))
        numbers = tuple(int(number) for number in fields[9].split(":")[0].split("/"))
        found[normalise("one", variant, lambda _, a, b: reference[a:b])] = numbers
    return found


@pytest.mark.full
def test_long_indels_are_called_and_nothing_else(world, tmp_path: Path) -> None:
    root, reference, expected = world
    assert genotypes(called(root, tmp_path / "whole", [(0, LENGTH)]), reference) == expected


def test_without_the_key_they_are_not_found(world, tmp_path: Path) -> None:
    root, reference, expected = world
    found = genotypes(called(root, tmp_path / "off", [(0, LENGTH)], long_indels=False), reference)
    missing = {v for v in expected if found.get(v) != expected[v]}
    assert {v for v in expected if abs(len(v.reference) - len(v.alternate)) > 200} <= missing


@pytest.mark.full
def test_calls_do_not_depend_on_how_the_genome_is_cut(world, tmp_path: Path, monkeypatch) -> None:
    root, _, expected = world
    whole = called(root, tmp_path / "whole", [(0, LENGTH)])
    # Cuts at the indels' first and last bases, inside them, and anywhere else.
    generator = random.Random(7)
    cuts = {at for v in expected for at in (v.position, v.position + 1, (v.position + v.end) // 2, v.end)}
    ordered = sorted({0, LENGTH, *cuts, *(generator.randrange(LENGTH) for _ in range(6))})
    assert called(root, tmp_path / "cut", list(pairwise(ordered))) == whole
    for name in ("FIRST_TILES", "TILES_PER_CHUNK", "BASES_PER_BATCH"):
        monkeypatch.setattr(chunks, name, 1)
    assert called(root, tmp_path / "chunks", [(0, LENGTH)]) == whole
    monkeypatch.setattr(intervals, "UNIT_BASES", 1000)
    assert called(root, tmp_path / "units", [(0, LENGTH)], threads=2) == whole


def gvcf(root: Path, output: Path, pieces: list[tuple[int, int]]) -> list[str]:
    """Return the lines of the gVCF of some pieces."""
    entry = {"sample": "reads", "ploidy": 2, "bam": root / "reads.bam"}
    lines = []
    for piece in pieces:
        ledger = output.with_suffix(".json")
        call_gvcf(root / "reference", [entry], [("one", *piece)], output, default_settings("rescore"), ledger)
        with pysam.BGZFile(str(output)) as stream:
            lines += [line.decode() for line in stream if line[:1] != b"#"]
    return lines


def test_a_gvcf_has_them_once_and_no_blocks_inside(world, tmp_path: Path) -> None:
    root, reference, expected = world
    whole = gvcf(root, tmp_path / "whole.g.vcf.gz", [(0, LENGTH)])
    variants = [line for line in whole if line.split("\t")[4] != "<NON_REF>"]
    found = genotypes(variants, reference)
    assert {v: found[v] for v in expected} == expected
    described = np.zeros(LENGTH, np.int64)
    for line in whole:
        fields = line.split("\t")
        start = int(fields[1]) - 1
        end = int(fields[7].split("END=")[1]) if fields[4] == "<NON_REF>" else start + len(fields[3])
        described[start:end] += 1
    assert np.flatnonzero(described != 1).tolist() == []
    cuts = [0, 2000, 3000, 8000, 9000, LENGTH]  # one deletion spans 8,000, and one starts before 2,000
    assert gvcf(root, tmp_path / "cut.g.vcf.gz", list(pairwise(cuts))) == whole


@given(st.text("AC", min_size=3, max_size=30), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_left_alignment_is_the_reports(reference: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(1, len(reference)))
    end = data.draw(st.integers(start, len(reference)))
    inserted = data.draw(st.text("AC", max_size=8))
    found = left_aligned(100 + start, 100 + end, codes(inserted), np.frombuffer(codes(reference), np.uint8), 100)
    if reference[start:end] == inserted:
        assert found is None
        return
    # The same by the report's function, which keeps the preceding base if the alleles differ in length.
    variant = Variant(start - 1, reference[start - 1 : end], reference[start - 1] + inserted)
    expected = normalise("c", variant, lambda _, a, b: reference[a:b])
    if found is None:
        assert expected.position == 0
        return
    got = Variant(found.start - 100, text_of(found.reference), text_of(found.alternate))
    assert got.reference[0] == got.alternate[0]
    assert normalise("c", got, lambda _, a, b: reference[a:b]) == expected
    if 1 in (len(expected.reference), len(expected.alternate)) and expected.reference[0] == expected.alternate[0]:
        assert got == expected


def window_of(reference: str) -> Window:
    """Return a window of the whole reference."""
    return Window("c", len(reference), 0, np.frombuffer(codes(reference), np.uint8).copy())


@given(st.integers(0, 2**32), st.booleans(), st.integers(20, 60), st.booleans())
@settings(max_examples=examples(50), deadline=None)
def test_clipped_bases_are_found_nearby(seed: int, right: bool, size: int, error: bool) -> None:
    generator = random.Random(seed)
    reference = random_bases(generator, 1200)
    place = generator.randrange(300, 900)
    tail = list(reference[place : place + size] if right else reference[place - size : place])
    if error and size > 45:
        tail[size // 2] = "ACGT"["ACGT".index(tail[size // 2]) - 1]
    clipped = np.frombuffer(codes("".join(tail)), np.uint8)
    one = Breakpoint(600, right, np.zeros(0, np.int64), clipped)
    assert continuation(one, window_of(reference)) == place


def test_what_fits_nowhere_or_everywhere_goes_on_nowhere() -> None:
    generator = random.Random(5)
    reference = random_bases(generator, 800) + "CTTC" * 40 + random_bases(generator, 300)
    window = window_of(reference + reference[200:240])
    for tail in (random_bases(generator, 60), "CTTC" * 8, reference[100:112], "N" * 40, reference[200:244]):
        one = Breakpoint(600, True, np.zeros(0, np.int64), np.frombuffer(codes(tail), np.uint8))
        assert continuation(one, window) is None


def walked(reads: list[str], first: str, last: str, weight: int) -> str:
    """Return the result of `_walk`."""
    flat = np.frombuffer(codes("".join(reads)), np.uint8)
    offsets = np.cumsum([0, *map(len, reads)])
    k_mers, counts = np.unique(_k_mers(flat, offsets, len(first)), return_counts=True)
    ends = (np.frombuffer(codes(text), np.uint8) for text in (first, last))
    return text_of(_walk(k_mers, counts, *ends, weight, 1000).tobytes())


@given(st.integers(0, 2**32), st.sampled_from([21, 31]))
@settings(max_examples=examples(30), deadline=None)
def test_reads_with_errors_spell_what_is_inserted(seed: int, k: int) -> None:
    generator = random.Random(seed)
    text = random_bases(generator, 480)
    reads = []
    for start in range(0, 400, 4):
        read = list(text[start : start + 80])
        read[generator.randrange(80)] = generator.choice("ACGTN")
        reads.append("".join(read))
    first, last = text[50 : 50 + k], text[330 : 330 + k]
    assert walked(reads, first, last, 2) == text[50 + k : 330 + k]
    # A gap in the reads, or a repeat longer than a k-mer, ends the walk.
    assert walked(reads[:30] + reads[52:], first, last, 1) == ""
    unit = text[100:150]
    assert walked([text[:100] + unit * 3 + text[300:]] * 3, first, last, 2) == ""


def test_clips_that_agree_make_a_breakpoint_and_adaptor_none(tmp_path: Path) -> None:
    generator = random.Random(2)
    reference, tail = random_bases(generator, 1000), random_bases(generator, 60)
    lines = []
    for number, start in enumerate(range(400, 460, 10)):
        bases = reference[start:500] + tail[: start - 400]
        cigar = f"{500 - start}M{start - 400}S" if start > 400 else "100M"
        lines.append(f"r{number}\t0\tc\t{start + 1}\t60\t{cigar}\t*\t0\t0\t{bases}\t{'I' * len(bases)}")
    # Fragments of 60 bases: the clipped end is adaptor.
    for number in range(4):
        bases, clip = reference[700:760], tail[:40]
        for flag, cigar, own, size in ((99, "60M40S", bases + clip, 60), (147, "40S60M", clip + bases, -60)):
            lines.append(f"short{number}\t{flag}\tc\t701\t60\t{cigar}\t=\t701\t{size}\t{own}\t{'I' * 100}")
    lines.append(f"alone\t0\tc\t801\t60\t60M40S\t*\t0\t0\t{reference[800:860] + tail[:40]}\t{'I' * 100}")
    source = ReadSource(indexed_bam(tmp_path / "r.bam", {"c": 1000}, lines))
    reads, _ = source.fetch("c", 0, 1000, np.array([[0, 1000]]), calling_parameters())
    clips = clips_of(reads)
    found = breakpoints(reads, clips)
    assert [(one.position, one.right, len(one.reads)) for one in found] == [(500, True, 5)]
    assert text_of(found[0].tail.tobytes()) == tail[:50]
    # Reads that carry an indel keep the side on which they are aligned.
    record = VariantRecord("c", 499, ("A", "AC"), 50.0, (), {}, [])
    carriers = Carriers(500, found[0].reads, 500, np.zeros(0, np.int64))
    blank = np.zeros(0, np.uint8)
    scored = Support(np.zeros(0, np.int32), blank, blank, np.zeros((0, 2)), [carriers])
    cut = without_carried([reads], [Called(LongIndel(499, b"\0", b"\0\1"), record, scored)])[0]
    assert (cut.keep_to[found[0].reads] == 500).all()
    assert (np.delete(cut.keep_to, found[0].reads) == np.delete(reads.keep_to, found[0].reads)).all()
    assert (cut.keep_from == reads.keep_from).all()


@pytest.mark.parametrize(
    ("reference", "alternate", "unclear", "expected"),
    [(10, 10, 0, True), (10, 2, 0, True), (10, 1, 0, False), (30, 3, 0, False), (0, 5, 15, True), (0, 5, 16, False)],
)
def test_support_takes_enough_clear_fragments(reference: int, alternate: int, unclear: int, expected: bool) -> None:
    matrix = np.array([[-1.0, -5.5]] * reference + [[-5.5, -1.0]] * alternate + [[-1.0, -1.35]] * unclear)
    count = len(matrix)
    blank = np.zeros(count, np.uint8)
    assert is_supported(Support(np.zeros(count, np.int32), blank, blank, matrix, []), 1) == expected
    # Reads of another sample do not count.
    assert not is_supported(Support(np.ones(count, np.int32), blank, blank, matrix, []), 1)


def test_records_come_in_order_and_once() -> None:
    def record(start: int, *alleles: str) -> VariantRecord:
        return VariantRecord("c", start, alleles, 50.0, (), {}, [])

    blank = np.zeros(0, np.uint8)
    nothing = Support(np.zeros(0, np.int32), blank, blank, np.zeros((0, 2)), [])

    def long(start: int) -> Called:
        return Called(LongIndel(start, b"\0" * 60, b"\0"), record(start, "A" * 60, "A"), nothing)

    others = [record(5, "A", "C"), record(20, "A" * 60, "A"), record(30, "A", "C")]
    result = list(merged(others, [long(2), long(20), long(25), long(40)], (5, 40)))
    assert [one.start for one in result] == [5, 20, 25, 30]
