"""Hits and CIGARs against the oracle's, from the oracle's ends."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.complete import Ends, Hits
from quire.algorithms.complete.alignment_cpu import align, find_hits

from tests.support.complete_cases import draw_islands, draw_reads, expected, expected_ends, make_axis
from tests.support.examples import examples
from tests.support.read_builders import make_reads


def cut(rng: np.random.Generator, ends: Ends) -> list[Ends]:
    """Cut ends into parts, one of them empty."""
    places = np.sort(rng.integers(0, len(ends.end) + 1, 3))
    bounds = [0, *places, places[-1], len(ends.end)]
    return [Ends(*(values[a:b] for values in ends)) for a, b in pairwise(bounds)]


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 5))
def test_hits_and_cigars_equal_the_oracle(seed, differences):
    rng = np.random.default_rng(seed)
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(2 * differences + 2, 40, int(rng.integers(0, 10))), differences)
    axis, oriented = make_axis(islands), make_reads(reads)
    parts = cut(rng, expected_ends(islands, reads, differences))
    hits = Hits(*map(np.concatenate, zip(*find_hits(parts, oriented, axis, differences), strict=True)))
    cigar, offsets = align(hits, oriented, axis, differences)
    elements = [(int(element) >> 4, int(element) & 15) for element in cigar]
    found = [
        (*(int(value) for value in row), tuple(elements[offsets[i] : offsets[i + 1]]))
        for i, row in enumerate(zip(*hits, strict=True))
    ]
    wanted = [(r, *hit) for r, (_, hits) in enumerate(expected(islands, reads, differences)) for hit in hits]
    assert found == wanted
