"""Check vectors and single instructions inside Numba code, each against NumPy or Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core import config
from quire.simd import bits, processor, vectors
from quire.simd.vectors import (
    add,
    aligned_zeros,
    any_bit,
    bit_and,
    bit_or,
    bit_xor,
    bits_greater,
    choose_by_bits,
    choose_equal,
    choose_greater,
    choose_less,
    choose_shifted,
    convert,
    fma,
    load,
    load_like,
    maximum,
    moved_up,
    multiply,
    shift_left,
    shift_right,
    splat,
    store,
    store_bits,
    subtract,
)

from tests.support.examples import examples

LANES = 16
INTEGERS = [np.uint8, np.int16, np.int32]
NUMBERS = [*INTEGERS, np.float32, np.float64]


def apply_two(function, left, right, out):
    """Write function(left, right) to `out`, on the lanes from element 1 on (an unaligned address)."""

    @njit
    def kernel(left, right, out):
        store(out, 1, function(load(left, 1, LANES), load(right, 1, LANES)))

    kernel(left, right, out)


def apply_choice(function, left, right, out):
    """Write 7 to `out` where the function selects a lane, 3 elsewhere."""

    @njit
    def kernel(left, right, out):
        chosen, otherwise = splat(np.int16(7), LANES), splat(np.int16(3), LANES)
        store(out, 1, function(load(left, 1, LANES), load(right, 1, LANES), chosen, otherwise))

    kernel(left, right, out)


@njit
def apply_fma(a, b, c, out):
    store(out, 0, fma(load(a, 0, LANES), load(b, 0, LANES), load(c, 0, LANES)))


@njit
def narrow_and_widen(numbers, narrow, wide):
    low = convert(load(numbers, 0, LANES), np.uint8)
    store(narrow, 0, low)
    store(wide, 0, convert(low, np.int32))


def drawn(seed: int, dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two operands with few different values, and an array for the answer with guards on both sides."""
    generator = np.random.default_rng(seed)
    low = 0 if dtype is np.uint8 else -3
    left, right = (generator.integers(low, 4, LANES + 2).astype(dtype) for _ in range(2))
    return left, right, np.full(LANES + 2, 99, dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(("function", "wanted"), [(add, np.add), (subtract, np.subtract), (multiply, np.multiply)])
def test_arithmetic(function, wanted, dtype):
    left, right, out = drawn(1, dtype)
    apply_two(function, left, right, out)
    assert out[1:-1].tolist() == wanted(left, right)[1:-1].tolist()
    assert out[[0, -1]].tolist() == [99, 99]


@pytest.mark.parametrize(
    ("function", "wanted", "dtypes"),
    [(bit_or, np.bitwise_or, INTEGERS), (maximum, np.maximum, [np.int16, np.int32])],
)
def test_integers(function, wanted, dtypes):
    for dtype in dtypes:
        left, right, out = drawn(2, dtype)
        apply_two(function, left, right, out)
        assert out[1:-1].tolist() == wanted(left, right)[1:-1].tolist()


def test_bits_written_to_narrower_elements() -> None:
    @njit
    def kernel(a, b, out):
        store_bits(out, 1, bits_greater(load(a, 0, 32), load(b, 0, 32)))

    a, b = np.random.default_rng(1).integers(-2, 3, (2, 32)).astype(np.int16)
    out = np.full(4, 7, np.uint16)
    kernel(a, b, out)
    assert out.tolist() == [7, *np.packbits(a > b, bitorder="little").view(np.uint16).tolist(), 7]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_elements_loaded_like_another_vector(dtype: type) -> None:
    @njit
    def kernel(array, out):
        store(out, 0, load_like(array, 3, load(array, 0, LANES)))

    array, out = np.arange(LANES + 3).astype(dtype), np.zeros(LANES, dtype)
    kernel(array, out)
    assert out.tolist() == [*range(3, LANES + 3)]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (choose_less, np.less),
        (choose_greater, np.greater),
        (choose_equal, np.equal),
    ],
)
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_choices(function, wanted, dtype):
    left, right, _ = drawn(3, dtype)
    out = np.zeros(LANES + 2, np.int16)
    apply_choice(function, left, right, out)
    assert out[1:-1].tolist() == np.where(wanted(left, right), 7, 3)[1:-1].tolist()
    assert set(out[1:-1].tolist()) == {3, 7}


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_a_choice_by_one_bit(dtype):
    left, _, _ = drawn(3, dtype)
    top = np.iinfo(dtype).bits - 1
    right = np.random.default_rng(4).integers(top - 4, top + 1, LANES + 2).astype(dtype)
    out = np.zeros(LANES + 2, np.int16)
    apply_choice(choose_shifted, left, right, out)
    wanted = np.where(left.astype(np.int64) >> (top - right) & 1, 7, 3)
    assert out[1:-1].tolist() == wanted[1:-1].tolist()
    assert set(out[1:-1].tolist()) == {3, 7}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_rounds_once(dtype):
    small = np.finfo(dtype).eps * 2 ** (np.finfo(dtype).nmant // 2)
    factor = np.full(LANES, 1 + small, dtype)
    out = np.empty(LANES, dtype)
    apply_fma(factor, factor, np.full(LANES, -(1 + 2 * small), dtype), out)
    assert out.tolist() == [float(small) ** 2] * LANES
    apply_fma(factor, factor, np.arange(LANES, dtype=dtype), out)
    assert np.allclose(out, 1 + np.arange(LANES), rtol=1e-3)


def test_conversion_keeps_the_low_bits_and_widens_by_sign():
    numbers = np.array([-1, -128, 0, 1, 127, 128, 255, 256, 300, -300, 5, 6, 7, 8, 9, 10], np.int16)
    narrow, wide = np.empty(LANES, np.uint8), np.empty(LANES, np.int32)
    narrow_and_widen(numbers, narrow, wide)
    assert narrow.tolist() == wide.tolist() == [int(number) & 255 for number in numbers]

    @njit
    def widen(numbers, wide):
        store(wide, 0, convert(load(numbers, 0, LANES), np.int32))

    widen(numbers, wide)
    assert wide.tolist() == numbers.tolist()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_aligned_zeros(dtype):
    for length in (1, 15, 100):
        array = aligned_zeros(length, dtype)
        assert (len(array), array.dtype, array.ctypes.data % vectors.CACHE_LINE) == (length, dtype, 0)
        assert not array.any()


@pytest.mark.parametrize(
    ("name", "features", "wanted"),
    [("haswell", "+avx2,+fma", False), ("skylake-avx512", "+avx2,+avx512f", True), ("haswell", None, False)],
)
def test_registers_are_those_that_numba_compiles_for(name, features, wanted, monkeypatch):
    monkeypatch.setattr(config, "CPU_NAME", name)
    monkeypatch.setattr(config, "CPU_FEATURES", features)
    assert processor.has_avx512() == wanted


@njit
def counted_and_swapped(word):
    return bits.count_ones(word), bits.leading_zeros(word), bits.trailing_zeros(word), bits.swap_bytes(word)


@settings(deadline=None)  # the first call compiles
@given(st.one_of(st.integers(0, (1 << 64) - 1), st.integers(0, 64).map(lambda bit: (1 << bit) - 1)))
def test_bits(word):
    swapped = int.from_bytes(word.to_bytes(8, "little"), "big")
    trailing = (word & -word).bit_length() - 1 if word else 64
    assert counted_and_swapped(np.uint64(word)) == (word.bit_count(), 64 - word.bit_length(), trailing, swapped)


def test_prefetching_changes_nothing():
    array = np.arange(5)
    njit(lambda a: bits.prefetch(a, 3))(array)
    assert array.tolist() == [0, 1, 2, 3, 4]


@njit
def apply_any_bit(numbers):
    return any_bit(load(numbers, 0, LANES))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_bits_and_shifts(dtype):
    generator = np.random.default_rng(6)
    left, counts = (generator.integers(0, most, LANES + 2).astype(dtype) for most in (1 << 62, 64))
    out = np.full(LANES + 2, 99, dtype)
    as_unsigned = left.view(np.uint64)
    shifted = counts.astype(np.uint64)
    for function, wanted in (
        (bit_and, as_unsigned & shifted),
        (bit_xor, as_unsigned ^ shifted),
        (shift_left, as_unsigned << shifted),
        (shift_right, as_unsigned >> shifted),
    ):
        apply_two(function, left, counts, out)
        assert out.view(np.uint64)[1:-1].tolist() == wanted[1:-1].tolist()
        assert out[[0, -1]].tolist() == [99, 99]
    negative = np.full(LANES + 2, -8, np.int64)
    apply_two(shift_right, negative, np.full(LANES + 2, 60, np.int64), negative)
    assert negative[1] == 15  # zeros are shifted in


def test_any_bit():
    numbers = np.array([0, 1, 2, 12, 1 << 40, -(1 << 63), 6, 8] * (LANES // 8), np.int64)
    assert apply_any_bit(numbers)
    assert not apply_any_bit(np.zeros(LANES, np.int64))
    numbers[:] = 0
    numbers[LANES - 1] = 1 << 50
    assert apply_any_bit(numbers)


@njit
def lanes_greater(left, right):
    return bits_greater(load(left, 0, LANES), load(right, 0, LANES))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=LANES, max_size=LANES))
def test_bits_greater(pairs: list[tuple[int, int]]) -> None:
    left, right = np.array(pairs, np.int16).T.copy()
    assert lanes_greater(left, right) == sum(1 << lane for lane, (a, b) in enumerate(pairs) if a > b)


@pytest.mark.parametrize(("kind", "lanes"), [(np.uint8, 8), (np.uint16, 16), (np.uint32, 32), (np.uint64, 64)])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32])
def test_choose_by_bits(kind: type, lanes: int, dtype: type) -> None:
    @njit
    def kernel(words, chosen, otherwise, out):
        store(out, 1, choose_by_bits(words[0], load(chosen, 1, lanes), load(otherwise, 1, lanes)))

    generator = np.random.default_rng(lanes)
    chosen, otherwise = np.arange(lanes + 2).astype(dtype), -np.arange(lanes + 2).astype(dtype)
    for word in (0, 1, 1 << (lanes - 1), (1 << lanes) - 1, int(generator.integers(1 << (lanes - 1)))):
        out = np.full(lanes + 2, 99, dtype)
        kernel(np.array([word], kind), chosen, otherwise, out)
        wanted = [chosen[i + 1] if word >> i & 1 else otherwise[i + 1] for i in range(lanes)]
        assert out.tolist() == [99, *wanted, 99]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_lanes_moved_up_by_one(dtype: type) -> None:
    @njit
    def kernel(array, out):
        store(out, 0, moved_up(load(array, 0, LANES), array[LANES]))

    array, out = np.arange(1, LANES + 2).astype(dtype), np.zeros(LANES, dtype)
    kernel(array, out)
    assert out.tolist() == [LANES + 1, *range(1, LANES)]


@njit
def _load_and_store(array, first, last):
    """Load four elements from one place, eight bytes from it, and store four at another."""
    four = load(array, first, 4)
    store(array, last, four)
    store_bits(array, last, np.uint32(bits.load_bytes(array, first)))


@pytest.mark.parametrize("places", [(-1, 0), (9, 0), (2**40, 0), (0, -1), (0, 13)])
def test_numbas_check_finds_places_outside_an_array(places: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    _load_and_store.recompile()
    array = np.arange(16, dtype=np.uint8)
    _load_and_store(array, 8, 12)
    assert array.tolist() == [*range(12), *range(8, 12)]
    with pytest.raises(IndexError):
        _load_and_store(array, *places)
