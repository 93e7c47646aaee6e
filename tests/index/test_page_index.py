"""Check the index of a page on disk: search over pages against the whole text, and refusal of invalid folders."""

from pathlib import Path

import numpy as np
import pytest
from quire import index, reference
from quire.errors import InputError, QuireError
from quire.index import open_page
from quire.index.arrays import cpu as arrays_cpu
from quire.reference import Reference
from quire.reference.construction import PAGE_OVERLAP

from tests.oracles import fm_index as oracle
from tests.oracles.suffix_array import suffix_array as naive_suffix_array
from tests.support.builders import genomes, write_fasta
from tests.support.fm_index_search import intervals, owned_counts, positions_of_rows
from tests.support.index_builders import INDEX_PARAMETERS

ARRAYS = ["blocks", "C", "prefix_table", "suffix_array", "sampled_rows", "unowned_rows"]


def build_pages(folder: Path, contigs: dict[str, str], page_size: int, **parameters: int) -> tuple[Reference, list]:
    """Build a reference and the indexes of all its pages, and open them."""
    reference.build(write_fasta(folder / "genome.fa", contigs), folder / "reference", page_size)
    opened = Reference.open(folder / "reference")
    for number in range(len(opened.pages)):
        index.build(folder / "reference", number, folder / f"page_{number}", INDEX_PARAMETERS | parameters)
    return opened, [open_page(folder / f"page_{number}", opened) for number in range(len(opened.pages))]


def patterns_of(axis: np.ndarray, generator: np.random.Generator) -> list[np.ndarray]:
    """Return pieces of the axis up to the overlap of pages, also across page ends, and some that may not occur."""
    patterns = []
    for length in (1, 3, 8, 20, 64, 150, PAGE_OVERLAP):
        for start in [*generator.integers(0, axis.size - length, 4).tolist(), 2048 - length // 2]:
            patterns.append(axis[start : start + length].copy())
    patterns += [generator.integers(0, 4, 6).astype(np.uint8) for _ in range(5)]
    return patterns


@pytest.mark.parametrize("kind", ["random", "repetitive", "single"])
@pytest.mark.parametrize(
    ("page_size", "sampling_distance", "sa_sampling"),
    [(2048, 64, 1), (2500, 192, 4), (1024, 448, 1), (1 << 30, 64, 32), (1 << 30, 960, 1)],
)
def test_pages_add_up_to_the_whole_text(
    tmp_path: Path, kind: str, page_size: int, sampling_distance: int, sa_sampling: int
) -> None:
    """Owned counts and owned positions, summed over pages, equal those of the whole axis."""
    parameters = {"sampling_distance": sampling_distance, "sa_sampling": sa_sampling}
    opened, pages = build_pages(tmp_path, genomes()[kind], page_size, **parameters)
    axis = np.concatenate([opened.page_codes(number)[: page.owned_length] for number, page in enumerate(pages)])
    patterns = patterns_of(axis, np.random.default_rng(5))
    offsets = np.cumsum([0] + [pattern.size for pattern in patterns])
    counts = np.zeros(len(patterns), dtype=np.int64)
    hits: list[list[int]] = [[] for _ in patterns]
    for page in pages:
        found = intervals(page, np.concatenate(patterns), offsets)
        counts += owned_counts(page, found)
        for pattern_hits, (low, high) in zip(hits, found.tolist(), strict=True):
            positions = positions_of_rows(page, np.arange(low, high))
            pattern_hits += (page.start + positions[positions < page.owned_length]).tolist()
    for pattern, count, pattern_hits in zip(patterns, counts.tolist(), hits, strict=True):
        assert sorted(pattern_hits) == oracle.positions(axis, pattern)
        assert count == len(pattern_hits)


@pytest.mark.parametrize("sa_sampling", [1, 8])
def test_arrays_against_their_definitions(tmp_path: Path, sa_sampling: int) -> None:
    """Covers suffix array, C, sampled and unowned rows of every page; the arrays are read-only."""
    opened, pages = build_pages(tmp_path, genomes()["random"], 3000, sa_sampling=sa_sampling)
    for number, page in enumerate(pages):
        codes = opened.page_codes(number)
        rows = naive_suffix_array(codes)
        assert page.C[4] == codes.size + 1
        assert page.primary == rows.tolist().index(0)
        assert page.C.tolist() == [1 + int((codes < code).sum()) for code in range(5)]
        kept = rows % sa_sampling == 0
        np.testing.assert_array_equal(page.suffix_array, rows[kept])
        np.testing.assert_array_equal(page.unowned_rows, np.flatnonzero(rows >= page.owned_length))
        if sa_sampling > 1:
            bits = np.unpackbits(page.sampled_rows[0::2].copy().view(np.uint8), bitorder="little")[: rows.size]
            np.testing.assert_array_equal(bits, kept)
            before = np.concatenate(([0], np.cumsum(kept)))[: rows.size : 64]
            np.testing.assert_array_equal(page.sampled_rows[1::2], before)
        assert not any(getattr(page, name).flags.writeable for name in ARRAYS)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a reference of two pages and the index of the first."""
    folder = tmp_path_factory.mktemp("small")
    reference.build(write_fasta(folder / "genome.fa", genomes()["random"]), folder / "reference", 4096)
    index.build(folder / "reference", 0, folder / "page_0", INDEX_PARAMETERS)
    return folder


@pytest.mark.parametrize("name", ARRAYS)
def test_one_flipped_byte_in_any_array(small: Path, tmp_path: Path, name: str) -> None:
    """A damaged array is refused by name."""
    opened = Reference.open(small / "reference")
    for file in (small / "page_0").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    open_page(tmp_path, opened)
    path = tmp_path / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}.npy: does not match its checksum"):
        open_page(tmp_path, opened)


def test_index_of_another_reference_or_page_size(small: Path, tmp_path: Path) -> None:
    """An index is bound to its reference's bases and pages."""
    contigs = genomes()["random"]
    reference.build(small / "genome.fa", tmp_path / "other_pages", 2048)
    contigs["HLA-A*01:01"] = "ACGT" + contigs["HLA-A*01:01"][4:]
    reference.build(write_fasta(tmp_path / "other.fa", contigs), tmp_path / "other_bases", 4096)
    for other in ("other_pages", "other_bases"):
        with pytest.raises(InputError, match="was built from another reference or page size"):
            open_page(small / "page_0", Reference.open(tmp_path / other))


def test_a_reference_is_not_an_index(small: Path) -> None:
    """The message names the wrong folder."""
    with pytest.raises(InputError, match=r"manifest.json: is the manifest of kind 'reference', not 'index'"):
        open_page(small / "reference", Reference.open(small / "reference"))


def test_no_memory_is_one_sentence(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job with too little memory for its page fails with one sentence and leaves no files."""

    def fail(*_: object) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr(arrays_cpu, "suffix_array", fail)
    with pytest.raises(QuireError, match=r"memory is not sufficient to index \d+ bases"):
        index.build(small / "reference", 0, tmp_path / "out/page", INDEX_PARAMETERS)
    assert list((tmp_path / "out").iterdir()) == []
