"""Complete search on a card that runs out of memory: batches are halved, and nothing is lost."""

import numpy as np
import pytest
from quire.algorithms.complete import gpu
from quire.algorithms.complete.seeds import gpu as seeds
from quire.algorithms.complete.trie import gpu as trie
from quire.device.card import OutOfDeviceMemory

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.support.complete_cases import card_case, cut_into, draw_islands, draw_reads, expected_ends, rows_of
from tests.support.examples import some

pytestmark = needs_compiler
COUNTS = {"exact": 3, "walked": 1, "mixed": 2}  # pieces for two differences


def case():
    """Return a card, its pages, four reads, the axis, and the oracle's ends."""
    rng = np.random.default_rng(8)
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, [30, 24, 28, 20], 2)
    card = EmulatedCard()
    return card, card_case(card, islands, reads, 2, prefix_length=4), rows_of([expected_ends(islands, reads, 2)])


def search(card, kind: str, given, room: int = 100) -> list:
    pages, batch, axis = given
    with cut_into(COUNTS[kind]):
        parts = gpu.find_ends(card, pages, batch, axis, 2, room)
        return rows_of([type(part)(*map(card.download, part)) for part in parts])


@pytest.mark.parametrize("kind", some(1, list(COUNTS)))
def test_any_allocation_may_fail(kind) -> None:
    card, given, wanted = case()
    assert wanted
    assert search(card, kind, given) == wanted
    for number in range(1, 60, 5):
        card.fail_allocation(number)
        assert search(card, kind, given) == wanted, number


@pytest.mark.parametrize("kind", COUNTS)
def test_a_single_read_that_does_not_fit_is_an_error(kind, monkeypatch) -> None:
    card, given, _ = case()
    monkeypatch.setattr(card, "offsets", lambda _: (_ for _ in ()).throw(OutOfDeviceMemory("full")))
    with pytest.raises(OutOfDeviceMemory, match="full"):
        search(card, kind, given)


def test_slices_of_few_items_and_rows(monkeypatch) -> None:
    """Search with a trie list that grows and shrinks, and with leaves followed a few at a time."""
    monkeypatch.setattr(trie, "ITEMS_AT_ONCE", 3)
    monkeypatch.setattr(trie, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(seeds, "ROWS_AT_ONCE", 3)
    card, given, wanted = case()
    assert search(card, "mixed", given) == wanted
    assert search(card, "exact", given, 1) == wanted
