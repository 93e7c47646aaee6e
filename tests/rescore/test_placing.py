"""Placing of clipped bases, against an oracle that looks at one diagonal and one base at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.long_indels import placing_cpu
from quire.rescore.long_indels.placing_cpu import MISMATCH, WORD, place
from quire.sequence.codes import COMPLEMENT

from tests.oracles.placing import placements

CODES = st.lists(st.integers(0, 3) | st.just(4), min_size=0, max_size=40)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Draw a sequence and a window that holds parts of it, among other bases and Ns."""
    sequence = draw(st.lists(st.integers(0, 3), min_size=0, max_size=45))
    window: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        window += draw(CODES)
        low = draw(st.integers(0, len(sequence)))
        window += sequence[low : draw(st.integers(low, len(sequence)))]
    window += draw(CODES)
    for place_of_n in draw(st.lists(st.integers(0, 44), max_size=2)):
        if place_of_n < len(sequence):
            sequence[place_of_n] = 4
    return np.array(window, np.uint8), np.array(sequence, np.uint8)


@settings(deadline=None)
@given(cases())
def test_like_the_oracle(case: tuple[np.ndarray, np.ndarray]) -> None:
    """The best stretch, its place and the second score are those of the oracle."""
    window, sequence = case
    expected = placements(window.tolist(), sequence.tolist(), WORD, MISMATCH)
    found = place(window, sequence, both_strands=False)
    kept = (
        expected and placing_cpu.different_words(sequence[expected[0][2] : expected[0][3]]) >= placing_cpu.LEAST_WORDS
    )
    if not kept:
        assert found is None
        return
    assert found is not None
    assert (found.score, found.start, found.first, found.last) == expected[0]
    assert found.second == (expected[1][0] if len(expected) > 1 else 0)


def test_the_other_strand_counts_on_the_sequences_own() -> None:
    """A reverse complement is placed with the span of the sequence as it was given."""
    generator = np.random.default_rng(1)
    window = generator.integers(0, 4, 500).astype(np.uint8)
    sequence = np.concatenate([generator.integers(0, 4, 7).astype(np.uint8), COMPLEMENT[window[100:140][::-1]]])
    found = place(window, sequence, both_strands=True)
    assert found is not None
    assert (found.forward, found.start) == (False, 100)
    assert (found.first, found.last) == (7, 47)


def test_short_repeats_are_placed_nowhere() -> None:
    """A tandem repeat of two bases fits in many places and is refused."""
    repeat = np.array([0, 1] * 30, np.uint8)
    assert place(repeat, repeat[:40], both_strands=False) is None
