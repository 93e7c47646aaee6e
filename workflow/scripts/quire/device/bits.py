"""Single instructions that Numba does not offer by itself: on bits and bytes of words, and on memory."""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# Of eight codes of bases (A 0, C 1, G 2, T 3, N 4) in a word, one a byte: the bits of a code, and that of an N.
CODES, UNKNOWN = np.uint64(0x0303030303030303), np.uint64(0x0404040404040404)


@intrinsic
def count_ones(_typing_context, word):
    """Number of set bits of a uint64, as int64 (NumPy's function does not compile in Numba)."""

    def generate(_context, builder, _signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def swap_bytes(_typing_context, word):
    """The bytes of a uint64 in reverse order."""

    def generate(_context, builder, _signature, arguments):
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def load_bytes(_typing_context, array, item):
    """Eight bytes of a uint8 array from `item` (int64) on as a uint64, the first of them lowest; not checked."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        word = builder.load(pointer)
        word.align = 1
        return word

    return types.uint64(array, types.int64), generate


@intrinsic
def store_bytes(_typing_context, array, item, word):
    """Store a uint64 in eight bytes of a uint8 array from `item` (int64) on, the lowest first; not checked."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        builder.store(arguments[2], pointer).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@intrinsic
def prefetch(_typing_context, array, item):
    """Ask for the cache line of array[item] (one dimension, item int64) before it is needed; changes time only."""

    def generate(context, builder, signature, arguments):
        array_type = signature.args[0]
        struct = context.make_array(array_type)(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(struct.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        prototype = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], prototype)
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@njit(cache=True, nogil=True, forceinline=True)
def reverse_complement(codes):
    """Eight codes in the other order and complemented: the complement of c is c ^ 3, but that of an N is an N."""
    unknown = codes & UNKNOWN
    return swap_bytes(codes ^ CODES ^ (unknown >> np.uint64(1) | unknown >> np.uint64(2)))
