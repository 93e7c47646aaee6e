"""Reference blocks: neighbouring positions of similar confidence become one record (GVCFBlockCombiner).

A block is also cut at every multiple of BLOCK_CUT, and the genome is split into jobs only at such multiples. So the
blocks do not depend on the number of jobs.
"""

import heapq
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import NON_REFERENCE, VariantRecord
from quire.rescore.parameters import BANDS
from quire.simd.compiled import compiled

BLOCK_CUT = 1000
_LARGEST_GQ = 99
Letters = Callable[[str, int, int], bytes]
"""Returns the reference's letters of a span of a contig."""


class Stretch(NamedTuple):
    """Consecutive positions of a contig with their confidence, and the variants among them.

    Attributes:
        start: first position, 0-based.
        depth: int32[positions].
        phreds: int32[positions, genotypes], PL of the reference against any other allele.
        variants: records that start in the stretch, in order, including those outside the intervals, since bases that
            their deletions remove belong to no block.
        deleted: spans of long deletions, which belong to no block wherever the deletions start.
    """

    start: int
    depth: NDArray[np.int32]
    phreds: NDArray[np.int32]
    variants: Sequence[VariantRecord]
    deleted: Sequence[tuple[int, int]] = ()

    @property
    def end(self) -> int:
        """Position after the last."""
        return self.start + len(self.depth)


def band_lines(bands: Sequence[int] = BANDS) -> list[str]:
    """Return header lines with the range of GQ of each band, as GATK writes them."""
    return [
        f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)"
        for low, high in pairwise((*bands, _LARGEST_GQ + 1))
    ]


def with_blocks(
    contig: str,
    stretches: Iterable[Stretch],
    intervals: NDArray[np.int64],
    reference: Letters,
    ploidy: int,
    bands: Sequence[int] = BANDS,
) -> Iterator[VariantRecord]:
    """Yield the variants of a contig's stretches and the blocks between them, if they start in intervals, in order.

    Stretches follow each other without gaps; intervals are int64[n, 2] of the contig, in order and disjoint. `bands`
    has the lowest GQ of each band, from 0 on.
    """
    band_of = np.searchsorted(np.array(bands), np.arange(_LARGEST_GQ + 1), side="right") - 1
    waiting: Stretch | None = None
    covered = 0  # positions before it are part of a variant of an earlier stretch
    for stretch in stretches:
        if waiting is not None:
            stretch = Stretch(
                waiting.start,
                np.concatenate([waiting.depth, stretch.depth]),
                np.concatenate([waiting.phreds, stretch.phreds]),
                [*waiting.variants, *stretch.variants],
                [*waiting.deleted, *stretch.deleted],
            )
        cut = stretch.end // BLOCK_CUT * BLOCK_CUT
        if cut > stretch.start:
            whole, waiting = _split(stretch, cut)
            covered = yield from _records(contig, whole, intervals, reference, ploidy, covered, band_of)
        else:
            waiting = stretch
    if waiting is not None:
        yield from _records(contig, waiting, intervals, reference, ploidy, covered, band_of)


def _split(stretch: Stretch, cut: int) -> tuple[Stretch, Stretch]:
    """Split a stretch at a position."""
    at = cut - stretch.start
    before = [record for record in stretch.variants if record.start < cut]
    return (
        stretch._replace(depth=stretch.depth[:at], phreds=stretch.phreds[:at], variants=before),
        Stretch(cut, stretch.depth[at:], stretch.phreds[at:], stretch.variants[len(before) :], stretch.deleted),
    )


