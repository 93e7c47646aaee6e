"""BAM to VCF: active regions, local assembly, PairHMM and genotypes, jointly over the samples (the `rescore` stage).

`caller.call_interval` calls one piece of the genome (`intervals`). It splits the piece into units (`units.call_unit`),
and a unit reads its intervals in chunks (`chunks`). `variants.call_chunk` takes a chunk through the steps: reads,
activity, regions, clipping, assembly, haplotypes, likelihoods, sites, genotyping, annotations, records.

A cohort can also be called sample by sample: `gvcf` writes the variants of one sample and the confidence in the
reference between them (`reference_confidence`), and `joint` genotypes these files together.

The formulas are those of GATK 4's HaplotypeCaller; each module names the class it follows. Nothing is imported here, so
that scripts that only gather or split files load no kernels.
"""
