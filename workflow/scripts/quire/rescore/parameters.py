"""The caller's settings: those a user may change (`rescore` block) and GATK's constants, each with its source name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# HaplotypeCaller's defaults (its argument collections and ReadThreadingAssembler).
MINIMUM_BASE_QUALITY = 10  # of a base in the activity profile and in a k-mer
DELETION_QUALITY = 30  # of a deleted base in the activity profile (REF_MODEL_DELETION_QUAL)
ACTIVITY_THRESHOLD = 0.002
MINIMUM_REGION = 50
MAXIMUM_REGION = 300
REGION_PADDING = 100
SNV_PADDING = 20  # around variants, of the span that is genotyped
INDEL_PADDING = 75
K_MER_SIZES = (10, 25)
K_MER_INCREASE = 10
K_MER_ITERATIONS = 6
MINIMUM_DANGLING_BRANCH = 4
MAXIMUM_HAPLOTYPES = 128  # of one graph
MAXIMUM_ALTERNATE_ALLELES = 6
MAXIMUM_GENOTYPES = 1024
MISMAPPING_LOG10 = -4.5  # phredScaledGlobalReadMismappingRate 45
INFORMATIVE_LOG10 = 0.2
GENOTYPING_MARGIN = 2  # bases around a variant that a read must touch (informativeReadOverlapMargin)
MINIMUM_READ_LENGTH = 10  # of a read clipped to a region
SNV_HETEROZYGOSITY = 1e-3
INDEL_HETEROZYGOSITY = 1.25e-4
REFERENCE_PSEUDOCOUNT = SNV_HETEROZYGOSITY / 0.01**2  # heterozygosity / its standard deviation squared
SNV_PSEUDOCOUNT = SNV_HETEROZYGOSITY * REFERENCE_PSEUDOCOUNT
INDEL_PSEUDOCOUNT = INDEL_HETEROZYGOSITY * REFERENCE_PSEUDOCOUNT
# What GATK's --dragen-mode sets otherwise (HaplotypeCallerArgumentCollection.getDragenVersion3412NameValuePairs).
DRAGEN_INDEL_PADDING = 150
DRAGEN_GENOTYPING_MARGIN = 1
DRAGEN_LONG_INDEL_QUALITY = 30.0  # HaplotypeCaller's default, which those calls are made for
DRAGEN_SITE_QUALITY = 3.0  # of the allele frequency model; the QUAL that is written is of posteriors
MINIMUM_ACTIVE_QUALITY = 4.0  # a site of several samples counts as active from this QUAL on


@dataclass(frozen=True)
class CallingParameters:
    """What a user may set; the defaults stand in the configuration's schema.

    Attributes:
        minimum_quality: QUAL (phred) from which a variant is written.
        minimum_mapping_quality: reads below are not used.
        maximum_reads_per_start: reads of a sample that start at one position; more are thinned by a hash of the name.
        minimum_support: reads that a chain of k-mers beside the reference must have in the graph (--min-pruning).
        long_indels: whether indels of 50 to 1,000 bases are looked for by clipped reads.
        dragen: whether the error models are those of GATK's DRAGEN mode.
    """

    minimum_quality: float
    minimum_mapping_quality: int
    maximum_reads_per_start: int
    minimum_support: int
    long_indels: bool
    dragen: bool = False

    @property
    def indel_padding(self) -> int:
        """Bases around an indel that haplotypes and reads are cut to."""
        return DRAGEN_INDEL_PADDING if self.dragen else INDEL_PADDING

    @property
    def long_indel_quality(self) -> float:
        """QUAL from which a long indel is written, which is of the allele frequency model whatever the error model."""
        return max(self.minimum_quality, DRAGEN_LONG_INDEL_QUALITY) if self.dragen else self.minimum_quality

    @property
    def genotyping_margin(self) -> int:
        """Bases around a variant that a read must touch."""
        return DRAGEN_GENOTYPING_MARGIN if self.dragen else GENOTYPING_MARGIN

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "CallingParameters":
        """Of a validated `rescore` block; its other keys (intervals, ...) belong to the workflow."""
        return cls(
            float(settings["minimum_quality"]),
            int(settings["minimum_mapping_quality"]),
            int(settings["maximum_reads_per_start"]),
            int(settings["minimum_support"]),
            bool(settings["long_indels"]),
            settings["error_model"] == "dragen",
        )
