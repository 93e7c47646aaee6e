"""Proposals of indels that explain breakpoints."""

from collections.abc import Sequence

from quire.rescore.long_indels import LONGEST, SHORTEST, LongIndel, left_aligned
from quire.rescore.long_indels.breakpoints_cpu import MINIMUM_TAIL, Breakpoint, facing
from quire.rescore.long_indels.placing_cpu import PLACED, UNIQUE, place
from quire.rescore.window import Window

MOST_BEFORE = 8  # bases between a breakpoint and those that fit
PAIRED = 100  # most bases between the breakpoints of an insertion, or of their overlap


def propose(found: Sequence[Breakpoint], window: Window) -> tuple[list[LongIndel], list[tuple[Breakpoint, Breakpoint]]]:
    """Return the events that explain breakpoints of one sample.

    These are deletions and tandem duplications, and pairs of breakpoints (clipped on the right, on the left) around
    insertions.
    """
    indels: list[LongIndel] = []
    unexplained = []
    for breakpoint in found:
        if not window.start < breakpoint.position < window.end:
            continue  # from a read beyond the window: it belongs to another chunk
        goes_on = continuation(breakpoint, window)
        if goes_on is None:
            unexplained.append(breakpoint)
            continue
        # In the sample, the sequence before `left` is followed by that from `right` on.
        left, right = (breakpoint.position, goes_on) if breakpoint.right else (goes_on, breakpoint.position)
        if not SHORTEST <= abs(right - left) <= LONGEST:
            continue
        repeated = window.between(right, left).tobytes() if right < left else b""
        indel = left_aligned(left, max(left, right), repeated, window.codes, window.start)
        if indel is not None:
            indels.append(indel)
    return indels, [(unexplained[right], unexplained[left]) for right, left in facing(unexplained, PAIRED)]


def continuation(breakpoint: Breakpoint, window: Window) -> int | None:
    """Return the one position nearby at which the reference continues like the clipped bases; None if none leads.

    It is the position of the first clipped base on the right, or after the last on the left.
    """
    low = max(window.start, breakpoint.position - LONGEST - len(breakpoint.tail))
    high = min(window.end, breakpoint.position + LONGEST + len(breakpoint.tail))
    codes, tail = window.between(low, high), breakpoint.tail
    if not breakpoint.right:
        codes, tail = codes[::-1].copy(), tail[::-1].copy()
    fit = place(codes, tail, both_strands=False)
    if fit is None or fit.score < max(MINIMUM_TAIL, PLACED * len(tail), fit.second + UNIQUE) or fit.first > MOST_BEFORE:
        return None
    offset = fit.start - fit.first
    return low + offset if breakpoint.right else high - offset


def insertion(pair: tuple[Breakpoint, Breakpoint], inserted: bytes, window: Window) -> LongIndel | None:
    """Return the indel by which bases (codes) are between two breakpoints, clipped on the right and on the left."""
    before, after = pair[0].position, pair[1].position
    return left_aligned(before, max(before, after), inserted + twice(pair, window), window.codes, window.start)


def twice(pair: tuple[Breakpoint, Breakpoint], window: Window) -> bytes:
    """Return the bases that reads from both sides align to, which occur twice in the sample."""
    before, after = pair[0].position, pair[1].position
    return window.between(after, before).tobytes() if after < before else b""


def unique(indels: Sequence[LongIndel]) -> list[LongIndel]:
    """Return the distinct indels of SHORTEST to LONGEST bases, in order."""
    return sorted({indel for indel in indels if SHORTEST <= abs(indel.change) <= LONGEST})
