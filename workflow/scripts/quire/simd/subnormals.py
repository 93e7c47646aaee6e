"""Kernels in which subnormal numbers count as zero: the processor's floating-point control register, from Numba.

Many processors take about 150 cycles for an operation on a subnormal number (below 2^-126 in float32), although such
numbers are too small to change an answer. While subnormals are flushed, a subnormal operand counts as a zero of its
sign. So does a result whose magnitude, rounded to the format's precision with an unbounded exponent, lies below the
smallest normal number. x86-64 does that with FTZ and DAZ set in MXCSR (Intel's manual, vol. 1, 10.2.3 and 11.5.2.3),
and CUDA code compiled with -ftz=true in float32; both were compared on results around 2^-126 for multiplication,
addition and fma. FPCR.FZ on aarch64 differs in one case: it tests a result before rounding, so a result less than
2^-151 below 2^-126 becomes zero there and 2^-126 elsewhere. On other machines a kernel that needs this does not
compile, since its answers would differ.

The optimiser does not know the register and might move arithmetic across a change of it. So put the arithmetic into a
function of its own that calls `kept_apart`, and change the register around the call of that function:

    control, failed = flush_subnormals(), False
    try:
        arithmetic(...)
    except Exception:  # Numba supports neither raising it again nor `finally`
        failed = True
    write_control(control)
    if failed:
        raise RuntimeError(...)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic


class _Register(NamedTuple):
    """Control register of a machine: the bits that flush subnormals, and the code that reads and writes it."""

    flush: int
    read: Callable[[ir.IRBuilder], ir.Value]
    write: Callable[[ir.IRBuilder, ir.Value], None]


_INT32, _INT64, _VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
_ADDRESS = ir.IntType(8).as_pointer()


def _mxcsr_instruction(builder: ir.IRBuilder, name: str, place: ir.Value) -> None:
    """Generate code that stores MXCSR in memory or loads it from there."""
    function = builder.module.declare_intrinsic(f"llvm.x86.sse.{name}", (), ir.FunctionType(_VOID, [_ADDRESS]))
    builder.call(function, [builder.bitcast(place, _ADDRESS)])


def _read_mxcsr(builder: ir.IRBuilder) -> ir.Value:
    place = cgutils.alloca_once(builder, _INT32)
    _mxcsr_instruction(builder, "stmxcsr", place)
    return builder.zext(builder.load(place), _INT64)


def _write_mxcsr(builder: ir.IRBuilder, value: ir.Value) -> None:
    place = cgutils.alloca_once(builder, _INT32)
    builder.store(builder.trunc(value, _INT32), place)
    _mxcsr_instruction(builder, "ldmxcsr", place)


def _read_fpcr(builder: ir.IRBuilder) -> ir.Value:
    return builder.call(builder.module.declare_intrinsic("llvm.aarch64.get.fpcr", (), ir.FunctionType(_INT64, [])), [])


def _write_fpcr(builder: ir.IRBuilder, value: ir.Value) -> None:
    function = builder.module.declare_intrinsic("llvm.aarch64.set.fpcr", (), ir.FunctionType(_VOID, [_INT64]))
    builder.call(function, [value])


_MXCSR = _Register(1 << 15 | 1 << 6, _read_mxcsr, _write_mxcsr)  # FTZ, DAZ
_FPCR = _Register(1 << 24, _read_fpcr, _write_fpcr)  # FZ


def register_of(triple: str) -> _Register:
    """Return the control register of a machine, by its LLVM triple; raise TypingError for an unknown one."""
    architecture = triple.split("-")[0]
    if architecture == "x86_64":
        return _MXCSR
    if architecture in ("aarch64", "arm64"):
        return _FPCR
    raise TypingError(f"subnormal numbers cannot be flushed to zero on {architecture}: x86_64 and aarch64 can")


@intrinsic
def write_control(_typing_context: Any, value: Any) -> Any:
    """Set the control register of this thread."""

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> ir.Value:
        register_of(builder.module.triple).write(builder, arguments[0])
        return context.get_dummy_value()

    return types.none(types.uint64), generate


@intrinsic
def flush_subnormals(_typing_context: Any) -> Any:
    """Flush subnormals in this thread from now on; return the previous value of the register."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, _arguments: Any) -> ir.Value:
        register = register_of(builder.module.triple)
        before = register.read(builder)
        register.write(builder, builder.or_(before, _INT64(register.flush)))
        return before

    return types.uint64(), generate


@intrinsic
def kept_apart(_typing_context: Any) -> Any:
    """Keep LLVM from inlining the calling function."""

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, _arguments: Any) -> ir.Value:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.none(), generate
