"""Scoring of the reads of assembled regions, and their placement on the reference through the best haplotype of each.

Follows AssemblyBasedCallerUtils.realignReadsToTheirBestHaplotype and AlignmentUtils.createReadAlignedToRef. A read is
aligned to its haplotype, and this alignment is transferred to the reference by the haplotype's alignment. Ends that the
aligner clips count as inserted bases.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.scoring import READ_TO_HAPLOTYPE
from quire.algorithms.semiglobal import SemiglobalBatch
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.rescore.chunks import RegionBatch
from quire.rescore.engines import CallingEngine
from quire.rescore.genotyping.rank_sums_cpu import PlacedReads
from quire.rescore.haplotypes import Haplotype, left_aligned
from quire.rescore.haplotypes.likelihoods_cpu import RegionLikelihoods, region_likelihoods
from quire.rescore.job import CallingJob
from quire.rescore.parameters import INFORMATIVE_LOG10
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads, bases_within
from quire.rescore.reference_confidence.columns_cpu import Placement, placement_spans
from quire.rescore.regions_cpu import AssembledRegion
from quire.rescore.window import Window
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled


class ScoredReads(NamedTuple):
    """The scored reads of a region, with `start` and `end` where their best haplotypes place them, and base by base.

    Unused reads have no placed bases.
    """

    likelihoods: RegionLikelihoods
    placed: PlacedReads


class _CutReads(NamedTuple):
    """Reads to place, each cut to the span of its region.

    The first and the end of a read's bases are those in `RegionReads`; `offsets` are int64[n + 1] into `bases`.
    """

    first_base: NDArray[np.int64]
    end_base: NDArray[np.int64]
    bases: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def score_regions(
    job: CallingJob, window: Window, batch: RegionBatch, regions: Sequence[AssembledRegion]
) -> tuple[list[ScoredReads], Placement]:
    """Return the scored reads of each region of a batch where their best haplotypes place them, and that placement.

    A read counts at a site if its new span touches it. A read that no haplotype explains stays where it was.
    """
    spans = np.array([region.span for region in regions], np.int64)
    numbers, own_haplotypes = np.array([region.number for region in regions]), [region.haplotypes for region in regions]
    scored = region_likelihoods(
        batch.reads, numbers, spans, own_haplotypes, job.engine, job.repeat_gaps, job.parameters.pool_support
    )
    sizes = np.array([len(own.start) for own in scored], np.int64)
    offsets = offsets_from_lengths(sizes)
    haplotypes = [haplotype for own in own_haplotypes for haplotype in own]
    counts = np.array([len(own) for own in own_haplotypes], np.int64)
    matrices = np.concatenate([own.matrix.ravel() for own in scored])
    # Among equally likely haplotypes, those with few indels come first, and the reference.
    priorities = np.array([float(haplotype.is_reference) + 1 - len(haplotype.cigar) for haplotype in haplotypes])
    explained, best = _best_of_all(matrices, sizes, counts, priorities)
    placed = np.flatnonzero(explained)
    region = np.repeat(np.arange(len(regions)), sizes)[placed]
    source = np.concatenate([own.source for own in scored])[placed]
    positions = _placement(batch.reads, source, best[placed], haplotypes, spans[region], window, job.engine)
    span_offsets = offsets_from_lengths(np.bincount(region, minlength=len(regions)))
    placement = Placement(span_offsets, *positions)
    start, end = (np.concatenate([getattr(own, name) for own in scored]) for name in ("start", "end"))
    start[placed], end[placed] = placement_spans(placement)
    first, size, at = (np.zeros(len(explained), np.int64) for _ in range(3))
    first[placed], at[placed] = placement.first_base, placement.position_offsets[:-1]
    size[placed] = np.diff(placement.position_offsets)
    moved = []
    for own, a, b in zip(scored, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        runs = PlacedReads(own.source, first[a:b], size[a:b], at[a:b], placement.positions)
        moved.append(ScoredReads(own._replace(start=start[a:b], end=end[a:b]), runs))
    return moved, placement


def _placement(
    reads: RegionReads,
    source: NDArray[np.int64],
    chosen: NDArray[np.int64],
    haplotypes: Sequence[Haplotype],
    spans: NDArray[np.int64],
    window: Window,
    engine: CallingEngine,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Place reads `source` and return the fields of `Placement` after the first."""
    # `chosen` (int64[n]) has the haplotype of each read, `spans` (int64[n, 2]) the span to which both are cut.
    bases, base_offsets = pack_bytes([haplotype.bases for haplotype in haplotypes])
    cigars = np.array(
        [length << CIGAR_SHIFT | op for haplotype in haplotypes for op, length in haplotype.cigar], np.uint32
    )
    cigar_offsets = offsets_from_lengths(np.array([len(haplotype.cigar) for haplotype in haplotypes], np.int64))
    cut: _CutReads = _cut_all(reads, source, spans)
    tasks = np.stack([chosen, np.arange(len(source))], 1).astype(np.int32)
    batch = SemiglobalBatch(bases, base_offsets, cut.bases, cut.offsets, tasks)
    aligned = engine.align(batch, READ_TO_HAPLOTYPE)
    to_haplotypes = aligned.offsets, aligned.cigars, aligned.cigar_offsets
    to_reference = chosen, cigars, cigar_offsets
    positions = _place_all(reads.positions, cut, spans, to_haplotypes, to_reference, window.codes, window.start)
    return cut.first_base, cut.end_base, positions, cut.offsets


