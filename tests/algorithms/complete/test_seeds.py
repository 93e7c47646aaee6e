"""The ends that seeds find against the oracle's: pages, Ns, islands, repeats, and strands with too many rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.complete.seeds.cpu import find_ends

from tests.support.complete_cases import draw_islands, draw_reads, expected_ends, join, make_axis, make_pages
from tests.support.read_builders import make_reads


def require_oracle(islands, reads, differences, pages):
    found = join(find_ends(pages, make_reads(reads), make_axis(islands), differences))
    for name, values, wanted in zip(found._fields, found, expected_ends(islands, reads, differences), strict=True):
        assert values.dtype == wanted.dtype
        assert values.tolist() == wanted.tolist(), name


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 5), st.sampled_from([1, 3]), st.sampled_from([1, 4]))
def test_ends_equal_the_oracle(seed, differences, page_count, sa_sampling):
    rng = np.random.default_rng(seed)
    islands = draw_islands(rng)
    lengths = rng.integers(2 * differences + 2, 40, int(rng.integers(0, 12)))
    reads = draw_reads(rng, islands, lengths, differences)
    require_oracle(islands, reads, differences, make_pages(islands, page_count, sa_sampling))
