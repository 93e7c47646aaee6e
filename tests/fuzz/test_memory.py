"""The fuzzer tells programs whose answers depend on memory from others."""

import sys

import pytest

from tests.fuzz.memory import varies

UNSET = "import ctypes; take = ctypes.CDLL(None).malloc; take.restype = ctypes.c_void_p; "


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print(1)", False),
        ("raise SystemExit(3)", False),
        (UNSET + "print(ctypes.string_at(take(5000), 8))", True),
        (UNSET + "raise SystemExit(ctypes.string_at(take(5000), 1)[0] > 99)", True),
        (UNSET + "print(hex(take(5000)))", True),
    ],
)
def test_answers_that_depend_on_memory(code: str, expected: bool) -> None:
    assert varies([sys.executable, "-S", "-c", code], 1) == expected
