"""PairHMM by its definition: three matrices filled cell by cell. It is slow; the tests compare the kernels with it.

The matrices hold C's long double, because float64 without scaling loses precision below 10^-308.
"""

import math

import numpy as np
from quire.algorithms.pairhmm import PairHmmBatch

N_CODE = 4


def log10_likelihood(
    read: np.ndarray,
    base_qualities: np.ndarray,
    insertion_qualities: np.ndarray,
    deletion_qualities: np.ndarray,
    haplotype: np.ndarray,
    gap_continuation_quality: int | np.ndarray,
) -> float:
    """Return log10 of P(read | haplotype) as GATK defines it: the read may start and end anywhere in the haplotype.

    The gap continuation quality is a single one for the read, or one per base for the gaps in that base's row.
    Row 0 holds D = 1 / len(haplotype) everywhere; the answer sums M and I over the last row.
    """
    rows, columns = len(read), len(haplotype)
    match, insertion, deletion = (np.zeros((rows + 1, columns + 1), np.longdouble) for _ in range(3))
    deletion[0, :] = 1.0 / columns
    continuations = 10.0 ** (-np.broadcast_to(np.asarray(gap_continuation_quality, np.float64), rows) / 10)
    for i in range(1, rows + 1):
        continuation = float(continuations[i - 1])
        error = 10.0 ** (-int(base_qualities[i - 1]) / 10)
        insertion_open = 10.0 ** (-int(insertion_qualities[i - 1]) / 10)
        deletion_open = 10.0 ** (-int(deletion_qualities[i - 1]) / 10)
        stay = max(0.0, 1.0 - (insertion_open + deletion_open))
        for j in range(1, columns + 1):
            agree = read[i - 1] == haplotype[j - 1] or N_CODE in (read[i - 1], haplotype[j - 1])
            prior = 1.0 - error if agree else error / 3.0
            gaps = insertion[i - 1, j - 1] + deletion[i - 1, j - 1]
            match[i, j] = prior * (stay * match[i - 1, j - 1] + (1.0 - continuation) * gaps)
            insertion[i, j] = insertion_open * match[i - 1, j] + continuation * insertion[i - 1, j]
            deletion[i, j] = deletion_open * match[i, j - 1] + continuation * deletion[i, j - 1]
    likelihood = np.sum(match[rows, 1:] + insertion[rows, 1:])
    return float(np.log10(likelihood)) if likelihood > 0 else -math.inf


def log10_likelihoods(batch: PairHmmBatch) -> np.ndarray:
    """Return `log10_likelihood` of every task of the batch (float64[t]); equal tasks are computed once."""
    tasks, places = np.unique(batch.tasks, axis=0, return_inverse=True)
    answers = np.empty(len(tasks))
    for number, (read, haplotype) in enumerate(tasks):
        bases = slice(batch.read_offsets[read], batch.read_offsets[read + 1])
        answers[number] = log10_likelihood(
            batch.read_bases[bases],
            batch.base_qualities[bases],
            batch.insertion_qualities[bases],
            batch.deletion_qualities[bases],
            batch.haplotype_bases[batch.haplotype_offsets[haplotype] : batch.haplotype_offsets[haplotype + 1]],
            batch.gap_continuation_quality
            if batch.gap_continuation_qualities is None
            else batch.gap_continuation_qualities[bases],
        )
    return answers[places]
