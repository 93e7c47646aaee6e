"""Arrays that a kernel borrows: views that count no references.

Taking an array out of a tuple, or a row out of a matrix, counts a reference up and down again, in atomic operations:
of pairing that was two thirds of the time. A view of the same memory that nobody owns has nothing to count.
"""

from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from quire.simd.compiled import inlined


@intrinsic
def _pointer(_typing_context, array):
    """The address of the first item of an array in C order, which is all that a view of it takes along."""
    if array.layout != "C":
        raise TypingError(f"only arrays in C order can be borrowed, not {array}")
    pointer = types.CPointer(array.dtype)

    def generate(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return pointer(array), generate


@inlined
def borrowed(array):
    """A view of a contiguous array, which the caller must hold as long as it is used: an argument of the kernel."""
    return carray(_pointer(array), array.shape)
