"""Reads on both strands, as codes and as packed words; subsets with the layout of a batch."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.reads.cpu import subset
from quire.sequence.words_cpu import packed_word

from tests.support.read_builders import make_reads

SEQUENCES = st.lists(st.lists(st.integers(0, 4), max_size=70), max_size=6)


@settings(deadline=None)  # the first call compiles
@given(SEQUENCES)
def test_both_strands_as_codes_and_packed(sequences):
    reads = make_reads([np.array(sequence, np.uint8) for sequence in sequences])
    assert len(reads) == len(sequences)
    for read, sequence in enumerate(sequences):
        strands = [sequence, [4 if code > 3 else 3 - code for code in reversed(sequence)]]
        assert reads.codes[:, reads.offsets[read] : reads.offsets[read + 1]].tolist() == strands
        assert reads.ambiguous[read] == (4 in sequence)
        for strand in (0, 1):
            for begin in range(len(sequence)):
                word = int(packed_word(reads.packed[strand], np.int64(reads.word_offsets[read] * 32 + begin)))
                held = [word >> 2 * i & 3 for i in range(min(32, len(sequence) - begin))]
                assert held == [code & 3 for code in strands[strand][begin : begin + 32]]


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


def test_mates_share_the_hash_of_their_name():
    first, second = [np.zeros(5, np.uint8)] * 3, [np.ones(7, np.uint8)] * 3
    reads = make_reads(first, second)
    assert reads.name_hash[:3].tolist() == reads.name_hash[3:].tolist()
    assert len(set(reads.name_hash.tolist())) == 3
    assert np.diff(reads.offsets).tolist() == [5] * 3 + [7] * 3
