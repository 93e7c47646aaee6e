"""The insert sizes of a unit: fitted once for each orientation, from its first unique pairs, by integers only.

The models decide which two alignments make a proper pair and what a deviation from the mean costs. They are a property
of the unit's first reads in file order, never of batches or threads, and are written to a file of their own.

An *orientation* says how the mates of a pair lie to each other, named as in bwa mem: of the strand on which the first
mate is a forward read, the strands of the mate that lies first and of the other. FR: they point at each other (paired
ends). RF: they point away from each other (mate pairs). FF: both point one way and the second mate lies behind the
first. RR: likewise, and it lies before it. A library may hold several, as mate pairs among which are paired ends.
"""

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

SAMPLE_PAIRS = 65536
# Batches wait in memory for the model: it is fitted at the latest after so many bases, 262,144 pairs of 2 x 150.
MOST_BASES_LOOKED_AT = 262144 * 300
FEWEST_PAIRS = 10
# Parameters of bwa mem: bounds in interquartile ranges for outliers and for mapping, and in standard deviations.
_OUTLIER_RANGES, _MAPPING_RANGES, _MAPPING_DEVIATIONS = 2, 3, 4
# An orientation counts if one in so many of the pairs of the most frequent one has it (bwa mem: MIN_DIR_RATIO).
_RAREST_ORIENTATION = 20

ORIENTATIONS = ("FF", "FR", "RF", "RR")  # by their numbers


@dataclass(frozen=True)
class InsertSize:
    """Distribution of the template lengths (5' end to 5' end) of the pairs of one orientation, in bases.

    Attributes:
        pairs: pairs in the sample.
        percentile_25, median, percentile_75: of the sample.
        mean, standard_deviation: of the sample without outliers.
        low, high: template lengths of proper pairs, inclusive; high < low where no pair of this orientation is one.
    """

    pairs: int
    percentile_25: int
    median: int
    percentile_75: int
    mean: int
    standard_deviation: int
    low: int
    high: int

    @property
    def is_known(self) -> bool:
        """Whether pairs of this orientation can be proper."""
        return self.low <= self.high

    def penalties(self) -> np.ndarray:
        """Cost (int32) of each template length low..high in score units: bwa mem's -0.721 ln(2 erfc(|z| / sqrt 2))."""
        costs = np.zeros(max(self.high - self.low + 1, 0), np.int32)
        for i in range(len(costs)):
            deviation = abs(self.low + i - self.mean) / max(self.standard_deviation, 1)
            tail = max(2 * math.erfc(deviation / math.sqrt(2)), 1e-300)
            costs[i] = max(0, round(-0.721 * math.log(tail)))
        return costs


NO_INSERT_SIZE = InsertSize(0, 0, 0, 0, 0, 0, 0, -1)


class ProperLengths(NamedTuple):
    """The template lengths of proper pairs, for kernels: low and high int64[4] by orientation, and what each costs.

    Attributes:
        low, high: inclusive; high < low where no pair of the orientation is proper.
        first: int64[4], where the costs of each orientation begin, that of `low` first.
        penalties: int32[], of all orientations.
        mean: int64[4], of the template lengths.
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
        """By the number of the orientation."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def are_known(self) -> bool:
        """Whether any pair can be proper."""
        return any(model.is_known for model in self.models)

    def to_json(self) -> dict[str, Any]:
        """The models as plain JSON."""
        return asdict(self)


NO_INSERT_SIZES = InsertSizes()


@lru_cache(maxsize=8)
def proper_lengths(insert_sizes: InsertSizes) -> ProperLengths:
    """The models as arrays, which nobody may write to: they are made once for all batches."""
    costs = [model.penalties() for model in insert_sizes.models]
    return ProperLengths(
        np.array([model.low for model in insert_sizes.models], np.int64),
        np.array([model.high for model in insert_sizes.models], np.int64),
        np.cumsum([0, *map(len, costs[:-1])], dtype=np.int64),
        np.concatenate(costs),
        np.array([model.mean for model in insert_sizes.models], np.int64),
    )


def pairs_by_orientation(unique_pairs: np.ndarray) -> np.ndarray:
    """int64[4]: how many of the pairs that `unique_template_lengths` gives have each orientation."""
    return np.bincount(unique_pairs[unique_pairs >= 0] & 3, minlength=len(ORIENTATIONS))


def fit_all(unique_pairs: np.ndarray) -> InsertSizes:
    """Fit a model to each orientation that is frequent enough.

    Args:
        unique_pairs: int64[], of pairs in the order of the file: 4 * template length + orientation, -1 for a pair that
            is not unique. The sample ends where one orientation has SAMPLE_PAIRS of them.
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
    """Fit the model to a sample of template lengths (int64[]) of one orientation; none for fewer than FEWEST_PAIRS."""
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
