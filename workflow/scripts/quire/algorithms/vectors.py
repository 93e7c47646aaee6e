"""Vectors of 16 numbers as values inside Numba code, for kernels that run 16 tasks in lockstep.

LLVM lowers <16 x T> to whatever the machine has (one AVX-512 register, two AVX2, four SSE or NEON ones), with the same
IEEE results everywhere. Writing vectors out keeps the state of a loop in registers, which the auto-vectoriser does not
do for arrays (it must assume that they overlap).
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

LANES = 16
ALIGNMENT = 64


class VectorType(types.Type):
    """Numba type of a vector of 16 elements."""

    def __init__(self, element: types.Type) -> None:
        self.element = element
        super().__init__(name=f"Vector16({element})")


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):
    """A VectorType is one LLVM vector value."""

    def __init__(self, manager, vector_type):
        element = manager.lookup(vector_type.element).get_data_type()
        super().__init__(manager, vector_type, ir.VectorType(element, LANES))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise TypingError(message)


def _element_pointer(context, builder, array_type, array, index):
    """LLVM pointer to element `index` of a contiguous one-dimensional array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def load(typingctx, array, index):
    """The 16 elements of a flat contiguous array from `index` on (no bounds check)."""
    _require(isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C", "load needs a flat array")
    vector = VectorType(array.dtype)

    def generate(context, builder, signature, arguments):
        llvm_vector = context.get_value_type(vector)
        pointer = _element_pointer(context, builder, array, *arguments)
        pointer = builder.bitcast(pointer, llvm_vector.as_pointer())
        return builder.load(pointer, align=context.get_abi_sizeof(llvm_vector.element))

    return vector(array, types.intp), generate


@intrinsic
def store(typingctx, array, index, vector):
    """Write a vector to 16 elements of a flat contiguous array from `index` on (no bounds check)."""
    _require(isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C", "store needs a flat array")
    _require(vector == VectorType(array.dtype), f"store of {vector} into {array}")

    def generate(context, builder, signature, arguments):
        llvm_vector = context.get_value_type(vector)
        pointer = _element_pointer(context, builder, array, *arguments[:2])
        pointer = builder.bitcast(pointer, llvm_vector.as_pointer())
        builder.store(arguments[2], pointer, align=context.get_abi_sizeof(llvm_vector.element))
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), generate


@intrinsic
def splat(typingctx, scalar):
    """A vector of 16 times the scalar."""
    vector = VectorType(scalar)

    def generate(context, builder, signature, arguments):
        llvm_vector = context.get_value_type(vector)
        undefined = ir.Constant(llvm_vector, ir.Undefined)
        one = builder.insert_element(undefined, arguments[0], ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, undefined, lanes)

    return vector(scalar), generate


@intrinsic
def add(typingctx, a, b):
    """a + b, lane by lane."""
    _require(isinstance(a, VectorType) and a == b, "add takes two vectors of one type")
    floating = isinstance(a.element, types.Float)

    def generate(context, builder, signature, arguments):
        return (builder.fadd if floating else builder.add)(*arguments)

    return a(a, a), generate


@intrinsic
def multiply(typingctx, a, b):
    """a * b, lane by lane."""
    _require(isinstance(a, VectorType) and a == b, "multiply takes two vectors of one type")
    floating = isinstance(a.element, types.Float)

    def generate(context, builder, signature, arguments):
        return (builder.fmul if floating else builder.mul)(*arguments)

    return a(a, a), generate


@intrinsic
def fma(typingctx, a, b, c):
    """a * b + c rounded once (IEEE fusedMultiplyAdd), lane by lane."""
    _require(isinstance(a, VectorType) and a == b == c, "fma takes three vectors of one type")

    def generate(context, builder, signature, arguments):
        llvm_vector = arguments[0].type
        name = f"llvm.fma.v{LANES}f{a.element.bitwidth}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(llvm_vector, [llvm_vector] * 3), name)
        return builder.call(function, arguments)

    return a(a, a, a), generate


@intrinsic
def choose_common(typingctx, a, b, common, apart):
    """Lane by lane: `common` where integers a and b share a bit, `apart` elsewhere."""
    _require(isinstance(a, VectorType) and a == b and common == apart, "choose_common takes two pairs of vectors")

    def generate(context, builder, signature, arguments):
        shared = builder.and_(arguments[0], arguments[1])
        zero = ir.Constant(shared.type, None)
        return builder.select(builder.icmp_unsigned("!=", shared, zero), arguments[2], arguments[3])

    return common(a, b, common, apart), generate


@intrinsic
def choose_less(typingctx, a, b, less, otherwise):
    """Lane by lane: `less` where a < b (signed integers), `otherwise` elsewhere."""
    _require(isinstance(a, VectorType) and a == b and less == otherwise, "choose_less takes two pairs of vectors")

    def generate(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("<", arguments[0], arguments[1]), arguments[2], arguments[3])

    return less(a, b, less, otherwise), generate


def aligned_zeros(length: int, dtype: np.typing.DTypeLike) -> np.ndarray:
    """A flat array of `length` zeros that starts on a cache line, so that no vector of 64 bytes crosses one."""
    size = np.dtype(dtype).itemsize
    array = np.zeros(length + ALIGNMENT // size, dtype)
    first = (-array.ctypes.data) % ALIGNMENT // size
    return array[first : first + length]


@intrinsic
def choose_equal(typingctx, a, b, equal, otherwise):
    """Lane by lane: `equal` where integers a == b, `otherwise` elsewhere."""
    _require(isinstance(a, VectorType) and a == b and equal == otherwise, "choose_equal takes two pairs of vectors")

    def generate(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("==", arguments[0], arguments[1]), arguments[2], arguments[3])

    return equal(a, b, equal, otherwise), generate


@intrinsic
def maximum(typingctx, a, b):
    """The larger of signed integers a and b, lane by lane."""
    _require(isinstance(a, VectorType) and a == b and isinstance(a.element, types.Integer), "maximum takes integers")

    def generate(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed(">", *arguments), *arguments)

    return a(a, a), generate


@intrinsic
def store_bytes(typingctx, array, index, vector):
    """Write the low bytes of 16 integers to a flat contiguous uint8 array from `index` on (no bounds check)."""
    _require(isinstance(array, types.Array) and array.dtype == types.uint8 and array.layout == "C", "needs flat uint8")
    _require(isinstance(vector, VectorType) and isinstance(vector.element, types.Integer), "store_bytes takes integers")

    def generate(context, builder, signature, arguments):
        bytes_type = ir.VectorType(ir.IntType(8), LANES)
        pointer = _element_pointer(context, builder, array, *arguments[:2])
        low = builder.trunc(arguments[2], bytes_type)
        builder.store(low, builder.bitcast(pointer, bytes_type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), generate
