"""Short tandem repeats in reads and in the reference by the rules of GATK's DRAGEN mode; periods of 1 to 8 bases.

Sequences are uint8 codes, A0 C1 G2 T3, 4 elsewhere.
"""

import numpy as np

from quire.rescore.dragen.tables import LONGEST_PERIOD
from quire.sequence.codes import AMBIGUOUS
from quire.simd.compiled import compiled

START, END, PERIOD = range(3)  # columns of repeats of the reference


@compiled
def repeats_in_read(bases, periods, repeats):
    """Find the repeat with most units at each base of a read; ties go to the shortest period (DragstrReadSTRAnalyzer).

    A base belongs to the repeats with a unit over it and to a repeat that begins at the next base. Periods
    (uint8[n]) and repeats (int32[n]) are written.
    """
    n = len(bases)
    runs = np.empty(n + 1, np.int32)
    _runs_of_one(bases, repeats)
    periods[:] = 1
    for period in range(2, min(LONGEST_PERIOD, n) + 1):
        _runs_of_units(bases, period, runs)
        for i in range(n):
            for k in range(max(0, i - period + 1), i + 2):
                if runs[k] > repeats[i]:
                    repeats[i], periods[i] = runs[k], period


@compiled
def _runs_of_one(bases, repeats):
    """Write the length of the homopolymer over each base, or of the one at the next base if that is longer."""
    n = len(bases)
    start = 0
    for i in range(1, n + 1):
        if i == n or bases[i] != bases[start]:
            for k in range(start, i):
                repeats[k] = i - start
            if start > 0:
                repeats[start - 1] = max(repeats[start - 1], i - start)
            start = i


@compiled
def _runs_of_units(bases, period, runs):
    """Write the units of the run that contains the unit at each base, counted from the first one of its phase."""
    # As in GATK, a run at the start of the read counts one unit less at the read's first base.
    n = len(bases)
    matched = 0
    for i in range(n - 1, -1, -1):
        if i + period > n:
            runs[i] = 0
            continue
        matched = matched + 1 if i + period < n and bases[i] == bases[i + period] else 0
        runs[i] = 1 + matched // period
    for phase in range(period):
        i = phase
        while i < n:
            whole = runs[i]
            for _ in range(1, whole):
                i += period
                runs[i] = whole
            i += period
    if runs[0] > 1:
        runs[0] -= 1
    runs[n] = 1


@compiled
def repeat_at(codes, position):
    """Return (period, repeats) of the reference at a position (DragstrReferenceAnalyzer).

    The period is the one with most whole units from the position on; ties go to the shortest. Whole units that end
    before the position count towards the repeats as well.
    """
    best, most = 1, 0
    for period in range(1, LONGEST_PERIOD + 1):
        i = position
        while i + period < len(codes) and codes[i] == codes[i + period]:
            i += 1
        units = 1 + (i - position) // period
        if units > most:
            best, most = period, units
    i = position - 1
    while i >= 0 and codes[i] == codes[i + best]:
        i -= 1
    return best, most + (position - 1 - i) // best


@compiled
def repeats_between(codes, first, last):
    """Return the repeats of a stretch of reference, one after the other (ComposeSTRTableFile).

    At each base that no repeat covers yet, the repeat with most units is taken; ties go to the shortest period.

    Bases [first, last) are searched; the repeats may extend beyond.

    Returns:
        int64[m, 3], columns START and END (half-open, in `codes`) and PERIOD.
    """
    found = np.empty((max(last - first, 0), 3), np.int64)
    n = 0
    i = first
    while i < last:
        if codes[i] == AMBIGUOUS:
            i += 1
            continue
        most = 0
        for period in range(1, LONGEST_PERIOD + 1):
            if i + period > len(codes) or codes[i + period - 1] == AMBIGUOUS:
                break
            start, end = _extent(codes, i, period)
            if (end - start) // period > most:
                most = (end - start) // period
                found[n, START], found[n, END], found[n, PERIOD] = start, end, period
        i = found[n, END]
        n += 1
    return found[:n]


@compiled
def _extent(codes, position, period):
    """Return start and end of the repeat that contains a unit, including partial copies at its ends."""
    start, end = position, position + period
    while start > 0 and codes[start - 1] == codes[start - 1 + period]:
        start -= 1
    while end < len(codes) and codes[end] == codes[end - period]:
        end += 1
    return start, end
