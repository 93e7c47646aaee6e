"""Conversion of a reference to the axis of complete search."""

import numpy as np

from quire.algorithms.complete import Axis
from quire.reference import Reference


def axis_of(reference: Reference) -> Axis:
    """Return the packed text, the ambiguous spans and the islands of a reference."""
    return Axis(reference.text, np.asarray(reference.ambiguous), reference.island_axis)
