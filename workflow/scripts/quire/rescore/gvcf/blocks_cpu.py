"""Reference blocks: neighbouring positions of similar confidence become one record (GVCFBlockCombiner).

A block is also cut at every multiple of BLOCK_CUT, and the genome is split into jobs only at such multiples. So the
blocks do not depend on the number of jobs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import NON_REFERENCE, VariantRecord
from quire.rescore.parameters import BANDS, MAXIMUM_GQ
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled, inlined
from quire.simd.decimals import write_number

BLOCK_CUT = 1000
Letters = Callable[[str, int, int], bytes]
"""Returns the reference's letters of a span of a contig."""
# Texts of a block's line before REF, END, the sample's columns and its values.
_BEFORE_REFERENCE = np.frombuffer(b"\t.\t", np.uint8)
_BEFORE_END = np.frombuffer(f"\t{NON_REFERENCE}\t.\t.\tEND=".encode(), np.uint8)
_BEFORE_SAMPLE = np.frombuffer(b"\tGT:DP:GQ:MIN_DP:PL\t", np.uint8)
_TEXTS = len(_BEFORE_REFERENCE) + len(_BEFORE_END) + len(_BEFORE_SAMPLE)
_LONGEST_NUMBER = 11  # digits, and the mark before it
_COMMA, _COLON, _LINE_END, _TAB = b",:\n\t"


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


class Blocks(NamedTuple):
    """Reference blocks of a contig, in order.

    Attributes:
        start, end: int64[blocks], half-open.
        least_depth, median_depth: int32[blocks].
        phreds: int32[blocks, genotypes], the least PL of its positions.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    least_depth: NDArray[np.int32]
    median_depth: NDArray[np.int32]
    phreds: NDArray[np.int32]


class Lines(NamedTuple):
    """Lines of a gVCF, of which some are `variants` and the others blocks."""

    text: bytes
    variants: int


def band_lines(bands: Sequence[int] = BANDS) -> list[str]:
    """Return header lines with the range of GQ of each band, as GATK writes them."""
    return [
        f"##GVCFBlock{low}-{high}=minGQ={low}(inclusive),maxGQ={high}(exclusive)"
        for low, high in pairwise((*bands, MAXIMUM_GQ + 1))
    ]


def with_blocks(
    contig: str,
    stretches: Iterable[Stretch],
    intervals: NDArray[np.int64],
    reference: Letters,
    ploidy: int,
    line: Callable[[VariantRecord], str],
    bands: Sequence[int] = BANDS,
) -> Iterator[Lines]:
    """Yield the lines of the variants of a contig's stretches and of the blocks between them, in order.

    Those that start in intervals are written. Stretches follow each other without gaps; intervals are int64[n, 2] of
    the contig, in order and disjoint. `line` returns the line of a variant, and `bands` has the lowest GQ of each band,
    from 0 on.
    """
    band_of = np.searchsorted(np.array(bands), np.arange(MAXIMUM_GQ + 1), side="right") - 1
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
            written, blocks, covered = _records(whole, intervals, covered, band_of)
            yield _lines(contig, written, blocks, reference, ploidy, line)
        else:
            waiting = stretch
    if waiting is not None:
        written, blocks, _ = _records(waiting, intervals, covered, band_of)
        yield _lines(contig, written, blocks, reference, ploidy, line)


def _split(stretch: Stretch, cut: int) -> tuple[Stretch, Stretch]:
    """Split a stretch at a position."""
    at = cut - stretch.start
    before = [record for record in stretch.variants if record.start < cut]
    return (
        stretch._replace(depth=stretch.depth[:at], phreds=stretch.phreds[:at], variants=before),
        Stretch(cut, stretch.depth[at:], stretch.phreds[at:], stretch.variants[len(before) :], stretch.deleted),
    )


def _records(
    stretch: Stretch, intervals: NDArray[np.int64], covered: int, band_of: NDArray[np.int64]
) -> tuple[list[VariantRecord], Blocks, int]:
    """Return the variants and blocks of a stretch, and the position up to which its variants cover the reference."""
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
    blocks = Blocks(*_reference_blocks(stretch.depth, stretch.phreds, wanted, stretch.start, band_of))
    return written, blocks, covered


def _lines(
    contig: str,
    written: Sequence[VariantRecord],
    blocks: Blocks,
    reference: Letters,
    ploidy: int,
    line: Callable[[VariantRecord], str],
) -> Lines:
    """Return the lines of variants and blocks, in order."""
    first = int(blocks.start[0]) if len(blocks.start) else 0
    letters = reference(contig, first, int(blocks.start[-1]) + 1) if len(blocks.start) else b""
    genotype = "/".join("0" * ploidy).encode()
    columns = [np.frombuffer(bytearray(text), np.uint8) for text in (letters, contig.encode(), genotype)]
    array, begins = _write_blocks(blocks, first, *columns)
    text, parts, at = array.tobytes(), list[bytes](), 0
    places = begins[np.searchsorted(blocks.start, [record.start for record in written])]
    for record, place in zip(written, places.tolist(), strict=True):
        parts += text[at:place], line(record).encode()
        at = place
    return Lines(b"".join([*parts, text[at:]]), len(written))


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
            band = band_of[_genotype_quality(phreds, p)]
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


@inlined
def _genotype_quality(phreds, row):
    """Return GQ of a row of PLs."""
    least, second = phreds[row, 0], phreds[row, 1]
    if second < least:
        least, second = second, least
    for g in range(2, phreds.shape[1]):
        if phreds[row, g] < least:
            least, second = phreds[row, g], least
        elif phreds[row, g] < second:
            second = phreds[row, g]
    return min(second - least, MAXIMUM_GQ)


@compiled
def _write_blocks(blocks, first, letters, contig, genotype):
    """Return the lines of blocks (uint8[]), and where each begins and the last one ends (int64[blocks + 1])."""
    # `letters` are the reference's from position `first` on, `contig` and `genotype` name and GT (uint8[]).
    n, genotypes = blocks.phreds.shape
    begins = np.zeros(n + 1, np.int64)
    out = np.empty(n * (len(contig) + len(genotype) + _TEXTS + (5 + genotypes) * _LONGEST_NUMBER + 8), np.uint8)
    at = np.int64(0)
    for b in range(n):
        at = copy_items(out, at, contig, 0, len(contig))
        out[at] = _TAB
        at = write_number(out, at + 1, blocks.start[b] + 1)
        at = copy_items(out, at, _BEFORE_REFERENCE, 0, len(_BEFORE_REFERENCE))
        out[at] = letters[blocks.start[b] - first]
        at = copy_items(out, at + 1, _BEFORE_END, 0, len(_BEFORE_END))
        at = write_number(out, at, blocks.end[b])
        at = copy_items(out, at, _BEFORE_SAMPLE, 0, len(_BEFORE_SAMPLE))
        at = copy_items(out, at, genotype, 0, len(genotype))
        quality = np.int64(_genotype_quality(blocks.phreds, b))
        for value in (np.int64(blocks.median_depth[b]), quality, np.int64(blocks.least_depth[b])):
            out[at] = _COLON
            at = write_number(out, at + 1, value)
        for g in range(genotypes):
            out[at] = _COMMA if g else _COLON
            at = write_number(out, at + 1, np.int64(blocks.phreds[b, g]))
        out[at] = _LINE_END
        at += 1
        begins[b + 1] = at
    return out[:at], begins
