"""Estimation of repeat tables from indel counts at repeats: GATK's DragstrParametersEstimator.

A site of a diploid sample has no indel, one on one of its chromosomes, or one on both; both is half as likely as one.
At a site without an indel, a read shows one by error, with a probability that grows with the length of the repeat. For
each period and number of repeats, a grid search finds the error rate per base and the prior of an indel that maximise
the likelihood of all reads. Neighbouring numbers of repeats are pooled where sites are few, and where errors would
become rarer, or indels much rarer, with more repeats.
"""

import math

import numpy as np
from numpy.typing import NDArray

from quire.rescore.dragen.tables import DEFAULT, LONGEST_PERIOD, MOST_REPEATS, RepeatTables
from quire.rescore.genotyping.allele_frequency_cpu import log10_sum
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten import power_of_ten as powers_of_ten
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

HETEROZYGOUS_TO_HOMOZYGOUS = 2.0
_LEAST_SITES = 50  # of a number of repeats; one with fewer is pooled with others
_PRIOR_DROP = 3.0  # most that the prior's phred may rise from one number of repeats to the next
_ERRORS = np.arange(10.0, 51.0)  # phreds of the grid
_PRIORS = np.arange(0.0, 41.0)
_GAP_OPENS = np.arange(0.0, 50.125, 0.25)  # phreds
_LEAST_GAP_OPEN = 10.0
_LOG10_HALF = -0.3010299956639812
_NEEDED_CASES = 200
_NEEDED = ((1, 1, 9), (2, 2, 5), (3, 2, 4), (4, 2, 3), (5, 2, 2), (6, 2, 2), (7, 2, 2), (8, 2, 2))  # period, repeats


