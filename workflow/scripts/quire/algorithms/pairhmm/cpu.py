"""PairHMM in Numba: 64 tasks in lockstep, one per lane, a row of the matrices at a time (recurrence: model.py).

Lanes lie innermost, so that LLVM turns each inner loop into vector instructions of whatever width the machine has.
Tasks are sorted by read and haplotype length. A lane with a shorter haplotype computes columns that nobody reads
(columns depend only on those to their left), one with a shorter read computes rows that nobody reads.
"""

import numpy as np
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from quire.algorithms.pairhmm.batch import PairHmmBatch
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, Coefficients, coefficients, log10_of_sums, needs_float64

LANES = 64
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


@intrinsic
def fma(typingctx, a, b, c):
    """a * b + c, rounded once (IEEE fusedMultiplyAdd)."""
    if not (isinstance(a, types.Float) and a == b == c):
        raise TypingError("fma takes three floats of one type")

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, a, a), generate


def log10_likelihoods(batch: PairHmmBatch) -> np.ndarray:
    """See the package's `log10_likelihoods`."""
    haplotype_lengths = np.diff(batch.haplotype_offsets)[batch.tasks[:, 1]]
    sums = _sums(batch, batch.tasks, FLOAT32)
    answers = log10_of_sums(sums, SCALE_EXPONENT[FLOAT32], haplotype_lengths)
    again = np.flatnonzero(needs_float64(sums))
    if len(again):
        sums = _sums(batch, batch.tasks[again], FLOAT64)
        answers[again] = log10_of_sums(sums, SCALE_EXPONENT[FLOAT64], haplotype_lengths[again])
    return answers


def _sums(batch: PairHmmBatch, tasks: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Scaled sums (dtype[t]) of M + I over the last row of each task."""
    read_lengths = np.diff(batch.read_offsets)[tasks[:, 0]]
    haplotype_lengths = np.diff(batch.haplotype_offsets)[tasks[:, 1]]
    factors: Coefficients = coefficients(batch, dtype)
    sums = np.zeros(len(tasks), dtype)
    _score_tasks(
        batch.read_bases,
        batch.read_offsets,
        batch.haplotype_bases,
        batch.haplotype_offsets,
        np.ascontiguousarray(tasks, np.int32),
        np.lexsort((haplotype_lengths, read_lengths)),
        factors.agree,
        factors.differ,
        factors.stay,
        factors.insertion,
        factors.deletion,
        factors.continuation,
        factors.start,
        sums,
    )
    return sums


@njit(cache=True, nogil=True)
def _score_tasks(
    read_bases,
    read_offsets,
    haplotype_bases,
    haplotype_offsets,
    tasks,
    order,
    agree,
    differ,
    stay,
    insertion,
    deletion,
    continuation,
    start,
    sums,
):
    """Fill sums[t], 64 tasks of `order` at a time."""
    for first in range(0, len(order), LANES):
        group = order[first : first + LANES]
        rows = np.zeros(LANES, np.int64)
        columns = np.zeros(LANES, np.int64)
        for lane in range(len(group)):
            read, haplotype = tasks[group[lane]]
            rows[lane] = read_offsets[read + 1] - read_offsets[read]
            columns[lane] = haplotype_offsets[haplotype + 1] - haplotype_offsets[haplotype]
        height, width = rows.max(), columns.max()
        letters = np.zeros((width, LANES), np.uint8)
        for lane in range(len(group)):
            haplotype = tasks[group[lane], 1]
            for j in range(columns[lane]):
                code = haplotype_bases[haplotype_offsets[haplotype] + j]
                letters[j, lane] = 15 if code > 3 else 1 << code
        match = np.zeros((height + width + 1, LANES), sums.dtype)
        gap_read = np.zeros((height + width + 1, LANES), sums.dtype)
        gap_haplotype = np.zeros((height + width + 1, LANES), sums.dtype)
        gap_haplotype[height:] = start
        factors = np.zeros((5, LANES), sums.dtype)
        wanted = np.zeros(LANES, np.uint8)
        total = np.zeros(LANES, sums.dtype)
        for i in range(height):
            for lane in range(len(group)):
                if i < rows[lane]:
                    base = read_offsets[tasks[group[lane], 0]] + i
                    code = read_bases[base]
                    wanted[lane] = 15 if code > 3 else 1 << code
                    factors[0, lane] = agree[base]
                    factors[1, lane] = differ[base]
                    factors[2, lane] = stay[base]
                    factors[3, lane] = insertion[base]
                    factors[4, lane] = deletion[base]
            # Row i's column j stands at slot j + height - 1 - i: it replaces row i-1's column j-1, read last by it.
            left = height - 1 - i
            match[left] = 0
            gap_read[left] = 0
            gap_haplotype[left] = 0
            for j in range(width):
                slot = left + 1 + j
                for lane in range(LANES):
                    emission = factors[0, lane] if letters[j, lane] & wanted[lane] else factors[1, lane]
                    from_gaps = fma(factors[4, lane], gap_haplotype[slot, lane], gap_read[slot, lane])
                    here = emission * fma(factors[2, lane], match[slot, lane], from_gaps)
                    gap_haplotype[slot, lane] = fma(continuation, gap_haplotype[slot - 1, lane], match[slot - 1, lane])
                    match[slot, lane] = here
                    above = continuation * gap_read[slot + 1, lane]
                    gap_read[slot, lane] = fma(factors[3, lane], match[slot + 1, lane], above)
            if np.any(rows == i + 1):
                total[:] = 0
                for j in range(width):
                    slot = left + 1 + j
                    for lane in range(LANES):
                        if j < columns[lane]:
                            total[lane] += match[slot, lane] + gap_read[slot, lane]
                for lane in range(len(group)):
                    if rows[lane] == i + 1:
                        sums[group[lane]] = total[lane]
