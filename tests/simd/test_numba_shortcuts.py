"""What Numba computes is left out where nothing needs it, or computed once: the answers and the counts stay."""

import gc
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import ir as llvm
from numba import types
from numba.core import ir
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys
from numba.core.targetconfig import Option, TargetConfig
from quire.simd import numba_shortcuts
from quire.simd.compiled import _Kernel, compiled

REPOSITORY = Path(__file__).resolve().parents[2]


class Flags(TargetConfig):
    """Two of Numba's options."""

    forceinline = Option(type=bool, default=False, doc="")
    fastmath = Option(type=bool, default=False, doc="")


def test_another_numba_compiles_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions are those of the version that is pinned; in another they may have another meaning."""
    assert f"\nnumba=={numba_shortcuts.VERSION}\n" in (REPOSITORY / "requirements.txt").read_text()
    assert TargetConfig.__hash__ is numba_shortcuts._flags_hash
    monkeypatch.setattr(TargetConfig, "__hash__", object.__hash__)
    monkeypatch.setattr(numba, "__version__", "0.0.0")
    numba_shortcuts.install()
    assert TargetConfig.__hash__ is object.__hash__


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


@compiled
def _shares(values, times):
    """Views, copies and tuples of them, some left early, some made anew in a loop: each has its counts."""
    kept = values[1:]
    pair = (kept, values.copy())
    for i in range(times):
        pair = (pair[1][: len(kept) - i], values.copy())
        if i == 3:
            return pair[0]
        kept = pair[0]
    return kept


def test_references_are_counted() -> None:
    """What a kernel allocates is freed when the last of its views is gone, and not before."""
    values = np.arange(64)
    _shares(values, 2)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        answers = [_shares(values, times) for times in range(8)]
        assert [len(answer) for answer in answers] == [63, 63, 62, 60, 57, 57, 57, 57]
        assert all(np.array_equal(answer, values[: len(answer)]) for answer in answers[1:])
        del answers
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


@compiled
def _undefined(times):
    """A variable that some ways through the function never set, and one that changes its type at the end."""
    for i in range(times):
        last = i * 2
    if times > 0:
        return last + 0.5
    return 0.0


def test_variables_that_are_not_always_set() -> None:
    assert [_undefined(times) for times in (0, 1, 4)] == [0.0, 0.5, 6.5]


def test_a_signature_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And for each kind of arguments; what fails is asked for again."""
    asked = []

    def ask(function, context, args, keywords):
        asked.append(args)
        return original(function, context, args, keywords)

    original = numba_shortcuts._get_call_type
    monkeypatch.setattr(numba_shortcuts, "_get_call_type", ask)
    monkeypatch.setattr(numba_shortcuts, "_signatures", {})
    context = cpu_target.typing_context
    add = context.resolve_value_type(np.arctan2)
    for _ in range(2):
        assert add.get_call_type(context, (types.float32, types.float32), {}).return_type == types.float32
        assert add.get_call_type(context, (types.float64, types.float32), {}).return_type == types.float64
        with pytest.raises(Exception, match=r"No implementation|No match"):
            add.get_call_type(context, (types.unicode_type, types.float32), {})
    assert asked.count((types.float32, types.float32)) == 1
    assert asked.count((types.float64, types.float32)) == 1
    assert asked.count((types.unicode_type, types.float32)) == 2


def test_sizes_of_types() -> None:
    """As LLVM has them, padding included, also when a type is asked for again."""
    context = cpu_target.target_context
    byte, word = llvm.IntType(8), llvm.IntType(64)
    for _ in range(2):
        assert context.get_abi_sizeof(llvm.LiteralStructType([byte, word, byte])) == 24
        assert context.get_abi_sizeof(llvm.ArrayType(word, 3)) == 24
        assert context.get_abi_sizeof(llvm.ArrayType(byte, 3)) == 3


def test_threads_compile_a_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that call it first at once: one waits for the other."""

    def kernel(value):
        return value + 41

    function, compiling = compiled(kernel), []
    slow = function._compiler.compile

    def compile_slowly(args, return_type):
        compiling.append(args)
        time.sleep(0.2)
        return slow(args, return_type)

    assert isinstance(function, _Kernel)
    monkeypatch.setattr(function._compiler, "compile", compile_slowly)
    monkeypatch.setattr(function._cache, "load_overload", lambda *_: None)
    monkeypatch.setattr(function._cache, "save_overload", lambda *_: None)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(function(1))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (answers, len(compiling)) == ([42, 42], 1)
