"""Code tables for every byte, and hashes of ties against plain Python."""

import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.ragged import pack_bytes
from quire.sequence.codes import AMBIGUOUS, COMPLEMENT, LETTERS, code_table
from quire.sequence.ties import cpu

from tests.oracles import ties as oracle


def test_every_letter_has_its_code_in_both_cases() -> None:
    table = code_table({b"Nr.": AMBIGUOUS}, 9)
    expected = {"A": 0, "C": 1, "G": 2, "T": 3, "U": 3, "N": 4, "R": 4, ".": 4}
    assert table.tolist() == [expected.get(chr(byte).upper(), 9) if byte < 128 else 9 for byte in range(256)]


def test_letters_and_complements_fit_the_codes() -> None:
    table = code_table({b"N": AMBIGUOUS}, 9)
    assert table[LETTERS].tolist() == [0, 1, 2, 3, AMBIGUOUS]
    assert LETTERS[COMPLEMENT].tobytes() == LETTERS.tobytes().translate(bytes.maketrans(b"ACGT", b"TGCA"))


@settings(deadline=None)
@given(st.lists(st.text(string.ascii_letters + string.digits + ":_/", max_size=40), max_size=5))
def test_hashes_of_names(names) -> None:
    encoded = [name.encode() for name in names]
    assert cpu.hash_names(*pack_bytes(encoded)).tolist() == [oracle.hash_name(name) for name in encoded]


@pytest.mark.parametrize("position", [0, 1, (1 << 40) + 7])
@settings(deadline=None)
@given(st.integers(0, (1 << 64) - 1))
def test_hashes_of_places(position, name_hash) -> None:
    assert cpu.tie_hash(np.uint64(name_hash), np.int64(position)) == oracle.tie_hash(name_hash, position)
