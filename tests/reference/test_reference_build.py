"""The reference directory against pysam and against a plain walk over the sequence."""

import gc
import hashlib
import random
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire import reference
from quire.errors import InputError
from quire.reference import Reference, fasta, storage
from quire.reference.axis import SEPARATING_RUN
from quire.reference.construction import page_bounds
from quire.sequence.packing import unpack

from tests.support.builders import random_bases, write_fasta, write_text
from tests.support.examples import examples

LARGEST = 1 << 30
ODD_NAMES = ["HLA:HLA00001", "HLA-A*01:01:01:01", "HLA-B*07,02", "chrUn_KI270302v1", "1", "a|b|c;d=1", "#~%&+@!$^_?/"]


def built(folder: Path, contigs: dict[str, str], page_size: int = LARGEST) -> Reference:
    """Write contigs as FASTA, build the reference and open it."""
    source = write_fasta(folder / "genome.fa", contigs)
    reference.build(source, folder / "reference", page_size)
    return Reference.open(folder / "reference", fasta=source)


def islands_of(contigs: dict[str, str]) -> list[tuple[int, int, str]]:
    """(contig, start, letters) of every island, by a regular expression: the slow definition."""
    found = []
    for number, sequence in enumerate(contigs.values()):
        upper = re.sub("[^ACGT]", "N", sequence.upper())
        start = 0
        for gap in [*re.finditer(f"N{{{SEPARATING_RUN},}}", upper), None]:
            end = gap.start() if gap else len(upper)
            if upper[start:end].strip("N"):
                found.append((number, start, upper[start:end]))
            start = gap.end() if gap else end
    return found


stretches = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["N", "n", "R"]), st.integers(1, 45)).map(lambda drawn: drawn[0] * drawn[1]),
        st.text(alphabet="ACGTacgt", min_size=1, max_size=50),
    ),
    min_size=1,
    max_size=8,
).map("".join)