@compiled
def _best_of_all(matrices, sizes, counts, priority):
    """Return which reads of regions a haplotype explains (bool[reads]), and their best haplotypes (int64[reads])."""
    # `matrices` has each region's [reads, haplotypes] row by row, end to end; an unexplained read has NaN.
    explained, best = np.empty(sizes.sum(), np.bool_), np.empty(sizes.sum(), np.int64)
    at, read, haplotype = 0, 0, 0
    for r in range(len(sizes)):
        size, count = sizes[r], counts[r]
        matrix = matrices[at : at + size * count].reshape((size, count))
        own = best_haplotypes(matrix, priority[haplotype : haplotype + count])
        for i in range(size):
            explained[read + i], best[read + i] = not np.isnan(matrix[i, 0]), haplotype + own[i]
        at += size * count
        read += size
        haplotype += count
    return explained, best


@compiled
def best_haplotypes(matrix, priority):
    """Return int64[reads]: the best haplotype of each read (AlleleLikelihoods.searchBestAllele with priorities)."""
    result = np.zeros(len(matrix), np.int64)
    for i in range(len(matrix)):
        best, first, second = 0, matrix[i, 0], -np.inf
        for h in range(1, matrix.shape[1]):
            if matrix[i, h] > first:
                best, first, second = h, matrix[i, h], first
            elif matrix[i, h] > second:
                second = matrix[i, h]
        if first - second < INFORMATIVE_LOG10:
            highest = priority[best]
            begun = best
            for h in range(matrix.shape[1]):
                if h != begun and first - matrix[i, h] <= INFORMATIVE_LOG10 and priority[h] > highest:
                    best, highest = h, priority[h]
        result[i] = best
    return result


@compiled
def _cut_all(reads, source, spans):
    """Return the `_CutReads`."""
    n = len(source)
    first_base = np.empty(n, np.int64)
    end_base = np.empty(n, np.int64)
    offsets = np.zeros(n + 1, np.int64)
    for i in range(n):
        first_base[i], end_base[i] = bases_within(reads, source[i], spans[i, 0], spans[i, 1])
        offsets[i + 1] = offsets[i] + end_base[i] - first_base[i]
    bases = np.empty(offsets[n], np.uint8)
    for i in range(n):
        bases[offsets[i] : offsets[i + 1]] = reads.bases[first_base[i] : end_base[i]]
    return _CutReads(first_base, end_base, bases, offsets)


@compiled
def _place_all(unmoved, cut, spans, alignments, haplotypes, reference, low):
    """Return int64 per base: the reference positions of all reads."""
    # `unmoved` are the positions of all bases of `RegionReads`, `haplotypes` the haplotype of each read, and the CIGARs
    # of all haplotypes to the reference with their offsets.
    first_base, read_bases, read_offsets = cut.first_base, cut.bases, cut.offsets
    offsets, cigars, cigar_offsets = alignments
    chosen, haplotype_cigars, haplotype_cigar_offsets = haplotypes
    positions = np.empty(len(read_bases), np.int64)
    for i in range(len(chosen)):
        h, size = chosen[i], read_offsets[i + 1] - read_offsets[i]
        if (
            offsets[i] >= 0
            and haplotype_cigar_offsets[h + 1] - haplotype_cigar_offsets[h] == 1
            and cigar_offsets[i + 1] - cigar_offsets[i] == 1
            and operation_of(cigars[cigar_offsets[i]]) == CIGAR_MATCH
        ):  # most reads: neither alignment has an insertion or a deletion
            low_position, first = spans[i, 0] + offsets[i], np.uint64(read_offsets[i])
            for k in range(np.uint64(size)):
                positions[first + k] = low_position + np.int64(k)
            continue
        query = read_bases[read_offsets[i] : read_offsets[i + 1]]
        own = positions[read_offsets[i] : read_offsets[i + 1]]
        if offsets[i] < 0:  # no alignment: the read stays where it was
            copy_items(own, 0, unmoved, first_base[i], first_base[i] + len(query))
            continue
        place(
            query,
            offsets[i],
            cigars[cigar_offsets[i] : cigar_offsets[i + 1]],
            haplotype_cigars[haplotype_cigar_offsets[h] : haplotype_cigar_offsets[h + 1]],
            reference[spans[i, 0] - low : spans[i, 1] - low],
            spans[i, 0],
            own,
        )
    return positions


