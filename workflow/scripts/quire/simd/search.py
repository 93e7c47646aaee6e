"""Binary searches that kernels share."""

from quire.simd.compiled import inlined


@inlined
def interval_of(borders, position):
    """Return the number of the interval that holds a position; interval i is sorted borders[i] to borders[i + 1]."""
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
    """Return the number of the first of sorted spans (int64[n, 2]) that ends after a position; n if none does."""
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
    """Return the index of the first of the sorted values[first:last] above a bound; `last` if none is."""
    while first < last:
        middle = (first + last) >> 1
        if values[middle] > bound:
            last = middle
        else:
            first = middle + 1
    return first
