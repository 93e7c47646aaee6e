"""Plain gzip files inflated by several threads, from any deflate block on (`deflate_cpu`)."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from io import FileIO
from typing import NamedTuple

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from quire.io.deflate_cpu import (
    ENDED,
    FILE_END,
    IN_TAIL,
    NO_BLOCK,
    PADDING,
    UNKNOWN,
    WINDOW,
    Inflater,
    closing_tail,
    find_block,
    resolve,
)
from quire.io.sniff import GZIP_MAGIC

STRETCH_BYTES = 2 << 20  # compressed bytes of a task
MOST_STRETCHES = 4  # without the beginning of a block
TEXTS_AHEAD = 4  # ranges whose text is made from both results while others are inflated
OWN_SHARE = 4  # one of so many ranges is inflated when the text before it is known
_TRAILER_BYTES = 8
_CHECKSUM_OF_HEADER, _EXTRA, _NAME, _COMMENT, _RESERVED = 2, 4, 8, 16, 0xE0  # flags (RFC 1952, 2.3.1)


class Unsuited(ValueError):
    """A file that one thread must inflate from the beginning: damaged, truncated, or almost without dynamic blocks."""


class _Piece(NamedTuple):
    """Inflated text of one gzip member, in the memory of inflaters.

    Attributes:
        text: uint8[].
        other: uint8[], the result after the other unknown text; None if no text before is needed.
        trailer: checksum and size of the member that ends with this piece, or None.
    """

    text: NDArray[np.uint8]
    other: NDArray[np.uint8] | None
    trailer: tuple[int, int] | None


_Inflaters = tuple[Inflater, Inflater]


class _Range(NamedTuple):
    """Bits of the file from one found block, or its beginning, to the next one, or its end."""

    data: NDArray[np.uint8]
    first: int
    last: int
    at_start: bool
    at_end: bool


def inflate_gzip(file: FileIO, executor: Executor, ahead: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the text (uint8[]) of a gzip file in order, from its beginning; `ahead` ranges are inflated ahead.

    Raises:
        Unsuited: one thread must inflate the file from the beginning. The text yielded so far is right, unless the
            checksum of its member, which comes later, is wrong.
    """
    waiting: deque[tuple[_Range, _Inflaters, Future[list[_Piece]] | None]] = deque()
    inflated: deque[tuple[_Inflaters, list[_Piece], Future[list[NDArray[np.uint8]]]]] = deque()
    unused: list[_Inflaters] = []
    ranges = enumerate(_ranges(file, executor, ahead))
    window = np.zeros(WINDOW, np.uint8)
    checksum, size = 0, 0
    at_end = False
    while waiting or inflated or not at_end:
        while not at_end and len(waiting) < ahead:
            number, part = next(ranges, (0, None))
            at_end = part is None
            if part is not None:
                pair = unused.pop() if unused else (Inflater(), Inflater())
                # This thread inflates some ranges itself, after the text before, for half the processor time.
                own = number % OWN_SHARE == 0
                waiting.append((part, pair, None if own else executor.submit(_inflate, part, pair, None)))
        if waiting and len(inflated) < TEXTS_AHEAD:
            part, pair, future = waiting.popleft()
            pieces = _inflate(part, pair, window) if future is None else future.result()
            inflated.append((pair, pieces, executor.submit(_texts, pieces, window)))
            window = _window_after(pieces[-1], window)
            continue
        pair, pieces, texts = inflated.popleft()
        for piece, text in zip(pieces, texts.result(), strict=True):
            checksum, size = isal_zlib.crc32(text, checksum), size + len(text)
            yield text
            if piece.trailer is not None:
                if piece.trailer != (checksum, size & 0xFFFFFFFF):
                    raise Unsuited("a wrong checksum")
                checksum, size = 0, 0
        unused.append(pair)