def _records(
    contig: str,
    stretch: Stretch,
    intervals: NDArray[np.int64],
    reference: Letters,
    ploidy: int,
    covered: int,
    band_of: NDArray[np.int64],
) -> Generator[VariantRecord, None, int]:
    """Yield the records of a stretch; return the position up to which its variants cover the reference."""
    size = len(stretch.depth)
    wanted = np.zeros(size, np.bool_)
    for start, end in intervals.tolist():
        wanted[max(0, start - stretch.start) : max(0, end - stretch.start)] = True
    written = [record for record in stretch.variants if wanted[record.start - stretch.start]]
    # A variant covers the reference up to its end or the start of the next variant, whose end counts from there on.
    starts = [record.start for record in stretch.variants]
    wanted[: max(0, min(covered, *starts[:1], stretch.end) - stretch.start)] = False
    for record, following in zip(stretch.variants, [*starts, stretch.end][1:], strict=True):
        covered = record.start + len(record.alleles[0])
        wanted[record.start - stretch.start : min(covered, max(following, record.start + 1)) - stretch.start] = False
    for start, end in stretch.deleted:
        wanted[max(0, start - stretch.start) : max(0, end - stretch.start)] = False
    columns = _reference_blocks(stretch.depth, stretch.phreds, wanted, stretch.start, band_of)
    letters = reference(contig, stretch.start, stretch.end).decode()
    blocks = (
        _block_record(contig, letters[block[0] - stretch.start], ploidy, block)
        for block in zip(*(column.tolist() for column in columns), strict=True)
    )
    yield from heapq.merge(written, blocks, key=lambda record: record.start)
    return covered


def _block_record(
    contig: str, letter: str, ploidy: int, block: tuple[int, int, int, int, Sequence[int]]
) -> VariantRecord:
    """Return the record of a row of `_reference_blocks`; `letter` is the reference's at its start."""
    start, end, least_depth, median_depth, phreds = block
    least, second = sorted(phreds)[:2]
    return VariantRecord(
        contig=contig,
        start=start,
        alleles=(letter, NON_REFERENCE),
        quality=None,
        filters=None,
        info={"END": end},
        samples=[
            {
                "GT": "/".join("0" * ploidy),
                "DP": median_depth,
                "GQ": min(second - least, _LARGEST_GQ),
                "MIN_DP": least_depth,
                "PL": phreds,
            }
        ],
    )


@compiled
def _reference_blocks(depth, phreds, wanted, start, band_of):
    """Return the blocks of wanted positions in one band (by GQ, `band_of`), cut at multiples of BLOCK_CUT."""
    # Depth, PLs and `wanted` are those of consecutive positions from `start` on. The columns of the blocks are start
    # and end (int64, half-open), least and median depth (int32), and least PLs (int32[n, genotypes]).
    size, genotypes = phreds.shape
    starts = np.empty(size, np.int64)
    ends = np.empty(size, np.int64)
    least_depth = np.empty(size, np.int32)
    median_depth = np.empty(size, np.int32)
    least_phreds = np.empty((size, genotypes), np.int32)
    n = 0
    open_band = -1
    for p in range(size + 1):
        band = -1
        if p < size and wanted[p]:
            least, second = phreds[p, 0], phreds[p, 1]
            if second < least:
                least, second = second, least
            for g in range(2, genotypes):
                if phreds[p, g] < least:
                    least, second = phreds[p, g], least
                elif phreds[p, g] < second:
                    second = phreds[p, g]
            band = band_of[min(second - least, 99)]
        if open_band >= 0 and (band != open_band or (start + p) % BLOCK_CUT == 0):
            first = starts[n]
            ends[n] = start + p
            ordered = np.sort(depth[first - start : p])
            half = len(ordered) // 2
            least_depth[n] = ordered[0]
            median_depth[n] = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half] + 1) // 2
            n += 1
            open_band = -1
        if band >= 0:
            if open_band < 0:
                starts[n] = start + p
                least_phreds[n] = phreds[p]
                open_band = band
            else:
                for g in range(genotypes):
                    least_phreds[n, g] = min(least_phreds[n, g], phreds[p, g])
    return starts[:n], ends[:n], least_depth[:n], median_depth[:n], least_phreds[:n]
