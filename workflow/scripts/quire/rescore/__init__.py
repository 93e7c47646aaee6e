"""BAM to VCF: active regions, local assembly, PairHMM and genotypes, jointly over the samples (the `rescore` stage).

The road: reads -> activity -> regions -> clipping -> assembly -> haplotypes -> likelihoods -> sites -> genotyping ->
annotations -> vcf, driven by `caller` for one piece of the genome at a time (`intervals`).
The formulas are those of GATK 4's HaplotypeCaller; each module names the class it follows.
"""

from quire.rescore.caller import call_interval
from quire.rescore.vcf import gather, gather_ledgers

__all__ = ["call_interval", "gather", "gather_ledgers"]
