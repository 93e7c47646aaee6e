"""Agreement of two BAM files of the same reads: positions within 5 bases, mapped and proper shares, duplicate flags.

python -m bench.concordance OURS.bam PEER.bam
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pysam

from bench.common import print_table

NEAR = 5
CONFIDENT = 20


@dataclass(frozen=True)
class Agreement:
    """Shares, 0 to 1.

    Attributes:
        mapped, proper: shares of all reads, in Quire's and in the peer's file.
        peer_in_ours: share of the peer's placements at MAPQ >= 20 that Quire's are within 5 bases of.
        ours_in_peer: share of Quire's placements at MAPQ >= 20 that the peer's are within 5 bases of.
        duplicates: share of reads with the same duplicate flag in both files.
    """

    mapped: tuple[float, float]
    proper: tuple[float, float]
    peer_in_ours: float
    ours_in_peer: float
    duplicates: float


def primary_records(path: str | Path) -> pandas.DataFrame:
    """Return the primary records by read name and mate: contig, position, mapq, flag."""
    rows = []
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        for record in stream.fetch(until_eof=True):
            if not record.is_secondary and not record.is_supplementary:
                key = (record.query_name, 2 if record.is_read2 else 1)
                rows.append((*key, record.reference_name, record.reference_start, record.mapping_quality, record.flag))
    columns = ["name", "mate", "contig", "position", "mapq", "flag"]
    return pandas.DataFrame(rows, columns=columns).set_index(["name", "mate"])


def compare(ours: pandas.DataFrame, peer: pandas.DataFrame) -> Agreement:
    """Compare the primary records of two files of the same reads.

    Raises:
        ValueError: the files hold different reads.
    """
    both = ours.add_suffix("_ours").join(peer.add_suffix("_peer"), how="inner")
    if not len(both) == len(ours) == len(peer):
        raise ValueError(f"{len(ours)} and {len(peer)} reads, {len(both)} of them in both files")
    flags = [both[f"flag_{side}"].to_numpy() for side in ("ours", "peer")]
    mapped = [(flag & pysam.FUNMAP) == 0 for flag in flags]
    proper = [(flag & pysam.FPROPER_PAIR) != 0 for flag in flags]
    same_contig = (both["contig_ours"] == both["contig_peer"]).to_numpy()
    distance = (both["position_ours"] - both["position_peer"]).abs().to_numpy()
    near = mapped[0] & mapped[1] & same_contig & (distance <= NEAR)
    confident = [
        placed & (both[f"mapq_{side}"] >= CONFIDENT).to_numpy()
        for placed, side in zip(mapped, ("ours", "peer"), strict=True)
    ]
    duplicates = [(flag & pysam.FDUP) != 0 for flag in flags]
    return Agreement(
        mapped=(_share(mapped[0]), _share(mapped[1])),
        proper=(_share(proper[0]), _share(proper[1])),
        peer_in_ours=_share(near[confident[1]]),
        ours_in_peer=_share(near[confident[0]]),
        duplicates=_share(duplicates[0] == duplicates[1]),
    )


def print_agreement(agreement: Agreement) -> None:
    """Print the shares in percent."""
    rows = [
        ("mapped", *(f"{100 * share:.3f}" for share in agreement.mapped)),
        ("properly paired", *(f"{100 * share:.3f}" for share in agreement.proper)),
        (f"peer's MAPQ >= {CONFIDENT} within {NEAR} bases in ours", f"{100 * agreement.peer_in_ours:.3f}", ""),
        (f"our MAPQ >= {CONFIDENT} within {NEAR} bases in the peer's", "", f"{100 * agreement.ours_in_peer:.3f}"),
        ("same duplicate flag", f"{100 * agreement.duplicates:.3f}", ""),
    ]
    print_table(("% of reads", "ours", "peer"), rows)


def _share(mask: np.ndarray) -> float:
    return float(mask.mean()) if mask.size else 0.0


def main() -> None:
    """Parse the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", type=Path)
    parser.add_argument("peer", type=Path)
    given = parser.parse_args()
    print_agreement(compare(primary_records(given.ours), primary_records(given.peer)))


if __name__ == "__main__":
    main()
