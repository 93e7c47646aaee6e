"""Numbers as text, written by kernels."""

from quire.simd.compiled import inlined


@inlined
def write_number(text, used, value):
    """Write the decimal digits of a non-negative number to text[used:]; return their end."""
    digits = 1
    rest = value
    while rest >= 10:
        rest //= 10
        digits += 1
    for i in range(used + digits - 1, used - 1, -1):
        text[i] = 48 + value % 10
        value //= 10
    return used + digits
