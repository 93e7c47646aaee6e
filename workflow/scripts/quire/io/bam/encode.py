"""Encoding of flat arrays to BAM records, in bulk."""

from collections import namedtuple
from dataclasses import dataclass, field, fields
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from quire.io.bam import encode_cpu
from quire.io.bam.layout import FIXED_FIELDS
from quire.io.bgzf_cpu import BLOCK_PAYLOAD, compress_blocks
from quire.reads import PairBatch

PIECE_BYTES = 1 << 22  # records assembled before they are compressed; fits in the caches


def _no_tags() -> NDArray[np.int32]:
    return np.empty(0, np.int32)


@dataclass(frozen=True)
class RecordBatch:
    """Alignment records in output order; n records, flat arrays. Positions are 0-based, -1 where there is none.

    Attributes:
        mate: uint8[n], 0 or 1, the number of its ReadBatch.
        read: int64[n], index in that batch.
        flag: uint16[n]; with 0x10 the bases are written reverse-complemented.
        contig, position, mate_contig, mate_position, template_length: int32[n].
        mapping_quality: uint8[n].
        cigar: uint32, flat, packed as in BAM (length << 4 | operation); cigar_offsets: int64[n + 1]. SEQ and
            QUAL leave out hard-clipped bases (H) and keep soft-clipped ones (S).
        alignment_score, suboptimal_score, edit_distance: int32[n], tags AS, XS and NM; -1 for no tag.
        md: uint8, flat text of MD; md_offsets: int64[n + 1]; empty for no tag.
        mate_record: int64[n], index in this batch of the mate's primary record, whose CIGAR becomes MC unless it is
            empty; -1 for none.
        sa: uint8, flat text of SA; sa_offsets: int64[n + 1]; empty for no tag.
        hit_count, hit_index, all_hits: int32[n], tags NH, HI and th (the number of hits, if some have no record);
            -1 for no tag. Empty if no record has them.
        alternate_share: float32[n], tag pa; 0 for no tag. Empty if no record has it.
        original_quality: int32[n], tag om; -1 for no tag. Empty if no record has it.
        lifts: uint8, flat text of lt; lifts_offsets: int64[n + 1]; empty for no tag, both arrays if no record has it.

    A secondary record (0x100) is written without bases and qualities (`*`).
    """

    mate: NDArray[np.uint8]
    read: NDArray[np.int64]
    flag: NDArray[np.uint16]
    contig: NDArray[np.int32]
    position: NDArray[np.int32]
    mapping_quality: NDArray[np.uint8]
    cigar: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]
    mate_contig: NDArray[np.int32]
    mate_position: NDArray[np.int32]
    template_length: NDArray[np.int32]
    alignment_score: NDArray[np.int32]
    suboptimal_score: NDArray[np.int32]
    edit_distance: NDArray[np.int32]
    md: NDArray[np.uint8]
    md_offsets: NDArray[np.int64]
    mate_record: NDArray[np.int64]
    sa: NDArray[np.uint8]
    sa_offsets: NDArray[np.int64]
    hit_count: NDArray[np.int32] = field(default_factory=_no_tags)
    hit_index: NDArray[np.int32] = field(default_factory=_no_tags)
    all_hits: NDArray[np.int32] = field(default_factory=_no_tags)
    alternate_share: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    original_quality: NDArray[np.int32] = field(default_factory=_no_tags)
    lifts: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    lifts_offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.flag)


# Arrays for the kernels, which take named tuples: those of a RecordBatch, and those of its ReadBatches (1 and 2).
Inputs = cast(Any, namedtuple)(  # mypy knows literal names only
    "Inputs",
    [one.name for one in fields(RecordBatch)]
    + ["group", "umis", "umi_offsets", "names", "name_offsets"]
    + ["bases1", "qualities1", "offsets1", "bases2", "qualities2", "offsets2"],
)


def assemble_blocks(records: RecordBatch, batch: PairBatch, read_group: bytes) -> list[NDArray[np.uint8]]:
    """Return the bytes of records as BGZF blocks, made a few thousand records at a time to stay in the caches.

    Tags have this order: NM MD MC ms AS XS SA NH HI th pa om lt RX RG. Paired records have `ms`, the sum of the mate's
    base qualities of at least 15, as `samtools fixmate -m` writes it for `samtools markdup`. Any thread may call it.

    `batch` has the reads of the records; its UMIs become RX.
    """
    assembly = RecordAssembly(records, batch, read_group)
    starts, pieces = assembly.starts, []
    buffer = np.empty(0, np.uint8)
    held = first = 0  # bytes of the buffer that are in no block yet; records written
    while first < len(records):
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + PIECE_BYTES, side="right")) - 1)
        size = int(starts[last] - starts[first])
        if held + size > len(buffer):
            buffer = np.concatenate([buffer[:held], np.empty(max(size, PIECE_BYTES) + BLOCK_PAYLOAD, np.uint8)])
        assembly.write(starts, starts[first], first, last, buffer[held:])
        end = held + size
        whole = end if last == len(records) else end - end % BLOCK_PAYLOAD
        pieces.append(compress_blocks(buffer[:whole]))
        held, first = end - whole, last
        buffer[:held] = buffer[whole:end].copy()
    return pieces


class RecordAssembly:
    """Records to be written, with their sizes; see `assemble_blocks`.

    Attributes:
        records: the records.
        starts: int64[n + 1], where each begins if they are written end to end.
    """

    def __init__(self, records: RecordBatch, batch: PairBatch, read_group: bytes) -> None:
        """Compute the size of each record."""
        self.records = records
        mate1, mate2 = batch.mate1, batch.mate2
        other = mate1 if mate2 is None else mate2
        self._inputs = Inputs(
            **{**vars(records), "alternate_share": records.alternate_share.view(np.uint32)},
            group=np.frombuffer(read_group, np.uint8),
            umis=np.empty(0, np.uint8) if batch.umis is None else batch.umis,
            umi_offsets=np.empty(0, np.int64) if batch.umi_offsets is None else batch.umi_offsets,
            names=mate1.names,
            name_offsets=mate1.name_offsets,
            bases1=mate1.bases,
            qualities1=mate1.qualities,
            offsets1=mate1.offsets,
            bases2=other.bases,
            qualities2=other.qualities,
            offsets2=other.offsets,
        )
        self._places = encode_cpu.find_places(self._inputs, mate2 is not None)
        self.starts = self._places.starts

    def write(self, begins: NDArray[np.int64], origin: np.int64, first: int, last: int, out: NDArray[np.uint8]) -> None:
        """Write records [first, last) to their places `begins` (int64[n]) in `out`, which begins at `origin`."""
        fixed = np.empty(1, FIXED_FIELDS)
        target = encode_cpu.RecordMemory(out, begins, origin, fixed, fixed.view(np.uint8))
        encode_cpu.write_records(self._inputs, self._places, target, first, last)
