"""Settings of the caller: the user's (block `rescore` of the configuration), and GATK's constants by their source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# HaplotypeCaller's defaults (its argument collections and ReadThreadingAssembler).
MINIMUM_BASE_QUALITY = 10  # quality of a base that counts in the activity profile and in k-mers
DELETION_QUALITY = 30  # quality of a deleted base in the activity profile (REF_MODEL_DELETION_QUAL)
ACTIVITY_THRESHOLD = 0.002
MINIMUM_REGION = 50
MAXIMUM_REGION = 300
REGION_PADDING = 100
SNV_PADDING = 20  # bases around variants in the span that is genotyped
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
# Values that differ in GATK's --dragen-mode (HaplotypeCallerArgumentCollection.getDragenVersion3412NameValuePairs).
DRAGEN_GENOTYPING_MARGIN = 1
DRAGEN_LONG_INDEL_QUALITY = 30.0  # HaplotypeCaller's default, for which calls of long indels are designed
DRAGEN_SITE_QUALITY = 3.0  # QUAL by the allele frequency model; the QUAL that is written comes from posteriors
MAXIMUM_GQ = 99
BANDS = (*range(61), 70, 80, 90, MAXIMUM_GQ)  # lowest GQ of each band of reference blocks (--gvcf-gq-bands)
MINIMUM_ACTIVE_QUALITY = 4.0  # lowest QUAL of an active site of several samples


@dataclass(frozen=True)
class CallingParameters:
    """The user's settings; their defaults are in the schema of the configuration.

    Attributes:
        minimum_quality: lowest QUAL (phred) of a variant that is written.
        minimum_mapping_quality: reads below it are not used.
        maximum_reads_per_start: most reads of a sample that start at one position; those kept have the smallest name
            hashes.
        minimum_support: least number of reads on a chain of k-mers that the reference lacks (--min-pruning).
        long_indels: True to find indels of 50 to 1,000 bases by clipped reads.
        dragen: True for the error models of GATK's DRAGEN mode.
        bands: lowest GQ of each band of reference blocks, from 0 on.
        pool_support: True to count the reads of all samples together for the minimum support, False those of each.
    """

    minimum_quality: float
    minimum_mapping_quality: int
    maximum_reads_per_start: int
    minimum_support: int
    long_indels: bool
    dragen: bool = False
    bands: tuple[int, ...] = BANDS
    pool_support: bool = False

    @property
    def long_indel_quality(self) -> float:
        """Lowest QUAL of a long indel that is written; it comes from the allele frequency model in both modes."""
        return max(self.minimum_quality, DRAGEN_LONG_INDEL_QUALITY) if self.dragen else self.minimum_quality

    @property
    def genotyping_margin(self) -> int:
        """Bases around a variant within which a read counts as touching it."""
        return DRAGEN_GENOTYPING_MARGIN if self.dragen else GENOTYPING_MARGIN

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "CallingParameters":
        """Take the settings from a validated `rescore` block, whose other keys (intervals, ...) are the workflow's."""
        return cls(
            float(settings.get("minimum_quality", 0)),  # gVCFs hold all sites of whatever QUAL
            int(settings["minimum_mapping_quality"]),
            int(settings["maximum_reads_per_start"]),
            int(settings["minimum_support"]),
            bool(settings["long_indels"]),
            settings["error_model"] == "dragen",
            (0, *map(int, settings["gq_bands"].split(","))) if settings.get("gq_bands") else BANDS,
            bool(settings.get("pool_support", False)),
        )
