"""Values of gVCFs parsed by kernels, compared with Python's own parsers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire.rescore.joint.gvcf import MISSING
from quire.rescore.joint.values_cpu import parse_number, parse_numbers, parse_real


def as_text(text: str) -> np.ndarray:
    return np.frombuffer(bytearray(text.encode() + b"\n"), np.uint8)


parse_real(as_text("1"), 0, 1)  # is compiled before Hypothesis takes times
parse_number(as_text("1"), 0, 1)


@given(
    st.decimals(-1000, 1000, places=3).map(str)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=1e-7, max_value=1e12).map("{:.15g}".format)
)
def test_fractions_of_up_to_15_digits_are_those_of_python(text: str) -> None:
    assert parse_real(as_text(text), 0, len(text)) == (True, float(text))


@pytest.mark.parametrize("text", ["1.5e3", "2E-5", "+7", ".5", "5.", "-0.000", "123456789012345", "1e+20"])
def test_other_forms_of_numbers(text: str) -> None:
    assert parse_real(as_text(text), 0, len(text)) == (True, float(text))


@pytest.mark.parametrize("text", ["NaN", "nan"])
def test_no_number(text: str) -> None:
    is_right, value = parse_real(as_text(text), 0, len(text))
    assert is_right
    assert math.isnan(value)


@pytest.mark.parametrize("text", ["-", "+", ".", "1.2.3", "1e", "1e-", "e5", "1x", "--1", "zero", "nat", "0x10"])
def test_texts_that_are_no_numbers(text: str) -> None:
    assert not parse_real(as_text(text), 0, len(text))[0]


@given(st.text("0123456789", max_size=12) | st.text(max_size=4))
def test_integers_of_31_bits(text: str) -> None:
    content = as_text(text)
    is_right = text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < 1 << 31
    assert parse_number(content, 0, len(content) - 1) == (int(text) if is_right else MISSING)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("7", [7]), ("7,0,12", [7, 0, 12]), ("", []), (".", []), ("7,.", []), (".,.", []), ("7,", None), ("7,x", None)],
)
def test_lists_of_numbers(text: str, numbers: list[int] | None) -> None:
    values = np.zeros(8, np.int32)
    count = parse_numbers(as_text(text), 0, len(text), values, 2)
    assert count == (MISSING if numbers is None else len(numbers))
    assert values[2 : 2 + max(count, 0)].tolist() == (numbers or [])
