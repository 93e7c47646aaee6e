"""Placement of reads on the reference through the best haplotype of each.

Follows AssemblyBasedCallerUtils.realignReadsToTheirBestHaplotype and AlignmentUtils.createReadAlignedToRef. A read is
aligned to its haplotype, and this alignment is transferred to the reference by the haplotype's alignment. Ends that the
aligner clips count as inserted bases.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.scoring import READ_TO_HAPLOTYPE
from quire.algorithms.semiglobal import Overhang, SemiglobalBatch
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.rescore.engines import CallingEngine
from quire.rescore.genotyping.rank_sums import PlacedReads
from quire.rescore.haplotypes import Haplotype
from quire.rescore.haplotypes.left_align import left_aligned
from quire.rescore.haplotypes.likelihoods import RegionLikelihoods
from quire.rescore.parameters import INFORMATIVE_LOG10
from quire.rescore.reads.clipping import INSERTED, RegionReads, bases_within
from quire.rescore.reference_confidence.columns import Placement, placement_spans
from quire.rescore.regions import AssembledRegion
from quire.rescore.window import Window
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_MATCH, CIGAR_SHIFT
from quire.simd.compiled import compiled


class ScoredReads(NamedTuple):
    """The scored reads of a region, where their best haplotypes place them.

    Attributes:
        likelihoods: with `start` and `end` as the reads are placed.
        placed: the same reads, base by base; unused reads have no bases.
    """

    likelihoods: RegionLikelihoods
    placed: PlacedReads


class _CutReads(NamedTuple):
    """Reads to place, each cut to the span of its region.

    Attributes:
        first_base, end_base: int64[n], the run of a read's bases in `RegionReads`.
        bases: uint8 codes of all runs.
        offsets: int64[n + 1] into bases.
        chosen: int64[n], the haplotype of each read.
        spans: int64[n, 2], the span to which each read and its haplotype are cut.
    """

    first_base: NDArray[np.int64]
    end_base: NDArray[np.int64]
    bases: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    chosen: NDArray[np.int64]
    spans: NDArray[np.int64]


class _Alignments(NamedTuple):
    """The arrays of `SemiglobalAlignments`, as kernels take them."""

    offsets: NDArray[np.int32]
    cigars: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]


def realigned(
    reads: RegionReads,
    scored: Sequence[RegionLikelihoods],
    regions: Sequence[AssembledRegion],
    window: Window,
    engine: CallingEngine,
) -> tuple[list[ScoredReads], Placement]:
    """Place the scored reads of some regions by their best haplotypes.

    A read counts at a site if its new span touches it. A read that no haplotype explains stays where it was.

    Args:
        reads: clipped reads of all regions.
        scored: likelihoods of each region.
        regions: with their haplotypes.
        window: the reference, holding all spans.
        engine: aligns the reads.

    Returns:
        The scored reads of each region as placed, and the placement.
    """
    sizes = np.array([len(own.start) for own in scored], np.int64)
    offsets = offsets_from_lengths(sizes)
    haplotypes = [haplotype for region in regions for haplotype in region.haplotypes]
    counts = np.array([len(region.haplotypes) for region in regions], np.int64)
    matrices = np.concatenate([own.matrix.ravel() for own in scored])
    explained, best = _best_of_all(matrices, sizes, counts, priorities(haplotypes))
    placed = np.flatnonzero(explained)
    region = np.repeat(np.arange(len(regions)), sizes)[placed]
    source = np.concatenate([own.source for own in scored])[placed]
    spans = np.array([region.span for region in regions], np.int64)
    positions = _placement(reads, source, best[placed], haplotypes, spans[region], window, engine)
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
    """Place reads and return the fields of `Placement` after the first.

    Args:
        reads: clipped reads of all regions.
        source: int64[n], the reads to place, as indices of `reads`.
        chosen: int64[n], the haplotype of each.
        haplotypes: of all regions, each cut to its region's span.
        spans: int64[n, 2], the span to which each read and its haplotype are cut.
        window: the reference, holding all spans.
        engine: aligns the reads.
    """
    bases, base_offsets = pack_bytes([haplotype.bases for haplotype in haplotypes])
    cigars = np.array(
        [length << CIGAR_SHIFT | op for haplotype in haplotypes for op, length in haplotype.cigar], np.uint32
    )
    cigar_offsets = offsets_from_lengths(np.array([len(haplotype.cigar) for haplotype in haplotypes], np.int64))
    first_base, end_base, read_bases, offsets = _cut_all(reads, source, spans)
    cut = _CutReads(first_base, end_base, read_bases, offsets, chosen, spans)
    tasks = np.stack([chosen, np.arange(len(source))], 1).astype(np.int32)
    batch = SemiglobalBatch(bases, base_offsets, cut.bases, cut.offsets, tasks)
    aligned = engine.align(batch, READ_TO_HAPLOTYPE, Overhang.SOFTCLIP)
    to_haplotypes = _Alignments(aligned.offsets, aligned.cigars, aligned.cigar_offsets)
    positions = _place_all(reads.positions, cut, to_haplotypes, (cigars, cigar_offsets), window.codes, window.start)
    return cut.first_base, cut.end_base, positions, cut.offsets


@compiled
def _best_of_all(matrices, sizes, counts, priority):
    """Return which reads of all regions a haplotype explains (bool[reads]), and their best haplotypes (int64[reads]).

    Args:
        matrices: float64, each region's [reads, haplotypes] row by row, end to end; NaN for an unexplained read.
        sizes: int64[regions], number of reads.
        counts: int64[regions], number of haplotypes.
        priority: of all haplotypes.
    """
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


def priorities(haplotypes: Sequence[Haplotype]) -> NDArray[np.float64]:
    """Return float64[haplotypes]: priority among equally likely haplotypes, for few indels and for the reference."""
    return np.array([float(haplotype.is_reference) + 1 - len(haplotype.cigar) for haplotype in haplotypes])


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
    """Return first and end base of each read's run, and the runs' bases with their offsets."""
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
    return first_base, end_base, bases, offsets


@compiled
def _place_all(unmoved, cut, alignments, haplotypes, reference, low):
    """Return int64 per base: the reference positions of all reads.

    Args:
        unmoved: positions of all bases of `RegionReads`.
        cut: `_CutReads`.
        alignments: of the reads to their haplotypes.
        haplotypes: CIGARs of all haplotypes to the reference, and their offsets.
        reference: uint8 codes.
        low: position of the first code.
    """
    first_base, read_bases, read_offsets = cut.first_base, cut.bases, cut.offsets
    chosen, spans = cut.chosen, cut.spans
    offsets, cigars, cigar_offsets = alignments.offsets, alignments.cigars, alignments.cigar_offsets
    haplotype_cigars, haplotype_cigar_offsets = haplotypes
    positions = np.empty(len(read_bases), np.int64)
    for i in range(len(chosen)):
        h, size = chosen[i], read_offsets[i + 1] - read_offsets[i]
        if (
            offsets[i] >= 0
            and haplotype_cigar_offsets[h + 1] - haplotype_cigar_offsets[h] == 1
            and cigar_offsets[i + 1] - cigar_offsets[i] == 1
            and cigars[cigar_offsets[i]] & np.uint32(CIGAR_MASK) == CIGAR_MATCH
        ):  # most reads: neither alignment has an insertion or a deletion
            low_position, first = spans[i, 0] + offsets[i], np.uint64(read_offsets[i])
            for k in range(np.uint64(size)):
                positions[first + k] = low_position + np.int64(k)
            continue
        query = read_bases[read_offsets[i] : read_offsets[i + 1]]
        own = positions[read_offsets[i] : read_offsets[i + 1]]
        if offsets[i] < 0:  # no alignment: the read stays where it was
            own[:] = unmoved[first_base[i] : first_base[i] + len(query)]
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
    """Write the positions of one read's bases, given its alignment to its haplotype.

    Args:
        query: uint8 codes.
        offset: first base of the haplotype that the read is aligned to.
        cigar: uint32, of the read to the haplotype; clipped bases count as inserted.
        haplotype_cigar: uint32, of the haplotype to the reference.
        reference: uint8 codes of the span.
        reference_start: position of its first base.
        positions: int64[bases], out.
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
        operation, length = np.int64(element & np.uint32(CIGAR_MASK)), np.int64(element >> np.uint32(CIGAR_SHIFT))
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
        room += np.int64(element >> np.uint32(CIGAR_SHIFT))
    for element in haplotype_cigar:
        room += np.int64(element >> np.uint32(CIGAR_SHIFT))
    operations = np.empty(room + 1, np.uint8)
    lengths = np.empty(room + 1, np.int64)
    n = 0
    h, h_used = 0, np.int64(0)
    skipped = np.int64(0)  # bases of the haplotype before the alignment
    while h < len(haplotype_cigar) and skipped < offset:
        operation, length = (
            haplotype_cigar[h] & np.uint32(CIGAR_MASK),
            np.int64(haplotype_cigar[h] >> np.uint32(CIGAR_SHIFT)),
        )
        if operation == CIGAR_DELETION:
            h += 1
        elif skipped + length <= offset:
            skipped += length
            h += 1
        else:
            h_used = offset - skipped
            skipped = offset
    while h < len(haplotype_cigar) and h_used == 0 and haplotype_cigar[h] & np.uint32(CIGAR_MASK) == CIGAR_DELETION:
        h += 1
    for e in range(len(cigar)):
        operation = cigar[e] & np.uint32(CIGAR_MASK)
        left = np.int64(cigar[e] >> np.uint32(CIGAR_SHIFT))
        while left > 0:
            if operation != CIGAR_MATCH and operation != CIGAR_DELETION:
                n = _append(operations, lengths, n, CIGAR_INSERTION, left)
                break
            # After the haplotype's end the reference continues.
            below, below_left = np.uint32(CIGAR_MATCH), left
            if h < len(haplotype_cigar):
                below = haplotype_cigar[h] & np.uint32(CIGAR_MASK)
                below_left = np.int64(haplotype_cigar[h] >> np.uint32(CIGAR_SHIFT)) - h_used
            step = below_left if below == CIGAR_DELETION else min(left, below_left)
            if below == CIGAR_DELETION:
                n = _append(operations, lengths, n, CIGAR_DELETION, step)
            else:
                left -= step
                if operation == CIGAR_MATCH:
                    n = _append(operations, lengths, n, np.int64(below), step)
                elif below == CIGAR_MATCH:
                    n = _append(operations, lengths, n, CIGAR_DELETION, step)
            h_used += step
            if h < len(haplotype_cigar) and h_used == np.int64(haplotype_cigar[h] >> np.uint32(CIGAR_SHIFT)):
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
