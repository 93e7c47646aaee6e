"""Numba: short tandem repeats along a read (ReadLikelihoodCalculationEngine.findTandemRepeatUnits), all places at once.

Eight counters, one a byte of a word, say for each distance of 1 to 8 how many bases in a row, up to the one at hand,
equal the base so far before them. A unit of u bases is repeated k more times where the counter of u is at least k u.
"""

import numpy as np

from quire.simd.bits import ONES, bytes_below_lowest_bit
from quire.simd.compiled import compiled, inlined

MOST_REPEATS = 20
_LONGEST_UNIT = 8  # ReadLikelihoodCalculationEngine.MAX_STR_UNIT_LENGTH
_HIGH, _LOW = np.uint64(0x8080808080808080), np.uint64(0x7F7F7F7F7F7F7F7F)
_NO_BASE = np.uint64(0x0707070707070707)  # before the first one: equals no code
# 128 - u in the byte of u: what lifts a counter of at least u to 128.
_UP_TO_UNIT = np.uint64(int.from_bytes(bytes(128 - unit for unit in range(1, _LONGEST_UNIT + 1)), "little"))


@compiled
def count_repeats(bases, backward, forward, repeats):
    """Copies of the short tandem repeat that each base ends or that starts behind it, at most MOST_REPEATS.

    Args:
        bases: uint8[n] codes 0 to 4.
        backward, forward: uint64[>= n], room to work.
        repeats: uint8[>= n], the answers.
    """
    size = len(bases)
    history, runs = _NO_BASE, np.uint64(0)
    for i in range(size):
        runs = _longer_runs(runs, history, np.uint64(bases[i]))
        history = history << np.uint64(8) | np.uint64(bases[i])
        backward[i] = runs
    history, runs = _NO_BASE, np.uint64(0)
    for i in range(size - 1, -1, -1):
        runs = _longer_runs(runs, history, np.uint64(bases[i]))
        history = history << np.uint64(8) | np.uint64(bases[i])
        forward[i] = runs
    for i in range(size - 1):
        # Without a repeat the unit is one base. Both units are the same if what follows i equals what ends there.
        unit, before = _first_unit(backward[i])
        next_unit, behind = _first_unit(forward[i + 1])
        if unit != next_unit or _run(backward[i + unit], unit) < unit:
            before = _run(backward[i + next_unit], next_unit) // next_unit
        repeats[i] = min(before + behind, MOST_REPEATS)
    if size > 0:
        repeats[size - 1] = min(_first_unit(backward[size - 1])[1], MOST_REPEATS)


@inlined
def _longer_runs(runs, history, base):
    """The counters with one more base. They stay where they would pass 224: of the longest unit that is 28 copies."""
    differs = ((history ^ base * ONES) + _LOW & _HIGH) >> np.uint64(7)
    equal = differs ^ ONES
    runs &= equal * np.uint64(255)
    full = (runs & runs << np.uint64(1) & runs << np.uint64(2) & _HIGH) >> np.uint64(7)
    return runs + (equal & ~full)


@inlined
def _first_unit(runs):
    """The shortest unit that is repeated here, and its copies; (1, 1) where none is."""
    repeated = ((runs & _LOW) + _UP_TO_UNIT | runs) & _HIGH
    if repeated == 0:
        return np.int64(1), np.int64(1)
    unit = np.int64(bytes_below_lowest_bit(repeated)) + 1
    return unit, _run(runs, unit) // unit + 1


@inlined
def _run(runs, unit):
    """The counter of a unit."""
    return np.int64(runs >> np.uint64(8 * (unit - 1)) & np.uint64(255))
