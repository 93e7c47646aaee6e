"""Callable regions: where a sample, or enough samples of a cohort, have reads enough to be genotyped.

A position is callable in a sample if its depth is within limits. The depth is that of `samtools depth -Q`: at each base
under M, = and X, of primary and supplementary records that are neither duplicates nor QC-failed and have a mapping
quality of at least a minimum. It is callable in a cohort if it is so in enough samples.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from quire.errors import QuireError
from quire.finish.counts.depth_cpu import NO_BLOCKS, DepthSpan, Place, blocks_behind, in_order, regions_of_depth
from quire.finish.counts.low_coverage import RegionFile
from quire.finish.counts.records_cpu import NOT_IN_DEPTH
from quire.finish.counts.sample import FinishedSample, open_sample
from quire.io.bam.decode_cpu import Records, records_of
from quire.io.bed import read_rows
from quire.io.files import atomic_path
from quire.reference import Reference
from quire.reference.regions import read_regions

_PIECE = 1 << 24  # positions of a cohort that are written at a time
_LIMITLESS = np.iinfo(np.int64).max


class CallableRule(NamedTuple):
    """Limits of the depth, both inclusive (`maximum_depth` 0: no limit), and the reads that count for it."""

    minimum_depth: int
    maximum_depth: int
    minimum_mapping_quality: int

    def __str__(self) -> str:
        limits = (
            f"{self.minimum_depth} to {self.maximum_depth}" if self.maximum_depth else f"{self.minimum_depth} or more"
        )
        return f"depth {limits}, of reads with mapping quality {self.minimum_mapping_quality} or more"


def write_callable(sample: FinishedSample, rule: CallableRule, output: Path, threads: int) -> None:
    """Write the callable regions of a finished sample as bgzip BED, atomically.

    Raises:
        QuireError: if the alignments are damaged, belong to another reference or are not sorted.
    """
    reference = Reference.open(sample.reference)
    most = rule.maximum_depth or _LIMITLESS
    with atomic_path(output) as whole, open_sample(sample, reference, output, threads) as (_, batches):
        regions = RegionFile(whole, reference.contig_names, f"callable in {sample.name}: {rule}")
        held, carried = records_of(np.empty(0, np.uint8)), NO_BLOCKS
        start = last = Place(0, 0)

        def add(end: Place) -> None:
            span = DepthSpan(held, carried, start, end)
            regions.add(regions_of_depth(span, reference.contig_lengths, rule.minimum_depth, most))

        for batch in batches:
            records = _counted(batch, rule.minimum_mapping_quality)
            if not len(records.starts):
                continue
            first = _place(records, 0)
            if first < last or not in_order(records.fixed):
                raise QuireError(f"{sample.alignments}: is not sorted by coordinate; sort it with samtools sort.")
            add(first)
            carried = blocks_behind(held, carried if start.contig == first.contig else NO_BLOCKS, first)
            held, start, last = records, first, _place(records, -1)
        add(Place(len(reference.contig_names), 0))
        regions.finish()


def write_cohort_callable(
    samples: Sequence[Path],
    fraction: float,
    contig_lengths: Mapping[str, int],
    intervals: str | Path | None,
    output: Path,
) -> None:
    """Write the regions that are callable in a fraction of the samples as bgzip BED, atomically.

    Args:
        samples: files of `write_callable`.
        fraction: of the samples, above 0 and up to 1.
        contig_lengths: of the reference, in its order.
        intervals: BED file that the regions are limited to; None for the whole reference.
        output: the file.
    """
    enough = math.ceil(fraction * len(samples) - 1e-9)
    inside = len(samples) + 1 if intervals else 0  # weight of the intervals, more than that of all samples
    offsets = dict(
        zip(contig_lengths, np.cumsum([0, *(n + 1 for n in contig_lengths.values())]).tolist(), strict=False)
    )
    changes = np.zeros(sum(contig_lengths.values()) + len(contig_lengths), np.min_scalar_type(-2 * len(samples) - 1))
    for path in samples:
        for _, (contig, start, end), _ in read_rows(path, contig_lengths):
            changes[offsets[contig] + start] += 1
            changes[offsets[contig] + end] -= 1
    for contig, rows in read_regions(intervals, contig_lengths).items() if intervals else ():
        changes[offsets[contig] + rows[:, 0]] += inside
        changes[offsets[contig] + rows[:, 1]] -= inside
    with atomic_path(output) as whole:
        regions = RegionFile(whole, [*contig_lengths], f"callable in {enough} of {len(samples)} samples")
        for number, (contig, length) in enumerate(contig_lengths.items()):
            counts = changes[offsets[contig] : offsets[contig] + length]
            np.cumsum(counts, out=counts)
            for start in range(0, length, _PIECE):
                is_callable = counts[start : start + _PIECE] >= inside + enough
                borders = np.flatnonzero(np.diff(is_callable, prepend=False, append=False)) + start
                regions.add(np.insert(borders.reshape(-1, 2), 0, number, axis=1))
        regions.finish()


def _counted(records: Records, minimum_mapping_quality: int) -> Records:
    """Return the records that count for the depth."""
    fixed = records.fixed
    kept = (fixed["flag"] & NOT_IN_DEPTH == 0) & (fixed["contig"] >= 0)
    kept &= fixed["mapping_quality"] >= minimum_mapping_quality
    return Records(records.data, records.starts[kept], fixed[kept])


def _place(records: Records, number: int) -> Place:
    return Place(int(records.fixed["contig"][number]), int(records.fixed["position"][number]))
