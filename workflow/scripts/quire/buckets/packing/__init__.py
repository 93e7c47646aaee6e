"""Records packed for the disk, a piece at a time: less than half of their bytes, in a fraction of what zlib takes.

A piece is whole records of a bucket in the order of the reads, so that mates mostly stand side by side. A byte comes
first: the highest quality among the first records. The packed records follow end to end. Each begins with four bytes:
24 bits that say how its parts are stored (`stored`, in the order of the parts), and its mapping quality.
Then, as far as those bits ask for it:

- flag (2 bytes);
- contig, position, and those of the mate, and template length: nothing where they are those of the record before seen
  from its mate; position, the mate's distance and the template length (4 + 2 + 2) where all lie on the contig of the
  record before; else all (20);
- bin (2) and number of bases (4), where they are not those of the record before;
- name: how many letters are those of the record before, how many others follow (1 + 1), and these; nothing where it is
  the same name;
- CIGAR: operations (2) and the elements as BAM has them; nothing where all bases are under one M;
- bases: two bits each, four in a byte, where all are A, C, G or T; else as BAM has them;
- qualities: 32 at a time. Each is subtracted from the piece's highest, modulo 256, so that most are small. The bits of
  one weight of 32 values make a *plane*, a bit a value. A byte says which weights have planes that are not empty, and
  these follow, the highest weight first; the planes of the last values only have the bytes that they need;
- the tags that Quire writes, where they stand in its order and have its types: NM (1; nothing where 0), MD and MC
  (length in a byte, text; nothing where MD is the number of bases, MC that number of M), ms, AS and XS (1 or 2);
- the other tags: their bytes (2), and as BAM has them; but RG, where it is the last and that of the first record, is a
  bit alone.

A record is stored whole, behind four bytes with one bit set, if it is the first or cannot be taken apart: a name
without its NUL, parts longer than the whole, more than 65,535 bytes of tags. The one that the next is compared with is
always the last that can be taken apart, which both sides have at hand as it was: nothing else need be remembered.

Words of eight bytes are read and written wherever a part ends, so that arrays are longer by SLACK than what they hold.
"""

import numpy as np
from numpy.typing import NDArray

from quire.buckets.packing.packer import pack_pieces
from quire.buckets.packing.parts import FIXED_BYTES, SLACK
from quire.buckets.packing.unpacker import unpack_pieces
from quire.io.bam.decode import Records
from quire.io.bam.layout import FIXED_FIELDS


def pack(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack pieces; any thread may call it.

    Args:
        data: uint8[], records end to end, and SLACK bytes behind them.
        offsets: int64[n + 1], where each piece begins, and where the last ends.

    Returns:
        uint8[], the packed pieces end to end, and int64[n + 1], where each begins. A piece of no records has no bytes.
    """
    size = int(offsets[-1] - offsets[0])
    # Room is only address space until it is written; no record of 38 bytes and more becomes longer by more than 5.
    out, packed_offsets = np.empty(size + size // 4 + len(offsets) + SLACK, np.uint8), np.empty(len(offsets), np.int64)
    pack_pieces(data, offsets, out, packed_offsets)
    return out[: packed_offsets[-1]], packed_offsets


def unpack(packed: NDArray[np.uint8], offsets: NDArray[np.int64], size: int) -> Records | None:
    """The records of packed pieces, end to end; any thread may call it.

    Args:
        packed: uint8[], the pieces end to end, and SLACK bytes behind them.
        offsets: int64[n + 1], where each begins, and where the last ends.
        size: of the records together.

    Returns:
        The records; None where there are not so many bytes of them.
    """
    most = size // FIXED_BYTES  # room is only address space until it is written
    out, starts = np.empty(size + SLACK, np.uint8), np.empty(most, np.int64)
    fixed = np.empty(most * FIXED_BYTES + SLACK, np.uint8)
    count, found = unpack_pieces(packed, offsets, out, starts, fixed)
    if found != size:
        return None
    return Records(out[:size], starts[:count], fixed[: count * FIXED_BYTES].view(FIXED_FIELDS))
