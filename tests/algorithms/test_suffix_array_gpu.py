"""Suffix arrays made on a card, against sorting the suffixes themselves."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.algorithms.suffix_array import gpu
from quire.algorithms.suffix_array.selection_gpu import TILE_ELEMENTS, select
from quire.device.card import Card, OutOfDeviceMemory

from tests.emulator.emulated_card import SCHEDULES, EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles import suffix_array as oracle
from tests.support.card_builders import pack
from tests.support.examples import examples, some


def fibonacci(length: int) -> list[int]:
    """Return the Fibonacci word over A and T, which repeats itself at all scales."""
    word, longer = [0], [0, 3]
    while len(longer) < length:
        word, longer = longer, longer + word
    return longer[:length]


def random_bases(length: int, seed: int = 1) -> list[int]:
    return np.random.default_rng(seed).integers(0, 4, length).tolist()


def sort_on(card: Card, codes: list[int], start: int = 0) -> list[int]:
    """Sort on a card the suffixes of a text that begins `start` bases into an axis of other bases."""
    axis = pack([3] * start + codes + [2] * 7)
    text = gpu.upload_text(card, axis, start, len(codes))
    return card.download(gpu.suffix_array(card, text)).tolist()


def expected(codes: list[int]) -> list[int]:
    return oracle.suffix_array(np.array(codes, np.uint8)).tolist()


HARD = {
    "empty": [],
    "one base": [2],
    "one kind": [0] * 100,
    "last of its kind": [3] * 77,
    "ends in A": [*random_bases(40), *[0] * 40],
    "a run within": [*random_bases(50), *[0] * 70, *random_bases(50, 2), *[0] * 65, 1],
    "period of two": [0, 1] * 90,
    "period of five": [2, 2, 1, 2, 0] * 50,
    "Fibonacci": fibonacci(600),
    "an exact copy": [*random_bases(300), 1, *random_bases(300)],
    "many copies": random_bases(61) * 12,
    "random": random_bases(9000),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_texts(card, name: str) -> None:
    assert sort_on(card, HARD[name]) == expected(HARD[name])


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 63, 64, 65, 95, 96, 500])
def test_lengths_about_one_key(card, length: int) -> None:
    for codes in (random_bases(length, length), [0] * length, [0, 3] * (length // 2) + [0] * (length % 2)):
        assert sort_on(card, codes) == expected(codes)


@pytest.mark.parametrize("start", [1, 31, 32, 45])
def test_a_text_within_an_axis(card, start: int) -> None:
    """Bases before and after a text do not affect the result."""
    codes = random_bases(150) * 2
    assert sort_on(card, codes, start) == expected(codes)


texts = st.one_of(
    st.lists(st.integers(0, 3), max_size=80),
    st.builds(
        lambda unit, copies: unit * copies, st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 9)
    ),
    st.builds(
        lambda first, copied, second: first + copied + second + copied,
        st.lists(st.integers(0, 3), max_size=30),
        st.lists(st.integers(0, 3), max_size=120),
        st.lists(st.integers(0, 3), max_size=30),
    ),
)


@needs_compiler
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(codes=texts, start=st.integers(0, 40), schedule=st.sampled_from(SCHEDULES))
def test_any_text(codes: list[int], start: int, schedule: str) -> None:
    assert sort_on(EmulatedCard(schedule), codes, start) == expected(codes)


def small_card(schedule: str, codes: list[int], at_once: int, ties: int) -> EmulatedCard:
    """Make a card with room for the text and for sorting a number of suffixes at once, as `working_bytes` states."""
    needed = gpu.working_bytes(len(codes), at_once, ties) / gpu.USABLE_SHARE
    return EmulatedCard(schedule, int(needed) + pack(codes).nbytes + 1024)


CAPPED = [*random_bases(700), *[0] * 50, *random_bases(700), *random_bases(400)[::-1]]


@needs_compiler
@pytest.mark.parametrize("at_once", some(2, [60, 1000, 200, 5000]))
def test_a_small_card_sorts_in_buckets_and_slices(at_once: int, schedule: str) -> None:
    """The memory that `working_bytes` states is enough, and with any memory the result is the same."""
    assert sort_on(small_card(schedule, CAPPED, at_once, ties=1500), CAPPED) == expected(CAPPED)


@pytest.mark.parametrize("at_once", [60, 1000])
def test_any_card_sorts_in_buckets_and_slices(card: Card, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, but the card has more memory than it reports, as a real one can."""
    needed = int(gpu.working_bytes(len(CAPPED), at_once, ties=1500) / gpu.USABLE_SHARE)
    monkeypatch.setattr(card, "free_bytes", lambda: needed + 1024)
    assert sort_on(card, CAPPED) == expected(CAPPED)


@needs_compiler
def test_a_capped_card_does_sort_in_parts() -> None:
    """Sorting fewer suffixes at once takes more launches, so the test above does sort in parts."""
    launches = []
    for at_once in (60, 5000):
        card = small_card("forward", CAPPED, at_once, ties=1500)
        sort_on(card, CAPPED)
        launches.append(card.launches)
    assert launches[0] > 5 * launches[1]


@needs_compiler
@pytest.mark.parametrize("codes", [[1] * 3000, random_bases(40) * 60])
def test_a_card_too_small_says_so(codes: list[int]) -> None:
    """A group of equal suffixes that does not fit raises OutOfDeviceMemory."""
    card = small_card("forward", codes, at_once=20, ties=len(codes))
    with pytest.raises(OutOfDeviceMemory):
        sort_on(card, codes)


def test_a_text_longer_than_rows_can_number() -> None:
    with pytest.raises(ValueError, match="longer than 4294967294"):
        gpu.suffix_array(None, gpu.CardText(None, 0, (1 << 32) - 1))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("share", [0.5, 1e-5])
def test_a_selection_of_more_tiles_than_one_step_scans(card, share: float, ties: bool) -> None:
    """The scan takes 256 tiles per step; sparse bits leave whole steps empty."""
    count = 300 * TILE_ELEMENTS + 1001
    set_bits = np.random.default_rng(5).random(count) < share
    set_bits[0] = True
    bits = np.packbits(np.append(set_bits, np.zeros(-count % 32, bool)), bitorder="little").view("<u4")
    selection, total = select(card, card.upload(bits), count, ties)
    chosen = ~(set_bits & np.append(set_bits[1:], True)) if ties else set_bits
    starts = np.arange(selection.tiles) * TILE_ELEMENTS
    heads = np.maximum.accumulate(np.where(set_bits, np.arange(1, count + 1), 0))
    assert int(total[0]) == chosen.sum()
    assert card.download(selection.chosen_before).tolist() == [0, *np.cumsum(chosen)[starts[1:] - 1].tolist()]
    assert card.download(selection.head_before).tolist() == [0, *heads[starts[1:] - 1].tolist()]
