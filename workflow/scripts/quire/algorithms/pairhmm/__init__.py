"""PairHMM: how likely a haplotype is to have given a read, by GATK's model (FIELD-NOTES; Durbin et al. 1998, ch. 4)."""

import numpy as np

from quire.algorithms.pairhmm.batch import PairHmmBatch, join_batches, region_batch
from quire.device import require_cpu

__all__ = ["PairHmmBatch", "join_batches", "log10_likelihoods", "region_batch"]


def log10_likelihoods(batch: PairHmmBatch, device: str = "cpu") -> np.ndarray:
    """Log10 of P(read | haplotype) for every task of the batch.

    Args:
        batch: reads, haplotypes and tasks; the more tasks at once (many regions), the better filled the lanes.
        device: "cpu".

    Returns:
        float64[t] in the order of batch.tasks; -inf where the model gives zero (or less than 1e-590). The answer for a
        task does not depend on what else is in the batch. Float32, tried again in float64 where that underflows: at
        most 7 (R + H) 2^-24 / ln 10 from the exact value for R read and H haplotype bases, measured below 3e-6.

    Raises:
        ValueError: an unknown device.
    """
    require_cpu("PairHMM", device)
    from quire.algorithms.pairhmm import cpu

    return cpu.log10_likelihoods(batch)
