"""PairHMM likelihoods of the reads at the ends of a long indel; whole reads are scored, including their clips.

Only reads that cross an end of the indel count. Reads inside the deleted or inserted bases say nothing about the other
haplotype, and their number grows with the length of the indel. Both mates of a pair are one observation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm import DEFAULT_GAP_OPEN_QUALITY, PairHmmBatch
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.rescore.engines import CallingEngine
from quire.rescore.haplotypes.likelihoods_cpu import BASE_QUALITY_THRESHOLD, MINIMUM_USABLE_QUALITY
from quire.rescore.long_indels import FLANK, LONGEST, LongIndel
from quire.rescore.long_indels.breakpoints_cpu import Clips
from quire.rescore.parameters import INFORMATIVE_LOG10, MINIMUM_READ_LENGTH, MISMAPPING_LOG10
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.window import Window
from quire.simd.powers_of_ten import log10

MOST_FRAGMENTS = 500  # of a sample at an indel; fragments with the smallest name hashes are used
POOREST_LOG10_PER_BASE = -0.1  # a read with lower likelihoods comes from elsewhere
# The likelihood of a genotype is linear in the copies of an allele, but the share of reads that fit both haplotypes is
# not (2/3 in a heterozygote, 1/2 in a homozygote; see `_dilution`). With this power, the likelihoods of the two
# genotypes are equal at the same share as binomial likelihoods are.
DILUTION_POWER = 1.18
REFERENCE, ALTERNATE = 0, 1


class Carriers(NamedTuple):
    """Reads of a sample that carry an indel.

    Attributes:
        end: the last possible end of the sequence before the indel.
        before: int64[], reads that are aligned there.
        start: the first possible start of the sequence after the indel.
        after: int64[], reads that are aligned there.
    """

    end: int
    before: NDArray[np.int64]
    start: int
    after: NDArray[np.int64]


class Support(NamedTuple):
    """Likelihoods of the fragments at an indel, those of sample 0 first.

    Attributes:
        sample: int32[fragments].
        reverse: uint8[fragments], of the first read of each that crosses an end.
        mapping_quality: uint8[fragments], of the same read.
        matrix: float64[fragments, 2], log10 likelihoods of reference and indel, the worse at least the better
            plus MISMAPPING_LOG10.
        carriers: for each sample, the reads that clearly fit the indel better.
    """

    sample: NDArray[np.int32]
    reverse: NDArray[np.uint8]
    mapping_quality: NDArray[np.uint8]
    matrix: NDArray[np.float64]
    carriers: list[Carriers]


@dataclass(frozen=True)
class Crossing:
    """Reads of one sample that cross an end of a variant.

    Attributes:
        index: int64[], the reads.
        first: int64[], start of the bases to score.
        last: int64[], their end, exclusive.
        at_left: bool[], True for reads that cross one of the first two ends.
    """

    index: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    at_left: NDArray[np.bool_]


def room_to_the_right(indel: LongIndel, window: Window) -> int:
    """Return how far the indel can be shifted right without changing the sequence, at most LONGEST bases.

    For a tandem duplication this is at least the length of the repeated unit.
    """
    changed = max(indel.reference[1:], indel.alternate[1:], key=len)
    if min(len(indel.reference), len(indel.alternate)) > 1:
        return 0
    after = window.between(indel.end, indel.end + LONGEST).tobytes()
    text = changed + after
    return next((n for n in range(len(after)) if after[n] != text[n]), len(after))


def haplotypes_of(indel: LongIndel, room: int, window: Window) -> tuple[list[bytes], list[int]]:
    """Return the sequences around the ends of an indel, and the haplotype (REFERENCE or ALTERNATE) of each."""
    start, end = indel.start + 1, indel.end
    low, high = max(window.start, start - FLANK), min(window.end, end + room + FLANK)
    before, after = window.between(low, start).tobytes(), window.between(end, high).tobytes()
    sequences, sides = [], []
    for side, middle in ((REFERENCE, indel.reference[1:]), (ALTERNATE, indel.alternate[1:])):
        if len(middle) <= FLANK:
            pieces = [before + middle + after]
        else:
            pieces = [before + middle[:FLANK], middle[-FLANK:] + after]
        sequences += pieces
        sides += [side] * len(pieces)
    return sequences, sides


def ends_of(indel: LongIndel, room: int) -> tuple[int, int, int]:
    """Return the ends of a left-aligned indel, and its start when it is shifted right as far as possible."""
    return indel.start + 1, indel.end, indel.start + 1 + room


def crossing_reads(reads: AlignedReads, clips: Clips, ends: tuple[int, int, int]) -> Crossing:
    """Return the reads of a sample that, with their clips, cross one of the ends (positions) of a variant.

    Bases farther than FLANK from that end are left out.
    """
    longest = int((reads.aligned_end - reads.aligned_start).max(initial=0))
    low, high = np.searchsorted(reads.aligned_start, [ends[0] - 1 - FLANK - longest, max(ends) + FLANK])
    start = reads.aligned_start[low:high] - clips.left[low:high]
    end = reads.aligned_end[low:high] + clips.right[low:high]
    first, last = clips.first[low:high].copy(), clips.last[low:high].copy()
    over = [(start < at) & (at < end) for at in ends]
    chosen = np.flatnonzero((over[0] | over[1] | over[2]) & (clips.whole[low:high] == 1))
    breakpoint = np.select(over, ends)
    first += np.maximum(0, breakpoint - FLANK - start)
    last -= np.maximum(0, end - breakpoint - FLANK)
    chosen = chosen[(last - first)[chosen] >= MINIMUM_READ_LENGTH]
    names = np.unique(reads.name_hash[low:high][chosen])[:MOST_FRAGMENTS]
    chosen = chosen[np.isin(reads.name_hash[low:high][chosen], names)]
    return Crossing(low + chosen, first[chosen], last[chosen], (over[0] | over[1])[chosen])


def support(
    samples: Sequence[tuple[AlignedReads, Clips]], indels: Sequence[LongIndel], window: Window, engine: CallingEngine
) -> list[Support]:
    """Return the support of each indel by the fragments of all samples, from one PairHMM batch.

    The window has FLANK bases around the indels.
    """
    rooms = [room_to_the_right(indel, window) for indel in indels]
    placed = list(zip(indels, rooms, strict=True))
    crossing = [[crossing_reads(reads, clips, ends_of(*one)) for reads, clips in samples] for one in placed]
    haplotypes = [haplotypes_of(*one, window) for one in placed]
    values = iter(read_likelihoods(samples, crossing, [sequences for sequences, _ in haplotypes], engine))
    answers = []
    for (indel, room), own, (_, sides) in zip(placed, crossing, haplotypes, strict=True):
        parts, carriers = [], []
        for number, ((reads, clips), chosen) in enumerate(zip(samples, own, strict=True)):
            scored = next(values)
            by_side = np.stack([scored[:, np.array(sides) == s].max(axis=1) for s in (REFERENCE, ALTERNATE)], axis=1)
            length = chosen.last - chosen.first
            fits = by_side.max(axis=1) >= POOREST_LOG10_PER_BASE * length
            difference = by_side[:, ALTERNATE] - by_side[:, REFERENCE]
            carrying = difference > INFORMATIVE_LOG10
            carriers.append(_carriers(reads, clips, chosen.index[carrying], indel, room))
            if indel.change > 0:
                by_side[:, ALTERNATE] -= np.where(carrying, 0.0, _dilution(room, length))
            use = fits & (chosen.at_left | carrying)
            # In a tandem duplication, one mate may cross the joint while the other is evidence against it.
            alone = (np.abs(difference) <= INFORMATIVE_LOG10) & (indel.change > 0)
            parts.append(_fragments(reads, chosen.index[use], alone[use], by_side[use], number))
        sample, reverse, mapping_quality, matrix = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        answers.append(Support(sample, reverse, mapping_quality, matrix, carriers))
    return answers


def _dilution(room: int, length: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log10 of the factor by which reads that fit both haplotypes are rarer on the one with the insertion."""
    # If the inserted bases also occur next to it, as in a tandem duplication, that haplotype has these reads and reads
    # across the joint; only the smaller share of these reads distinguishes one copy from two.
    return DILUTION_POWER * log10((length + np.minimum(room, length)) / length)


