"""The gVCF of a sample: every position once, blocks by bands, and GATK's records of the same reads."""

import json
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
from quire.rescore.activity.regions_cpu import quiet_regions
from quire.rescore.gvcf.blocks_cpu import BLOCK_CUT, Stretch, band_lines, with_blocks
from quire.rescore.gvcf.variants_cpu import with_other
from quire.rescore.parameters import BANDS
from quire.rescore.phasing import PHASE_KEYS

from tests.support.builders import write_fasta
from tests.support.calling import call_gvcf, genotype_gvcfs
from tests.support.defaults import default_settings
from tests.support.examples import examples
from tests.support.gvcf import REAL, info_of, lines_of, real_samples, sample_of, states
from tests.support.simulation import Genome, indexed_bam, spaced_genome

LENGTH = 8000
CONTIG = "chr22_8kb"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_samples(tmp_path_factory.mktemp("gvcf"))


def called(root: Path, output: Path, sample: str, intervals: list[tuple[str, int, int]], ploidy: int = 2) -> Path:
    """Write the gVCF of a sample in one piece."""
    entry = {"sample": sample, "ploidy": ploidy, "bam": root / f"{sample}.bam"}
    variants = call_gvcf(
        root / "reference", [entry], intervals, output, default_settings("rescore"), output.with_suffix(".json")
    )
    assert variants == sum(fields[4] != "<NON_REF>" for fields in lines_of(output))
    return output


@pytest.fixture(scope="module")
def whole(world: Path) -> Path:
    """Write the gVCF of sample A."""
    return called(world, world / "A.g.vcf.gz", "A", [(CONTIG, 0, LENGTH)])


def test_states_and_bands_are_gatks(whole: Path) -> None:
    ours, gatks = states(whole), states(REAL / "A.g.vcf.gz")
    assert set(ours) == set(gatks) == set(range(1, LENGTH + 1))
    same_state = sum((ours[p] == "variant") == (gatks[p] == "variant") for p in gatks)
    assert same_state >= 0.99 * LENGTH
    assert sum(ours[p] == gatks[p] for p in gatks) >= 0.99 * LENGTH


def numbers_of(fields: list[str]) -> dict[str, list[float]]:
    """Return INFO as numbers."""
    return {key: [float(item) for item in value.split(",")] for key, value in info_of(fields).items()}


@pytest.mark.parametrize("sample", ["A", "B"])
def test_variants_are_gatks(world: Path, tmp_path: Path, sample: str) -> None:
    whole = called(world, tmp_path / "whole.g.vcf.gz", sample, [(CONTIG, 0, LENGTH)])
    ours = {fields[1]: fields for fields in lines_of(whole) if fields[4] != "<NON_REF>"}
    gatks = {fields[1]: fields for fields in lines_of(REAL / f"{sample}.g.vcf.gz") if fields[4] != "<NON_REF>"}
    assert ours.keys() == gatks.keys()
    alike = 0
    for position, fields in ours.items():
        other = gatks[position]
        assert fields[3:5] == other[3:5]
        mine, theirs = sample_of(fields), sample_of(other)
        assert (mine["GT"], *(mine.get(key) for key in PHASE_KEYS)) == (
            theirs["GT"],
            *(theirs.get(key) for key in PHASE_KEYS),
        )
        keys = ("AD", "DP", "GQ", "PL", "SB")
        alike += all(mine[k] == theirs[k] for k in keys) and numbers_of(fields) == numbers_of(other)
    assert alike >= 0.9 * len(ours)


def test_pieces_make_no_difference(world: Path, whole: Path, tmp_path: Path) -> None:
    for borders in ([0, 3000, LENGTH], [0, 1000, 2000, 5000, LENGTH]):
        lines = []
        for number in range(len(borders) - 1):
            piece = [(CONTIG, borders[number], borders[number + 1])]
            lines += lines_of(called(world, tmp_path / f"{number}.g.vcf.gz", "A", piece))
        assert lines == lines_of(whole)


