"""Copy numbers from depth, beside their oracles and on simulated counts of reads."""

import itertools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from quire import reference
from quire.finish.evidence_cpu import CLIP, PAIR, WINDOW, Evidence
from quire.io import vcf
from quire.io.vcf import VariantRecord
from quire.reference import Reference
from quire.rescore.ploidy import PloidyMap
from quire.structural.content_cpu import LENGTH, Content, content_of
from quire.structural.copies import SampleCopies, copies_of, copies_within
from quire.structural.copies_cpu import HIGHEST, LOG_CHANGE, NOISE, likeliest_copies, likelihoods
from quire.structural.copies_plots import POINTS, plots_of
from quire.structural.copies_records import CopyRecords
from quire.structural.records import DEFINITIONS, DEPTH, FIELDS

from tests.oracles.copies import log_probability, score_of_path, single_words

LENGTHS = {"one": 400_000, "two": 150_000, "small": 20_000}
GAP = range(200_000, 220_000)  # N of the first contig
BORDERS = ((50_000, 65_000, 1), (100_000, 112_350, 0), (190_000, 240_000, 3), (300_000, 311_000, 4))  # of it
LEFT_OF_TWO = 30_000  # bases of the second contig with a copy more than its ploidy, 1


def _letters(generator: np.random.Generator, size: int, gc: float = 0.5) -> str:
    return "".join(generator.choice(list("ACGT"), size, p=[(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2]))


def _built(folder: Path, genome: dict[str, str]) -> Reference:
    (folder / "genome.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in genome.items()))
    reference.build(folder / "genome.fa", folder / "reference", 1 << 20)
    return Reference.open(folder / "reference")


def _first_window(opened: Reference) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(-(-opened.contig_lengths // WINDOW))]).astype(np.int64)


def test_words_are_counted_as_by_the_oracle(tmp_path: Path) -> None:
    """Repeats on both strands, Ns, a palindrome, and contigs shorter than a word."""
    generator = np.random.default_rng(3)
    text = _letters(generator, 1500)
    half, complement = _letters(generator, 60), str.maketrans("ACGT", "TGCA")
    turned = text[300:650].translate(complement)[::-1]
    palindrome = half + half.translate(complement)[::-1]
    one = text + text[200:420] + "N" * 30 + palindrome + "R" + _letters(generator, 333)
    genome = {"one": one, "short": _letters(generator, LENGTH - 1), "two": _letters(generator, 250) + turned}
    opened = _built(tmp_path, genome)
    content = content_of(opened, _first_window(opened), spacing=1)
    plain = {name: letters.replace("R", "N") for name, letters in genome.items()}
    expected = [pair for rows in single_words(plain, LENGTH, WINDOW).values() for pair in rows]
    assert [*zip(content.words.tolist(), content.single.tolist(), strict=True)] == expected
    pieces = [letters[at : at + WINDOW] for letters in plain.values() for at in range(0, len(letters), WINDOW)]
    assert content.known.tolist() == [len(piece) - piece.count("N") for piece in pieces]
    assert content.gc.tolist() == [piece.count("G") + piece.count("C") for piece in pieces]
    some = content_of(opened, _first_window(opened), spacing=4)  # the same words of all copies
    assert 0 < some.words.sum() < content.words.sum() / 2
    assert (some.single[content.single == content.words] == some.words[content.single == content.words]).all()
    assert (some.single[content.single == 0] == 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_path_is_the_best_of_all(seed: int) -> None:
    """The path is the best of all paths of a few windows on two contigs, by a plain score."""
    generator = np.random.default_rng(seed)
    contigs = np.array([0] * 4 + [1] * 2, np.int32)
    expected, weight = generator.uniform(5, 9, 6), (1.0, 0.6)[seed % 2]
    reads = generator.poisson(expected * generator.permutation([0, 1, 1, 6, 8, 12]))
    path = likeliest_copies(reads, expected, contigs, 0.02, weight)
    for own in (slice(0, 4), slice(4, 6)):
        given = reads[own].tolist(), expected[own].tolist(), 0.02, weight, NOISE, LOG_CHANGE
        paths = itertools.product(range(HIGHEST + 1), repeat=own.stop - own.start)
        best = max(score_of_path(one, *given) for one in paths)
        assert score_of_path(path[own].tolist(), *given) == pytest.approx(best, abs=1e-9)


def test_likelihoods_are_those_of_the_distribution() -> None:
    """But for a term that is the same for all copy numbers."""
    reads, expected = np.array([31, 0, 90]), np.array([15.0, 14.5, 20.0])
    found = likelihoods(reads, expected, 0.01, 0.5)
    windows = [*zip(reads.tolist(), expected.tolist(), strict=True)]
    plain = [
        sum(0.5 * log_probability(count, one * max(copies, NOISE), 0.01) for count, one in windows)
        for copies in range(HIGHEST + 1)
    ]
    assert found - found[0] == pytest.approx(np.array(plain) - plain[0], abs=1e-9)


class Counted:
    """A genome whose GC content changes along it, and counts of reads of samples."""

    def __init__(self, folder: Path) -> None:
        generator = np.random.default_rng(5)
        genome = {
            name: "".join(_letters(generator, 1000, generator.uniform(0.3, 0.6)) for _ in range(size // 1000))
            for name, size in LENGTHS.items()
        }
        one = genome["one"]
        genome["one"] = one[: GAP.start] + "N" * len(GAP) + one[GAP.stop :]
        self.reference = _built(folder, genome)
        self.first_window = _first_window(self.reference)
        self.content = content_of(self.reference, self.first_window)

    def evidence(self, copies: NDArray[np.float64], each: float, seed: int) -> Evidence:
        """Draw the reads that start in each short window of given copies; a third is lost at a GC content of 60 %."""
        share = self.content.gc / np.maximum(self.content.known, 1)
        mean = each * copies * (1 - 3.3 * np.maximum(share - 0.5, 0)) * (self.content.known > 0)
        starts = np.random.default_rng(seed).poisson(mean).astype(np.int32)
        return Evidence(
            np.empty(0, CLIP), np.empty(0, PAIR), np.empty((0, 2), np.int64), starts, self.first_window, 500
        )

    def copies(self, changed: bool) -> NDArray[np.float64]:
        """Return the copies of each short window: two on the first contig, one on the second, and if asked, others."""
        copies = np.full(int(self.first_window[-1]), 2.0)
        copies[self.first_window[1] : self.first_window[2]] = 1
        if changed:
            for start, end, number in BORDERS:
                copies[start // WINDOW : end // WINDOW] = number
            copies[self.first_window[1] : self.first_window[1] + LEFT_OF_TWO // WINDOW] = 2
        return copies

    def found(self, changed: bool, each: float = 10.0, seed: int = 1) -> SampleCopies | None:
        """Call a sample."""
        ploidies = PloidyMap(2, {"two": [0]}, {"two": [1]})
        return copies_of(self.reference, self.evidence(self.copies(changed), each, seed), self.content, ploidies)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Counted:
    """Make the genome once."""
    return Counted(tmp_path_factory.mktemp("counted"))


def _spans(found: SampleCopies | None) -> list[tuple[int, int, int, int]]:
    assert found is not None
    return [(one.contig, one.start.position, one.end.position, one.copies) for one in found.segments]


def test_segments_have_their_copies_and_ends(counted: Counted) -> None:
    """Also over a gap of the reference, at the end of a contig, and where the ploidy is one."""
    found = counted.found(True)
    assert found is not None
    expected = [(0, *border) for border in BORDERS] + [(1, 0, LEFT_OF_TWO, 2)]
    for segment, (contig, start, end, copies) in zip(found.segments, expected, strict=True):
        assert (segment.contig, segment.copies) == (contig, copies)
        for place, position in ((segment.start, start), (segment.end, end)):
            assert abs(place.position - position) <= 10 * WINDOW
            assert place.low - WINDOW <= position <= place.high + WINDOW
    assert len(found.depth.contig[found.depth.contig == 2]) == 0  # a contig with few windows


def test_few_reads_do_not_split_a_segment(counted: Counted) -> None:
    """Reads that are placed wrongly into a lost span leave it one segment."""
    copies = counted.copies(False)
    first, middle, last = 300, 425, 600
    copies[first:last] = 0
    copies[middle : middle + 4] = 2
    evidence = counted.evidence(copies, 10.0, 1)
    found = copies_of(counted.reference, evidence, counted.content, PloidyMap(2, {"two": [0]}, {"two": [1]}))
    ((_, start, end, number),) = _spans(found)
    assert number == 0
    assert abs(start - first * WINDOW) <= 10 * WINDOW
    assert abs(end - last * WINDOW) <= 10 * WINDOW


@pytest.mark.parametrize("seed", range(3))
def test_no_segments_without_changes(counted: Counted, seed: int) -> None:
    """Neither the GC content nor chance gives a segment."""
    assert _spans(counted.found(False, seed=seed)) == []


def test_depth_in_waves_gives_no_segments(counted: Counted) -> None:
    """Windows that vary together count less; segments shorter than the waves are still found."""
    wave = np.exp(0.15 * np.sin(np.arange(int(counted.first_window[-1])) / 100))
    for changed in (False, True):
        evidence = counted.evidence(counted.copies(changed) * wave, 20.0, 1)
        found = copies_of(counted.reference, evidence, counted.content, PloidyMap(2, {"two": [0]}, {"two": [1]}))
        assert found is not None
        assert found.depth.weight < 0.5
        expected = [*(copies for *_, copies in BORDERS), 2] if changed else []
        assert [copies for *_, copies in _spans(found)] == expected


def test_windows_grow_with_few_reads(counted: Counted) -> None:
    """Long segments are found in them; with too few reads nothing is said."""
    found = counted.found(True, each=2.0)
    assert found is not None
    assert 13 <= found.depth.size <= 18
    assert (0, 3) in [(contig, copies) for contig, *_, copies in _spans(found)]
    assert counted.found(True, each=0.1) is None
    assert counted.found(True, each=0.0) is None


def test_copies_of_a_span(counted: Counted) -> None:
    """A part of a segment and a span beside it have copy numbers, and a short span has none."""
    found = counted.found(True)
    assert found is not None
    inside, beside, short = (
        copies_within(found, 0, *span) for span in ((101_000, 111_000), (120_000, 180_000), (120_000, 122_000))
    )
    assert inside is not None
    assert (inside.copies, inside.ploidy) == (0, 2)
    assert inside.change > 100
    assert beside is not None
    assert (beside.copies, beside.change) == (2, 0)
    assert beside.lead > 100
    assert short is None


def _junction(kind: str, start: int, end: int, filters: tuple[str, ...] = ()) -> VariantRecord:
    info = {"SVTYPE": kind, "SVLEN": [end - start], "END": end, "SVCLAIM": ["J"]}
    samples = [{"GT": "0/1"}, {"GT": "0/0"}, {"GT": "./."}]
    return VariantRecord("one", start - 1, ("N", f"<{kind}>"), 99.0, filters, info, samples, "junction")


def _records(counted: Counted, junctions: list[VariantRecord]) -> list[VariantRecord]:
    samples = [counted.found(True), counted.found(True, each=4.0, seed=2), None]
    return CopyRecords(counted.reference, samples).added_to(junctions)


def test_segments_of_several_samples_are_one_record(counted: Counted) -> None:
    """Each has the copies of all samples, and genotypes that follow from them."""
    made = _records(counted, [])
    assert [(one.contig, one.info["SVTYPE"]) for one in made] == [
        *[("one", "DEL")] * 2, *[("one", "DUP")] * 2, ("two", "DUP")]  # fmt: skip
    for record, genotype, copies in zip(made, ("0/1", "1/1", "0/1", "./1", "1"), (1, 0, 3, 4, 2), strict=True):
        assert [own["GT"] for own in record.samples] == [genotype, genotype, "."]
        assert [own["CN"] for own in record.samples] == [copies, copies, None]
        assert (record.filters, record.info["SVCLAIM"], record.info["IMPRECISE"]) == ((), ["D"], True)


def test_junctions_and_segments_that_agree_are_one_record(counted: Counted) -> None:
    """A junction of another kind or place does not; one whose copy number is the ploidy fails."""
    agreeing = _junction("DEL", 49_950, 65_020, ("FEW_READS",))
    others = [_junction("DUP", 100_000, 112_350), _junction("DEL", 250_000, 290_000), _junction("DEL", 9000, 9500)]
    merged, wrong, usual, short, *made = _records(counted, [agreeing, *others])
    assert (merged.filters, merged.info["SVCLAIM"], merged.samples[0]["CN"]) == ((), ["DJ"], 1)
    assert (wrong.filters, wrong.samples[0]["CN"]) == ((DEPTH,), 0)
    assert (usual.filters, usual.samples[0]["CN"]) == ((DEPTH,), 2)
    assert (short.filters, "CN" in short.samples[0]) == ((), False)
    assert next(one.start for one in made if one.contig == "one") > 99_000
    assert len(made) == len(BORDERS)


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_bcftools_reads_the_records(counted: Counted, tmp_path: Path) -> None:
    """It says nothing about them."""
    head = vcf.header([*LENGTHS.items()], ["a", "b", "c"], FIELDS, DEFINITIONS, (), "4.4")
    path = tmp_path / "made.vcf.gz"
    vcf.write_part(path, head, [record.line(FIELDS) for record in _records(counted, [])])
    command = ["bcftools", "query", "-f", "%POS %INFO/END [%CN ]\\n", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert [line.split()[2:] for line in done.stdout.splitlines()][:2] == [["1", "1", "."], ["0", "0", "."]]


def test_plots_have_the_medians_and_the_segments(counted: Counted) -> None:
    """All contigs with windows have plots; stretches of N have no points, and a sample without copies no contigs."""
    found = counted.found(True)
    assert found is not None
    plots = plots_of(counted.reference, ["a", "b"], [found, None])
    assert plots["b"] == []
    one, two = plots["a"]
    assert [(own["name"], own["length"]) for own in (one, two)] == [*LENGTHS.items()][:2]
    each = LENGTHS["one"] // POINTS
    assert [at for at, value in enumerate(one["copies"]) if value is None] == [*range(200_000 // each, 220_000 // each)]
    assert one["copies"][104_000 // each] == 0
    assert abs(one["copies"][304_000 // each] - 4) < 0.5
    assert [copies for *_, copies in one["segments"]] == [copies for *_, copies in BORDERS]
    assert [copies for *_, copies in two["segments"]] == [2]


def test_content_of_windows_is_bytes(counted: Counted) -> None:
    """Its arrays are small: a genome has millions of windows."""
    assert isinstance(counted.content, Content)
    assert all(values.dtype == np.uint8 for values in counted.content)
