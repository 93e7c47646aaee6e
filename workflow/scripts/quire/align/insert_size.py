"""Insert sizes of a unit, fitted once per orientation to its first unique pairs with integer arithmetic.

The models decide which two alignments form a proper pair and what a deviation from the mean costs. They depend only on
the unit's first reads in file order, not on batches or threads, and are written to a file.

The *orientation* of a pair has bwa mem's names. On the strand on which the first mate is a forward read, the letters
give the strands of the leftmost mate and of the other one. FR: the mates point at each other (paired ends). RF: they
point away from each other (mate pairs). FF: both point in the same direction and the second mate lies after the first.
RR: likewise, and it lies before the first. A library can contain several orientations, such as mate pairs with some
paired ends.
"""

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

SAMPLE_PAIRS = 65536
# Batches wait in memory for the model, so it is fitted after at most this many bases (262,144 pairs of 2 x 150).
MOST_BASES_LOOKED_AT = 262144 * 300
FEWEST_PAIRS = 10
# bwa mem's bounds for outliers and for proper pairs in interquartile ranges, and for proper pairs in deviations.
_OUTLIER_RANGES, _MAPPING_RANGES, _MAPPING_DEVIATIONS = 2, 3, 4
# An orientation is used if it has at least one pair for every 20 of the most frequent one (bwa mem: MIN_DIR_RATIO).
_RAREST_ORIENTATION = 20

ORIENTATIONS = ("FF", "FR", "RF", "RR")  # the index is the number of the orientation


@dataclass(frozen=True)
class InsertSize:
    """Distribution of the template lengths (5' end to 5' end, in bases) of the pairs of one orientation.

    Attributes:
        pairs: number of pairs in the sample.
        percentile_25, median, percentile_75: quantiles of the sample.
        mean, standard_deviation: values for the sample without outliers.
        low, high: template lengths of proper pairs, inclusive; high < low if no pair of this orientation is proper.
    """

    pairs: int
    percentile_25: int
    median: int
    percentile_75: int
    mean: int
    standard_deviation: int
    low: int
    high: int

    def penalties(self) -> np.ndarray:
        """Return the cost (int32) in score units of each template length: -0.721 ln(2 erfc(|z| / sqrt 2)) (bwa mem)."""
        costs = np.zeros(max(self.high - self.low + 1, 0), np.int32)
        for i in range(len(costs)):
            deviation = abs(self.low + i - self.mean) / max(self.standard_deviation, 1)
            tail = max(2 * math.erfc(deviation / math.sqrt(2)), 1e-300)
            costs[i] = max(0, round(-0.721 * math.log(tail)))
        return costs


NO_INSERT_SIZE = InsertSize(0, 0, 0, 0, 0, 0, 0, -1)


class ProperLengths(NamedTuple):
    """Template lengths of proper pairs by orientation, for kernels.

    Attributes:
        low, high, mean: int64[4], as in `InsertSize`.
        first: int64[4], index in `penalties` of the cost of the length `low`.
        penalties: int32[], costs of the lengths low..high, one orientation after the other.
    """

    low: np.ndarray
    high: np.ndarray
    first: np.ndarray
    penalties: np.ndarray
    mean: np.ndarray


@dataclass(frozen=True)
class InsertSizes:
    """The models of a unit by orientation; see the module's text."""

    FF: InsertSize = NO_INSERT_SIZE
    FR: InsertSize = NO_INSERT_SIZE
    RF: InsertSize = NO_INSERT_SIZE
    RR: InsertSize = NO_INSERT_SIZE

    @property
    def models(self) -> tuple[InsertSize, ...]:
        """Return the models ordered as ORIENTATIONS."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def are_known(self) -> bool:
        """Return True if any pair can be proper."""
        return any(model.low <= model.high for model in self.models)

    def to_json(self) -> dict[str, Any]:
        """Return the models as plain JSON."""
        return asdict(self)


NO_INSERT_SIZES = InsertSizes()


@lru_cache(maxsize=8)
def proper_lengths(insert_sizes: InsertSizes) -> ProperLengths:
    """Return the models as arrays. They are cached: do not write to them."""
    costs = [model.penalties() for model in insert_sizes.models]
    return ProperLengths(
        np.array([model.low for model in insert_sizes.models], np.int64),
        np.array([model.high for model in insert_sizes.models], np.int64),
        np.cumsum([0, *map(len, costs[:-1])], dtype=np.int64),
        np.concatenate(costs),
        np.array([model.mean for model in insert_sizes.models], np.int64),
    )


def pairs_by_orientation(unique_pairs: np.ndarray) -> np.ndarray:
    """Return the number of unique pairs (as in `unique_template_lengths`) of each orientation, int64[4]."""
    return np.bincount(unique_pairs[unique_pairs >= 0] & 3, minlength=len(ORIENTATIONS))


def fit_all(unique_pairs: np.ndarray) -> InsertSizes:
    """Fit a model to each orientation that is frequent enough.

    `unique_pairs` (int64[]) has for each pair in file order 4 * template length + orientation; -1 for a pair that is
    not unique. The sample ends when one orientation has SAMPLE_PAIRS pairs.
    """
    sample = unique_pairs[unique_pairs >= 0]
    end = len(sample)
    for orientation in range(len(ORIENTATIONS)):
        where = np.flatnonzero(sample & 3 == orientation)
        if len(where) >= SAMPLE_PAIRS:
            end = min(end, int(where[SAMPLE_PAIRS - 1]) + 1)
    sample = sample[:end]
    most = int(pairs_by_orientation(sample).max())
    models = {}
    for orientation, name in enumerate(ORIENTATIONS):
        lengths = sample[sample & 3 == orientation] >> 2
        if len(lengths) * _RAREST_ORIENTATION < most:
            models[name] = replace(NO_INSERT_SIZE, pairs=len(lengths))
        else:
            models[name] = fit(lengths)
    return InsertSizes(**models)


def fit(template_lengths: np.ndarray) -> InsertSize:
    """Fit a model to template lengths (int64[]) of one orientation; it is unknown for fewer than FEWEST_PAIRS."""
    count = len(template_lengths)
    if count < FEWEST_PAIRS:
        return replace(NO_INSERT_SIZE, pairs=count)
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
