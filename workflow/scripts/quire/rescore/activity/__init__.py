"""The activity profile: the probability of a variant at every position, before any assembly.

Follows ReferenceConfidenceModel.calcGenotypeLikelihoodsOfRefVsAny per position and sample (evidence against the
reference is a differing base, a deleted base, or a base next to an indel or a soft clip), AlleleFrequencyCalculator for
the probability of any variant, and BandPassActivityProfile for smoothing. The raw value of a position depends only on
the reads over it.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.genotyping.allele_frequency_cpu import no_variant_log10
from quire.rescore.parameters import (
    DELETION_QUALITY,
    MINIMUM_ACTIVE_QUALITY,
    MINIMUM_BASE_QUALITY,
    REFERENCE_PSEUDOCOUNT,
    SNV_PSEUDOCOUNT,
)
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.sam import CIGAR_DELETION, CIGAR_HARD_CLIP, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SOFT_CLIP
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd import powers_of_ten
from quire.simd.compiled import compiled, inlined
from quire.simd.powers_of_ten.cpu import power_of_ten

SIGMA = 17.0  # BandPassActivityProfile.DEFAULT_SIGMA
FILTER_WING = 50  # BandPassActivityProfile.MAX_FILTER_SIZE (no weight within it is below GATK's cut of 1e-5)
MAXIMUM_PROPAGATION = 50 + FILTER_WING
CLIP_THRESHOLD = 6.0  # a site's weight is multiplied above this mean of good bases in soft clips


def profile(
    samples: Sequence[AlignedReads],
    ploidies: Sequence[int],
    reference: NDArray[np.uint8],
    start: int,
    end: int,
    certain: Sequence[int] = (),
) -> NDArray[np.float64]:
    """Return the smoothed activity of [start, end) of a contig (float64[end - start]).

    Reads and reference (uint8 codes) cover the positions up to FILTER_WING before and after, as far as the contig does.
    The positions `certain` count as variants whatever the reads show.
    """
    first = max(0, start - FILTER_WING)
    weights = _weights(samples, ploidies, reference, first)
    weights[[position - first for position in certain if 0 <= position - first < len(weights)]] = 1.0
    smoothed: NDArray[np.float64] = smooth(weights, band_pass_weights())
    return smoothed[start - first : end - first]


def _weights(
    samples: Sequence[AlignedReads], ploidies: Sequence[int], reference: NDArray[np.uint8], start: int
) -> NDArray[np.float64]:
    """Return the weights before smoothing of the positions from `start` on that `reference` covers."""
    # Without evidence against the reference, it is the most likely genotype whatever the qualities, so the weight is 0.
    doubted = np.zeros(len(reference), np.uint8)
    for reads in samples:
        mark_doubted(reads, reference, start, doubted)
    places = np.flatnonzero(doubted)
    size = len(places)
    clips, clipped_reads = np.zeros(size), np.zeros(size, np.int64)
    likelihoods = []
    for reads, ploidy in zip(samples, ploidies, strict=True):
        ploidy = max(2, ploidy)  # MINIMUM_PUTATIVE_PLOIDY_FOR_ACTIVE_REGION_DISCOVERY
        sums = PlaceSums(np.zeros((size, ploidy + 1)), clips, clipped_reads)
        add_reads(reads, reference, start, places, likelihood_table(ploidy), sums)
        likelihoods.append(phred_rounded(sums.log10))
    if len(samples) == 1:
        probability = single_sample_probability(likelihoods[0], posterior_terms(max(2, ploidies[0])))
    else:
        probability = _joint_probability(likelihoods)
    mean = np.divide(clips, clipped_reads, out=np.zeros(size), where=clipped_reads > 0)
    # BandPassActivityProfile puts all copies of a clipped site at the site itself, which multiplies its weight.
    copies = np.where(mean > CLIP_THRESHOLD, 2 * np.minimum(mean.astype(np.int64), MAXIMUM_PROPAGATION) + 1, 1)
    weights = np.zeros(len(reference))
    weights[places] = probability * copies
    return weights


@cache
def likelihood_table(ploidy: int) -> NDArray[np.float64]:
    """Return float64[256, 2, ploidy + 1]: log10 P(base | n alternates) by quality, (agrees, differs) and n."""
    errors = powers_of_ten.power_of_ten(-np.arange(256) / 10)[:, np.newaxis]
    alternates = np.arange(ploidy + 1)
    right, wrong = 1 - errors, errors / 3
    agrees = right * (ploidy - alternates) + wrong * alternates
    differs = wrong * (ploidy - alternates) + right * alternates
    shares = np.stack([agrees, differs], axis=1) / ploidy
    shares[0] = 1  # a base of quality 0 is no evidence
    return powers_of_ten.log10(shares)


@compiled
def mark_doubted(reads, reference, start, doubted):
    """Set `doubted` (uint8) to 1 at least wherever a usable base or a deletion is evidence against the reference.

    Codes of the reference and `doubted` begin at position `start`.
    """
    end = start + len(reference)
    for i in range(len(reads.aligned_start)):
        if reads.aligned_start[i] >= end or reads.aligned_end[i] <= start:
            continue
        position, query = reads.aligned_start[i], reads.base_offsets[i]
        first, last = reads.cigar_offsets[i], reads.cigar_offsets[i + 1]
        low, high = max(start, reads.keep_from[i]), min(end, reads.keep_to[i])
        for c in range(first, last):
            operation, size = operation_of(reads.cigar[c]), length_of(reads.cigar[c])
            if operation in (CIGAR_MATCH, CIGAR_DELETION):
                begin, stop = max(position, low), min(position + size, high)
                if begin < stop:
                    if operation == CIGAR_DELETION:
                        doubted[begin - start : stop - start] = 1
                    else:
                        _mark_differing(
                            reads, query + begin - position, reference, doubted, begin - start, stop - begin
                        )
                        # Any base next to a clip or an indel is evidence against the reference.
                        if begin == position and c > first:
                            doubted[begin - start] = 1
                        if stop == position + size and c + 1 < last:
                            doubted[stop - 1 - start] = 1
                position += size
            if operation != CIGAR_DELETION and operation != CIGAR_HARD_CLIP:
                query += size


@inlined
def _mark_differing(reads, query, reference, doubted, at, size):
    """Mark usable bases that differ from the reference: `size` bases from `query` on against those from `at` on."""
    base, place = np.uint64(query), np.uint64(at)  # unsigned, as in `quire.simd.bits.copy_items`
    bases, qualities = reads.bases, reads.qualities
    for k in range(np.uint64(size)):
        differs = np.uint8(bases[base + k] != reference[place + k])
        usable = np.uint8(qualities[base + k] > MINIMUM_BASE_QUALITY)
        doubted[place + k] |= differs & usable


class PlaceSums(NamedTuple):
    """Sums over the reads at some places.

    Attributes:
        log10: float64[places, genotypes], log10 likelihoods.
        clips: float64[places], good soft-clipped bases of reads with a base at the place that is next to a soft clip.
        clipped_reads: int64[places], number of these reads.
    """

    log10: NDArray[np.float64]
    clips: NDArray[np.float64]
    clipped_reads: NDArray[np.int64]


@compiled
def add_reads(reads, reference, start, places, table, sums):
    """Add every usable base of the reads over some places to the genotypes' `PlaceSums`.

    Codes of the reference begin at position `start`, and `places` (int64[], ascending) are indices in them. `table`
    comes from `likelihood_table`.
    """
    log10, clips, clipped_reads = sums.log10, sums.clips, sums.clipped_reads
    end = start + len(reference)
    genotypes = log10.shape[1]
    before = np.empty(len(reference) + 1, np.int64)  # number of places before each index
    n = 0
    for at in range(len(reference) + 1):
        before[at] = n
        n += n < len(places) and places[n] == at
    for i in range(len(reads.aligned_start)):
        if reads.aligned_start[i] >= end or reads.aligned_end[i] <= start:
            continue
        position = reads.aligned_start[i]
        query = reads.base_offsets[i]
        first, last = reads.cigar_offsets[i], reads.cigar_offsets[i + 1]
        low, high = max(start, reads.keep_from[i]), min(end, reads.keep_to[i])
        for c in range(first, last):
            operation, size = operation_of(reads.cigar[c]), length_of(reads.cigar[c])
            begin, stop = max(position, low), min(position + size, high)
            if operation == CIGAR_MATCH:
                left = operation_of(reads.cigar[c - 1]) if c > first else CIGAR_HARD_CLIP
                right = operation_of(reads.cigar[c + 1]) if c + 1 < last else CIGAR_HARD_CLIP
                if begin < stop:
                    for place in range(before[begin - start], before[stop - start]):
                        at = places[place]
                        k = at + start - position
                        quality = reads.qualities[query + k]
                        if quality <= MINIMUM_BASE_QUALITY:
                            continue
                        at_clip = (k == 0 and left == CIGAR_SOFT_CLIP) or (k == size - 1 and right == CIGAR_SOFT_CLIP)
                        at_indel = (k == 0 and left in (CIGAR_INSERTION, CIGAR_DELETION)) or (
                            k == size - 1 and right in (CIGAR_INSERTION, CIGAR_DELETION)
                        )
                        differs = 1 if at_clip or at_indel or reads.bases[query + k] != reference[at] else 0
                        for g in range(genotypes):
                            log10[place, g] += table[quality, differs, g]
                        if at_clip:
                            clips[place] += reads.soft_clips[i]
                            clipped_reads[place] += 1
                position += size
                query += size
            elif operation == CIGAR_DELETION:
                if begin < stop:
                    for place in range(before[begin - start], before[stop - start]):
                        for g in range(genotypes):
                            log10[place, g] += table[DELETION_QUALITY, 1, g]
                position += size
            elif operation in (CIGAR_INSERTION, CIGAR_SOFT_CLIP):
                query += size


@compiled
def phred_rounded(log10: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round log10 likelihoods as GATK does: to whole phreds below the best of the row, converted back to log10."""
    result = np.empty_like(log10)
    for i in range(len(log10)):
        largest = log10[i].max()
        for g in range(log10.shape[1]):
            result[i, g] = -np.floor(-10 * (log10[i, g] - largest) + 0.5) / 10
    return result


