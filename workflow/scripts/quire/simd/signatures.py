"""Types of kernels' arguments from their descriptions in the list of kernels (`quire.kernel_list`)."""

from importlib import import_module
from typing import Any

import numba
import numpy as np
from numba.core import types


def type_of(description: Any) -> types.Type:
    """Return the type of a description: a scalar's name, the dtype of a record, or a list for arrays and tuples.

    A list begins with `array`, dimensions, layout and flags, with `tuple`, or with the class of a named tuple
    (module:name); the types of the elements follow.
    """
    if isinstance(description, str):
        return getattr(types, description)
    if isinstance(description, dict):
        fields = [(name, text, tuple(shape)) for name, text, shape in description["fields"]]
        return numba.from_dtype(np.dtype(fields, align=description["aligned"]))
    name, *inner = description[0], *map(type_of, description[1:])
    if name.startswith("array "):
        _, dimensions, layout, *flags = name.split()
        return types.Array(inner[0], int(dimensions), layout, "readonly" in flags, aligned="unaligned" not in flags)
    if name == "tuple":
        return types.Tuple(inner)
    module, _, name = name.partition(":")
    named = getattr(import_module(module), name)
    # Numba has another class for tuples of one type.
    return types.NamedUniTuple(inner[0], len(inner), named) if len({*inner}) == 1 else types.NamedTuple(inner, named)
