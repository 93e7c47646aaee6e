"""Suffix arrays made on a CPU, against sorting the suffixes themselves and against libdivsufsort."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydivsufsort import divsufsort
from quire.algorithms.suffix_array import cpu, sorting_cpu

from tests.algorithms.test_suffix_array_gpu import HARD, fibonacci, random_bases, texts
from tests.oracles import suffix_array as oracle
from tests.support.examples import examples


def suffix_array(codes: list[int] | np.ndarray, threads: int = 1) -> np.ndarray:
    with ThreadPoolExecutor(threads) as pool:
        return cpu.suffix_array(np.asarray(codes, np.uint8), pool, threads)


def check(codes: list[int] | np.ndarray, threads: int) -> None:
    """Compare with libdivsufsort, which lacks the sentinel's row."""
    rows, codes = suffix_array(codes, threads), np.asarray(codes, np.uint8)
    assert rows.dtype == np.uint32
    assert rows[0] == len(codes)
    np.testing.assert_array_equal(rows[1:], divsufsort(codes) if len(codes) else [])


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("keys", [1, cpu.KEYS])
def test_hard_texts(name: str, keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal the definition; with one key, suffixes that tie in 33 bases are ranked."""
    monkeypatch.setattr(cpu, "KEYS", keys)
    np.testing.assert_array_equal(suffix_array(HARD[name]), oracle.suffix_array(np.array(HARD[name], np.uint8)))


@given(codes=texts, threads=st.integers(1, 3), keys=st.integers(1, 3))
@settings(max_examples=examples(100), deadline=None)
def test_any_text(codes: list[int], threads: int, keys: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "KEYS", keys)
        rows = suffix_array(codes, threads)
    np.testing.assert_array_equal(rows, oracle.suffix_array(np.array(codes, np.uint8)))


@pytest.mark.parametrize("length", [1, 31, 32, 33, 63, 64, 65, 295, 296, 297, 500])
def test_lengths_about_the_keys(length: int) -> None:
    for codes in (random_bases(length, length), [0] * length, [0, 3] * (length // 2) + [0] * (length % 2)):
        check(codes, 2)


LONG = {
    "random": random_bases(200_000),
    "an exact copy": [*random_bases(50_000), 1, *random_bases(50_000)],
    "copies with a change": [*random_bases(50_000), *random_bases(20_000), 1, *random_bases(50_000)[1:]],
    "one kind": [0] * 60_000,
    "runs of one kind": [*random_bases(9000), *[0] * 5000, *random_bases(9000), *[0] * 6000, 1],
    "ends in A": [*random_bases(9000), *[0] * 4000],
    "many copies": random_bases(171) * 400,
    "Fibonacci": fibonacci(100_000),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("threads", [1, 3])
def test_long_texts(name: str, threads: int) -> None:
    """Buckets of thousands of suffixes, runs longer than `SMALL` and `FEW`, and many rounds of doubling."""
    assert len(LONG[name]) > sorting_cpu.FEW
    check(LONG[name], threads)


def test_a_text_longer_than_rows_can_number() -> None:
    class Long:
        size = cpu.LONGEST_TEXT + 1

    with pytest.raises(ValueError, match="longer than 2147483647"):
        cpu.suffix_array(Long(), None, 1)
