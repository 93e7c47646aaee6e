"""Active regions: the stretches that are assembled, found in the activity profile of one tile.

ActivityProfile.popNextReadyAssemblyRegion cuts a contig from its start on, so every region depends on all regions
before it. Here the contig is first cut into tiles of fixed size, with each border moved to the least active place
nearby, and each tile is then cut by GATK's rules. So the regions of a tile do not depend on how the genome is split
into jobs.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quire.rescore.parameters import ACTIVITY_THRESHOLD, MAXIMUM_REGION, MINIMUM_REGION
from quire.simd.compiled import compiled

TILE = 2_000
BORDER_REACH = 100  # a border lies within this distance of a multiple of TILE


def tile_border(profile: np.ndarray, profile_start: int, tile: int, contig_length: int) -> int:
    """Return the border before `tile`: the first of the least active positions near the multiple of TILE.

    The activity of positions from `profile_start` on must be given at least within BORDER_REACH of the multiple.
    """
    nominal = tile * TILE
    if nominal == 0 or nominal - BORDER_REACH >= contig_length:
        return min(nominal, contig_length)
    low = nominal - BORDER_REACH
    high = min(nominal + BORDER_REACH, contig_length)
    return low + int(np.argmin(profile[low - profile_start : high - profile_start]))


def tile_range(start: int, end: int) -> range:
    """Return the numbers of the tiles whose regions may hold a position of [start, end)."""
    return range(max(0, (start - BORDER_REACH) // TILE), (end + BORDER_REACH - 1) // TILE + 1)


@compiled
def active_regions(profile):
    """Return the spans (int64[n, 2]: start, end) of the active regions within a tile, given its activity (float64)."""
    found = np.empty((len(profile) + 1, 2), np.int64)
    n = 0
    start = 0
    while start < len(profile):
        active = profile[start] > ACTIVITY_THRESHOLD
        end = start
        while end < len(profile) and end - start < MAXIMUM_REGION and (profile[end] > ACTIVITY_THRESHOLD) == active:
            end += 1
        if active and end - start == MAXIMUM_REGION:
            end = _best_cut(profile, start, end)
        if active:
            found[n, 0], found[n, 1] = start, end
            n += 1
        start = end
    return found[:n].copy()


def quiet_regions(active: NDArray[np.int64], borders: Sequence[int]) -> NDArray[np.int64]:
    """Cut the stretches between active regions into regions of at most MAXIMUM_REGION that do not cross tile borders.

    Active regions and result are int64[n, 2], in order. The borders lead from the start of the first tile to the end of
    the last.
    """
    found = []
    edges = np.concatenate([[borders[0]], active.ravel(), [borders[-1]]]).reshape(-1, 2)
    for start, end in edges.tolist():
        inner = [border for border in borders if start < border < end]
        for low, high in pairwise([start, *inner, end]):
            found += [(at, min(at + MAXIMUM_REGION, high)) for at in range(low, high, MAXIMUM_REGION)]
    return np.array(found, np.int64).reshape(-1, 2)


@compiled
def _best_cut(profile, start, end):
    """Cut after the lowest local minimum that leaves at least MINIMUM_REGION (ActivityProfile.findBestCutSite)."""
    best = end - 1
    lowest = np.inf
    for i in range(end - 1, start + MINIMUM_REGION - 2, -1):
        if profile[i] < lowest and _is_minimum(profile, i):
            lowest = profile[i]
            best = i
    return best + 1


@compiled
def _is_minimum(profile, i):
    """Return True for a strict drop to the position and no lower neighbour after it (ActivityProfile.isMinimum)."""
    if i == len(profile) - 1 or i < 1:
        return False
    return profile[i] <= profile[i + 1] and profile[i] < profile[i - 1]