def too_few(counts: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return (period, repeats, sites) of the classes of `counts` (int64[8, 20]) in which GATK requires more sites."""
    return [
        (period, repeats, int(counts[period - 1, repeats - 1]))
        for period, first, last in _NEEDED
        for repeats in range(first, last + 1)
        if counts[period - 1, repeats - 1] < _NEEDED_CASES
    ]


def estimate(cases: NDArray[np.void]) -> RepeatTables:
    """Estimate tables from the sites of a sample (`sample_of_cases`)."""
    errors, priors = np.zeros((LONGEST_PERIOD, MOST_REPEATS)), np.zeros((LONGEST_PERIOD, MOST_REPEATS))
    for period in range(1, LONGEST_PERIOD + 1):
        rows = cases[cases["class"] // MOST_REPEATS == period - 1]
        by_repeats = [_distinct(rows[rows["class"] % MOST_REPEATS == r]) for r in range(MOST_REPEATS)]
        errors[period - 1], priors[period - 1] = _estimate_period(period, by_repeats)
    opening = np.array([[_gap_open(period, error) for error in row] for period, row in enumerate(errors.tolist(), 1)])
    return RepeatTables(opening, DEFAULT.gap_continuation, priors, estimated=True)


def _distinct(cases: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the distinct pairs of depth and indels with their number of sites (int64[m, 3])."""
    pairs, counts = np.unique(np.stack([cases["depth"], cases["indels"]], axis=1), axis=0, return_counts=True)
    return np.column_stack([pairs, counts]).astype(np.int64)


def _estimate_period(
    period: int, by_repeats: list[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the phreds of an error at a base and of an indel (float64[20] each), by repeats."""
    errors, priors = np.zeros(MOST_REPEATS), np.zeros(MOST_REPEATS)
    pending = _groups([int(cases[:, 2].sum()) for cases in by_repeats])
    done: list[tuple[int, int]] = []
    while pending:
        first, last = pending.pop(0)
        errors[first - 1 : last], priors[first - 1 : last] = _likeliest(period, first, by_repeats[first - 1 : last])
        if not done:
            done.append((first, last))
            continue
        before = done[-1][1] - 1
        if errors[before] >= errors[first - 1] and priors[before] + _PRIOR_DROP >= priors[first - 1]:
            done.append((first, last))
        else:
            pending.insert(0, (done.pop()[0], last))
    return errors, priors


def _groups(counts: list[int]) -> list[tuple[int, int]]:
    """Return initial ranges of repeats (first, last); the outermost hold at least _LEAST_SITES sites if possible."""
    left, total = 0, 0
    while left < MOST_REPEATS and total < _LEAST_SITES:
        left += 1
        total += counts[left - 1]
    right, total = MOST_REPEATS, 0
    while right > 1 and total < _LEAST_SITES:
        right -= 1
        total += counts[right - 1]
    if right < left:
        return [(1, MOST_REPEATS)]
    return [(1, left), *((r, r) for r in range(left + 1, right + 1)), (right + 1, MOST_REPEATS)]


def _gap_open(period: int, error: float) -> float:
    """Return the gap open phred with which PairHMM makes gaps of one unit at the given error rate (phred)."""
    rate, continuation = powers_of_ten(np.array([-error / 10, -1.0 / period])).tolist()
    opens = powers_of_ten(-_GAP_OPENS / 10)
    gaps = opens * continuation ** (period - 1) * (1.0 - continuation)
    with np.errstate(divide="ignore"):
        odds = gaps / np.prod([1.0 - 2.0 * opens] * (period + 1), axis=0)
    best = int(np.argmin(np.abs(odds - rate)))
    return max(_LEAST_GAP_OPEN, float(_GAP_OPENS[best]))


def _least_error(period: int) -> float:
    """Return the lowest phred of an error per base at which half of the reads of the longest repeat are right."""
    return math.ceil(-10 * math.log10(1 - 0.5 ** (1 / (MOST_REPEATS * period) / 2)))


def _likeliest(period: int, first_repeats: int, by_repeats: list[NDArray[np.int64]]) -> tuple[float, float]:
    """Return the phreds of an error at a base and of an indel that maximise the likelihood; ties go to the smallest."""
    # `by_repeats` has groups of (depth, indels, number of sites); each group has one repeat more than the one before.
    cases = np.concatenate(by_repeats)
    bases = np.repeat(np.arange(first_repeats, first_repeats + len(by_repeats)), [len(part) for part in by_repeats])
    errors = _ERRORS[_least_error(period) <= _ERRORS]
    error, prior = _search(cases, bases * period, errors, _PRIORS)
    return float(errors[error]), float(_PRIORS[prior])


@compiled
def _search(cases, bases, errors, priors):
    """Return the indices of the likeliest error and prior."""
    best = -np.inf
    best_error, best_prior = 0, 0
    most_heterozygous = log10(HETEROZYGOUS_TO_HOMOZYGOUS / (1.0 + HETEROZYGOUS_TO_HOMOZYGOUS))
    for p in range(len(priors)):
        heterozygous = min(-priors[p] / 10, most_heterozygous)
        homozygous = heterozygous - log10(HETEROZYGOUS_TO_HOMOZYGOUS)
        reference = _log10_of_rest(log10_sum(heterozygous, homozygous))
        for e in range(len(errors)):
            right_at_base = _log10_of_rest(-errors[e] / 10 - _LOG10_HALF)
            total = 0.0
            for i in range(len(cases)):
                depth, indels, sites = cases[i]
                right = bases[i] * right_at_base
                wrong = _log10_of_rest(right)
                likelihood = log10_sum(
                    reference + indels * wrong + (depth - indels) * right, heterozygous + depth * _LOG10_HALF
                )
                if depth == indels:
                    likelihood = log10_sum(likelihood, homozygous)
                total += sites * likelihood
                if total < best:
                    break
            if total > best:
                best, best_error, best_prior = total, e, p
    return best_error, best_prior


@compiled
def _log10_of_rest(x):
    """Return log10(1 - 10^x), -inf where nothing is left."""
    rest = 1.0 - power_of_ten(x)
    return log10(rest) if rest > 0 else -np.inf
