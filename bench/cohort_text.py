"""The text of a gVCF from windows of reference blocks and lines of records, by one kernel (bench/cohort_samples.py)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from quire.rescore.gvcf.blocks_cpu import BLOCK_CUT
from quire.simd.compiled import compiled

LINE_BYTES = 160  # more than any line of a block
BEFORE_ALTERNATE = np.frombuffer(b"\t.\t", np.uint8)
BEFORE_END = np.frombuffer(b"\t<NON_REF>\t.\t.\tEND=", np.uint8)


class Blocks(NamedTuple):
    """Reference blocks of windows of BLOCK_CUT bases, each covered completely.

    Attributes:
        windows: int64[windows + 1], first block of each window.
        starts: int64[blocks], first base in the window.
        values: int64[blocks], number of its text.
        offsets: int64[texts + 1], where a text begins.
        text: uint8[], FORMAT and the sample's column of every text, each with the end of the line.
    """

    windows: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    offsets: np.ndarray
    text: np.ndarray

    @classmethod
    def of(
        cls, windows: Sequence[int], starts: Sequence[int], values: Sequence[int], columns: Sequence[str]
    ) -> "Blocks":
        """Make blocks from their parts; `columns` are the sample's columns."""
        offsets, text = _ragged([f"\tGT:DP:GQ:MIN_DP:PL\t{column}\n" for column in columns])
        return cls(np.array(windows), np.array(starts), np.array(values), offsets, text)


class Places(NamedTuple):
    """A region: name of the contig, 0-based start and end (multiples of BLOCK_CUT), and letters from start on."""

    contig: np.ndarray
    start: int
    end: int
    letters: np.ndarray

    @classmethod
    def of(cls, contig: str, start: int, end: int, letters: str) -> "Places":
        """Cut a region from the letters of a contig."""
        name = np.frombuffer(contig.encode() + b"\t", np.uint8).copy()
        return cls(name, start, end, np.frombuffer(letters[start:end].encode(), np.uint8).copy())


def write_lines(
    places: Places, windows: np.ndarray, blocks: Blocks, starts: np.ndarray, ends: np.ndarray, records: Sequence[str]
) -> np.ndarray:
    """Return uint8[], the lines of a gVCF: records, and the blocks of the windows between them.

    Args:
        places: the region.
        windows: int64[windows], number of the window in `blocks` for each window of the region.
        blocks: blocks of all windows.
        starts: int64[records], ascending, 0-based.
        ends: int64[records], behind the last base that a record covers.
        records: lines.
    """
    offsets, text = _ragged(records)
    pieces = int((blocks.windows[windows + 1] - blocks.windows[windows]).sum()) + 2 * len(records)
    out = np.empty(pieces * LINE_BYTES + text.size, np.uint8)
    size = _write_lines(
        out, places.contig, places.start, places.letters, windows, *blocks, starts, ends, offsets, text,
        BEFORE_ALTERNATE.copy(), BEFORE_END.copy(),
    )  # fmt: skip
    return out[:size]


def _ragged(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return offsets, np.frombuffer(bytearray("".join(texts).encode()), np.uint8)


@compiled
def _write_lines(
    out, contig, first, letters, windows, window_blocks, block_starts, block_values, value_offsets, value_text,
    record_starts, record_ends, record_offsets, record_text, before_alternate, before_end,
):  # fmt: skip
    """Write the lines to `out` and return their size."""
    size, record, covered = 0, 0, 0
    for window in range(len(windows)):
        base = first + window * BLOCK_CUT
        end_block = window_blocks[windows[window] + 1]
        for block in range(window_blocks[windows[window]], end_block):
            place = base + block_starts[block]
            end = base + (block_starts[block + 1] if block + 1 < end_block else BLOCK_CUT)
            while place < end:
                while record < len(record_starts) and record_starts[record] <= place:
                    size = _put(out, size, record_text, record_offsets[record], record_offsets[record + 1])
                    covered = max(covered, record_ends[record])
                    record += 1
                stop = min(covered, end) if covered > place else end
                if record < len(record_starts) and record_starts[record] < stop:
                    stop = record_starts[record]
                if covered <= place:
                    size = _put(out, size, contig, 0, len(contig))
                    size = _put_number(out, size, place + 1)
                    size = _put(out, size, before_alternate, 0, len(before_alternate))
                    out[size] = letters[place - first]
                    size = _put(out, size + 1, before_end, 0, len(before_end))
                    size = _put_number(out, size, stop)
                    value = block_values[block]
                    size = _put(out, size, value_text, value_offsets[value], value_offsets[value + 1])
                place = stop
    return size


@compiled
def _put(out, size, text, begin, end):
    """Copy text[begin:end] to `out` at `size`; return the place behind it."""
    for i in range(begin, end):
        out[size + i - begin] = text[i]
    return size + end - begin


@compiled
def _put_number(out, size, number):
    """Write a positive number in decimal; return the place behind it."""
    digits, rest = 0, number
    while rest:
        digits += 1
        rest //= 10
    for i in range(size + digits - 1, size - 1, -1):
        out[i] = 48 + number % 10
        number //= 10
    return size + digits
