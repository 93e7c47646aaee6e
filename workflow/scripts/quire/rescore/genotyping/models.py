"""The interface of an error model that genotypes sites, such as that of GATK's DRAGEN mode (`dragen.genotypes`)."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class PosteriorGenotype(NamedTuple):
    """The most likely genotype of a sample.

    Attributes:
        number: of the genotype, in VCF order.
        quality: GQ.
        no_variant: phred of no variant, the sample's share of QUAL.
    """

    number: int
    quality: int
    no_variant: float


class GenotypeModel(Protocol):
    """An error model at one site."""

    def phreds(
        self, alleles: Sequence[bytes], by_allele: NDArray[np.float64], ploidies: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return PL of every genotype of every sample (samples end to end, each with minimum 0).

        Args:
            alleles: the reference first; `<NON_REF>` may be the last.
            by_allele: float64[reads, alleles] log10; NaN rows are not used.
            ploidies: int64[samples].
        """
        ...

    def genotype(
        self, sample: int, alleles: Sequence[bytes], phreds: NDArray[np.int64], ploidy: int
    ) -> PosteriorGenotype:
        """Return the most likely genotype of sample number `sample` from its PLs (int64[genotypes])."""
        ...