def test_wider_bands_join_blocks(world: Path, whole: Path, tmp_path: Path) -> None:
    """Variants stay, and each position is in the band of its quality in narrow bands."""
    entry, wide = {"sample": "A", "ploidy": 2, "bam": world / "A.bam"}, default_settings("rescore") | {"gq_bands": "20"}
    output = tmp_path / "wide.g.vcf.gz"
    call_gvcf(world / "reference", [entry], [(CONTIG, 0, LENGTH)], output, wide, tmp_path / "A.json")
    narrow, found = lines_of(whole), lines_of(output)
    assert len(found) < len(narrow) / 2
    variants = [fields for fields in narrow if fields[4] != "<NON_REF>"]
    assert [fields for fields in found if fields[4] != "<NON_REF>"] == variants
    sure = {position: int(state != "variant" and state >= 20) for position, state in states(whole).items()}
    for fields in found:
        if fields[4] == "<NON_REF>":
            own = {sure[position] for position in range(int(fields[1]), int(info_of(fields)["END"]) + 1)}
            assert own == {int(int(sample_of(fields)["GQ"]) >= 20)}
    with pysam.VariantFile(str(output)) as file:
        header = str(file.header)
    assert "##GVCFBlock20-100=" in header
    assert "--gq-bands 20" in header


@pytest.mark.full
def test_a_lowest_quality_that_bites_changes_only_joint_calls(world: Path, whole: Path, tmp_path: Path) -> None:
    entry = {"sample": "A", "ploidy": 2, "bam": world / "A.bam"}
    limited = default_settings("rescore") | {"minimum_quality": 3000.0}
    output, calls = tmp_path / "A.g.vcf.gz", list[int]()
    call_gvcf(world / "reference", [entry], [(CONTIG, 0, LENGTH)], output, limited, tmp_path / "A.json")
    assert lines_of(output) == lines_of(whole)
    pysam.tabix_index(str(output), preset="vcf", force=True)
    for quality in (30.0, 3000.0):
        joint = tmp_path / "joint.vcf.gz"
        genotype_gvcfs(world / "reference", [output], [(CONTIG, 0, LENGTH)], joint, quality)
        calls.append(len(lines_of(joint)))
    assert calls[0] > 2 * calls[1]


def test_a_deletion_over_the_border_of_a_piece_is_in_no_block(tmp_path: Path) -> None:
    """Cut pieces within deletions of 1 to 80 bases, some with a substitution or a second deletion close by."""
    length = 12_000
    reference = spaced_genome(3, length)
    planted = [(998, 5), (1990, 13), (2995, 41), (3940, 81), (4985, 5), (4995, 12), (5930, 76), (6999, 2), (8000, 30)]
    both = [(start, reference[start : start + size], reference[start]) for start, size in planted]
    at = 6008  # in the next piece, on the haplotype without the deletion
    other = [one for one in both if one[0] in (1990, 6999)]
    other.insert(1, (at, reference[at], "ACGT"["ACGT".index(reference[at]) - 1]))
    genome = Genome("c", reference, [both, other])
    write_fasta(tmp_path / "genome.fa", {"c": reference})
    reference_stage.build(tmp_path / "genome.fa", tmp_path / "reference", 1 << 20)
    indexed_bam(tmp_path / "reads.bam", {"c": length}, genome.sam_lines(random.Random(4), 1500))
    whole = lines_of(called(tmp_path, tmp_path / "whole.g.vcf.gz", "reads", [("c", 0, length)]))
    deleted = [fields for fields in whole if len(fields[3]) > 1]
    cuts = list(range(0, length + 1, 1000))
    over = [cut for cut in cuts for fields in deleted if int(fields[1]) <= cut < int(fields[1]) + len(fields[3]) - 1]
    assert {1000, 2000, 3000, 4000, 5000, 6000, 7000} <= set(over)
    lines = []
    for piece in pairwise(cuts):
        lines += lines_of(called(tmp_path, tmp_path / "piece.g.vcf.gz", "reads", [("c", *piece)]))
    assert lines == whole
    # Other calls do not matter either: a base removed by a deletion from outside is not called reference.
    parts = [("c", 2040, 2500), ("c", 3960, 4100), ("c", 5950, 6050), ("c", 8020, 8100)]
    together = lines_of(called(tmp_path, tmp_path / "parts.g.vcf.gz", "reads", parts))
    assert together == [
        fields for part in parts for fields in lines_of(called(tmp_path, tmp_path / "part.g.vcf.gz", "reads", [part]))
    ]
    starts = {int(fields[1]) - 1 for fields in together if fields[4] == "<NON_REF>"}
    assert {3940 + 81, 8000 + 30} <= starts
    assert not starts & {3960, 5950, 8020}


