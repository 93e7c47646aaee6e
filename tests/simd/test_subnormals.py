"""Check that subnormal numbers are flushed to zero around a kernel, and that the control register is restored."""

import platform
import re

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from quire.simd.subnormals import flush_subnormals, kept_apart, register_of, write_control
from quire.simd.vectors import add, fma, load, multiply, store

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="aarch64 tests a result before rounding")

LANES = 16
SMALLEST = np.float32(2.0**-126)  # the smallest normal number
HALF_DOWN = np.float32(1 - 2.0**-24)  # the largest number below 1


@njit
def arithmetic(a, b, c, products, sums, fused, fail):
    kept_apart()
    x, y, z = load(a, 0, LANES), load(b, 0, LANES), load(c, 0, LANES)
    store(products, 0, multiply(x, y))
    store(sums, 0, add(x, z))
    store(fused, 0, fma(x, y, z))
    if fail:
        raise ValueError("no more")


@njit
def flushing(a, b, c, products, sums, fused, fail):
    control, failed = flush_subnormals(), False
    try:
        arithmetic(a, b, c, products, sums, fused, fail)
    except Exception:
        failed = True
    write_control(control)
    if failed:
        raise RuntimeError("failed")


@intrinsic
def read_control(_typing_context):
    def generate(_context, builder, _signature, _arguments):
        return register_of(builder.module.triple).read(builder)

    return types.uint64(), generate


@njit
def control() -> int:
    return read_control()


@njit
def set_control(value):
    write_control(value)


def lanes(*values: float) -> np.ndarray:
    """Return the values, with zeros in the other lanes."""
    return np.array([*values, *[0.0] * (LANES - len(values))], np.float32)


def calculated(function, a, b, c, fail: bool = False) -> tuple[np.ndarray, ...]:
    """Return products a b, sums a + c and fused a b + c of the lanes."""
    answers = tuple(np.full(LANES, 9, np.float32) for _ in range(3))
    function(lanes(*a), lanes(*b), lanes(*c), *answers, fail)
    return tuple(answer[: len(a)] for answer in answers)


def test_results_below_the_smallest_normal_number_are_zero() -> None:
    a, b = (SMALLEST, -SMALLEST, SMALLEST, -SMALLEST), (0.5, 0.5, 1, 1)
    products, _, _ = calculated(flushing, a, b, (0,) * 4)
    assert products.tobytes() == np.array([0.0, -0.0, SMALLEST, -SMALLEST], np.float32).tobytes()
    assert calculated(arithmetic, a, b, (0,) * 4)[0].tolist() == [2.0**-127, -(2.0**-127), SMALLEST, -SMALLEST]


def test_subnormal_operands_are_zero() -> None:
    subnormal = 2.0**-127
    a, b, c = (subnormal, -subnormal, 1, subnormal), (2.0**100, 2.0**100, 1, 2.0**100), (0, 0, -subnormal, SMALLEST)
    products, sums, fused = calculated(flushing, a, b, c)
    assert products.tobytes() == np.array([0.0, -0.0, 1, 0], np.float32).tobytes()
    assert sums.tolist() == [0, 0, 1, SMALLEST]
    assert fused.tolist() == [0, 0, 1, SMALLEST]
    assert calculated(arithmetic, a, b, c)[0].tolist() == [2.0**-27, -(2.0**-27), 1, 2.0**-27]


@on_x86
def test_a_result_is_judged_once_it_is_rounded() -> None:
    """The same as -ftz=true on a card (an H100 gave the same for a million products and fused sums around 2^-126)."""
    # In units of 2^-126: 1 - 2^-26 rounds up to 1 in 24 bits, 1 - 3 * 2^-26 rounds down and is flushed; gradual
    # underflow would round both to 1.
    ones, small = (-SMALLEST, -SMALLEST), (2.0**-26, 3 * 2.0**-26)
    _, _, fused = calculated(flushing, ones, small, (SMALLEST, SMALLEST))
    assert fused.tolist() == [SMALLEST, 0]
    _, _, fused = calculated(arithmetic, ones, small, (SMALLEST, SMALLEST))
    assert fused.tolist() == [SMALLEST, SMALLEST]
    products, _, _ = calculated(flushing, (SMALLEST,), (HALF_DOWN,), (0,))
    assert products.tolist() == [0]


@pytest.mark.parametrize("mode", [0, 1 << 13], ids=["as it is", "rounding down"])
def test_the_register_is_as_it_was(mode: int) -> None:
    whole = control()
    try:
        set_control(whole | mode)
        before = control()
        calculated(flushing, (1,), (1,), (1,))
        assert control() == before
        with pytest.raises(RuntimeError):
            calculated(flushing, (1,), (1,), (1,), fail=True)
        assert control() == before
    finally:
        set_control(whole)


@on_x86
def test_the_arithmetic_stays_a_function_of_its_own() -> None:
    """A call separates the two writes of the register, so that nothing can be moved across them."""
    calculated(flushing, (1,), (1,), (1,))
    code = next(iter(flushing.inspect_asm().values()))
    own = code[: code.index(".size")]
    assert not re.search(r"\bv?(mulps|fmadd\w+ps)", own)
    assert re.search(r"ldmxcsr.*?\bcall.*?ldmxcsr", own, re.DOTALL)


def test_other_machines_are_refused() -> None:
    assert register_of("aarch64-unknown-linux-gnu").flush == register_of("arm64-apple-darwin").flush == 1 << 24
    with pytest.raises(TypingError, match="cannot be flushed to zero on riscv64"):
        register_of("riscv64-unknown-linux-gnu")
