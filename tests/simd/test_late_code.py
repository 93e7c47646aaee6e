"""Machine code is made of what Python calls, once, and of nothing that kernels alone call."""

import gc
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import ir
from numba.core.targetconfig import Option, TargetConfig
from numpy.typing import NDArray
from quire.simd import late_code
from quire.simd.compiled import compiled, inlined


class Pair(NamedTuple):
    """What a kernel may return."""

    running: NDArray[np.int64]
    last: int


@inlined
def _running(values):
    return np.cumsum(values)


@compiled
def _middle(values):
    return _running(values).sum()


@compiled
def _outer(values):
    """Needs `_running` by itself and through `_middle`: LLVM links a function only where it was mentioned before."""
    if len(values) == 0:
        raise ValueError("no values")
    return Pair(_running(values), _middle(values))


def test_functions_behind_a_kernel_have_no_machine_code_of_their_own() -> None:
    """The kernel has it, with all that it calls; a function behind it gets its own when Python calls it."""
    values = np.arange(1, 5)
    answer = _outer(values)
    assert (answer.running.tolist(), answer.last) == ([1, 3, 6, 10], 20)
    with pytest.raises(ValueError, match="no values"):
        _outer(values[:0])
    assert len(_outer.overloads) == 1
    assert not _middle.overloads
    assert not _running.overloads
    # They were compiled for `_outer` unless that was found on the disk, and never to machine code.
    for part in (_middle.part, _running.part):
        for result in part.overloads.values():
            assert isinstance(result.library, late_code.LateLibrary)
            assert not result.library._is_machine_code
    assert _middle(values) == 20
    assert _running(values).tolist() == [1, 3, 6, 10]
    assert _outer(values).last == 20


class Flags(TargetConfig):
    """Two of Numba's options."""

    forceinline = Option(type=bool, default=False, doc="")
    fastmath = Option(type=bool, default=False, doc="")


def test_flags_are_equal_by_what_they_say() -> None:
    """An option that is set to its default says what one says that is not set; other options differ."""
    unset, default, inline, fast = Flags(), Flags(), Flags(), Flags()
    default.forceinline = False
    inline.forceinline = fast.fastmath = True
    assert unset == default
    assert hash(unset) == hash(default)
    assert len({unset, default, inline, fast}) == 3
    assert unset != "flags"


def test_variables_of_an_instruction() -> None:
    """All in order, at any depth and of instructions within; no garbage is left, which nobody would look for."""
    place = ir.Loc("file.py", 1)
    scope = ir.Scope(None, place)
    a, b, c, d = (ir.Var(scope, name, place) for name in "abcd")
    call = ir.Expr.call(a, [b, (c, [a])], (("name", d),), place)
    assert call.list_vars() == [a, b, c, a, d]
    assert ir.Assign(call, d, place).list_vars() == [a, b, c, a, d, d]
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            call.list_vars()
        assert gc.collect() == 0
    finally:
        gc.enable()