def test_only_the_intervals_are_in_blocks(world: Path, tmp_path: Path) -> None:
    intervals = [(CONTIG, 100, 350), (CONTIG, 4120, 4121), (CONTIG, 6900, 7100)]
    gvcf = called(world, tmp_path / "part.g.vcf.gz", "B", intervals)
    wanted = {p + 1 for _, start, end in intervals for p in range(start, end)}
    found = states(gvcf)
    assert wanted <= set(found)
    assert all(found[p] == "variant" for p in set(found) - wanted)
    ledger = json.loads(gvcf.with_suffix(".json").read_text())
    assert list(ledger["reads"]) == ["B"]


@pytest.mark.parametrize("ploidy", [1, 4])
def test_any_ploidy(world: Path, tmp_path: Path, ploidy: int) -> None:
    lines = lines_of(called(world, tmp_path / "ploidy.g.vcf.gz", "C", [(CONTIG, 0, 3000)], ploidy))
    assert any(fields[4] != "<NON_REF>" for fields in lines)
    for fields in lines:
        values = sample_of(fields)
        alleles = 1 + len(fields[4].split(","))
        assert len(values["GT"].replace("|", "/").split("/")) == ploidy
        if alleles == 2:
            assert len(values["PL"].split(",")) == ploidy + 1
            assert values["PL"].startswith("0,")


def test_a_sample_without_reads_is_sure_of_nothing(world: Path, tmp_path: Path) -> None:
    indexed_bam(world / "none.bam", {CONTIG: LENGTH}, [])
    lines = lines_of(called(world, tmp_path / "none.g.vcf.gz", "none", [(CONTIG, 0, LENGTH)]))
    assert [fields[1] for fields in lines] == [str(start + 1) for start in range(0, LENGTH, BLOCK_CUT)]
    assert {fields[9] for fields in lines} == {"0/0:0:0:0:0,0,0"}


def test_htslib_reads_it(whole: Path) -> None:
    with pysam.VariantFile(str(whole)) as file:
        assert "NON_REF" in file.header.alts
        records = list(file)
    assert records[0].stop > records[0].start
    assert sum(1 for line in band_lines() if line.startswith("##GVCFBlock")) == len(BANDS)
    assert band_lines((0, 20)) == [
        "##GVCFBlock0-20=minGQ=0(inclusive),maxGQ=20(exclusive)",
        "##GVCFBlock20-100=minGQ=20(inclusive),maxGQ=100(exclusive)",
    ]  # as HaplotypeCaller -GQB 20
    assert band_lines()[-1] == "##GVCFBlock99-100=minGQ=99(inclusive),maxGQ=100(exclusive)"


