"""The insert size of a unit: fitted once, from its first unique pairs, by integers only.

The model decides which two alignments make a proper pair and what a deviation from the mean costs. It is a property
of the unit's first reads in file order, never of batches or threads, and is written to a file of its own.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

SAMPLE_PAIRS = 65536
# Batches wait in memory for the model: it is fitted at the latest after so many bases, 262,144 pairs of 2 x 150.
MOST_BASES_LOOKED_AT = 262144 * 300
FEWEST_PAIRS = 10
# Parameters of bwa mem: bounds in interquartile ranges for outliers and for mapping, and in standard deviations.
_OUTLIER_RANGES, _MAPPING_RANGES, _MAPPING_DEVIATIONS = 2, 3, 4


@dataclass(frozen=True)
class InsertSize:
    """Distribution of template lengths (5' end to 5' end, forward then reverse) of a unit, in bases.

    Attributes:
        pairs: pairs in the sample.
        percentile_25, median, percentile_75: of the sample.
        mean, standard_deviation: of the sample without outliers.
        low, high: template lengths of proper pairs, inclusive; high < low where there were too few pairs to tell.
    """

    pairs: int
    percentile_25: int
    median: int
    percentile_75: int
    mean: int
    standard_deviation: int
    low: int
    high: int

    def to_json(self) -> dict[str, int]:
        """The model as plain JSON."""
        return asdict(self)

    def penalties(self) -> np.ndarray:
        """Cost (int32) of each template length low..high in score units: bwa mem's -0.721 ln(2 erfc(|z| / sqrt 2))."""
        costs = np.zeros(max(self.high - self.low + 1, 0), np.int32)
        for i in range(len(costs)):
            deviation = abs(self.low + i - self.mean) / max(self.standard_deviation, 1)
            tail = max(2 * math.erfc(deviation / math.sqrt(2)), 1e-300)
            costs[i] = max(0, round(-0.721 * math.log(tail)))
        return costs


NO_INSERT_SIZE = InsertSize(0, 0, 0, 0, 0, 0, 0, -1)


def fit(template_lengths: np.ndarray) -> InsertSize:
    """Fit the model to a sample of template lengths (int64[]); NO_INSERT_SIZE for fewer than FEWEST_PAIRS."""
    count = len(template_lengths)
    if count < FEWEST_PAIRS:
        return NO_INSERT_SIZE
    ordered = np.sort(template_lengths)
    quartile, median, third = (int(ordered[(count * share) // 100]) for share in (25, 50, 75))
    spread = third - quartile
    low, high = max(1, quartile - _OUTLIER_RANGES * spread), third + _OUTLIER_RANGES * spread
    inner = ordered[(ordered >= low) & (ordered <= high)]
    mean = int(inner.sum()) // len(inner)
    deviation = math.isqrt(int(((inner - mean) ** 2).sum()) // len(inner))
    low = min(quartile - _MAPPING_RANGES * spread, mean - _MAPPING_DEVIATIONS * deviation)
    high = max(third + _MAPPING_RANGES * spread, mean + _MAPPING_DEVIATIONS * deviation)
    return InsertSize(count, quartile, median, third, mean, deviation, max(1, low), high)
