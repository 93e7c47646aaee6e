"""Subsets of reads have the layout of a batch of these reads; orientation is tested in test_reads_gpu."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.reads.cpu import subset

from tests.support.read_builders import make_reads

SEQUENCES = st.lists(st.lists(st.integers(0, 4), max_size=70), max_size=6)


@settings(deadline=None)
@given(SEQUENCES, st.data())
def test_a_subset_is_what_orienting_those_reads_gives(sequences, data):
    chosen = data.draw(st.lists(st.sampled_from(range(len(sequences))), unique=True) if sequences else st.just([]))
    chosen = np.array(sorted(chosen), np.int64)
    arrays = [np.array(sequence, np.uint8) for sequence in sequences]
    whole = make_reads(arrays)
    part, alone = subset(whole, chosen), make_reads([arrays[read] for read in chosen])
    for name in ("offsets", "codes", "word_offsets", "packed", "ambiguous"):
        got, wanted = getattr(part, name), getattr(alone, name)
        assert got.tolist() == wanted.tolist()
        assert got.dtype == wanted.dtype
        assert got.flags.c_contiguous
    assert part.name_hash.tolist() == whole.name_hash[chosen].tolist()
