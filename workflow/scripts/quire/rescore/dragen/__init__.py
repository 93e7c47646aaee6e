"""GATK's DRAGEN mode: error models for short tandem repeats, poor base qualities and foreign reads.

A short tandem repeat (STR) is a unit of `period` bases that occurs `repeats` times in a row. A base outside any repeat
counts as a repeat of period 1 with one unit. Three tables of period by repeats (`tables`) describe sequencing errors
and mutations in repeats: the probability that a read opens a gap, that the gap grows by one base, and that the sample
has an indel there. They are estimated from the sample's own reads (`calibration`), and used by PairHMM (`gaps`) and by
the prior of genotypes (`priors`).
"""
