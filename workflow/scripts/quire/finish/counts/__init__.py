"""Counts over the records of a sample: flags, pairs, qualities, cycles, indels, GC content, depth.

Any number of threads add batches of decoded records, sorted by coordinate, to integer arrays. The arrays of the
threads are merged by addition, so that no result depends on batches or threads.

    records of a batch ──▶ records.count_records ─┐
                       └─▶ depth.depth_runs ──▶ depth.count_runs ─┴─▶ Counters ──▶ figures (content of the JSON)

Every figure equals that of samtools stats, flagstat, idxstats or depth, or of Picard's DuplicationMetrics or
GcBiasMetrics, for the records that Quire writes. Bases other than A, C, G and T count as N.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FLAGS = 1 << 12
"""FLAG has twelve bits."""
QUALITIES = 95
"""Base qualities 0 to 93, and a last column for missing qualities."""
BASE_CODES = 5
LARGEST_INSERT_SIZE = 8000  # samtools stats -i; larger sizes count as this one
LONGEST_INDEL = 300  # samtools stats counts lengths up to its first number of cycles
GC_STEPS = 200  # steps of the reads' GC content from 0 to 100 %, as in samtools stats
GC_WINDOW = 100  # bases of Picard's windows (CollectGcBiasMetrics SCAN_WINDOW_SIZE)
GC_BINS = 101
DEEPEST = 10_000
"""Last bin of the depth histogram, which includes all greater depths; sums of depth are not limited."""
COVERAGE_WINDOW = 10_000
"""Bases in each window of the BED file of mean depths."""
PROFILE_BINS = 400
ADAPTERS = {"illumina": "AGATCGGAAGAG", "nextera": "CTGTCTCTTATA", "poly_g": "GGGGGGGGGGGG"}
"""First bases of the sequences that follow a fragment shorter than its read: FastQC's adapters (Configuration,
adapter_list.txt: Illumina Universal Adapter, Nextera Transposase Sequence), and the G that two-colour instruments call
without a signal (PolyG)."""

TOTALS = np.dtype(
    [
        ("mapping_quality_zero", np.int64),  # primary mapped reads
        ("edit_distances", np.int64),  # sum of NM
        ("aligned_bases", np.int64),  # under M, I, = and X
        ("mates_on_other_contigs", np.int64),  # primary records, so twice the pairs
        ("depth_reads", np.int64),  # mapped records that count in the depth
        ("depth_reads_on_target", np.int64),  # depth reads that overlap the target
        ("target_bases", np.int64),  # sum of the depth over the target
    ]
)
"""Totals over all records."""


class Genome(NamedTuple):
    """Contigs and bases of the packed reference (`quire.reference.Reference`).

    Attributes:
        lengths: int64[contigs], lengths of the contigs.
        first_island: int64[contigs + 1], islands of contig c are [first_island[c], first_island[c + 1]).
        island_start: int64[islands], 0-based starts on the contigs.
        island_axis: int64[islands + 1], starts on the axis.
        text: uint64[], the packed axis.
        ambiguous: int64[m, 2], runs of ambiguous bases on the axis.
        first_window: int64[contigs + 1], number of the first window of COVERAGE_WINDOW bases of each contig.
    """

    lengths: NDArray[np.int64]
    first_island: NDArray[np.int64]
    island_start: NDArray[np.int64]
    island_axis: NDArray[np.int64]
    text: NDArray[np.uint64]
    ambiguous: NDArray[np.int64]
    first_window: NDArray[np.int64]


class Target(NamedTuple):
    """Intervals over which depth is counted: 0-based, half-open, merged, in the order of the contigs.

    Attributes:
        first: int64[contigs + 1], intervals of contig c are [first[c], first[c + 1]).
        starts, ends: int64[intervals].
        offsets: int64[intervals + 1], number of target positions before each interval.
        bin_size: positions in each bin of the profile.
        low: depth below which positions are listed.
    """

    first: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]
    bin_size: int
    low: int


class ReadGroups(NamedTuple):
    """Read groups of a file.

    Attributes:
        names: uint8[], concatenated IDs.
        offsets: int64[groups + 1], where each ID begins in `names`.
        library: int64[groups], number of each group's library; records without a group count for the first group.
    """

    names: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    library: NDArray[np.int64]


class Counters(NamedTuple):
    """Counts that the kernels add to. Cycles start at the read's first base; "first" and "last" are mates of a pair.

    Attributes:
        totals: TOTALS[1].
        libraries: int64[libraries, FLAGS], records by FLAG.
        flags: int64[2, FLAGS], by FLAG: records with bases, and their bases; without secondary records.
        other_contig: int64[2, 2], primary records whose mate is on another contig. Rows: QC-passed, QC-failed; columns:
            all, mapping quality of at least 5.
        mapping_qualities: int64[256], primary mapped reads, without duplicate and QC-failed ones.
        insert_sizes: int64[3, LARGEST_INSERT_SIZE + 1], records by insert size: inward, outward, other orientation.
        lengths: int64[3, cycles + 1], primary reads by length: first, last, other.
        bases: int64[2, cycles, BASE_CODES, QUALITIES], bases of primary reads: first, last.
        gc_steps: int64[2, GC_STEPS + 1], differences between the steps of samtools' GC content of reads: first, last.
        adapters: int64[ADAPTERS, cycles + 1], primary reads by the first cycle of an adapter's sequence.
        indel_lengths: int64[2, LONGEST_INDEL], insertions and deletions by length - 1.
        indels: int64[4, cycles + 1], insertions of first and last, deletions of first and last.
        mismatches: int64[cycles, QUALITIES + 1], Ns, then mismatches by quality.
        contigs: int64[contigs + 1, 2], mapped and unmapped records of each contig; the last row is for records without
            a contig.
        gc_reads: int64[GC_BINS], reads by the GC content of Picard's window.
        coverage: int64[contigs, 2], sum of the depth, and number of covered positions.
        windows: int64[windows], sum of the depth.
        depths: int64[DEEPEST + 1], positions of the target by depth.
        profile: int64[bins], sum of the depth in bins along the concatenated intervals of the target.
    """

    totals: NDArray[np.void]
    libraries: NDArray[np.int64]
    flags: NDArray[np.int64]
    other_contig: NDArray[np.int64]
    mapping_qualities: NDArray[np.int64]
    insert_sizes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    bases: NDArray[np.int64]
    gc_steps: NDArray[np.int64]
    adapters: NDArray[np.int64]
    indel_lengths: NDArray[np.int64]
    indels: NDArray[np.int64]
    mismatches: NDArray[np.int64]
    contigs: NDArray[np.int64]
    gc_reads: NDArray[np.int64]
    coverage: NDArray[np.int64]
    windows: NDArray[np.int64]
    depths: NDArray[np.int64]
    profile: NDArray[np.int64]


def profile_bin(positions: int) -> int:
    """Return the number of target positions in each bin of the profile."""
    return max(1, -(-positions // PROFILE_BINS))


def new_counters(genome: Genome, target: Target, libraries: int, cycles: int) -> Counters:
    """Return counters at zero, for reads of at most `cycles` bases."""

    def zeros(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, np.int64)

    contigs, positions = len(genome.lengths), int(target.offsets[-1])
    return Counters(
        totals=np.zeros(1, TOTALS),
        libraries=zeros(libraries, FLAGS),
        flags=zeros(2, FLAGS),
        other_contig=zeros(2, 2),
        mapping_qualities=zeros(256),
        insert_sizes=zeros(3, LARGEST_INSERT_SIZE + 1),
        lengths=zeros(3, cycles + 1),
        bases=zeros(2, cycles, BASE_CODES, QUALITIES),
        gc_steps=zeros(2, GC_STEPS + 1),
        adapters=zeros(len(ADAPTERS), cycles + 1),
        indel_lengths=zeros(2, LONGEST_INDEL),
        indels=zeros(4, cycles + 1),
        mismatches=zeros(cycles, QUALITIES + 1),
        contigs=zeros(contigs + 1, 2),
        gc_reads=zeros(GC_BINS),
        coverage=zeros(contigs, 2),
        windows=zeros(int(genome.first_window[-1])),
        depths=zeros(DEEPEST + 1),
        profile=zeros(-(-positions // target.bin_size)),
    )


def add_counters(sum_so_far: Counters, more: Counters) -> Counters:
    """Return the sum of two counters, with the larger number of cycles."""
    return Counters(*(_add(left, right) for left, right in zip(sum_so_far, more, strict=True)))


def _add(left: NDArray, right: NDArray) -> NDArray:
    """Return the sum, padded with zeros to a common shape; all fields of structured arrays are int64."""
    parts = [part.view(np.int64) for part in (left, right)]
    both = np.zeros(np.maximum(parts[0].shape, parts[1].shape), np.int64)
    for part in parts:
        both[tuple(map(slice, part.shape))] += part
    return both.view(left.dtype)
