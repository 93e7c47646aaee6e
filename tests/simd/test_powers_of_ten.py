"""Check logarithms and powers of ten against decimal arithmetic of forty digits."""

import math
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quire.simd import powers_of_ten
from quire.simd.powers_of_ten.cpu import log10, log10_of_all, power_of_ten

from tests.support.examples import examples

EXACT = Context(prec=40, Emin=-9999, Emax=9999)


def units_off(answer: float, exact: Decimal) -> float:
    """Return the error in units of the exact value's last place."""
    return abs(float((Decimal(answer) - exact) / Decimal(math.ulp(float(exact)))))


@settings(deadline=None)  # the first call compiles
@given(st.floats(2.0**-1074, 2.0**1023) | st.floats(0.5, 2) | st.integers(2, 10**6).map(float))
@example(2.0**-1074)
@example(math.nextafter(1, 0))
@example(math.nextafter(1, 2))
def test_log10(x: float) -> None:
    exact = Decimal(x).log10(EXACT)
    assert units_off(log10(x), exact) <= 3 if exact else log10(x) == 0


@settings(deadline=None)
@given(st.floats(-307, 308) | st.floats(-1, 1) | st.integers(0, 2550).map(lambda quality: -quality / 10))
def test_power_of_ten(x: float) -> None:
    assert units_off(power_of_ten(x), EXACT.power(Decimal(10), Decimal(x))) <= 2


@pytest.mark.parametrize(
    ("x", "wanted"), [(0.0, -math.inf), (1.0, 0.0), (math.inf, math.inf), (-1.0, math.nan), (math.nan, math.nan)]
)
def test_log10_at_the_ends(x: float, wanted: float) -> None:
    np.testing.assert_equal(log10(x), wanted)


@pytest.mark.parametrize(
    ("x", "wanted"),
    [(0.0, 1.0), (-math.inf, 0.0), (-400.0, 0.0), (-323.3, 5e-324), (400.0, math.inf), (math.nan, math.nan)],
)
def test_power_of_ten_at_the_ends(x: float, wanted: float) -> None:
    np.testing.assert_equal(power_of_ten(x), wanted)


def test_the_bits_are_written_down() -> None:
    """The expected bits are from x86-64 with AVX-512, with AVX2 and without either; no machine may give others."""
    logarithms = {
        0.001: "-0x1.8000000000000p+1",
        0.3: "-0x1.0bb6c34d81502p-1",
        0.999: "-0x1.c79e5dbf022b6p-12",
        1.001: "0x1.c729c93ddd23ap-12",
        2.0: "0x1.34413509f79ffp-2",
        1e-300: "-0x1.2c00000000000p+8",
    }
    answers = log10_of_all(np.array(list(logarithms)))
    assert [answer.hex() for answer in answers.tolist()] == list(logarithms.values())
    powers = {
        -30.7: "0x1.02fff69442c90p-102",
        -1.5: "0x1.030dc4ea03a72p-5",
        -0.1: "0x1.96b230bcdc434p-1",
        3.3: "0x1.f2d0c9c4b9258p+10",
    }
    assert [power_of_ten(x).hex() for x in powers] == list(powers.values())


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0**-1074, 2.0**-1022, 1.7e308, np.inf, -np.inf, np.nan, -324.0, -323.9, 309.0, 308.9]


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 2**32))
def test_arrays_and_kernels_give_the_same_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 63, 200).view(np.float64)  # numbers of all magnitudes
    values = np.concatenate([SPECIAL, bits, rng.uniform(0.5, 2, 200), rng.uniform(-330, 312, 200)])
    np.testing.assert_array_equal(powers_of_ten.log10(values), log10_of_all(values))
    powers = np.array([power_of_ten(value) for value in values.tolist()])
    np.testing.assert_array_equal(powers_of_ten.power_of_ten(values), powers)
