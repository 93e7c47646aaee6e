"""PairHMM: how likely a haplotype is to have given a read, by GATK's model (Durbin et al. 1998, chapter 4).

`cpu.log10_likelihoods` answers a `PairHmmBatch`; the model, and what every kernel of it computes, stands in model.py.
"""

from quire.algorithms.pairhmm.batch import PairHmmBatch, join_batches, region_batch

__all__ = ["PairHmmBatch", "join_batches", "region_batch"]
