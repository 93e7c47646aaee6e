"""Proposals of indels that explain breakpoints."""

from collections.abc import Sequence

import numpy as np

from quire.rescore.long_indels import LONGEST, SHORTEST, LongIndel, left_aligned
from quire.rescore.long_indels.breakpoints_cpu import MINIMUM_TAIL, Breakpoint, facing
from quire.rescore.window import Window
from quire.simd.compiled import compiled

MISMATCH = 4  # matching bases that compensate for a mismatch
PAIRED = 100  # most bases between the breakpoints of an insertion, or of their overlap
WORD = 6
MINIMUM_WORDS = 10  # distinct words of a fit; a short tandem repeat has fewer and fits in many places
_NOWHERE = -1


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
    """Return the position nearby at which the reference continues like the clipped bases; None if there is none.

    It is the position of the first clipped base on the right, or after the last on the left.
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
    """Return the first offset in `codes` at which the tail fits best, _NOWHERE if the fit is not significant."""
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
    """Count the distinct words of WORD bases in a sequence."""
    seen = np.zeros(1 << 2 * WORD, np.bool_)
    value, size, count = 0, 0, 0
    for code in codes:
        value = (value << 2 | np.int64(code)) & ((1 << 2 * WORD) - 1)
        size = size + 1 if code < 4 else 0
        if size >= WORD and not seen[value]:
            seen[value] = True
            count += 1
    return count


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
