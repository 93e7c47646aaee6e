"""From breakpoints to the indels that would explain them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quire.rescore.long_indels import LONGEST, SHORTEST, LongIndel, left_aligned
from quire.rescore.long_indels.breakpoints import MINIMUM_TAIL, Breakpoint
from quire.rescore.regions import Window
from quire.simd.compiled import compiled

MISMATCH = 4  # that many matching bases outweigh a mismatch
PAIRED = 100  # bases that the two breakpoints of an insertion lie apart, or overlap, at most
WORD = 6
MINIMUM_WORDS = 10  # different ones in what fits: short tandem repeats fit each other in many places
_NOWHERE = -1


class Proposals(NamedTuple):
    """What a sample's breakpoints propose.

    Attributes:
        indels: deletions and tandem duplications.
        insertions: pairs of breakpoints (clipped on the right, on the left) around something inserted.
    """

    indels: list[LongIndel]
    insertions: list[tuple[Breakpoint, Breakpoint]]


def propose(found: Sequence[Breakpoint], window: Window) -> Proposals:
    """Indels and places of insertions that breakpoints of one sample propose."""
    indels: list[LongIndel] = []
    unexplained = []
    for breakpoint in found:
        if not window.start < breakpoint.position < window.end:
            continue  # of a read that reaches beyond the window: what starts there is another chunk's
        goes_on = continuation(breakpoint, window)
        if goes_on is None:
            unexplained.append(breakpoint)
            continue
        # What stands before `left` is followed by what stands from `right` on.
        left, right = (breakpoint.position, goes_on) if breakpoint.right else (goes_on, breakpoint.position)
        if not SHORTEST <= abs(right - left) <= LONGEST:
            continue
        repeated = window.between(right, left).tobytes() if right < left else b""
        indel = left_aligned(left, max(left, right), repeated, window.codes, window.start)
        if indel is not None:
            indels.append(indel)
    return Proposals(indels, _pairs(unexplained))


def continuation(breakpoint: Breakpoint, window: Window) -> int | None:
    """The position nearby where the reference goes on as the clipped bases do: theirs, or that behind the last.

    Returns:
        None where there is no such place.
    """
    low = max(window.start, breakpoint.position - LONGEST - len(breakpoint.tail))
    high = min(window.end, breakpoint.position + LONGEST + len(breakpoint.tail))
    codes, tail = window.between(low, high), breakpoint.tail
    if not breakpoint.right:
        codes, tail = codes[::-1].copy(), tail[::-1].copy()
    offset = int(_best_offset(codes, tail))
    if offset == _NOWHERE:
        return None
    return low + offset if breakpoint.right else high - offset


@compiled
def _best_offset(codes, tail):
    """Where in `codes` the tail stands best (the first such place), _NOWHERE if that says little."""
    best, offset, fitting = np.int64(MINIMUM_TAIL - 1), np.int64(_NOWHERE), np.int64(0)
    for at in range(len(codes)):
        size = min(len(tail), len(codes) - at)
        if size <= best:
            break
        score, highest, end = np.int64(0), np.int64(0), np.int64(0)
        for k in range(size):
            if tail[k] > 3:
                continue
            score += np.int64(1) if codes[at + k] == tail[k] else np.int64(-MISMATCH)
            if score > highest:
                highest, end = score, np.int64(k + 1)
            if score < -2 * MISMATCH or (score < 0 and k >= 2 * MISMATCH):
                break
        if highest > best:
            best, offset, fitting = highest, np.int64(at), end
    return offset if _different_words(tail[:fitting]) >= MINIMUM_WORDS else np.int64(_NOWHERE)


@compiled
def _different_words(codes):
    """How many different words of WORD bases a sequence has."""
    seen = np.zeros(1 << 2 * WORD, np.bool_)
    value, size, count = 0, 0, 0
    for code in codes:
        value = (value << 2 | np.int64(code)) & ((1 << 2 * WORD) - 1)
        size = size + 1 if code < 4 else 0
        if size >= WORD and not seen[value]:
            seen[value] = True
            count += 1
    return count


def _pairs(found: Sequence[Breakpoint]) -> list[tuple[Breakpoint, Breakpoint]]:
    """Breakpoints with clips on the right, each with those on the left that lie close."""
    rights = [one for one in found if one.right]
    lefts = [one for one in found if not one.right]
    positions = np.array([one.position for one in lefts], np.int64)
    pairs = []
    for right in rights:
        low, high = np.searchsorted(positions, [right.position - PAIRED, right.position + PAIRED + 1])
        pairs += [(right, left) for left in lefts[low:high]]
    return pairs


def unique(indels: Sequence[LongIndel]) -> list[LongIndel]:
    """Each indel once, in order, those of the lengths of this road."""
    return sorted({indel for indel in indels if SHORTEST <= abs(indel.change) <= LONGEST})
