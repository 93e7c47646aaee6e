"""Check indexes of pages made on a card, byte for byte, against the CPU's."""

from pathlib import Path

import numpy as np
import pytest
from pydivsufsort import divsufsort

pytest.importorskip("numba", reason="the CPU's kernels, to compare with")

from quire import index, reference
from quire.algorithms.suffix_array.gpu import suffix_array as sort_on_card
from quire.algorithms.suffix_array.gpu import upload_text
from quire.errors import QuireError
from quire.reference import Reference

from tests.emulator.emulated_card import SCHEDULES, EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.support.builders import genomes, write_fasta
from tests.support.card_builders import pack
from tests.support.index_builders import INDEX_PARAMETERS

pytestmark = [needs_compiler, pytest.mark.full]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("kind", "page_size", "sampling_distance", "sa_sampling", "schedule"),
    [
        ("random", 2048, 64, 1, "forward"),
        ("random", 2500, 192, 4, "reverse"),
        ("random", 1 << 30, 960, 32, "random"),
        ("repetitive", 1024, 448, 1, "random"),
        ("repetitive", 1 << 30, 64, 8, "forward"),
        ("single", 2500, 64, 5, "reverse"),
        ("single", 1 << 30, 960, 1, "random"),
    ],
)
def test_directories_are_the_same(
    tmp_path: Path, kind: str, page_size: int, sampling_distance: int, sa_sampling: int, schedule: str
) -> None:
    parameters = {"sampling_distance": sampling_distance, "sa_sampling": sa_sampling}
    reference.build(write_fasta(tmp_path / "genome.fa", genomes()[kind]), tmp_path / "reference", page_size)
    opened = Reference.open(tmp_path / "reference")
    for number in range(len(opened.pages)):
        index.build(opened, number, tmp_path / "cpu", parameters)
        index.build(opened, number, tmp_path / "card", parameters, EmulatedCard(schedule))
        assert files(tmp_path / "card") == files(tmp_path / "cpu")


def test_a_card_without_room_leaves_the_page_to_the_cpu(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reference.build(write_fasta(tmp_path / "genome.fa", genomes()["random"]), tmp_path / "reference", 1 << 30)
    opened = Reference.open(tmp_path / "reference")
    index.build(opened, 0, tmp_path / "cpu", INDEX_PARAMETERS)
    for memory in (20_000, 60_000):
        index.build(opened, 0, tmp_path / "card", INDEX_PARAMETERS, EmulatedCard(memory=memory))
        assert files(tmp_path / "card") == files(tmp_path / "cpu")
        assert "emulated card lacks memory" in caplog.text
        caplog.clear()
        card = EmulatedCard(memory=memory)
        with pytest.raises(
            QuireError, match=r"page 0: emulated card lacks memory to index .* smaller reference\.page_size"
        ):
            index.build(opened, 0, tmp_path / "none", INDEX_PARAMETERS, card, "gpu")
        assert not (tmp_path / "none").exists()


def test_memory_that_fails_anywhere_changes_nothing(tmp_path: Path) -> None:
    """The index is complete even if any one allocation fails."""
    reference.build(write_fasta(tmp_path / "genome.fa", {"a": "ACGTTTGCA" * 150}), tmp_path / "reference", 1 << 30)
    opened = Reference.open(tmp_path / "reference")
    index.build(opened, 0, tmp_path / "cpu", INDEX_PARAMETERS | {"sa_sampling": 2})
    wanted = files(tmp_path / "cpu")
    for number in range(1, 60, 4):
        card = EmulatedCard()
        card.fail_allocation(number)
        index.build(opened, 0, tmp_path / "card", INDEX_PARAMETERS | {"sa_sampling": 2}, card)
        assert files(tmp_path / "card") == wanted


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_longer_texts(schedule: str) -> None:
    """The results equal those of libdivsufsort."""
    generator = np.random.default_rng(8)
    codes = generator.integers(0, 4, 40_000).astype(np.uint8)
    codes[1000:3000] = 0
    codes[5000:9000] = np.tile(codes[5000:5010], 400)
    codes[25_000:] = codes[4000:19_000]
    card = EmulatedCard(schedule)
    rows = card.download(sort_on_card(card, upload_text(card, pack(codes), 0, len(codes))))
    assert np.array_equal(rows[1:], divsufsort(codes))
