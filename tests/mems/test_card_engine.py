"""Check that a card gives the CPU's output, with little memory, pages in turn and failing allocations."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from quire import index, reference
from quire.algorithms.mems import gpu
from quire.device.backend import Backend
from quire.errors import QuireError
from quire.index import SearchInputs
from quire.mems import search as stage
from quire.mems.search import MemsOutputs, MemsSettings, find_mems

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.support.index_builders import INDEX_PARAMETERS

pytest.importorskip("numba", reason="the stage writes text in Numba")
pytestmark = needs_compiler


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Build a reference of two contigs in three pages, and queries of it."""
    folder = tmp_path_factory.mktemp("mems")
    rng = np.random.default_rng(1)
    unit = "".join(rng.choice(list("ACGT"), 150))
    first, second = ("".join(rng.choice(list("ACGT"), size)) for size in (1700, 800))
    contigs = {"one": first + unit + "N" * 30 + first[:80] + unit, "two": unit[:100] + "n" + second.lower() + "A" * 60}
    fasta = folder / "genome.fa"
    fasta.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in contigs.items()))
    queries = [first[100:700] + "N" + second[:300], unit, "", "ACGT", second[::-1], first[1600:] + unit + "A" * 40]
    (folder / "queries.fa").write_text("".join(f">q{i} x\n{query}\n" for i, query in enumerate(queries) if query))
    reference.build(fasta, folder / "reference", 1024)
    opened = reference.Reference.open(folder / "reference")
    for number in range(len(opened.pages)):
        index.build(opened, number, folder / f"page_{number}", INDEX_PARAMETERS)
    return folder


class WithCard:
    """Replacement for the choice of the backend that returns this card."""

    def __init__(self, monkeypatch, card: EmulatedCard) -> None:
        @contextmanager
        def use_backend(requested, memory="auto"):
            yield Backend("gpu", "a card was found."), lambda: card

        monkeypatch.setattr(stage, "use_backend", use_backend)


def run(folder: Path, name: str, **settings) -> bytes:
    pages = sorted(folder.glob("page_*"))
    inputs = SearchInputs(folder / "reference", pages, folder / "genome.fa", folder / "queries.fa")
    outputs = MemsOutputs(folder / f"{name}.mems", folder / f"{name}.json")
    find_mems(inputs, outputs, MemsSettings(name, threads=2, backend="cpu", **settings))
    return outputs.mems.read_bytes()


@pytest.mark.parametrize("settings", [{"min_length": 12}, {"min_length": 15, "unique": "both"}])
def test_the_same_text(folder, monkeypatch, caplog, settings) -> None:
    wanted = run(folder, "cpu", **settings)
    assert wanted.count(b"\n") > 12
    card = EmulatedCard()
    WithCard(monkeypatch, card)
    assert run(folder, "card", **settings) == wanted
    # With so little memory, pages are loaded in turn and few matches fit at a time.
    monkeypatch.setattr(gpu, "FEWEST_SEEDS", 16)
    small = EmulatedCard(memory=60_000)
    assert small.arrays.size < card.arrays.most_taken
    WithCard(monkeypatch, small)
    with caplog.at_level("INFO", "quire"):
        assert run(folder, "small", **settings) == wanted
    assert any("of 3 pages of the index stay" in record.getMessage() for record in caplog.records)


def test_a_full_card_goes_on_with_fewer(folder, monkeypatch, caplog) -> None:
    wanted = run(folder, "cpu", min_length=12)
    card = EmulatedCard()
    WithCard(monkeypatch, card)
    find, failures = stage.MemsCardEngine._find, [20, 5]

    def failing(self, *given):
        if failures:
            card.fail_allocation(failures.pop())
        return find(self, *given)

    monkeypatch.setattr(stage.MemsCardEngine, "_find", failing)
    with caplog.at_level("INFO", "quire.mems"):
        assert run(folder, "card", min_length=12) == wanted
    assert sum("the card is out of memory" in record.getMessage() for record in caplog.records) == 2


def test_a_card_without_room_is_said_in_a_sentence(folder, monkeypatch) -> None:
    WithCard(monkeypatch, EmulatedCard(memory=20_000))
    with pytest.raises(QuireError, match=r"do not fit|pages; build the index"):
        run(folder, "card", min_length=12)
