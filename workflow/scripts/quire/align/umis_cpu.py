"""Unique molecular identifiers (UMIs) taken from read names, for the tag RX (SAM tags, section 1.4).

The UMI follows the last ':' or '_' of a name: it is the eighth field of bcl-convert's names, or the suffix that
umi_tools extract appends. Two UMIs are separated by '+' in the name and by '-' in RX.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from quire.errors import InputError
from quire.ragged import offsets_from_lengths
from quire.reads import PairBatch
from quire.simd.compiled import compiled

_COLON, _UNDERSCORE, _PLUS, _MINUS = (ord(letter) for letter in ":_+-")
_IS_BASE = np.isin(np.arange(256), [*b"ACGTN"])


def with_umis(batches: Iterator[PairBatch]) -> Iterator[PairBatch]:
    """Yield the batches with the UMIs of their reads; raise InputError for a name without a UMI."""
    for batch in batches:
        reads = batch.mate1
        lengths = _lengths(reads.names, reads.name_offsets)
        if (lengths == 0).any():
            read = int(np.argmax(lengths == 0))
            raise InputError(
                f"align.umi: read {reads.first_ordinal + read + 1} ({reads.name(read)}) has no UMI of A, C, G, T and N "
                "after the last ':' or '_' of its name; write UMIs there (bcl-convert, umi_tools extract), or set "
                "align.umi: none."
            )
        offsets = offsets_from_lengths(lengths)
        yield replace(batch, umis=_texts(reads.names, reads.name_offsets, offsets), umi_offsets=offsets)


@compiled
def _lengths(names, offsets):
    """Return the number of letters of the UMI of each name (int64[n]); 0 for none."""
    lengths = np.zeros(len(offsets) - 1, np.int64)
    for read in range(len(lengths)):
        begin, end = offsets[read], offsets[read + 1]
        at, parted = end, True  # parted: the next letter must be a base (at the end, or before a '+')
        while at > begin:
            letter = names[at - 1]
            if letter in (_COLON, _UNDERSCORE):
                if not parted:
                    lengths[read] = end - at
                break
            if _IS_BASE[letter]:
                parted = False
            elif letter in (_PLUS, _MINUS) and not parted:
                parted = True
            else:
                break
            at -= 1
    return lengths


@compiled
def _texts(names, offsets, new):
    """Return the concatenated UMIs in the form of RX."""
    texts = np.empty(new[-1], np.uint8)
    for read in range(len(new) - 1):
        for i in range(new[read + 1] - new[read]):
            letter = names[offsets[read + 1] - (new[read + 1] - new[read]) + i]
            texts[new[read] + i] = _MINUS if letter == _PLUS else letter
    return texts