def posterior_terms(ploidy: int) -> NDArray[np.float64]:
    """Return float64[ploidy + 1]: log10 ratio of the prior of n alternates to that of none.

    Follows AlleleFrequencyCalculator.calculateSingleSampleBiallelicNonRefPosterior.
    """
    copies = np.arange(ploidy)
    # Factors between successive terms, from the binomial coefficient and both gamma functions.
    factors = (ploidy - copies) / (copies + 1) * (copies + SNV_PSEUDOCOUNT)
    factors /= ploidy - 1 - copies + REFERENCE_PSEUDOCOUNT
    return np.concatenate([[0.0], np.cumsum(powers_of_ten.log10(factors))])


@compiled
def single_sample_probability(log10: NDArray[np.float64], terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of a variant for each position; 0 where the reference is the most likely genotype."""
    size, genotypes = log10.shape
    result = np.zeros(size)
    posterior = np.empty(genotypes)
    for i in range(size):
        if log10[i].argmax() == 0:
            continue
        for g in range(genotypes):
            posterior[g] = log10[i, g] + terms[g]
        best = posterior.argmax()
        if best == 0:
            continue
        largest = posterior[best]
        total = 0.0
        for g in range(genotypes):
            total += power_of_ten(posterior[g] - largest)
        result[i] = 1 - power_of_ten(posterior[0] - largest) / total
    return result


def _joint_probability(likelihoods: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the probability of a variant for each position over several samples; 0 below MINIMUM_ACTIVE_QUALITY."""
    result = np.zeros(len(likelihoods[0]))
    pseudocounts = np.array([REFERENCE_PSEUDOCOUNT, SNV_PSEUDOCOUNT])
    doubtful = np.any([sample.argmax(axis=1) > 0 for sample in likelihoods], axis=0)
    ploidies = np.array([sample.shape[1] - 1 for sample in likelihoods], np.int64)
    for i in np.flatnonzero(doubtful):
        rows = np.concatenate([sample[i] for sample in likelihoods])
        absent = no_variant_log10(rows, ploidies, pseudocounts, -1)[0]
        if -10 * absent >= MINIMUM_ACTIVE_QUALITY:
            result[i] = 1 - power_of_ten(absent)
    return result


def band_pass_weights() -> NDArray[np.float64]:
    """Return the Gaussian weights (sum 1) of the smoothing."""
    squares = np.arange(-FILTER_WING, FILTER_WING + 1, dtype=np.float64) ** 2
    weights = powers_of_ten.power_of_ten(-powers_of_ten.LOG10_OF_E * squares / (2 * SIGMA**2))
    return weights / float(weights.sum())


@compiled
def smooth(raw, weights):
    """Spread every value over its neighbours, by weights from `band_pass_weights`."""
    wing = len(weights) // 2
    result = np.zeros(len(raw))
    for i in range(len(raw)):
        if raw[i] > 0:
            for k in range(max(0, i - wing), min(len(raw), i + wing + 1)):
                result[k] += raw[i] * weights[k - i + wing]
    return result
