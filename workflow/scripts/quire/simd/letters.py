"""Lane-wise scores of two letters (0 to 7) of the rows and columns of an alignment.

With AVX2, selecting bytes by a mask takes two or three operations after the comparison. Here the exclusive or of two
letters indexes a table in a register, two operations in all. Scores of 16 bits are looked up byte by byte, so letters
are written into both bytes. With registers of 64 bytes a selection is one operation, so a table gains nothing; nor does
it for scores of 32 bits.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from quire.simd.processor import has_avx2, has_avx512
from quire.simd.vectors import VectorType

LETTERS = 8
_BYTE, _INDEX = ir.IntType(8), ir.IntType(32)


TABLES = has_avx2() and not has_avx512()
"""True if scores are looked up in a table."""
BOTH_BYTES = 0x0101 if TABLES else 1
"""Factor of letters that are compared in more than 8 bits."""
ROW_MARK = LETTERS << 8 if TABLES else 0
"""Added to letters of rows in more than 8 bits: the table holds the upper bytes of scores after the lower bytes."""


def _looked_up(element: types.Type, lanes: int) -> bool:
    """Return True if scores of such vectors are looked up in a table."""
    return TABLES and element.bitwidth in (8, 16) and lanes * element.bitwidth in (256, 512)


@intrinsic(prefer_literal=True)
def letter_scores(_typing_context, equal, different, lanes):
    """Return the vector of scores that `score_letters` takes; both scores have the same integer type."""
    equal, different = types.unliteral(equal), types.unliteral(different)
    vector = VectorType(equal, lanes.literal_value)
    table = _looked_up(equal, vector.lanes)

    def generate(context, builder, _signature, arguments):
        llvm_vector = context.get_value_type(vector)
        if not table:  # the first lane and the others
            lane_of = [0] + [1] * (vector.lanes - 1)
            return _of_two(builder, llvm_vector, arguments[0], arguments[1], lane_of)
        size = equal.bitwidth // 8
        pieces = []
        for byte in range(size):
            pieces += [
                builder.trunc(builder.lshr(score, ir.Constant(score.type, 8 * byte)), _BYTE) if size > 1 else score
                for score in arguments[:2]
            ]
        bytes_ = vector.lanes * size
        scores = ir.Constant(ir.VectorType(_BYTE, bytes_), ir.Undefined)
        for place in range(bytes_):
            byte = place % 16 // LETTERS % size
            which = 2 * byte + (place % LETTERS > 0 or place % 16 >= LETTERS * size)
            scores = builder.insert_element(scores, pieces[which], ir.Constant(_INDEX, place))
        return builder.bitcast(scores, llvm_vector)

    return vector(equal, different, lanes), generate


def _of_two(builder, llvm_vector, first, second, lane_of):
    """Generate a vector whose lanes each hold one of two scalars."""
    vector = ir.Constant(llvm_vector, ir.Undefined)
    for lane, which in enumerate(lane_of):
        vector = builder.insert_element(vector, (first, second)[which], ir.Constant(_INDEX, lane))
    return vector


def _look_up(builder, known, differing, registers):
    """Generate a table lookup: a byte of `known` for each byte of `differing`, in one or two registers of 32 bytes."""
    register, whole = ir.VectorType(_BYTE, 32), ir.VectorType(_BYTE, 32 * registers)
    prototype = ir.FunctionType(register, [register, register])
    look_up = cgutils.get_or_insert_function(builder.module, prototype, "llvm.x86.avx2.pshuf.b")
    both = [builder.bitcast(vector, whole) for vector in (known, differing)]
    if registers == 1:
        return builder.call(look_up, both)
    undefined = ir.Constant(whole, ir.Undefined)
    found = []
    for first in (0, 32):
        mask = ir.Constant(ir.VectorType(_INDEX, 32), [*range(first, first + 32)])
        found.append(builder.call(look_up, [builder.shuffle_vector(vector, undefined, mask) for vector in both]))
    return builder.shuffle_vector(found[0], found[1], ir.Constant(ir.VectorType(_INDEX, 64), [*range(64)]))


@intrinsic
def score_letters(_typing_context, rows, columns, scores):
    """Score letters of rows against those of columns, lane by lane, by the `scores` of `letter_scores`.

    For elements of more than 8 bits, multiply letters by BOTH_BYTES and add ROW_MARK to those of rows.
    """
    table = _looked_up(rows.element, rows.lanes)
    mark = ROW_MARK if rows.element.bitwidth > 8 else 0

    def generate(_context, builder, _signature, arguments):
        letters, others, known = arguments
        differing = builder.xor(letters, others)
        if table:
            found = _look_up(builder, known, differing, rows.lanes * rows.element.bitwidth // 256)
            return builder.bitcast(found, letters.type)
        lanes = ir.VectorType(_INDEX, rows.lanes)
        undefined = ir.Constant(letters.type, ir.Undefined)
        equal, different = (
            builder.shuffle_vector(known, undefined, ir.Constant(lanes, [lane] * rows.lanes)) for lane in (0, 1)
        )
        same = ir.Constant(letters.type, [ir.Constant(letters.type.element, mark)] * rows.lanes)
        return builder.select(builder.icmp_signed("==", differing, same), equal, different)

    return rows(rows, columns, scores), generate
