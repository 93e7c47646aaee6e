"""Short tandem repeats along a read (ReadLikelihoodCalculationEngine.findTandemRepeatUnits), with Numba.

Eight counters, one in each byte of a word, hold for each distance of 1 to 8 the number of consecutive bases, up to the
current one, that equal the base at that distance before them. A unit of u bases is repeated k more times if the counter
of distance u is at least k u.
"""

import numpy as np

from quire.simd.bits import ONES, bytes_below_lowest_bit
from quire.simd.compiled import inlined

MOST_REPEATS = 20
_LONGEST_UNIT = 8  # ReadLikelihoodCalculationEngine.MAX_STR_UNIT_LENGTH
_HIGH, _LOW = np.uint64(0x8080808080808080), np.uint64(0x7F7F7F7F7F7F7F7F)
_NO_BASE = np.uint64(0x0707070707070707)  # before the first base; differs from all codes
# 128 - u in the byte of u: adding it makes a counter of at least u reach 128.
_UP_TO_UNIT = np.uint64(int.from_bytes(bytes(128 - unit for unit in range(1, _LONGEST_UNIT + 1)), "little"))


# 2^16 / unit, rounded up: multiplying and shifting divides a counter by the unit, exactly up to the highest counter.
_SHARES = np.array([0, *((1 << 16) // unit + 1 for unit in range(1, _LONGEST_UNIT + 1))], np.int64)


@inlined
def count_repeats(bases, begin, end, backward, forward, repeats):
    """Count the copies of the short tandem repeat that ends at each base or starts at the next, at most MOST_REPEATS.

    The read is at [begin, end) in `bases`, and so is the result in `repeats` (uint8). `backward` and `forward` (uint64)
    are workspace for each base.
    """
    size = end - begin
    _count_runs(bases, begin, size, backward, forward)
    # Without branches, because the processor could not predict them.
    for i in range(size - 1):
        # Without a repeat the unit is one base. Both units are the same if the next unit also ends at base i.
        unit, before = _first_unit(backward[i])
        next_unit, after = _first_unit(forward[i + 1])
        run = _run(backward[i + next_unit], next_unit)
        repeated = run * _SHARES[next_unit] >> 16
        before = repeated if unit != next_unit or run < unit else before
        repeats[begin + i] = min(before + after, MOST_REPEATS)
    if size > 0:
        repeats[end - 1] = min(_first_unit(backward[size - 1])[1], MOST_REPEATS)


@inlined
def _count_runs(bases, begin, size, backward, forward):
    """Fill the counters of each base of a read from its start (`backward`) and from its end (`forward`)."""
    history, runs = _NO_BASE, np.uint64(0)
    history_after, runs_after = _NO_BASE, np.uint64(0)
    for i in range(size):
        base, base_after = np.uint64(bases[begin + i]), np.uint64(bases[begin + size - 1 - i])
        runs = _longer_runs(runs, history, base)
        runs_after = _longer_runs(runs_after, history_after, base_after)
        history = history << np.uint64(8) | base
        history_after = history_after << np.uint64(8) | base_after
        backward[i], forward[size - 1 - i] = runs, runs_after


@inlined
def _longer_runs(runs, history, base):
    """Return the counters after one more base, limited to 224, which is 28 copies of the longest unit."""
    differs = ((history ^ base * ONES) + _LOW & _HIGH) >> np.uint64(7)
    equal = differs ^ ONES  # 1 in the bytes of the distances at which the earlier base equals this one
    runs &= equal * np.uint64(255)
    full = (runs & runs << np.uint64(1) & runs << np.uint64(2) & _HIGH) >> np.uint64(7)
    return runs + (equal & ~full)


@inlined
def _first_unit(runs):
    """Return the shortest repeated unit and its number of copies; (1, 1) if there is no repeat."""
    repeated = ((runs & _LOW) + _UP_TO_UNIT | runs) & _HIGH
    repeated |= np.uint64(repeated == 0) << np.uint64(7)  # the counter of unit 1 is then 0
    unit = np.int64(bytes_below_lowest_bit(repeated)) + 1
    return unit, (_run(runs, unit) * _SHARES[unit] >> 16) + 1


@inlined
def _run(runs, unit):
    """Return the counter of a unit."""
    return np.int64(runs >> np.uint64(8 * (unit - 1)) & np.uint64(255))
