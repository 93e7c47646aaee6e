"""Check that machine code is generated once, and only for functions that Python calls."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from quire.simd import late_code
from quire.simd.compiled import compiled, inlined


class Pair(NamedTuple):
    """A return value of a kernel."""

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
    """Use `_running` directly and through `_middle`: LLVM links a function only if it was mentioned before."""
    if len(values) == 0:
        raise ValueError("no values")
    return Pair(_running(values), _middle(values))


def test_functions_behind_a_kernel_have_no_machine_code_of_their_own() -> None:
    """The kernel's code contains all functions it calls; such a function gets its own code when Python calls it."""
    values = np.arange(1, 5)
    answer = _outer(values)
    assert (answer.running.tolist(), answer.last) == ([1, 3, 6, 10], 20)
    with pytest.raises(ValueError, match="no values"):
        _outer(values[:0])
    assert len(_outer.overloads) == 1
    assert not _middle.overloads
    assert not _running.overloads
    # They were compiled for `_outer`, unless that was found on disk, but never to machine code.
    for part in (_middle.part, _running.part):
        for result in part.overloads.values():
            assert isinstance(result.library, late_code.LateLibrary)
            assert not result.library._is_machine_code
    assert _middle(values) == 20
    assert _running(values).tolist() == [1, 3, 6, 10]
    assert _outer(values).last == 20
