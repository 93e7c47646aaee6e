"""Placement of simulated reads (names of bench.simulate): shares right and wrong by MAPQ, and differences from a peer.

Shares are of all reads. A read is right if it lies within 20 bases of its origin, before or after its left clip, on the
same contig and strand. Secondary and supplementary records do not count.

    python -m bench.place OURS.bam [PEER.bam]
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pysam

from bench.common import print_table

TOLERANCE = 20
THRESHOLDS = (60, 40, 30, 20, 10, 3, 1, 0)
CLIPS = (pysam.CSOFT_CLIP, pysam.CHARD_CLIP)


@dataclass
class Placement:
    """Counts over one or several files.

    Attributes:
        reads, unmapped, proper: numbers of reads.
        right, wrong: int64[256], mapped reads by MAPQ.
    """

    reads: int = 0
    unmapped: int = 0
    proper: int = 0
    right: np.ndarray = field(default_factory=lambda: np.zeros(256, np.int64))
    wrong: np.ndarray = field(default_factory=lambda: np.zeros(256, np.int64))

    def __add__(self, other: "Placement") -> "Placement":
        return Placement(*(mine + its for mine, its in zip(vars(self).values(), vars(other).values(), strict=True)))

    def share_right(self, threshold: int = 0) -> float:
        """Return the share of all reads that are placed right with at least this MAPQ."""
        return float(self.right[threshold:].sum()) / max(1, self.reads)

    def share_wrong(self, threshold: int = 0) -> float:
        """Return the share of all reads that are placed wrong with at least this MAPQ."""
        return float(self.wrong[threshold:].sum()) / max(1, self.reads)


def place(path: str | Path) -> Placement:
    """Count how the reads of a SAM or BAM file are placed."""
    placement = Placement()
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        for record in stream.fetch(until_eof=True):
            if record.is_secondary or record.is_supplementary:
                continue
            placement.reads += 1
            if record.is_unmapped:
                placement.unmapped += 1
                continue
            placement.proper += record.is_proper_pair
            counts = placement.right if is_right(record) else placement.wrong
            counts[record.mapping_quality] += 1
    return placement


def is_right(record: pysam.AlignedSegment) -> bool:
    """Return True if a mapped read lies where its name says."""
    fields = record.query_name.split("/")[0].split(":")
    at = 4 if record.is_paired and record.is_read2 else 2
    contig, position, strand = fields[1], int(fields[at]), fields[at + 1]
    start = record.reference_start + 1
    operation, length = record.cigartuples[0]
    clip = length if operation in CLIPS else 0
    near = min(abs(start - clip - position), abs(start - position)) <= TOLERANCE
    same_contig = record.reference_name.replace("chr", "") == contig.replace("chr", "")
    return same_contig and near and record.is_reverse == (strand == "-")


def print_placement(placements: dict[str, Placement]) -> None:
    """Print a table of the shares and, for two files, their difference (right) and ratio (wrong)."""
    names = list(placements)
    for name, placement in placements.items():
        proper = placement.proper / max(1, placement.reads)
        print(f"{name}: {placement.reads} reads, {placement.unmapped} unmapped, proper {proper:.4f}")
    header = ["MAPQ at least", *(f"{word}, {name}" for word in ("right", "wrong") for name in names)]
    rows = []
    for threshold in THRESHOLDS:
        right = [placement.share_right(threshold) for placement in placements.values()]
        wrong = [placement.share_wrong(threshold) for placement in placements.values()]
        row = [threshold, *(f"{share:.5f}" for share in right), *(f"{share:.2e}" for share in wrong)]
        if len(names) == 2:
            ratio = f"{wrong[0] / wrong[1]:.2f}" if wrong[1] else "-"
            row += [f"{right[0] - right[1]:+.5f}", ratio]
        rows.append(row)
    if len(names) == 2:
        header += ["right, difference", "wrong, ratio"]
    print_table(header, rows)


def main() -> None:
    """Parse the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bam", nargs="+", type=Path, help="one file, or ours and a peer's")
    arguments = parser.parse_args()
    print_placement({str(path): place(path) for path in arguments.bam})


if __name__ == "__main__":
    main()
