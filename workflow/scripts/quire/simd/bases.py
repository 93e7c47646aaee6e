"""Comparison of a read's bases, one byte each, with a packed text, 32 at a time."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from quire.simd.compiled import inlined

LANES = 32  # bases of a packed word
_EIGHTS = LANES // 8
_COMPLEMENT = 3  # XOR with it complements a code; an N becomes 7, which no base of a text equals


def _spread(builder, word):
    """Generate code that unpacks the 32 codes of a word into bytes, a quarter of the word at a time."""
    i64, vector = ir.IntType(64), ir.VectorType(ir.IntType(64), _EIGHTS)

    def constant(values):
        return ir.Constant(vector, values)

    def alike(value):
        return constant([value] * _EIGHTS)

    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, word, ir.Constant(ir.IntType(32), 0))
    codes = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), _EIGHTS), None))
    codes = builder.and_(builder.lshr(codes, constant([16 * k for k in range(_EIGHTS)])), alike(0xFFFF))
    for distance, kept in ((24, 0x000000FF000000FF), (12, 0x000F000F000F000F), (6, 0x0303030303030303)):
        codes = builder.and_(builder.or_(codes, builder.shl(codes, alike(distance))), alike(kept))
    assert word.type == i64
    return builder.bitcast(codes, ir.VectorType(ir.IntType(8), LANES))


def _comparison(reverse: bool) -> Any:
    @intrinsic
    def function(_typing_context, codes, item, word):
        def generate(context, builder, signature, arguments):
            bytes_type = ir.VectorType(ir.IntType(8), LANES)
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            bases = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), bytes_type.as_pointer()))
            bases.align = 1
            if reverse:
                turned = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(LANES - 1, -1, -1)))
                bases = builder.shuffle_vector(bases, ir.Constant(bytes_type, ir.Undefined), turned)
                bases = builder.xor(bases, ir.Constant(bytes_type, [_COMPLEMENT] * LANES))
            differing = builder.icmp_unsigned("!=", bases, _spread(builder, arguments[2]))
            return builder.zext(builder.bitcast(differing, ir.IntType(LANES)), ir.IntType(64))

        return types.uint64(codes, types.int64, types.uint64), generate

    return function


_forward, _reverse = _comparison(reverse=False), _comparison(reverse=True)


@inlined
def differing_bases(codes, first, last, reverse, place, count, word):
    """Compare `count` bases of an oriented read, from `place` on, with a packed word.

    Args:
        codes: uint8[], of the whole batch; 4 for N, which differs from every base.
        first: index of the read's first base in `codes`.
        last: index after its last base.
        reverse: True for the reverse complement of the read.
        place: index of the first base to compare, in the oriented read.
        count: number of bases, 0 to 32; all lie within the read.
        word: uint64, the bases to compare with, from the lowest bits up; bits after them are ignored.

    Returns:
        uint64: bit i is set where base place + i differs; bits from `count` on are 0.
    """
    mask = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    if reverse:
        item = last - LANES - place
        if item >= 0:
            return _reverse(codes, np.int64(item), word) & mask
    else:
        item = first + place
        if item + LANES <= len(codes):
            return _forward(codes, np.int64(item), word) & mask

    differing = np.uint64(0)  # near an end of the batch, where 32 bytes cannot be loaded
    for i in range(count):
        code = (
            np.uint64(codes[last - 1 - place - i]) ^ np.uint64(_COMPLEMENT) if reverse else np.uint64(codes[item + i])
        )
        if code != (word >> np.uint64(2 * i) & np.uint64(3)):
            differing |= np.uint64(1) << np.uint64(i)
    return differing