def _carriers(reads: AlignedReads, clips: Clips, carrying: NDArray[np.int64], indel: LongIndel, room: int) -> Carriers:
    """Return the reads that carry the indel, by the side on which they are aligned."""
    left, right = clips.left[carrying], clips.right[carrying]
    longer = np.minimum(reads.aligned_end[carrying], indel.start + 1 + room) - reads.aligned_start[carrying] >= (
        reads.aligned_end[carrying] - np.maximum(reads.aligned_start[carrying], indel.end)
    )
    before = (right > left) | ((right == left) & longer)
    return Carriers(indel.start + 1 + room, carrying[before], indel.end, carrying[~before])


def read_likelihoods(
    samples: Sequence[tuple[AlignedReads, Clips]],
    crossing: Sequence[Sequence[Crossing]],
    haplotypes: Sequence[Sequence[bytes]],
    engine: CallingEngine,
) -> list[NDArray[np.float64]]:
    """Return float64[reads, haplotypes] for each indel and sample."""
    bases, qualities, tasks, shapes = [], [], [], []
    first_read = first_haplotype = 0
    for own, sequences in zip(crossing, haplotypes, strict=True):
        for (reads, _), chosen in zip(samples, own, strict=True):
            for index, first, last in zip(
                chosen.index.tolist(), chosen.first.tolist(), chosen.last.tolist(), strict=True
            ):
                bases.append(reads.bases[first:last].tobytes())
                capped = np.minimum(reads.qualities[first:last], reads.mapping_quality[index])
                qualities.append(
                    np.where(capped < BASE_QUALITY_THRESHOLD, MINIMUM_USABLE_QUALITY, capped).astype(np.uint8)
                )
            count = len(chosen.index)
            pairs = np.indices((count, len(sequences))).reshape(2, -1).T + np.array([first_read, first_haplotype])
            tasks.append(pairs.astype(np.int32))
            shapes.append((count, len(sequences)))
            first_read += count
        first_haplotype += len(sequences)
    if not first_read:
        return [np.zeros(shape) for shape in shapes]
    flat, offsets = pack_bytes(bases)
    gaps = np.full(len(flat), DEFAULT_GAP_OPEN_QUALITY, np.uint8)
    text, text_offsets = pack_bytes([one for sequences in haplotypes for one in sequences])
    every = np.concatenate(tasks)
    batch = PairHmmBatch(flat, np.concatenate(qualities), gaps, gaps, offsets, text, text_offsets, every)
    values = engine.log10_likelihoods(batch)
    ends = offsets_from_lengths([len(own) for own in tasks])
    return [values[ends[i] : ends[i + 1]].reshape(shape) for i, shape in enumerate(shapes)]


def _fragments(
    reads: AlignedReads,
    index: NDArray[np.int64],
    alone: NDArray[np.bool_],
    by_side: NDArray[np.float64],
    sample: int,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.float64]]:
    """Join the reads of a sample into fragments, the first four columns of `Support`."""
    # Likelihoods of mates are summed, unless the mates count alone.
    keys = np.stack([reads.name_hash[index], np.where(alone, index + 1, 0).astype(np.uint64)], axis=1)
    _, first, fragment = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    matrix = np.zeros((len(first), 2))
    np.add.at(matrix, fragment.reshape(-1), by_side)
    matrix = np.maximum(matrix, matrix.max(axis=1, initial=-np.inf, keepdims=True) + MISMAPPING_LOG10)
    chosen = index[first]
    return np.full(len(first), sample, np.int32), reads.reverse[chosen], reads.mapping_quality[chosen], matrix
