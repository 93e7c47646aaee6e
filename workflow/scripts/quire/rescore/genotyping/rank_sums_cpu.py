"""Rank sum tests of reads with an alternate allele against the others: BaseQRankSum, MQRankSum, ReadPosRankSum.

Follows RankSumTest, its three annotators, and MannWhitneyU (first dominates). Each value is the z of Wilcoxon's rank
sum test of the clear reads of all samples, with all alternates in one group. If both groups have fewer than ten reads,
p is the share of all assignments of the ranks with a sum below the observed one, plus half of the share with the same
sum, and z is the normal quantile of p.
"""

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import Field
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads
from quire.simd.compiled import compiled

FIELDS = (
    Field("BaseQRankSum", "1", "Float", "Z of Wilcoxon's rank sum test of base qualities by allele", ".3f"),
    Field("MQRankSum", "1", "Float", "Z of Wilcoxon's rank sum test of mapping qualities by allele", ".3f"),
    Field("ReadPosRankSum", "1", "Float", "Z of Wilcoxon's rank sum test of positions in reads", ".3f"),
)
RANK_SUMS = tuple(field.key for field in FIELDS)
_BASE_QUALITY, _MAPPING_QUALITY, _POSITION = range(len(FIELDS))  # rows of values, in the order of FIELDS
_FEWEST_FOR_NORMAL = 10  # reads of either allele (MannWhitneyU.MINIMUM_NORMAL_N)
_UNKNOWN = -1
_UNAVAILABLE = 255  # mapping quality that is not available
_quantile = lru_cache(1 << 16)(NormalDist().inv_cdf)  # small groups have few distinct p