def _ranges(file: FileIO, executor: Executor, ahead: int) -> Iterator[_Range]:
    """Yield the file in ranges between dynamic blocks; raise Unsuited if MOST_STRETCHES hold no such block."""
    stretches: deque[tuple[NDArray[np.uint8], Future[int]]] = deque()
    held: list[NDArray[np.uint8]] = []  # from the stretch with the last found block on
    first, at_start, at_end = 0, True, False
    padding = np.zeros(PADDING, np.uint8)
    while True:
        while len(stretches) < ahead and not at_end:
            stretch = np.zeros(STRETCH_BYTES + PADDING, np.uint8)
            got = file.readinto(stretch[:STRETCH_BYTES].data) or 0
            at_end = got == 0
            if not at_end:
                stretch = stretch[: got + PADDING]
                stretches.append((stretch[:got], executor.submit(find_block, stretch, 0, 8 * got)))
        bits = 8 * sum(len(stretch) for stretch in held)
        if not stretches:
            yield _Range(np.concatenate([*held, padding]), first, bits, at_start, True)
            return
        stretch, found = stretches.popleft()
        start = found.result() if held else NO_BLOCK
        if start == NO_BLOCK:
            held.append(stretch)
            if len(held) > MOST_STRETCHES:
                raise Unsuited("no beginning of a block found")
            continue
        data = np.concatenate([*held, stretch[: start // 8 + 1], padding])
        yield _Range(data, first, bits + start, at_start, False)
        held, first, at_start = [stretch], start, False


def _inflate(part: _Range, inflaters: _Inflaters, window: NDArray[np.uint8] | None) -> list[_Piece]:
    """Inflate a range after the text before, `window`, or after unknown text.

    Raises:
        Unsuited: the range is damaged or does not end where the next block begins.
    """
    pieces: list[_Piece] = []
    data, place, inside = part.data, part.first, not part.at_start
    tail = FILE_END if part.at_end else closing_tail(data, part.last)
    at = 0
    while True:
        if not inside:
            place = 8 * _header_end(data, place // 8)
            if place == part.last and not part.at_end:
                return pieces
        bits = place, part.last // 8
        before = None if not inside else UNKNOWN[0] if window is None else window
        found, other = inflaters[0].inflate(data, bits, tail, before, at), None
        if found.status != ENDED:
            raise Unsuited("damaged data")
        if inside and window is None:
            other = inflaters[1].inflate(data, bits, tail, UNKNOWN[1]).text
        if found.end == IN_TAIL:
            return [*pieces, _Piece(found.text, other, None)]
        end = found.end + _TRAILER_BYTES
        trailer = data[found.end : end].view("<u4")
        pieces.append(_Piece(found.text, other, (int(trailer[0]), int(trailer[1]))))
        place, inside = 8 * end, False
        at += WINDOW + len(found.text)
        if part.at_end and place == part.last:
            return pieces


def _texts(pieces: list[_Piece], window: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Return copies of the texts of a range, with the text before the range, `window`, filled in."""
    return [piece.text.copy() if piece.other is None else resolve(piece.text, piece.other, window) for piece in pieces]


def _header_end(data: NDArray[np.uint8], at: int) -> int:
    """Return the offset behind the gzip header at `at`; raise Unsuited if there is none."""
    head = data[at : at + 10].tobytes()
    if len(head) < 10 or not head.startswith(GZIP_MAGIC) or head[2] != 8 or head[3] & _RESERVED:
        raise Unsuited("no gzip header")
    flags, at = head[3], at + 10
    if flags & _EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2].tobytes(), "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            zeros = np.flatnonzero(data[at:-PADDING] == 0)
            if len(zeros) == 0:
                raise Unsuited("an unfinished gzip header")
            at += int(zeros[0]) + 1
    at += 2 if flags & _CHECKSUM_OF_HEADER else 0
    if at >= len(data) - PADDING:
        raise Unsuited("an unfinished gzip header")
    return at


def _window_after(piece: _Piece, window: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the last WINDOW bytes of text; zeros or text of an earlier member, which is not used, may be before."""
    end, other = piece.text[-WINDOW:], piece.other
    return np.concatenate([window, end if other is None else resolve(end, other[-WINDOW:], window)])[-WINDOW:]