@compiled
def place(query, offset, cigar, haplotype_cigar, reference, reference_start, positions):
    """Write the `positions` (int64[bases]) of one read's bases, from its alignment to its haplotype from `offset` on.

    Clipped bases count as inserted. `haplotype_cigar` aligns the haplotype to the reference, whose codes begin at
    `reference_start`.
    """
    start = start_on_reference(haplotype_cigar, offset)
    operations, lengths = carried_over(cigar, haplotype_cigar, offset)
    length = np.int64(0)
    for e in range(len(operations)):
        length += lengths[e] if operations[e] != CIGAR_INSERTION else 0
    if np.any(operations != CIGAR_MATCH):
        operations, lengths = left_aligned(operations, lengths, reference[start : start + length], query)
    at, b = start, 0
    for e in range(len(operations)):
        if operations[e] == CIGAR_DELETION:
            # A deletion before the first aligned base moves the start of the read.
            at += lengths[e]
        elif operations[e] == CIGAR_INSERTION:
            positions[b : b + lengths[e]] = INSERTED
            b += lengths[e]
        else:
            for k in range(lengths[e]):
                positions[b + k] = reference_start + at + k
            at += lengths[e]
            b += lengths[e]


@compiled
def start_on_reference(haplotype_cigar, offset):
    """Count the reference bases before base `offset` of the haplotype, without a deletion right before it."""
    on_reference, on_haplotype = np.int64(0), np.int64(0)
    if offset == 0:
        return on_reference
    for element in haplotype_cigar:
        operation, length = operation_of(element), length_of(element)
        on_reference += length if operation != CIGAR_INSERTION else 0
        on_haplotype += length if operation != CIGAR_DELETION else 0
        if on_haplotype >= offset:
            return on_reference - (on_haplotype - offset if operation == CIGAR_MATCH else 0)
    return on_reference + offset - on_haplotype


@compiled
def carried_over(cigar, haplotype_cigar, offset):
    """Return operations and lengths of the read's alignment to the reference (AlignmentUtils.applyCigarToCigar).

    Deletions before the first and after the last base of the read are left out. A deletion comes before an adjacent
    insertion.
    """
    room = 0
    for element in cigar:
        room += length_of(element)
    for element in haplotype_cigar:
        room += length_of(element)
    operations = np.empty(room + 1, np.uint8)
    lengths = np.empty(room + 1, np.int64)
    n = 0
    h, h_used = 0, np.int64(0)
    skipped = np.int64(0)  # bases of the haplotype before the alignment
    while h < len(haplotype_cigar) and skipped < offset:
        operation, length = operation_of(haplotype_cigar[h]), length_of(haplotype_cigar[h])
        if operation == CIGAR_DELETION:
            h += 1
        elif skipped + length <= offset:
            skipped += length
            h += 1
        else:
            h_used = offset - skipped
            skipped = offset
    while h < len(haplotype_cigar) and h_used == 0 and operation_of(haplotype_cigar[h]) == CIGAR_DELETION:
        h += 1
    for e in range(len(cigar)):
        operation, left = operation_of(cigar[e]), length_of(cigar[e])
        while left > 0:
            if operation != CIGAR_MATCH and operation != CIGAR_DELETION:
                n = _append(operations, lengths, n, CIGAR_INSERTION, left)
                break
            # After the haplotype's end the reference continues.
            below, below_left = np.int64(CIGAR_MATCH), left
            if h < len(haplotype_cigar):
                below, below_left = operation_of(haplotype_cigar[h]), length_of(haplotype_cigar[h]) - h_used
            step = below_left if below == CIGAR_DELETION else min(left, below_left)
            if below == CIGAR_DELETION:
                n = _append(operations, lengths, n, CIGAR_DELETION, step)
            else:
                left -= step
                if operation == CIGAR_MATCH:
                    n = _append(operations, lengths, n, below, step)
                elif below == CIGAR_MATCH:
                    n = _append(operations, lengths, n, CIGAR_DELETION, step)
            h_used += step
            if h < len(haplotype_cigar) and h_used == length_of(haplotype_cigar[h]):
                h, h_used = h + 1, np.int64(0)
    if n > 0 and operations[n - 1] == CIGAR_DELETION:
        n -= 1
    elif n > 1 and operations[n - 1] == CIGAR_INSERTION and operations[n - 2] == CIGAR_DELETION:
        operations[n - 2], lengths[n - 2] = operations[n - 1], lengths[n - 1]
        n -= 1
    return operations[:n], lengths[:n]


@compiled
def _append(operations, lengths, n, operation, length):
    """Add an element (CigarBuilder.add) and return the number of elements."""
    if operation == CIGAR_DELETION:
        if n == 0 or (n == 1 and operations[0] == CIGAR_INSERTION):
            return n
        if operations[n - 1] == CIGAR_INSERTION:
            if operations[n - 2] == CIGAR_DELETION:
                lengths[n - 2] += length
                return n
            operations[n], lengths[n] = operations[n - 1], lengths[n - 1]
            operations[n - 1], lengths[n - 1] = CIGAR_DELETION, length
            return n + 1
    if n > 0 and operations[n - 1] == operation:
        lengths[n - 1] += length
        return n
    operations[n], lengths[n] = operation, length
    return n + 1