@given(st.data())
@settings(max_examples=examples(50), deadline=None)
def test_blocks_are_runs_of_one_band(data: st.DataObject) -> None:
    start = data.draw(st.sampled_from([0, 985, 1990]))
    size = data.draw(st.integers(1, 40))
    second = data.draw(st.lists(st.sampled_from([0, 1, 2, 59, 60, 65, 70, 98, 99, 500]), min_size=size, max_size=size))
    depth = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)), np.int32)
    phreds = np.array([[0, value, value * 3] for value in second], np.int32)
    positions = data.draw(st.lists(st.integers(start, start + size - 1), unique=True, max_size=4))
    variants = [
        VariantRecord("c", p, ("A" * data.draw(st.integers(1, 8)), "<NON_REF>", "C"), None, None, {}, [])
        for p in sorted(positions)
    ]
    begin = data.draw(st.integers(start - 5, start + size))
    deleted = [(begin, begin + data.draw(st.integers(0, 9)))]
    cut = data.draw(st.integers(0, size))
    pieces = [(0, cut), (cut, size)]
    stretches = [
        Stretch(
            start + low,
            depth[low:high],
            phreds[low:high],
            [v for v in variants if start + low <= v.start < start + high],
            deleted,
        )
        for low, high in pieces
    ]
    low = data.draw(st.integers(start, start + size))
    intervals = np.array([[start, low], [min(low + 3, start + size), start + size]])
    bands = data.draw(st.sampled_from([BANDS, (0, 2, 60), (0,)]))
    letters = bytes(data.draw(st.lists(st.sampled_from(b"ACGT"), min_size=size, max_size=size)))

    def line(record: VariantRecord) -> str:
        return f"c\t{record.start + 1}\tvariant {variants.index(record)}\n"

    found = [*with_blocks("c", stretches, intervals, lambda _, a, b: letters[a - start : b - start], 2, line, bands)]
    rows = [row.split("\t") for row in b"".join(lines.text for lines in found).decode().splitlines()]
    inside = [f"variant {n}" for n, v in enumerate(variants) if any(a <= v.start < b for a, b in intervals.tolist())]
    assert [row[2] for row in rows if row[2] != "."] == inside
    assert sum(lines.variants for lines in found) == len(inside)
    assert [int(row[1]) for row in rows] == sorted(int(row[1]) for row in rows)
    # A position is in a block unless it is outside, deleted, or covered by the variant that started last.
    expected: dict[int, int] = {}
    for p in range(start, start + size):
        before = [v for v in variants if v.start <= p]
        wanted = any(a <= p < b for a, b in intervals.tolist()) and not deleted[0][0] <= p < deleted[0][1]
        if wanted and not (before and p < before[-1].start + len(before[-1].alleles[0])):
            expected[p] = max(i for i, low in enumerate(bands) if low <= min(second[p - start], 99))
    got: dict[int, int] = {}
    for _, position, identifier, *columns in rows:
        if identifier != ".":
            continue
        own = range(int(position) - 1, int(columns[4].removeprefix("END=")))
        assert own.start // BLOCK_CUT == (own.stop - 1) // BLOCK_CUT
        depths = sorted(int(depth[p - start]) for p in own)
        least = min(second[p - start] for p in own)
        median = int(np.floor(np.median(depths) + 0.5))
        values = f"0/0:{median}:{min(least, 99)}:{depths[0]}:0,{least},{3 * least}"
        letter = chr(letters[own.start - start])
        assert columns == [letter, "<NON_REF>", ".", ".", f"END={own.stop}", "GT:DP:GQ:MIN_DP:PL", values]
        for p in own:
            assert p not in got
            got[p] = max(i for i, low in enumerate(bands) if low <= min(second[p - start], 99))
        assert len({got[p] for p in own}) == 1
    assert got == expected


def test_the_unnamed_allele_is_the_median_of_the_lesser_ones() -> None:
    likelihoods = np.array([[-1.0, -5.0, -3.0], [-2.0, -2.0, -2.0], [np.nan] * 3, [-1.0, -1.0, -4.0]])
    answer = with_other(likelihoods)[:, 3]
    assert answer[[0, 1, 3]].tolist() == [-4.0, -2.0, -4.0]
    assert np.isnan(answer[2])


def test_what_is_not_active_is_cut_within_tiles() -> None:
    active = np.array([[100, 150], [150, 300], [1500, 2000]])
    assert quiet_regions(active, [50, 1000, 2000]).tolist() == [
        [50, 100], [300, 600], [600, 900], [900, 1000], [1000, 1300], [1300, 1500],
    ]  # fmt: skip
    assert quiet_regions(np.zeros((0, 2), np.int64), [0, 10]).tolist() == [[0, 10]]
