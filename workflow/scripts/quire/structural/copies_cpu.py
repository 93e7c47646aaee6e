"""The hidden Markov model of copy numbers along windows.

States are the copy numbers from 0 to HIGHEST. The reads of a window have a negative binomial distribution around its
expectation for one copy times the copy number, or times NOISE for none. A path changes its state with one probability,
whatever the states. It begins and ends anywhere.
"""

import math

import numpy as np

from quire.simd.compiled import compiled, inlined

HIGHEST = 8
NOISE = 0.05  # copies by whose reads a window without copies is seen, since some reads are at a wrong place
LOG_CHANGE = math.log(1e-5)  # of a change of the copy number from one window to the next


@inlined
def _emission(reads, expected, copies, variance):
    """Return the logarithm of the negative binomial probability, without terms that do not depend on the copies."""
    mean = expected * max(np.float64(copies), NOISE)
    return reads * math.log(mean / (1 + variance * mean)) - math.log1p(variance * mean) / variance


@compiled
def likelihoods(reads, expected, variance, weight):
    """Return log likelihoods (float64[HIGHEST + 1]) of all windows having each number of copies.

    Args:
        reads: int64[windows].
        expected: float64[windows], reads for one copy.
        variance: relative variance beyond that of counts, above 0.
        weight: what a window counts for, at most 1.
    """
    result = np.zeros(HIGHEST + 1)
    for window in range(len(reads)):
        for copies in range(HIGHEST + 1):
            result[copies] += weight * _emission(np.float64(reads[window]), expected[window], copies, variance)
    return result


@compiled
def likeliest_copies(reads, expected, contigs, variance, weight):
    """Return the copy numbers (int64[windows]) of the likeliest path of each contig, the lowest ones of several.

    `contigs` is int32[windows]; the others are as in `likelihoods`.
    """
    count, states = len(reads), HIGHEST + 1
    came_from = np.empty((count, states), np.uint8)  # the state before
    path = np.empty(count, np.int64)
    scores = np.zeros(states)
    for window in range(count):
        best = 0
        for state in range(1, states):
            if scores[state] > scores[best]:
                best = state
        is_first = window == 0 or contigs[window] != contigs[window - 1]
        changed = scores[best] + LOG_CHANGE
        for state in range(states):
            came_from[window, state] = state
            if is_first:
                scores[state] = 0.0
            elif changed > scores[state]:
                scores[state], came_from[window, state] = changed, best
            scores[state] += weight * _emission(np.float64(reads[window]), expected[window], state, variance)
        if window + 1 == count or contigs[window + 1] != contigs[window]:
            last = 0
            for state in range(1, states):
                if scores[state] > scores[last]:
                    last = state
            path[window] = last
    for window in range(count - 2, -1, -1):
        if contigs[window + 1] == contigs[window]:
            path[window] = came_from[window + 1, path[window + 1]]
    return path
