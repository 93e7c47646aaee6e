"""The end of a batch's way, the same for all backends: records, BAM bytes, compression, and what the ledger counts."""

from dataclasses import dataclass

import numpy as np

from quire.align.model import Reported
from quire.align.records import PAIRED, PROPER, SUPPLEMENTARY, UNMAPPED, build_records
from quire.io.bam import assemble_blocks
from quire.io.fastq import PairBatch
from quire.oriented import bases_of_mates


@dataclass
class Counts:
    """What a unit's reads became, for the ledger."""

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unmapped: int = 0
    properly_paired: int = 0
    supplementary: int = 0

    def add(self, other: "Counts") -> None:
        """Add another batch's counts."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def write_records(batch: PairBatch, reported: Reported, reference, read_group: str) -> tuple[list[np.ndarray], Counts]:
    """BGZF blocks of a batch's records in the order of its reads, in pieces, and its counts.

    Args:
        batch: as read.
        reported: what is reported of its reads, on the host.
        reference: `quire.reference.Reference`.
        read_group: RG text of the records.
    """
    codes, offsets = bases_of_mates(batch.mate1, batch.mate2)
    records = build_records(reported, codes, offsets, batch.mate2 is not None, reference)
    blocks = assemble_blocks(records, batch.mate1, batch.mate2, read_group.encode())
    return blocks, _count(records.flag, offsets)


def _count(flag: np.ndarray, offsets: np.ndarray) -> Counts:
    primary = flag[(flag & SUPPLEMENTARY) == 0]
    unmapped = int(((primary & UNMAPPED) != 0).sum())
    return Counts(
        reads=len(offsets) - 1,
        bases=int(offsets[-1]),
        mapped=len(primary) - unmapped,
        unmapped=unmapped,
        properly_paired=int(((primary & (PAIRED | PROPER)) == (PAIRED | PROPER)).sum()),
        supplementary=len(flag) - len(primary),
    )
