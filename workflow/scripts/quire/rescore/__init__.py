"""BAM to VCF: active regions, local assembly, PairHMM and genotypes, jointly over the samples (the `rescore` stage).

The road: reads -> activity -> regions -> clipping -> assembly -> haplotypes -> likelihoods -> sites -> genotyping ->
annotations -> vcf, driven by `caller` for one piece of the genome at a time (`intervals`).
A cohort can also be called sample by sample: `gvcf` writes what each says of every position (`reference_confidence`
where it has no variant), `joint` genotypes these files together.
The formulas are those of GATK 4's HaplotypeCaller; each module names the class it follows.
Nothing is imported here, so that scripts which gather or split need no kernels.
"""
