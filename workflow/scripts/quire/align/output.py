"""The end of a batch's way, the same for all backends: records, BAM bytes, compression, and what the ledger counts."""

from dataclasses import dataclass

import numpy as np

from quire.align.model import Alignments, Selection
from quire.align.records import PAIRED, PROPER, SUPPLEMENTARY, UNMAPPED, build_records
from quire.io.bam import assemble, compress_blocks
from quire.io.fastq import PairBatch
from quire.oriented import Reads


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


def write_records(
    batch: PairBatch, reads: Reads, alignments: Alignments, selection: Selection, reference, read_group: str
) -> tuple[bytes, Counts]:
    """BGZF blocks of a batch's records in the order of its reads, and its counts.

    Args:
        batch: as read.
        reads: the same on both strands.
        alignments: of the reads, on the host; selection: what to report of them.
        reference: `quire.reference.Reference`.
        read_group: RG text of the records.
    """
    records = build_records(alignments, selection, reads, batch.mate2 is not None, reference)
    data = assemble(records, batch.mate1, batch.mate2, read_group.encode())
    return compress_blocks(data), _count(records.flag, reads)


def _count(flag: np.ndarray, reads: Reads) -> Counts:
    primary = flag[(flag & SUPPLEMENTARY) == 0]
    unmapped = int(((primary & UNMAPPED) != 0).sum())
    return Counts(
        reads=len(reads),
        bases=int(reads.offsets[-1]),
        mapped=len(primary) - unmapped,
        unmapped=unmapped,
        properly_paired=int(((primary & (PAIRED | PROPER)) == (PAIRED | PROPER)).sum()),
        supplementary=len(flag) - len(primary),
    )
