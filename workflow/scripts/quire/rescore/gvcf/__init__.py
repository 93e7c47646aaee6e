"""The gVCF of a sample: its variants, and between them blocks of positions with the confidence in the reference.

Follows HaplotypeCallerEngine.callRegion with reference confidence. `chunk` calls some tiles, `variants` genotypes a
site with `<NON_REF>` among the alleles, `blocks` joins positions of similar confidence, `records` makes the records of
both. `quire.rescore.joint` genotypes the gVCFs of many samples together.
"""
