"""Structural variants: deletions, tandem duplications, inversions, insertions and translocations from 50 bases on.

A variant joins two distant places of the reference, or has inserted bases between neighbouring ones. Reads across such
a *junction* are aligned on one side and clipped; mates on its two sides have a wrong distance or orientation (Chen et
al. 2016, doi:10.1093/bioinformatics/btv710; Rausch et al. 2012, doi:10.1093/bioinformatics/bts378).

`evidence_cpu`    queries of the evidence of breakpoints that finishing collected (`finish.evidence_cpu`).
`gaps_cpu`        junctions inside alignments.
`junctions`       junctions with exact ends, micro-homology and inserted bases.
`discovery`       search for junctions and insertions where clipped reads of all samples agree. `rescore.long_indels`
                  finds the breakpoints, places the clipped bases and assembles insertions.
`repeats`         number of copies of a unit that a tandem repeat gains.
`support`         likelihoods of reads and pairs for a variant and for the reference.
`loci`            stretches of the genome whose reads are examined; junctions that are the same.
`content_cpu`     GC content and mappability of the reference.
`copies`          copy numbers of windows and segments; `copies_cpu` is the model, `copies_records` the records.
`records`         genotypes and records of the VCF.
`caller`          the whole stage: from the alignments of all samples to one VCF.
"""
