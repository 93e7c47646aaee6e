"""Binary searches that kernels share."""

from quire.simd.compiled import inlined


@inlined
def interval_of(borders, position):
    """Number of the interval that holds a position: interval i goes from borders[i] to borders[i + 1], sorted ones."""
    low, high = 0, len(borders) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if borders[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@inlined
def first_behind(spans, position):
    """Number of the first of sorted spans (int64[n, 2]) that ends behind a position; n where there is none."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) >> 1
        if spans[middle, 1] > position:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def first_above(values, first, last, bound):
    """Place of the first of the sorted values[first:last] that is above a bound; `last` where there is none."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] > bound:
            last = middle
        else:
            first = middle + 1
    return first
