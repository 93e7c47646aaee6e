"""GATK's DRAGEN mode: error models that know short tandem repeats, poor base qualities and foreign reads.

A short tandem repeat (STR) is a unit of `period` bases that stands `repeats` times end to end; a base outside of any is
a repeat of period 1 that stands once. What sequencing and mutation do to repeats is described by three tables of
period by repeats (`tables`): how likely a read opens a gap, how likely the gap becomes a base longer, and how likely
the sample has an indel there. They are estimated from a sample's own reads (`calibration`), and used by PairHMM
(`gaps`) and by the prior of genotypes (`priors`).
"""
