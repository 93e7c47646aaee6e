"""Structural variants: deletions, tandem duplications, inversions, insertions and translocations from 50 bases on.

A variant joins two places of the reference that are not neighbours, or has inserted bases between neighbours. Reads
across such a *junction* are aligned on one side of it and clipped; the mates of pairs around it have a wrong distance
or orientation (Chen et al. 2016, doi:10.1093/bioinformatics/btv710; Rausch et al. 2012,
doi:10.1093/bioinformatics/bts378).

`evidence_cpu`    what is asked of the evidence of breakpoints, which finishing collects (`finish.evidence_cpu`).
`gaps_cpu`        junctions inside alignments.
`junctions`       junctions with exact ends, micro-homology and inserted bases.
`discovery`       junctions and insertions near clips that agree, from the reads of all samples. Breakpoints, where
                  clipped bases go on, and the assembly of insertions are those of `rescore.long_indels`.
`repeats`         the copies of a unit that a tandem repeat gains.
`support`         likelihoods of reads and pairs for a variant and for the reference.
`loci`            where reads are looked at, and which junctions are the same.
`content_cpu`     GC content and mappability of the reference.
`copies`          windows, and segments of one copy number; `copies_cpu` is their model, `copies_records` their records.
`records`         genotypes and records of the VCF.
`caller`          from the alignments of all samples to one VCF.
"""
