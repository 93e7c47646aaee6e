"""Short deletions by the distance of mates alone, as in tandem repeats that are longer than reads.

Over a deletion the mates of many fragments seem farther apart than usual, none of them by so much that it would be an
unusual pair. The bases of fragments are taken to be normally distributed. Insertions cannot be measured so: the reads
of their fragments lie in the repeat, and not where they belong.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from quire.reference import Reference
from quire.rescore.parameters import MISMAPPING_LOG10, CallingParameters
from quire.simd.powers_of_ten import LOG10_OF_E, log10, power_of_ten
from quire.structural import SHORTEST
from quire.structural.discovery import Sample
from quire.structural.evidence_cpu import DEVIATIONS, WINDOW, Evidence
from quire.structural.junctions import End, Junction
from quire.structural.support import Fragments

LEAST_COVERING = 10  # fragments over a window
LEAST_SHIFT = 3.5  # standard errors by which their mean is above the usual one
LEAST_QUALITY = 50.0  # QUAL; among so many places some have a lower one by chance
JOINED = 5  # windows between shifts of one variant
BESIDE = 20  # bases that a fragment must have on either side of a place
SIZES = range(SHORTEST, 601, 5)  # bases that are tried
LEAST_SIZE = 80
LEAST_DENSITY = 1e-8
_UNKNOWN = 1 << 59

Place = tuple[int, int]  # contig and position


def shifts(evidence: Evidence) -> list[Place]:
    """Return the places where fragments seem to be longer than usual."""
    enough = evidence.covering >= LEAST_COVERING
    if not enough.any() or math.isinf(evidence.deviation):
        return []
    mean = evidence.covered / np.maximum(evidence.covering, 1)
    standard = (mean - np.median(mean[enough])) * np.sqrt(evidence.covering) / evidence.deviation
    places = np.flatnonzero(enough & (standard >= LEAST_SHIFT))
    found = []
    for group in np.split(places, np.flatnonzero(np.diff(places) > JOINED) + 1):
        if len(group):
            peak = int(group[standard[group].argmax()])
            contig = int(np.searchsorted(evidence.first_window, peak, side="right")) - 1
            found.append((contig, (peak - int(evidence.first_window[contig])) * WINDOW + WINDOW // 2))
    return found


def sized(
    reference: Reference, samples: Sequence[Sample], place: Place, parameters: CallingParameters
) -> tuple[Junction, Fragments] | None:
    """Return the deletion at a place, of the likeliest size, with the likelihoods of the fragments over it.

    Return None if it is short, or shorter than the deviation of fragments: the mean may differ for other reasons.
    """
    contig, position = place
    name, length = reference.contig_names[contig], int(reference.contig_lengths[contig])
    sizes: list[NDArray[np.int64]] = []
    qualities: list[NDArray[np.uint8]] = []
    for sample in samples:
        reach = 2 * sample.evidence.usual
        low, high = max(0, position - reach), min(length, position + reach)
        reads, _ = sample.source.fetch(name, low, high, np.array([[low, high]]), parameters)
        size = np.where(reads.keep_to < _UNKNOWN, reads.keep_to - reads.aligned_start, 0)
        over = (reads.reverse == 0) & (reads.aligned_start + BESIDE < position) & (size <= reach)
        over &= reads.aligned_start + size - BESIDE > position
        sizes.append(size[over])
        qualities.append(reads.mapping_quality[over])
    sample_of = np.repeat(np.arange(len(samples)), [len(own) for own in sizes])
    best, change, matrix = -math.inf, 0, np.zeros((len(sample_of), 2))
    for tried in SIZES:
        fits = [(sample.evidence.usual, sample.evidence.deviation) for sample in samples]
        densities = [np.stack([_log10_densities(*fit, 0), _log10_densities(*fit, tried)], axis=1) for fit in fits]
        rows = np.concatenate([density[own] for density, own in zip(densities, sizes, strict=True)])
        rows = np.maximum(rows, rows.max(axis=1, initial=-np.inf, keepdims=True) + MISMAPPING_LOG10)
        score = sum(_likelier(rows[sample_of == number]) for number in range(len(samples)))
        if score > best:
            best, change, matrix = score, tried, rows
    if change < max(LEAST_SIZE, *(sample.evidence.deviation for sample in samples)):
        return None
    start = max(1, position - change // 2)
    junction = Junction(End(contig, start, True), End(contig, start + change, False), imprecise=True)
    longer = matrix[:, 1] > matrix[:, 0]
    counts = np.bincount(sample_of[longer], minlength=len(samples))
    plain = np.zeros(len(sample_of), np.uint8), np.concatenate(qualities), matrix, np.ones(len(sample_of))
    return junction, Fragments(sample_of, *plain, np.zeros_like(counts), counts, np.full((len(samples), 2), math.nan))


def _likelier(rows: NDArray[np.float64]) -> float:
    """Return the likelihood of a sample that is heterozygous, or homozygous if that is likelier."""
    return max(float(log10(power_of_ten(rows).sum(axis=1) / 2).sum()), float(rows[:, 1].sum()))


@cache
def _log10_densities(usual: int, deviation: float, deleted: int) -> NDArray[np.float64]:
    """Return log10 of the density of each size, up to twice the usual one, over a place where bases are deleted."""
    own = np.arange(2 * usual + 1, dtype=np.float64) - deleted
    # As many fragments of a size lie over a place as they have bases, without those that must be beside it.
    normal = power_of_ten(-0.5 * LOG10_OF_E * ((own - usual + DEVIATIONS * deviation) / deviation) ** 2)
    density = normal * np.maximum(own - 2 * BESIDE, 0)
    return log10(np.maximum(density / max(density.sum(), LEAST_DENSITY), LEAST_DENSITY))
