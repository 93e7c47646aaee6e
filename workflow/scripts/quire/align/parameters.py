"""Constants that determine mapping on all backends, with bwa mem's values where it has them. Imports only NumPy."""

import math
from dataclasses import dataclass, replace

import numpy as np

from quire.algorithms.seeding import SeedingParameters


@dataclass(frozen=True)
class SeedingPass:
    """A later round of seeds, candidates and extension for reads whose best or second place may have been missed.

    Attributes:
        seeding: parameters of the round.
        numerator, denominator: reads take part whose best score is below the share numerator / denominator of their
            length, or that have no alignment.
        shortest_clear: shorter reads take part unless they match perfectly, since a mismatch leaves too few seeds.
        shortest_certain: shorter reads always take part.
        all_versions: reads with a place on an alternate contig take part, since the place may have more versions.
    """

    seeding: SeedingParameters
    numerator: int
    denominator: int
    shortest_clear: int = 0
    shortest_certain: int = 0
    all_versions: bool = False


# ---- seeding: all reads; then poorly aligned ones; then those that still are poorly aligned; then very short ones ----
# Last pass: a read of fewer than 60 bases has at most two disjoint seeds of 20, so one mismatch and one frequent seed
# can hide another place of it, and with it the reason for a low quality, even if the read matches perfectly. Seeds of
# 16 bases at its ends lie on both sides of any mismatch, and may be as frequent as bwa mem allows (max_occ: 500).
# The third pass has fewer hits, since a poorly aligned read is often in a repeat. Its random differences agree with
# another copy, where seeds are rare, while more copies than the first pass locates share the seeds of its own place.
# More hits help a read without a mate. Mates distinguish copies for each other, and more places would form more wrong
# pairs of short fragments next to adapters.
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
# Least score of an alignment that is kept, and of one that is reported without a mate at a proper distance (bwa mem:
# min_seed_len and T). For reads that are hardly longer it is their length minus the margin.
LEAST_SCORE, SHORTEST_SCORE = 19, 30
SHORT_READ_MARGIN = 5

# ---- candidates ----
# Hits on diagonals this close together are one place (with a small gap), whatever their seeds.
BUNDLE_GAP = 8
WIDEST_BUNDLE = 32
# Diagonals further apart are not joined, since the gap would cost more than the half of a read that it joins.
LARGEST_GAP = 64
BAND_MARGIN = 15
MOST_CANDIDATES = 16

# ---- rescue ----
KMER = 8
FEWEST_KMERS = 4
# Limits of the work: anchors of a read, and their least score below its best (bwa mem's cost of an unpaired pair).
MOST_ANCHORS = 16
UNPAIRED_COST = 17

# ---- insert size ----
# Longer distances are not sampled; the limit suffices for a library with inserts of 10,000 bases.
LONGEST_INSERT = 20000
# A pair is sampled if neither mate has a second place with more than this share of its best score (bwa mem).
UNIQUE_NUMERATOR, UNIQUE_DENOMINATOR = 4, 5

# ---- pairing ----
# Scores that differ from the best by at most this much are nearly as good: the cost of the cheapest gap (bwa mem).
NEAR_BEST = 7
PAIR_BONUS_LIMIT = 40
MOST_SUPPLEMENTARY = 4
# An alignment is simple sequence if fewer than one in SIMPLE_SHARE of its words of SIMPLE_WORD bases are different.
SIMPLE_WORD, SIMPLE_SHARE = 4, 4
# The quality of an alignment is reduced in proportion if its score times the weight is less than its read's length. The
# weight depends on the mate: no mate at a proper distance, a mate there, or one that would be reported alone. Two mates
# of which neither would be reported alone may have read the same few bases, which prove no more than one mate.
WEIGHT_ALONE, WEIGHT_PROPER, WEIGHT_SUPPORTED = 2, 3, 8

# ---- lift-over of alternate contigs ----
# Alignments that compete with a reported one and score more than this share of it are compared with it (bwa mem: those
# listed in XA); none, as in bwa mem, if there are more than five and none lies on an alternate contig.
RIVAL_NUMERATOR, RIVAL_DENOMINATOR = 4, 5
MOST_RIVALS_ON_PRIMARY = 5
# Quality per unit of score between the two best groups of places (bwa-postalt).
QUALITY_OF_GROUPS = 6

# ---- mapping quality ----
MOST_QUALITY = 60
QUALITY_SHIFT = 15
LONGEST_SPAN = 4096
# A read of fewer than SHORTEST_CERTAIN bases that reached the MOST_CANDIDATES cap may have further places that are
# nearly as good. Its quality is reduced by one part in CROWDED_PARTS, and a pair's by one part for each such mate. bwa
# mem's frac_rep, the share of a read under seeds that are too frequent, has the same role.
CROWDED_PARTS = 8
# A second place scores at least as much as a seed that matches by chance (bwa mem: min_seed_len).
CHANCE_SCORE = 19
_SHORT_SPAN = 50


def _length_factor(length: int) -> int:
    """Return (ln(50) / ln(length))², or 1 for shorter alignments, in units of 2^-15."""
    factor = 1.0 if length < _SHORT_SPAN else math.log(_SHORT_SPAN) / math.log(length)
    return round(factor * factor * (1 << QUALITY_SHIFT))


LENGTH_FACTOR = np.array([_length_factor(max(length, 1)) for length in range(LONGEST_SPAN + 1)], np.int64)
# Phred-scaled cost of n other places that are nearly as good: 10 log10(n + 1).
COUNT_COST = np.array([int(4.343 * math.log(n + 1) + 0.499) if n else 0 for n in range(1025)], np.int64)

# ---- batches, which change no record ----
READS_PER_BATCH, READS_PER_BATCH_ON_CARD = 1 << 14, 1 << 18  # reads or pairs

MACROS = {name: value for name, value in list(vars().items()) if name.isupper() and isinstance(value, int)}
"""All whole numbers above by name, for the kernels on a card."""
