"""PairHMM: likelihoods of reads given haplotypes, by GATK's model (Durbin et al. 1998, chapter 4).

`cpu.log10_likelihoods` and `gpu.log10_likelihoods` score a `PairHmmBatch`. The module `model` defines the recurrence
and the order of operations that all kernels follow.
"""

from quire.algorithms.pairhmm.batch import PairHmmBatch

__all__ = ["PairHmmBatch"]
