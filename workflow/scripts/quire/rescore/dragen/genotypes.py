"""Genotypes of GATK's DRAGEN mode: likelihoods with dropout and foreign reads, then posteriors.

Follows DRAGENGenotypesModel, and GenotypingEngine.calculateGenotypes with posteriors for genotypes and QUAL.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.rescore.dragen.dropout_cpu import homopolymers, raise_by_dropout
from quire.rescore.dragen.evidence_cpu import SiteEvidence
from quire.rescore.dragen.foreign_cpu import FLAT_PRIOR as FLAT_FOREIGN_PRIOR
from quire.rescore.dragen.foreign_cpu import raise_by_foreign_reads
from quire.rescore.dragen.priors import FLAT_PRIOR, NON_REFERENCE, genotype_priors, likeliest_genotype, repeat_prior
from quire.rescore.genotyping import PosteriorGenotype, genotype_likelihoods, phreds_of
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, genotype_counts
from quire.rescore.genotyping.sites import SPANNING


@dataclass(frozen=True)
class DragenSiteModel:
    """The genotyping model of one site, at `position` of the codes of the reference around it.

    Attributes:
        evidence: of the genotyped reads, then of the reads that no haplotype explains.
        counted: bool[n], False for reads that are not used because their mate is mapped elsewhere.
        indel_phreds: prior (phred) of an indel in each sample; None for a region without indels.
    """

    evidence: SiteEvidence
    counted: NDArray[np.bool_]
    codes: NDArray[np.uint8]
    position: int
    indel_phreds: Sequence[float] | None

    def phreds(
        self, alleles: Sequence[bytes], by_allele: NDArray[np.float64], ploidies: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return PL of every genotype of every sample; see `GenotypeModel`."""
        missing = len(self.evidence.sample) - len(by_allele)
        whole = np.concatenate([by_allele, np.full((missing, len(alleles)), np.nan)])
        likelihoods = genotype_likelihoods(whole, self.evidence.sample, ploidies)
        as_long = np.array([len(a) == len(alleles[0]) and a != NON_REFERENCE for a in alleles])
        sides = np.array([homopolymers(self.codes, self.position, np.int64(a[0])) for a in alleles], np.int64)
        at = 0
        for sample, ploidy in enumerate(ploidies.tolist()):
            own = likelihoods[at : at + genotype_count(ploidy, len(alleles))]
            at += len(own)
            rows = np.flatnonzero(self.counted & (self.evidence.sample == sample))
            if len(rows):
                raise_by_dropout(own, ploidy, whole, rows, self.evidence, as_long, sides)
                raise_by_foreign_reads(own, ploidy, whole, rows, self.evidence, self._foreign_prior(sample, as_long))
        phreds: NDArray[np.int64] = phreds_of(likelihoods, ploidies, len(alleles))
        return phreds

    def _foreign_prior(self, sample: int, as_long: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the phred (float64[alleles]) that a foreign location has each allele."""
        indel = FLAT_FOREIGN_PRIOR if self.indel_phreds is None else self.indel_phreds[sample]
        prior = np.where(as_long, FLAT_FOREIGN_PRIOR, indel)
        prior[0] = 0.0
        return prior

    def genotype(
        self, sample: int, alleles: Sequence[bytes], phreds: NDArray[np.int64], ploidy: int
    ) -> PosteriorGenotype:
        """Return the likeliest genotype of a sample; see `GenotypeModel`."""
        prior = FLAT_PRIOR if self.indel_phreds is None else repeat_prior(self.indel_phreds[sample])
        counts = genotype_counts(ploidy, len(alleles))
        plain = counts[:, [a for a, allele in enumerate(alleles) if a == 0 or allele == SPANNING]].sum(axis=1) == ploidy
        return likeliest_genotype(phreds, genotype_priors(ploidy, alleles, prior), plain)