class PlacedReads(NamedTuple):
    """Runs of bases of some reads, with their positions on the reference.

    Attributes:
        source: int64[n], index in `RegionReads`.
        first_base: int64[n], first base of the run, as an index into the bases of `RegionReads`.
        size: int64[n], bases of the run.
        at: int64[n], start of the run's positions in `positions`.
        positions: int64, 0-based reference positions, INSERTED for inserted bases.
    """

    source: NDArray[np.int64]
    first_base: NDArray[np.int64]
    size: NDArray[np.int64]
    at: NDArray[np.int64]
    positions: NDArray[np.int64]

    def subset(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "PlacedReads":
        """Return some of the reads, by a mask or by indices."""
        return PlacedReads(
            self.source[chosen], self.first_base[chosen], self.size[chosen], self.at[chosen], self.positions
        )


def rank_sums(
    reads: RegionReads, placed: PlacedReads, groups: NDArray[np.int8], start: int, end: int
) -> dict[str, float]:
    """Return the z of each test by its key in INFO, without tests that lack reads of either allele.

    `placed` holds the reads that touch the site, `groups` (int8) is 0 for those with the reference, 1 for those with a
    written alternate and -1 for unclear ones, and the site's reference allele is at [start, end).
    """
    values, exact = tests_of(reads, placed, groups, np.int64(start), np.int64(end))
    return quantiles(values.tolist(), exact.tolist())


def quantiles(values: Sequence[float], exact: Sequence[bool]) -> dict[str, float]:
    """Return the z of each test by its key from the results of `tests_of`; empty tests are left out."""
    return {
        key: _quantile(value) if is_exact else value
        for key, value, is_exact in zip(RANK_SUMS, values, exact, strict=True)
        if value == value
    }


@compiled
def allele_groups(best, kept):
    """Return the groups of `rank_sums` (int8[reads]) from the results of `best_alleles` and the written alleles."""
    groups = np.full(len(best), -1, np.int8)
    for i in range(len(best)):
        if best[i] == 0:
            groups[i] = 0
        else:
            for a in range(1, len(kept)):
                if best[i] == kept[a]:
                    groups[i] = 1
    return groups


@compiled
def site_values(reads, placed, start, end):
    """Return base quality at the site, mapping quality and distance to the nearer end (int64[3, reads]), or -1."""
    n = len(placed.source)
    values = np.full((3, n), _UNKNOWN, np.int64)
    for i in range(n):
        source, first, size, at = placed.source[i], placed.first_base[i], placed.size[i], placed.at[i]
        if reads.mapping_quality[source] == 0 or reads.mapping_quality[source] == _UNAVAILABLE:
            continue
        values[_MAPPING_QUALITY, i] = reads.mapping_quality[source]
        index, is_base = index_at(placed.positions[at : at + size], start)
        if index >= 0:
            if is_base:
                values[_BASE_QUALITY, i] = reads.qualities[first + index]
            # The distance is that to the end of the whole read, including bases that were cut off.
            to_start = reads.before[source] + first + index - reads.base_offsets[source]
            to_end = reads.behind[source] + reads.base_offsets[source + 1] - 1 - first - index
            values[_POSITION, i] = min(to_start, to_end)
        elif size > 0 and placed.positions[at] == INSERTED and first_aligned(placed.positions[at : at + size]) == end:
            values[_POSITION, i] = 0
    return values


@compiled
def index_at(positions, start):
    """Return the index of the base at a position and True; in a deletion the next base and False; else -1 and False."""
    previous = -1
    for b in range(len(positions)):
        if positions[b] == INSERTED:
            continue
        if positions[b] >= start:
            if positions[b] == start:
                return b, True
            return (previous + 1, False) if previous >= 0 else (-1, False)
        previous = b
    return -1, False


@compiled
def first_aligned(positions):
    """Return the position of a read's first base that is not inserted, -1 if there is none."""
    for position in positions:
        if position != INSERTED:
            return position
    return np.int64(-1)


@compiled
def tests_of(reads, placed, groups, start, end):
    """Return z or p of each test (float64; NaN if a group is empty), and whether it is the exact p (bool)."""
    result = np.full(len(RANK_SUMS), np.nan)
    exact = np.zeros(len(RANK_SUMS), np.bool_)
    sizes = np.zeros(2, np.int64)
    for group in groups:
        if group >= 0:
            sizes[group] += 1
    if sizes.min() > 0:
        values = site_values(reads, placed, start, end)
        for test in range(len(values)):
            use = (values[test] != _UNKNOWN) & (groups >= 0)
            result[test], exact[test] = mann_whitney(values[test][use], groups[use] == 1)
    return result, exact


@compiled
def mann_whitney(values, is_alternate):
    """Test if the alternate's values are larger than the reference's; return (z, False), for small groups (p, True)."""
    n = len(values)
    alternates = np.int64(0)
    for alternate in is_alternate:
        alternates += alternate
    references = n - alternates
    if alternates == 0 or references == 0:
        return np.nan, False
    order = np.argsort(values)
    ranks = np.empty(n, np.int64)  # twice the rank, so that ranks of ties are integers
    ties = np.float64(0.0)
    total = np.int64(0)  # twice the alternates' sum of ranks
    first = 0
    while first < n:
        last = first + 1
        while last < n and values[order[last]] == values[order[first]]:
            last += 1
        count = last - first
        for r in range(first, last):
            ranks[r] = first + last + 1
            if is_alternate[order[r]]:
                total += ranks[r]
        if count != n:
            ties += float(count) ** 3 - count
        first = last
    if alternates < _FEWEST_FOR_NORMAL and references < _FEWEST_FOR_NORMAL:
        return _share_below(ranks, alternates, total), True
    u = (total - alternates * (alternates + 1)) / 2.0
    mean = alternates * references / 2.0
    # As in GATK, there is no continuity correction without ties.
    correction = -0.5 if ties != 0.0 else 0.0
    variance = alternates * references / 12.0 * (n + 1 - ties / (float(n) * (n - 1)))
    return (u - mean - correction) / np.sqrt(variance), False


@compiled
def _share_below(ranks, chosen, total):
    """Return the share of choices of `chosen` ranks with a sum below `total`, plus half of the share with this sum."""
    most = ranks.sum()
    ways = np.zeros((chosen + 1, most + 1), np.int64)
    ways[0, 0] = 1
    for rank in ranks:
        for k in range(chosen, 0, -1):
            for s in range(most, rank - 1, -1):
                ways[k, s] += ways[k - 1, s - rank]
    below = ways[chosen, total] / 2.0
    everything = np.int64(0)
    for s in range(most + 1):
        everything += ways[chosen, s]
        if s < total:
            below += ways[chosen, s]
    return below / everything
