"""Single instructions that Numba does not offer: on the bits and bytes of words, and on memory."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from quire.simd.compiled import inlined
from quire.simd.vectors import item_pointer

ONES = np.uint64(0x0101010101010101)  # the lowest bit of eight bytes
# Masks for a word of eight base codes (A 0, C 1, G 2, T 3, N 4), one per byte: the bits of a code, and that of an N.
CODES, UNKNOWN = np.uint64(0x0303030303030303), np.uint64(0x0404040404040404)


def _of_word(method: str, result: types.Integer, *constants: ir.Constant) -> Any:
    """Make an intrinsic of a uint64 from the builder's method, which takes further constants."""

    @intrinsic
    def function(_typing_context, word):

        def generate(_context, builder, _signature, arguments):
            return getattr(builder, method)(arguments[0], *constants)

        return result(types.uint64), generate

    return function


_ZERO_IS_DEFINED = ir.Constant(ir.IntType(1), 0)
# Of a uint64: the number of set bits (NumPy's function does not compile in Numba), and of zero bits above the highest
# and below the lowest set bit, 64 for 0, as int64; and the word with its bytes reversed.
count_ones = _of_word("ctpop", types.int64)
leading_zeros = _of_word("ctlz", types.int64, _ZERO_IS_DEFINED)
trailing_zeros = _of_word("cttz", types.int64, _ZERO_IS_DEFINED)
swap_bytes = _of_word("bswap", types.uint64)


@intrinsic
def load_bytes(_typing_context, array, item):
    """Load eight bytes of a contiguous uint8 array, from `item` (int64) on, as a little-endian uint64."""

    def generate(context, builder, signature, arguments):
        word = builder.load(item_pointer(context, builder, signature.args[0], *arguments, ir.IntType(64)))
        word.align = 1
        return word

    return types.uint64(array, types.int64), generate


@intrinsic
def store_bytes(_typing_context, array, item, word):
    """Store a uint16, uint32 or uint64 in a contiguous uint8 array from `item` (int64) on, little-endian."""

    def generate(context, builder, signature, arguments):
        pointer = item_pointer(context, builder, signature.args[0], *arguments[:2], arguments[2].type)
        builder.store(arguments[2], pointer).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, word), generate


@intrinsic
def prefetch(_typing_context, array, item):
    """Prefetch the cache line of array[item] (one dimension, item int64)."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        prototype = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], prototype)
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@inlined
def copy_items(target, at, source, first, last):
    """Copy source[first:last] to target from `at` on; return the position after the copy.

    Indices are unsigned: for signed ones Numba adds a test for negatives that prevents vectorisation. Slices would
    each cost a reference count, and two seconds to compile the message of unequal lengths.
    """
    to, begin = np.uint64(at), np.uint64(first)
    for k in range(np.uint64(last - first)):
        target[to + k] = source[begin + k]
    return at + last - first


@inlined
def with_room(array, used, size):
    """Return the array if it has `size` entries, else a copy of its first `used` entries with room for twice `size`."""
    if size <= len(array):
        return array
    larger = np.empty(2 * size, array.dtype)
    copy_items(larger, 0, array, 0, used)
    return larger


@inlined
def reverse_complement(codes):
    """Reverse and complement eight codes: the complement of c is c ^ 3, but that of an N is an N."""
    unknown = codes & UNKNOWN
    return swap_bytes(codes ^ CODES ^ (unknown >> np.uint64(1) | unknown >> np.uint64(2)))


@inlined
def two_bits_each(codes):
    """Pack eight codes, one per byte, into the lowest 16 bits; an N becomes A."""
    pairs = codes & CODES
    pairs = (pairs | pairs >> np.uint64(6)) & np.uint64(0x000F000F000F000F)
    pairs = (pairs | pairs >> np.uint64(12)) & np.uint64(0x000000FF000000FF)
    return (pairs | pairs >> np.uint64(24)) & np.uint64(0xFFFF)


@inlined
def bytes_below_lowest_bit(word):
    """Count the bytes below the lowest set bit of a word that is not 0."""
    return count_ones(~word & (word - np.uint64(1))) >> 3
