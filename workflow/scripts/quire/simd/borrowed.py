"""Views of arrays that a kernel borrows, which count no references.

Taking an array out of a tuple, or a row out of a matrix, increments and decrements its reference count atomically. In
pairing that took two thirds of the time. A view of the same memory without an owner has nothing to count.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def borrowed(_typing_context, value):
    """Return an array, or a (named) tuple with its arrays, as views without an owner.

    The caller must hold the arrays for as long as the views are used: they are arguments of the kernel. Other members
    of a tuple are unchanged.
    """

    def generate(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _without_owner(context, builder, kind, value):
    """Generate the code that clears the owners of an array or of a tuple's arrays."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        members = [
            _without_owner(context, builder, member, builder.extract_value(value, i)) for i, member in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, members)
    return value