@given(sequences=st.lists(stretches, min_size=1, max_size=4), block_size=st.sampled_from([7, 64, 1 << 22]))
@settings(max_examples=examples(80), deadline=None)
def test_islands_and_ambiguous_runs(tmp_path_factory, sequences: list[str], block_size: int) -> None:
    """Islands, stand-ins, coordinates and letters, wherever the blocks of the file are cut."""
    contigs = {f"c{number}": sequence for number, sequence in enumerate(sequences)}
    folder = tmp_path_factory.mktemp("islands")
    expected = islands_of(contigs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasta, "BLOCK_SIZE", block_size)
        patch.setattr(fasta, "_MIN_LETTERS_TO_JUDGE", 1000)  # drawn records of R alone are not protein here
        if not expected:
            with pytest.raises(InputError, match="no A, C, G or T"):
                built(folder, contigs)
            return
        opened = built(folder, contigs)
    found = list(zip(opened.island_contig.tolist(), opened.island_start.tolist(), strict=True))
    assert found == [(contig, start) for contig, start, _ in expected]
    axis = "".join(letters for _, _, letters in expected)
    assert opened.axis_length == len(axis)
    assert "".join("ACGTN"[code] for code in opened.codes(0, len(axis))) == axis
    assert opened.text.size == -(-len(axis) // 32) + 2
    assert not unpack(opened.text, len(axis), 32 * opened.text.size).any()
    covered = {position for start, end in opened.ambiguous.tolist() for position in range(start, end)}
    assert covered == {position for position, letter in enumerate(axis) if letter == "N"}
    places = [(contig, start + i) for contig, start, island in expected for i in range(len(island))]
    found, positions = opened.axis_to_contig(np.arange(len(axis)))
    assert list(zip(found.tolist(), positions.tolist(), strict=True)) == places
    for number, (name, sequence) in enumerate(contigs.items()):
        letters = ["N"] * len(sequence)
        for contig, start, island in expected:
            if contig == number:
                letters[start : start + len(island)] = island
        assert opened.sequence(name, 0, len(sequence)).decode() == "".join(letters)


@pytest.mark.parametrize("block_size", [7, 1 << 22])
def test_masked_bases_are_n(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_size: int) -> None:
    """The directory is that of a FASTA with N there, apart from the checksums, which stay those of the letters."""
    generator = random.Random(block_size)
    contigs = {"a": random_bases(generator, 300), "b": random_bases(generator, 200), "c": random_bases(generator, 50)}
    regions = [("a", 0, 30), ("a", 100, 105), ("a", 103, 140), ("c", 20, 50), ("a", 299, 300)]
    hidden = {name: list(bases) for name, bases in contigs.items()}
    for name, start, end in regions:
        hidden[name][start:end] = "N" * (end - start)
    monkeypatch.setattr(fasta, "BLOCK_SIZE", block_size)
    mask = write_text(tmp_path / "mask.bed", "".join(f"{name}\t{start}\t{end}\n" for name, start, end in regions))
    source = write_fasta(tmp_path / "plain.fa", contigs)
    reference.build(source, tmp_path / "masked", LARGEST, mask=mask)
    masked = Reference.open(tmp_path / "masked", fasta=source)
    (tmp_path / "n").mkdir()
    expected = built(tmp_path / "n", {name: "".join(bases) for name, bases in hidden.items()})
    for key in ("islands", "axis_length", "pages", "checksums"):
        assert masked.manifest[key] == expected.manifest[key], key
    assert masked.contig_checksums == [hashlib.md5(bases.encode()).hexdigest() for bases in contigs.values()]
    assert masked.contig_checksums[1] == expected.contig_checksums[1]


@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzip"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_round_trip_against_pysam(tmp_path: Path, compression: str, line_end: str) -> None:
    """Any compression and line ends, lower case, comments after names, odd names, random ranges."""
    generator = random.Random(7)
    contigs = {name: random_bases(generator, generator.randrange(1, 3000), "ACGTacgtN") for name in ODD_NAMES}
    plain = write_fasta(tmp_path / "plain.fa", contigs, width=57)
    text = plain.read_text().replace(">1\n", ">1 a comment\tand more\n").replace("\n", line_end)
    suffix = "" if compression == "plain" else ".gz"
    source = write_text(tmp_path / f"genome.fa{suffix}", text, compression)
    reference.build(source, tmp_path / "reference", 2048)
    opened = Reference.open(tmp_path / "reference", fasta=plain)
    with pysam.FastaFile(str(plain)) as witness:
        assert opened.contig_names == list(witness.references)
        assert opened.contig_lengths.tolist() == list(witness.lengths)
        for name in contigs:
            for _ in range(20):
                start, end = sorted(generator.choices(range(len(contigs[name]) + 1), k=2))
                expected = witness.fetch(name, start, end).upper() if start < end else ""
                assert opened.sequence(name, start, end).decode() == expected
    with pytest.raises(ValueError, match="not within"):
        opened.sequence("1", 0, len(contigs["1"]) + 1)
    with pytest.raises(ValueError, match="'chr1' is not a contig"):
        opened.sequence("chr1", 0, 1)


def test_iupac_codes_and_uracil(tmp_path: Path) -> None:
    """Codes for several bases are ambiguous, U is T, and text after the last line end is optional."""
    source = write_text(tmp_path / "genome.fa", ">x\nACGURYSWKMBDHVN\n\nuacgtacgtacgt\n \n>y\nAC GT")
    reference.build(source, tmp_path / "reference", LARGEST)
    opened = Reference.open(tmp_path / "reference")
    assert opened.sequence("x", 0, 28) == b"ACGTNNNNNNNNNNNTACGTACGTACGT"
    assert opened.sequence("y", 0, 4) == b"ACGT"


def test_stand_ins_look_random(tmp_path: Path) -> None:
    """Stand-ins are fixed, and of all four codes."""
    contigs = {"x": ("ACGT" + "N" * 16) * 200}
    opened = built(tmp_path, contigs)
    codes = unpack(opened.text, 0, opened.axis_length).reshape(-1, 20)[:, 4:]
    assert (np.bincount(codes.reshape(-1), minlength=4) > 700).all()
    again = built(tmp_path, contigs)
    assert (again.text == opened.text).all()


def test_pages(tmp_path: Path) -> None:
    """Pages own the axis without gaps and overlap by more than a read."""
    opened = built(tmp_path, {"x": random_bases(random.Random(1), 10_000)}, page_size=4000)
    bounds = [(page.start, page.owned_end, page.end) for page in opened.pages]
    assert bounds == [(0, 4000, 5280), (4000, 8000, 9280), (8000, 10_000, 10_000)]
    assert page_bounds(4000, 4000) == [(0, 4000, 4000)]
    assert (opened.page_codes(1) == opened.codes(4000, 9280)).all()


def test_many_small_contigs(tmp_path: Path) -> None:
    """Records shorter than a word of the packed axis, several in one block."""
    generator = random.Random(3)
    contigs = {f"c{number}": random_bases(generator, generator.randrange(1, 40)) for number in range(500)}
    opened = built(tmp_path, contigs)
    assert [opened.sequence(name, 0, len(bases)).decode() for name, bases in contigs.items()] == list(contigs.values())


def test_threads_open_arrays_at_once(tmp_path: Path) -> None:
    """Collections of garbage, during which other threads run, fall into the parsing of heads."""
    np.save(tmp_path / "x.npy", np.zeros((59, 8), np.uint64))
    often, interval = gc.get_threshold(), sys.getswitchinterval()

    def let_others_run(*_: object) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    gc.set_threshold(20)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda _: storage.open_array(tmp_path, {}, "x", verify=False).shape, range(1000)))
    finally:
        gc.callbacks.remove(let_others_run)
        gc.set_threshold(*often)
        sys.setswitchinterval(interval)
    assert set(opened) == {(59, 8)}
