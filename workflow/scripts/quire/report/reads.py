"""What a BAM or CRAM holds, counted by samtools itself: reads, mapping qualities, insert sizes, depth.

samtools is an independent witness of Quire's own output, and streams 50x of a human chromosome in about a minute.
Depth comes through a pipe from a second process, so that no file with one line per position is ever written.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pysam
from pysam.utils import SamtoolsError

from quire.errors import QuireError
from quire.report.regions import Regions, total_length

LINES_AT_A_TIME = 4_000_000
PROFILE_BINS = 400
# The depth of a position is not counted further than this in the histogram; the mean does not know the limit.
DEEPEST = 10_000

_PRINT_DEPTH = "import pysam, sys; pysam.samtools.depth(*sys.argv[1:], '-o', '/dev/stdout', catch_stdout=False)"


@dataclass(frozen=True)
class AlignmentCounts:
    """Counts over one file.

    Attributes:
        counts: `samtools flagstat` by name, of reads that passed quality control and of those that did not, summed.
        insert_sizes: int64[sizes], number of pairs, both mates on one contig, by insert size.
        mapping_qualities: int64[256], primary reads by MAPQ, without duplicates.
        mismatches_per_base: mismatches and gaps (NM) over aligned bases.
    """

    counts: dict[str, int]
    insert_sizes: np.ndarray
    mapping_qualities: np.ndarray
    mismatches_per_base: float


@dataclass(frozen=True)
class Depth:
    """Depth of coverage over regions, without duplicates, secondary and failed reads (`samtools depth`).

    Attributes:
        histogram: int64[DEEPEST + 1], positions by depth; the last entry holds all that are as deep or deeper.
        bases: sum of the depth over all positions.
        profile: float64[bins], mean depth along the regions laid end to end.
    """

    histogram: np.ndarray
    bases: int
    profile: np.ndarray

    @property
    def positions(self) -> int:
        """Positions looked at."""
        return int(self.histogram.sum())

    @property
    def mean(self) -> float:
        """Mean depth of a position."""
        return self.bases / max(1, self.positions)

    @property
    def median(self) -> int:
        """Median depth of a position."""
        return median_of_histogram(self.histogram)

    def breadth(self, depth: int) -> float:
        """Share of positions that are at least as deep."""
        return float(self.histogram[depth:].sum()) / max(1, self.positions)


def count_alignments(path: str | Path, fasta: Path | None = None) -> AlignmentCounts:
    """Count reads, insert sizes and mapping qualities of a BAM or CRAM.

    Args:
        path: the file, sorted and indexed.
        fasta: the reference with its index, for a CRAM; else None.

    Raises:
        QuireError: samtools cannot read the file.
    """
    try:
        flagstat = json.loads(str(pysam.samtools.flagstat("-O", "json", str(path))))
        lines = str(pysam.samtools.stats(*_reference_option(fasta), str(path))).splitlines()
    except SamtoolsError as error:
        raise QuireError(f"{path}: samtools cannot read it ({_first_line(error)}); make it again.") from None
    counts = {
        name: int(passed) + int(flagstat["QC-failed reads"][name])
        for name, passed in flagstat["QC-passed reads"].items()
        if not name.endswith("%")
    }
    summary = {fields[1].rstrip(":"): fields[2] for fields in _section(lines, "SN")}
    insert_sizes = _histogram(_section(lines, "IS"), value=2)
    # samtools counts a pair of which one mate is unmapped as a pair of size 0.
    insert_sizes[:1] = 0
    return AlignmentCounts(
        counts,
        insert_sizes,
        np.pad(_histogram(_section(lines, "MAPQ"), value=2), (0, 256))[:256],
        float(summary["error rate"]),
    )


def measure_depth(path: str | Path, fasta: Path | None, regions: Regions, bed: str | Path) -> Depth:
    """Measure the depth of every position of the regions.

    Args:
        path: the BAM or CRAM, sorted and indexed.
        fasta: the reference with its index, for a CRAM; else None.
        regions: the positions; contigs in the order of the file's header.
        bed: the same regions as a BED file, for samtools.

    Raises:
        QuireError: samtools cannot read the file.
    """
    positions = total_length(regions)
    bin_size = max(1, -(-positions // PROFILE_BINS))
    histogram = np.zeros(DEEPEST + 1, dtype=np.int64)
    profile = np.zeros(-(-positions // bin_size))
    done = 0
    for depths in _stream_depths(path, fasta, bed):
        histogram += np.bincount(np.minimum(depths, DEEPEST), minlength=DEEPEST + 1)
        bins = np.arange(done, done + depths.size) // bin_size
        profile += np.bincount(bins, weights=depths, minlength=profile.size)
        done += depths.size
    if done != positions:
        raise QuireError(
            f"{path}: samtools gave the depth of {done} positions and not {positions}; the file is damaged or its "
            "header does not fit the reference; make it again."
        )
    sizes = np.full(profile.size, bin_size)
    sizes[-1:] = positions - bin_size * (profile.size - 1)
    return Depth(histogram, round(profile.sum()), profile / sizes)


def median_of_histogram(histogram: np.ndarray) -> int:
    """The lower median of values counted in a histogram; 0 where it is empty."""
    cumulated = np.cumsum(histogram)
    return int(np.searchsorted(cumulated, (cumulated[-1] + 1) // 2)) if histogram.any() else 0


def _stream_depths(path: str | Path, fasta: Path | None, bed: str | Path) -> Iterator[np.ndarray]:
    """Depth by position in file order, some millions at a time."""
    command = [sys.executable, "-c", _PRINT_DEPTH, "-aa", "-b", str(bed), *_reference_option(fasta), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        output = process.stdout
        assert output is not None  # it is a pipe
        try:
            table = pandas.read_csv(
                output,
                sep="\t",
                header=None,
                usecols=[2],
                dtype={2: np.int64},
                quoting=csv.QUOTE_NONE,
                chunksize=LINES_AT_A_TIME,
            )
            for chunk in table:
                yield chunk[2].to_numpy()
        except pandas.errors.EmptyDataError:
            return
        finally:
            output.close()
    if process.returncode:
        raise QuireError(f"{path}: samtools depth cannot read it; make the file and its index again.")


def _reference_option(fasta: Path | None) -> list[str]:
    return [] if fasta is None else ["--reference", str(fasta)]


def _section(lines: list[str], name: str) -> list[list[str]]:
    """The lines of one section of `samtools stats`, as fields."""
    return [line.split("\t") for line in lines if line.startswith(name + "\t")]


def _histogram(rows: list[list[str]], value: int) -> np.ndarray:
    """Counts in column `value` by the number in column 1; empty where there are no rows."""
    keys = np.array([int(row[1]) for row in rows], dtype=np.int64)
    counts = np.array([int(row[value]) for row in rows], dtype=np.int64)
    histogram = np.zeros(int(keys.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(histogram, keys, counts)
    return histogram


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip().strip("'\"")]
    return lines[-1] if lines else type(error).__name__
