"""The ends that seeds find against the oracle's: pages, Ns, islands, repeats, and strands with too many rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.complete import Axis, Ends
from quire.algorithms.complete.seeds import MOST_ROWS
from quire.algorithms.complete.seeds.cpu import find_ends
from quire.algorithms.complete.seeds.cpu_candidates import AxisArrays, special_blocks
from quire.algorithms.complete.seeds.cpu_frequent import ends_of_frequent_strand
from quire.algorithms.complete.seeds.cpu_merging import EndArrays
from quire.algorithms.complete.seeds.cpu_pieces import StrandArrays
from quire.algorithms.fm_index.pages.cpu import page_arrays, page_table

from tests.support.complete_cases import draw_islands, draw_reads, edit, expected_ends, join, make_axis, make_pages
from tests.support.index_builders import build_index
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


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 5), st.sampled_from([1, 2]), st.sampled_from([64, 1 << 20]))
def test_frequent_strands_have_the_same_ends(seed, differences, page_count, part_bases):
    """Every strand goes the way of those with too many rows, in parts of the axis of any size."""
    rng = np.random.default_rng(seed)
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(2 * differences + 2, 40, 4), differences)
    pages, oriented, axis = make_pages(islands, page_count), make_reads(reads), make_axis(islands)
    batch = StrandArrays(oriented.offsets, oriented.codes, oriented.word_offsets, oriented.packed, oriented.ambiguous,
                       differences)  # fmt: skip
    arrays = AxisArrays(*axis, special_blocks(axis.ambiguous, axis.islands))
    room = MOST_ROWS * (2 * differences + 1)
    ends = EndArrays(*(np.empty(room, dtype) for dtype in (np.int64, np.uint8, np.int64, np.uint8)))
    found = []
    for strand in range(2 * len(reads)):
        for used in ends_of_frequent_strand(page_table(pages), batch, arrays, strand, ends, part_bases):
            found.append(Ends(*(values[:used].copy() for values in ends)))
    for values, wanted in zip(join(found), expected_ends(islands, reads, differences), strict=True):
        assert values.tolist() == wanted.tolist()


@pytest.mark.parametrize("differences", [0, 3])
def test_long_reads_many_windows_and_parts_of_any_size(differences):
    """Reads of several words, more windows than are solved at once, and parts that end within a read."""
    rng = np.random.default_rng(1)
    unit = rng.integers(0, 4, 30)
    islands = [np.concatenate([edit(rng, unit, 1) for _ in range(150)]).tolist(), rng.integers(0, 4, 400).tolist()]
    reads = draw_reads(rng, islands, [64, 65, 129, 300], differences)
    pages, oriented, axis = make_pages(islands, overlap=512, prefix_length=6), make_reads(reads), make_axis(islands)
    whole = join(find_ends(pages, oriented, axis, differences))
    for values, wanted in zip(whole, expected_ends(islands, reads, differences), strict=True):
        assert values.tolist() == wanted.tolist()
    assert len(whole.end) > 10 * differences


def test_a_strand_with_more_rows_than_are_searched_at_once():
    """A read of one letter on an axis of that letter: every place is an end."""
    length = MOST_ROWS // 2
    index = build_index([0] * length)
    reads = make_reads([[0] * 12, [0, 1, 2, 3] * 3])
    axis = Axis(np.zeros(length // 32 + 3, np.uint64), np.empty((0, 2), np.int64), np.array([0, length]))
    axis.text.flags.writeable = False
    found = join(find_ends([page_arrays(index, 0, length)], reads, axis, 2))
    assert found.end.tolist() == list(range(10, length + 1))
    assert found.distance.tolist() == [2, 1, *[0] * (length - 11)]
    assert not found.read.any()
    assert not found.strand.any()
