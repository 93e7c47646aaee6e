"""SNVs that the aligned reads show, for data so thin that assembly loses them (GATK's `--pileup-detection`)."""

from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from quire.rescore.haplotypes import Event
from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads.clipping_cpu import RegionReads
from quire.rescore.window import Window
from quire.sequence.codes import AMBIGUOUS

_OF_ONE_READ = 45  # base quality above which it is the sum of two mates'


def shown_together(
    reads: RegionReads, window: Window, spans: NDArray[np.int64], support: int
) -> list[list[tuple[Event, ...]]]:
    """Return the SNVs of each region (spans: int64[regions, 2]) that a read shows together, each combination once.

    An SNV counts if at least `support` good bases of all samples show it; one that both mates show counts twice.
    """
    sizes = np.diff(reads.base_offsets)
    read = np.repeat(np.arange(len(sizes)), sizes)
    region = np.repeat(np.arange(len(spans)), np.diff(reads.region_offsets))[read]
    good = (reads.positions >= spans[region, 0]) & (reads.positions < spans[region, 1]) & (reads.usable[read] == 1)
    good &= reads.qualities >= MINIMUM_BASE_QUALITY
    expected = window.codes[np.where(good, reads.positions - window.start, 0)]
    chosen = np.flatnonzero(good & (reads.bases != expected) & (np.maximum(reads.bases, expected) < AMBIGUOUS))
    shown = np.stack([region[chosen], reads.positions[chosen], reads.bases[chosen]], axis=1)
    numbers = np.unique(shown, axis=0, return_inverse=True)[1].ravel()
    kept = np.bincount(numbers, 1.0 + (reads.qualities[chosen] > _OF_ONE_READ))[numbers] >= support
    found: list[dict[tuple[Event, ...], None]] = [{} for _ in spans]
    rows = zip(read[chosen[kept]].tolist(), shown[kept].tolist(), strict=True)
    for _, own in groupby(rows, itemgetter(0)):
        snvs = [row for _, row in own]
        found[snvs[0][0]][tuple(Event(position, 1, bytes([base])) for _, position, base in snvs)] = None
    return [list(own) for own in found]
