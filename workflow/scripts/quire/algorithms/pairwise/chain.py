"""Chains of exact matches that follow each other on both sequences.

The best chain is the one with the most bases. One sweep over the query finds it, with a tree of maxima over the target
(Abouelhoda and Ohlebusch 2005, J. Discrete Algorithms 3, without costs of gaps).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHORTENED = 10  # bases at each end of a match
SHORTENED_SHARE = 4  # at most a quarter of a match at each end


class Anchors(NamedTuple):
    """Exact matches: int64[k] each, 0-based starts and lengths."""

    query: NDArray[np.int64]
    target: NDArray[np.int64]
    length: NDArray[np.int64]


def shortened(matches: Anchors) -> Anchors:
    """Return the matches without their ends, which may match by chance; matches around a gap often overlap there."""
    cut = np.minimum(SHORTENED, matches.length // SHORTENED_SHARE)
    return Anchors(matches.query + cut, matches.target + cut, matches.length - 2 * cut)


def best_chain(matches: Anchors) -> Anchors:
    """Return the matches of a best chain in order; of several best chains always the same one."""
    count = len(matches.length)
    query_end, target_end = matches.query + matches.length, matches.target + matches.length
    # Ranks of the matches' ends on the target. A match can follow all matches that end at or before its begin.
    ends = np.unique(target_end)
    rank_of_end = np.searchsorted(ends, target_end).tolist()
    reachable = np.searchsorted(ends, matches.target, side="right").tolist()
    lengths = matches.length.tolist()
    # At one position of the query ends come before starts.
    places = np.concatenate([query_end, matches.query])
    is_begin = np.repeat([False, True], count)
    number = np.tile(np.arange(count), 2)
    tree: list[tuple[int, int]] = [(0, -1)] * (len(ends) + 1)
    bases, before = [0] * count, [-1] * count
    for event in np.lexsort((number, is_begin, places)).tolist():
        match = int(number[event])
        if is_begin[event]:
            best, before[match] = _largest(tree, reachable[match])
            bases[match] = best + lengths[match]
        else:
            _raise(tree, rank_of_end[match], (bases[match], match))
    chain = []
    match = max(range(count), key=lambda one: (bases[one], -one), default=-1)
    while match >= 0:
        chain.append(match)
        match = before[match]
    return Anchors(*(array[chain[::-1]] for array in matches))


def _largest(tree: list[tuple[int, int]], count: int) -> tuple[int, int]:
    """Return the largest entry of the first `count` ranks (Fenwick 1994)."""
    best = (0, -1)
    while count > 0:
        best = max(best, tree[count])
        count &= count - 1
    return best


def _raise(tree: list[tuple[int, int]], rank: int, entry: tuple[int, int]) -> None:
    """Raise the entry of a rank."""
    rank += 1
    while rank < len(tree):
        tree[rank] = max(tree[rank], entry)
        rank += rank & -rank
