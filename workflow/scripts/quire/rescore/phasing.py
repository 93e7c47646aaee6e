"""Physical phasing of the variants of a region by the haplotypes that carry their alternates (PGT, PID, PS).

As in AssemblyBasedCallerUtils.phaseCalls, only haplotypes that carry an allele of some call count. Two calls with one
alternate each are in phase if their alternates are on the same haplotypes. They are in opposite phase if no haplotype
has both alternates and every haplotype has one of them. As in GATK, only diploid samples in gVCFs are phased.
"""

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from quire.io.vcf import SPANNING_DELETION, Field
from quire.rescore.genotyping.sites import SPANNING, Site
from quire.rescore.haplotypes import Haplotype
from quire.rescore.records import allele_text, trim_right

FIELDS = (
    Field("PGT", "1", "String", "Phase within its group: which of two haplotypes has the alternate allele"),
    Field("PID", "1", "String", "Name of the group of variants that are phased with each other"),
    Field("PS", "1", "Integer", "Position of the first variant of the group"),
)
PHASE_KEYS = tuple(field.key for field in FIELDS)
PHASED_PLOIDY = 2
FIRST, SECOND = "1|0", "0|1"
"""The haplotypes that have the alternate (PGT)."""


class Phase(NamedTuple):
    """The phase of a variant within its group: PGT, PID, and PS (1-based), which a foreign gVCF may lack."""

    genotype: str
    name: str
    start: int | None

    @property
    def values(self) -> dict[str, str | int | None]:
        """FORMAT by key."""
        return {"PGT": self.genotype, "PID": self.name, "PS": self.start}


def phases(sites: Sequence[Site], haplotypes: Sequence[Haplotype]) -> list[Phase | None]:
    """Return the phase of each call of a region, None for one that is in no group; sites have the written alleles."""
    called = {h for site in sites for h in np.flatnonzero(site.carriers[:, : len(haplotypes)].any(axis=0)).tolist()}
    carriers = [_alternate_carriers(site, haplotypes, called) for site in sites]
    found: list[Phase | None] = [None] * len(sites)
    names: dict[int, tuple[str, int]] = {}
    for i, (group, genotype) in sorted(phase_groups(carriers).items()):
        if group not in names:
            alleles = [allele_text(allele) for allele in trim_right(sites[i].alleles)]
            names[group] = (f"{sites[i].start + 1}_{alleles[0]}_{alleles[1]}", sites[i].start + 1)
        found[i] = Phase(genotype, *names[group])
    return found


def _alternate_carriers(site: Site, haplotypes: Sequence[Haplotype], called: Set[int]) -> frozenset[int]:
    """Return the haplotypes with the only alternate that starts at the site; empty unless there is exactly one."""
    alternates = [allele for allele in trim_right(site.alleles)[1:] if allele != SPANNING]
    if len(alternates) != 1:
        return frozenset()
    events = ((h, haplotypes[h].events.get(site.start)) for h in called)
    return frozenset(h for h, event in events if event is not None and event.alternate == alternates[0])


def phase_groups(carriers: Sequence[Set[int]]) -> dict[int, tuple[int, str]]:
    """Return the group's number and PGT of every call that is in phase with another, by the number of the call.

    `carriers` has for each call the haplotypes with its alternate; empty for a call that is not phased.
    """
    every = len(set().union(*carriers))
    found: dict[int, tuple[int, str]] = {}
    groups = 0
    for i, own in enumerate(carriers):
        usable = set(own)  # for a call on all haplotypes: the haplotypes that are left for further calls
        for j in range(i + 1, len(carriers)):
            other = carriers[j]
            if not own or not other:
                continue
            together = own == other or (len(own) == every and usable.issuperset(other)) or len(other) == every
            if not together and (len(own) + len(other) != every or own & other):
                continue
            if i in found:
                group, genotype = found[i]
                opposite = FIRST if genotype == SECOND else SECOND
                found.setdefault(j, (group, genotype if together else opposite))
            elif j in found:
                return {}  # a contradiction: in phase with a call with which this one is not in phase
            else:
                found[i] = (groups, SECOND)
                found[j] = (groups, SECOND if together else FIRST)
                groups += 1
                if together:
                    usable &= other
    return found


def phased(genotype: Sequence[int], alleles: Sequence[str], phase: str) -> Sequence[int]:
    """Order the alleles (two numbers) of a diploid genotype by its haplotypes, given the site's alleles and PGT."""
    if phase not in (FIRST, SECOND):
        return genotype
    alternate = genotype[1 if phase == SECOND else 0]
    is_here = alternate > 0 and alleles[alternate] != SPANNING_DELETION
    return genotype if is_here or genotype[0] == genotype[1] else genotype[::-1]
