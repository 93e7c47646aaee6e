"""DRAGEN's error models by their definitions, in plain, slow Python; the tests compare the fast functions with it."""

import math
from collections.abc import Sequence

LONGEST_PERIOD = 8


def units_from(text: str, start: int, period: int) -> int:
    """Count consecutive copies of the unit that starts at a position; 0 if the unit does not fit into the text."""
    unit = text[start : start + period]
    count = 0
    while len(unit) == period and text[start + count * period :].startswith(unit):
        count += 1
    return count


def repeats_in_read(text: str) -> list[tuple[int, int]]:
    """Return (period, repeats) at each base of a read."""
    best = []
    for i, letter in enumerate(text):
        start = i
        while start > 0 and text[start - 1] == letter:
            start -= 1
        own, after = units_from(text, start, 1), i + units_from(text, i, 1)
        last = after == i + 1
        best.append((1, max(own, units_from(text, after, 1) if last else 0)))
    for period in range(2, min(LONGEST_PERIOD, len(text)) + 1):
        runs = _runs_of_units(text, period)
        for i in range(len(text)):
            most = max(runs[max(0, i - period + 1) : i + 2])
            if most > best[i][1]:
                best[i] = period, most
    return best


def _runs_of_units(text: str, period: int) -> list[int]:
    """Return the number of units in the run that contains the unit at each base, and 1 after the last base."""
    runs = [0] * len(text)
    for phase in range(period):
        i = phase
        while i < len(text):
            units = units_from(text, i, period)
            for k in range(units):
                runs[i + k * period] = units
            i += max(units, 1) * period
    if runs[0] > 1:  # as DragstrReadSTRAnalyzer does
        runs[0] -= 1
    return [*runs, 1]


def repeat_at(text: str, position: int) -> tuple[int, int]:
    """Return (period, repeats) of the reference at a position."""
    period = max(range(1, LONGEST_PERIOD + 1), key=lambda p: (units_from(text, position, p), -p))
    unit, count = text[position : position + period], units_from(text, position, period)
    start = position
    while start >= period and text[start - period : start] == unit:
        start, count = start - period, count + 1
    return period, count


def repeats_between(text: str, first: int, last: int) -> list[tuple[int, int, int]]:
    """Return (start, end, period) of the repeats at positions [first, last) of the reference."""
    found = []
    i = first
    while i < last:
        stretches = []
        for period in range(1, LONGEST_PERIOD + 1):
            if i + period > len(text) or "N" in text[i : i + period]:
                break
            start, end = i, i + period
            while start > 0 and text[start - 1] == text[start - 1 + period]:
                start -= 1
            while end < len(text) and text[end] == text[end - period]:
                end += 1
            stretches.append((start, end, period))
        if stretches:
            found.append(max(stretches, key=lambda one: ((one[1] - one[0]) // one[2], -one[2])))
        i = found[-1][1] if stretches else i + 1
    return found


def log10_sum(a: float, b: float) -> float:
    """Return log10(10^a + 10^b)."""
    if max(a, b) == -math.inf:
        return -math.inf
    return max(a, b) + math.log10(1 + 10 ** (min(a, b) - max(a, b)))


def dropout(reads: Sequence[tuple[bool, int, int, float | None, float | None]], homopolymers: tuple[int, int]) -> float:
    """Return the log10 likelihood of a homozygous genotype with one error allele under base-quality dropout.

    Args:
        reads: reverse strand, cycle, base quality (-1 if none), log10 likelihoods under the genotype's allele and the
            error allele (None for a read that was left out).
        homopolymers: lengths of the error base's homopolymers before and after the site.
    """
    phred = 0.0
    for strand, homopolymer in zip((False, True), homopolymers, strict=True):
        own = sorted((read for read in reads if read[0] == strand), key=lambda read: (-read[1], max(read[2], 0)))
        costs = []
        for n in range(len(own) + 1):
            qualities = [read[2] for read in own[:n] if read[2] >= 0]
            mean = sum(qualities) / len(qualities) if qualities else 0.0
            cost = max(0.0, 2.5 * mean - 5.0 * homopolymer) if n else 0.0
            for k, (_, _, _, right, error) in enumerate(own):
                if right is not None and error is not None:
                    cost -= 10 * (log10_sum(right + math.log10(0.5), error + math.log10(0.5)) if k < n else right)
            costs.append(cost)
        phred += min(costs)
    return -0.1 * phred


def foreign_reads(reads: Sequence[tuple[bool, float, float, float]], prior: float) -> float:
    """Return the log10 likelihood of a homozygous genotype with foreign reads of one other allele.

    Args:
        reads: reverse strand, phred of being misplaced, log10 likelihoods under the genotype's and the foreign allele.
        prior: phred that a foreign location has the allele.
    """
    best = -math.inf
    for threshold in {misplaced for _, misplaced, _, _ in reads}:
        for strands in ({False}, {True}, {False, True}):
            mixed = [read for read in reads if read[0] in strands]
            shares = [
                10 ** (other - log10_sum(other, own)) if misplaced <= threshold else 0.0
                for _, misplaced, own, other in mixed
            ]
            share = min(0.5, sum(shares) / len(shares)) if shares else 0.0
            total = -0.1 * (threshold + prior)
            for reverse, misplaced, own, other in reads:
                if reverse not in strands:
                    total += own
                elif misplaced <= threshold:
                    total += math.log10((1 - share) * 10**own + share * 10**other)
                else:
                    total += own + math.log10(1 - share)
            best = max(best, total)
    return best
