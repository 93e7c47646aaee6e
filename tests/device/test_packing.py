"""Check the packing of kernel arguments for the driver."""

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from quire.device.card import Kernel, pack_arguments

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import SOURCE, kernel, lab, needs_compiler


class Pair(NamedTuple):
    array: Any
    number: Any


class Batch(NamedTuple):
    """A tuple with a length different from its number of members."""

    array: Any
    reads: int

    def __len__(self) -> int:
        return self.reads


@dataclass
class One:
    array: Any


@dataclass
class Several:
    first: Any
    number: Any
    last: Any


@pytest.fixture
def card() -> EmulatedCard:
    return EmulatedCard()


def values_of(arguments: tuple[object, ...], card: EmulatedCard) -> list[bytes]:
    """Return the bytes that the driver finds at each of the pointers."""
    packed = pack_arguments(arguments, card)
    pointers = (ctypes.c_void_p * len(arguments)).from_address(packed.address)
    return [ctypes.string_at(at, size) for at, size in zip(pointers, packed.sizes, strict=True)]


def words(*values: int) -> bytes:
    return np.array(values, np.int64).tobytes()


def test_every_kind_of_argument(card: EmulatedCard) -> None:
    array, empty = card.zeros(5, np.int32), card.zeros(0, np.int32)
    at = card.pointer(array)
    arguments = (
        array, 7, -7, np.int32(-2), np.uint64(1 << 63), np.float32(0.5), np.uint8(255), Pair(array, 3),
        Pair(None, np.int64(-1)), (array, True, np.uint8(4), np.bool_(1)), One(array), Several(array, -9, None), empty,
        (), (np.uint64((1 << 64) - 1),), Batch(array, 100),
    )  # fmt: skip
    expected = [
        words(at), words(7), words(-7), np.int32(-2).tobytes(), np.uint64(1 << 63).tobytes(), np.float32(0.5).tobytes(),
        b"\xff", words(at, 3), words(0, -1), words(at, 1, 4, 1), words(at), words(at, -9, 0), words(0), b"", words(-1),
        words(at, 100),
    ]  # fmt: skip
    for _ in range(2):  # known types take another code path
        assert values_of(arguments, card) == expected
    assert values_of((), card) == []


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (None, "no NoneType"),
        (True, "no bool"),
        (1.5, "no float"),
        ("text", "no str"),
        (Pair(1, 2.5), "no float"),
        (One("text"), "no str"),
        (np.zeros(3), "arrays of the card, not ndarray"),
        (Pair(np.zeros(3), 1), "arrays of the card, not ndarray"),
        (Several(1, 2, np.zeros(3)), "arrays of the card, not ndarray"),
    ],
)
def test_what_no_kernel_takes(card: EmulatedCard, argument: object, says: str) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=says):
            pack_arguments((1, argument), card)


def test_an_array_must_be_contiguous_and_of_the_card(card: EmulatedCard) -> None:
    for wrap in (lambda array: array, One, lambda array: Pair(array, 1)):
        with pytest.raises(TypeError, match="contiguous"):
            pack_arguments((wrap(card.zeros(8, np.int64)[::2]),), card)
        with pytest.raises(TypeError, match="another card"):
            pack_arguments((wrap(EmulatedCard().zeros(4, np.int64)),), card)


def test_a_number_of_more_than_eight_bytes(card: EmulatedCard) -> None:
    with pytest.raises(OverflowError):
        pack_arguments((1 << 63,), card)


@needs_compiler
def test_a_kernel_is_loaded_once_and_by_its_macros() -> None:
    card = lab("forward", kernel("i64* values", "values[threadIdx.x] += 1;"))
    loaded: list[tuple[str, dict[str, int]]] = []

    def load(source: str, entry: str, defines: dict[str, int]) -> Kernel:
        loaded.append((entry, defines))
        return EmulatedCard._load(card, source, "probe", {})

    card._load = load  # type: ignore[method-assign]
    kinds = [{"A": 1, "B": 2}, {"A": 2, "B": 1}, {"A": 1, "C": 2}, {}]
    kernels = [card.kernel(SOURCE, "probe", **kind) for kind in kinds for _ in range(3)]
    assert loaded == [("probe", kind) for kind in kinds]
    assert len({id(kernel) for kernel in kernels}) == 4
