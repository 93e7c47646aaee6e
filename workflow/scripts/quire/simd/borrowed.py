"""Arrays that a kernel borrows: views that count no references.

Taking an array out of a tuple, or a row out of a matrix, counts a reference up and down again, in atomic operations:
of pairing that was two thirds of the time. A view of the same memory that nobody owns has nothing to count.
"""

from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from quire.simd.compiled import inlined


@intrinsic
def _pointer(_typing_context, address, dtype):
    """The address (int64) of the first item of an array of `dtype`."""
    pointer = types.CPointer(dtype.dtype)

    def generate(context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(address, dtype), generate


@inlined
def borrowed(array):
    """A view of a contiguous array, which the caller must hold as long as it is used: an argument of the kernel."""
    return carray(_pointer(array.ctypes.data, array.dtype), array.shape)
