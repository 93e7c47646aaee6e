"""The numbers that mapping is decided by, for all backends: bwa mem's where it has them. NumPy only."""

import math
from dataclasses import dataclass, replace

import numpy as np

from quire.algorithms.extension import END_BONUS, GAP_EXTEND, GAP_OPEN
from quire.algorithms.seeding import SeedingParameters


@dataclass(frozen=True)
class SeedingPass:
    """A later round of seeds, candidates and extension, for reads of which a better or a second place may be missed.

    Attributes:
        seeding: of the round.
        numerator, denominator: reads without an alignment take part, and those whose best score is below this share of
            their length.
        shortest_clear: shorter reads take part unless they match perfectly: a mismatch leaves too few of their seeds.
        shortest_certain: shorter reads take part, whatever their alignment.
        all_versions: reads with a place on an alternate contig take part: there may be more versions of it.
    """

    seeding: SeedingParameters
    numerator: int
    denominator: int
    shortest_clear: int = 0
    shortest_certain: int = 0
    all_versions: bool = False


# ---- seeding: every read; then those that aligned poorly, those that still do, and those too short to be sure ----
# The last one: a read of fewer than 60 bases has at most two seeds of 20 that share no base, so that one mismatch and
# one frequent seed hide another place of it, the reason for a low quality, even where it matches perfectly. Seeds of 16
# bases at its ends stand on either side of any mismatch, and may be as frequent as bwa mem allows (max_occ: 500).
# A read that aligned poorly is often of a repeat: what differs from its place by chance agrees with another copy, whose
# seeds are rare, while those of its own place are shared by more copies than the first look locates. Mates tell copies
# apart for each other; more places yet would make more wrong pairs of short fragments beside adapters.
SHORTEST_CERTAIN = 60
SEEDING = SeedingParameters(stride=20, maximum_hits=32)
LATER_PASSES = (
    SeedingPass(SeedingParameters(stride=5, maximum_hits=128), 9, 10, shortest_clear=100, all_versions=True),
    SeedingPass(SeedingParameters(stride=4, maximum_hits=64, seed_length=16), 7, 10, shortest_clear=100),
    SeedingPass(
        SeedingParameters(stride=20, maximum_hits=512, seed_length=16), 0, 1, shortest_certain=SHORTEST_CERTAIN
    ),
)
LATER_PASSES_ALONE = (
    LATER_PASSES[0],
    replace(LATER_PASSES[1], seeding=replace(LATER_PASSES[1].seeding, maximum_hits=256)),
    LATER_PASSES[2],
)

# ---- alignments ----
# The least score of an alignment that is looked at, and of one that is reported by itself, without a mate at a proper
# distance (bwa mem: min_seed_len and T); for reads not much longer than that, their length less the margin.
LEAST_SCORE, SHORTEST_SCORE = 19, 30
SHORT_READ_MARGIN = 5

# ---- candidates ----
# Diagonals this close together are one place (a small gap), however their seeds lie.
BUNDLE_GAP = 8
WIDEST_BUNDLE = 32
# Diagonals further apart than this are never joined: the gap costs more than the half of a read that it would join.
LARGEST_GAP = 64
BAND_MARGIN = 15
MOST_CANDIDATES = 16

# ---- wider bands ----
# The least clip that pays, with the bonus for the read's end, for the shortest gap that is longer than the margin.
SHORTEST_CLIP = (BAND_MARGIN + 1) * -GAP_EXTEND - GAP_OPEN - END_BONUS + 1
# An end of a read may lie on a diagonal if no more of its outermost bases differ: by chance it does at one of 3.8
# million places.
OUTER_BASES, OUTER_DIFFERENCES = 16, 2

# ---- rescue ----
KMER = 8
FEWEST_KMERS = 4
# A second place in the same window is looked at if it has at most so many k-mers less than the best: two mismatches.
SECOND_KMERS = 2 * KMER
MOST_ANCHORS = 16
# Anchors this much worse than a read's best are not tried: the cost of leaving a pair unpaired (bwa mem).
UNPAIRED_COST = 17

# ---- insert size ----
# Longer distances are not in the sample: of a library with inserts of 10,000 bases the longer half must be.
LONGEST_INSERT = 20000
# A pair is in the sample if neither mate has a second place with more than this share of the best score (as bwa mem).
UNIQUE_NUMERATOR, UNIQUE_DENOMINATOR = 4, 5

# ---- pairing ----
# Scores that differ from the best by this much or less count as nearly as good: the cheapest gap (bwa mem).
NEAR_BEST = 7
PAIR_BONUS_LIMIT = 40
MOST_SUPPLEMENTARY = 4
# Alignments below this score are looked at for low complexity, in words of this many bases: simple are those of whose
# words less than one in so many is different; more are asked of those that score less than half of the read's length.
SIMPLE_SCORE = 100
SIMPLE_WORD = 4
SIMPLE_SHARE, SIMPLE_SHARE_OF_SHORT = 4, 3
# The quality of an alignment is lowered in proportion where so many times its score are less than its read's length: of
# a read that lies alone, of one beside its mate, and of one beside a mate that would be reported without it. Two mates
# that both would not be may have read the same few bases, which say as little as those of one.
WEIGHT_ALONE, WEIGHT_PROPER, WEIGHT_SUPPORTED = 2, 3, 8

# ---- lift-over of alternate contigs ----
# What competes with a reported alignment and scores more than this share of it is compared with it (bwa mem: what XA
# lists); not, as in bwa mem, where none of more than five lies on an alternate contig.
RIVAL_NUMERATOR, RIVAL_DENOMINATOR = 4, 5
MOST_RIVALS_ON_PRIMARY = 5
# Quality for each unit of score between the best two groups of places (bwa-postalt).
QUALITY_OF_GROUPS = 6

# ---- mapping quality ----
MOST_QUALITY = 60
QUALITY_SHIFT = 15
LONGEST_SPAN = 4096
# A read of fewer than SHORTEST_CERTAIN bases and as many places as a look keeps may have more, nearly as good. Its
# quality by itself is lowered by one part in so many, that of a pair for each such mate: what frac_rep is to bwa mem,
# the share of a read under seeds that are too frequent.
CROWDED_PARTS = 8
# A second place is at least as good as a chance match of a seed (bwa mem: min_seed_len).
CHANCE_SCORE = 19
_SHORT_SPAN = 50


def _length_factor(length: int) -> int:
    """Squared ln(50) / ln(length), 1 for shorter alignments, in 2^15ths."""
    factor = 1.0 if length < _SHORT_SPAN else math.log(_SHORT_SPAN) / math.log(length)
    return round(factor * factor * (1 << QUALITY_SHIFT))


LENGTH_FACTOR = np.array([_length_factor(max(length, 1)) for length in range(LONGEST_SPAN + 1)], np.int64)
# Phred-scaled cost of n further places that are nearly as good: 10 log10(n + 1).
COUNT_COST = np.array([int(4.343 * math.log(n + 1) + 0.499) if n else 0 for n in range(1025)], np.int64)

# ---- batches, which change no record ----
READS_PER_BATCH, READS_PER_BATCH_ON_CARD = 8192, 1 << 18  # reads or pairs
