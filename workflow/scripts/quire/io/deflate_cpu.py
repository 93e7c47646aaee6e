"""Inflate deflate data (RFC 1951) from any block on, before the 32 KiB of text are known that its matches copy from.

ISA-L inflates the data twice, after two texts that differ at each position. Where both results agree, the byte is
known. Elsewhere the two bytes tell which position of the unknown text it copies, and `resolve` fills it in later.
Kerbiriou and Chikhi (2019, pugz) showed that blocks can be found and their unknown bytes be filled in afterwards.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.isa_l import call_with_state, new_stream
from quire.simd.compiled import compiled, inlined

WINDOW = 1 << 15  # bytes before a match that it may copy
PADDING = 16  # bytes after deflate data that the kernels may read
NO_BLOCK = -1
TRIAL_BYTES = 1 << 16  # deflate data that must inflate after a block's supposed beginning
ENDED, NEEDS_INPUT, WRONG = 0, 1, 2  # see Inflated
MOST_RATIO = 32  # bytes of text per byte of deflate data; FASTQ has 3 to 10
_STORED_HEAD = 5  # bytes of a stored block before its text
_SPARE = 8  # bytes behind the end; more than ISA-L reads ahead
FILE_END = np.zeros(_SPARE, np.uint8)
IN_TAIL = -1
_LOW_WORD = np.uint64(0xFFFFFFFF)
_ORDER = np.array([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15], np.int64)  # RFC 1951, 3.2.7
_LONGEST_CODE = 15


def _unknown() -> NDArray[np.uint8]:
    high, low = np.divmod(np.arange(WINDOW), 255)
    return np.stack([high, (high + 1 + low) % 256]).astype(np.uint8)


UNKNOWN = _unknown()
"""Two texts (uint8[2, WINDOW]) whose bytes differ at each position, and are another pair at each."""


def find_block(data: NDArray[np.uint8], first: int, last: int) -> int:
    """Return the bit offset of the first dynamic block (RFC 1951, 3.2.7) in [first, last); NO_BLOCK if there is none.

    `data` must have PADDING bytes more than the bits that count.
    """
    position = first
    while True:
        position = int(_next_header(data, position, last, _ORDER))
        if position == NO_BLOCK:
            return NO_BLOCK
        trial = min(len(data) - PADDING, position // 8 + TRIAL_BYTES)
        if Inflater().inflate(data, (position, trial), FILE_END[:0]).status != WRONG:
            return position
        position += 1


class Inflated(NamedTuple):
    """Text of deflate data.

    Attributes:
        text: uint8[], a view.
        status: ENDED if a last block ended, NEEDS_INPUT if the data ended before, WRONG if they are wrong or have more
            than MOST_RATIO times their size of text.
        end: offset behind the last block; IN_TAIL if it is that of `closing_tail`.
    """

    text: NDArray[np.uint8]
    status: int
    end: int


class Inflater:
    """Memory in which one thread at a time inflates. Use it again: memory that is new to a process is slow at first."""

    def __init__(self) -> None:
        """Reserve memory."""
        self._stream = new_stream("isal_inflate_init", "isal_inflate")
        self._text = np.empty(0, np.uint8)
        # A block that is not compressed brings the text before to ISA-L.
        self._before = np.zeros(_STORED_HEAD + WINDOW, np.uint8)
        self._before[1:_STORED_HEAD] = np.array([WINDOW, 0xFFFF ^ WINDOW], "<u2").view(np.uint8)

    def inflate(
        self,
        data: NDArray[np.uint8],
        bits: tuple[int, int],
        tail: NDArray[np.uint8],
        before: NDArray[np.uint8] | None = None,
        at: int = 0,
    ) -> Inflated:
        """Inflate the blocks of `data` from a bit to a byte (`bits`), and then those of `tail`.

        `before` is the text before (uint8[WINDOW]) if it is needed. The result is written from offset `at` of the
        memory, and valid until this is overwritten. `tail` (uint8[]) is FILE_END or of `closing_tail`. With an empty
        tail, ENDED is not told from NEEDS_INPUT at the end of the data.
        """
        first, last = bits
        if before is not None:
            self._before[_STORED_HEAD:] = before
        room = at + WINDOW + MOST_RATIO * (last - first // 8) + (1 << 16)
        if len(self._text) < room:  # earlier results keep the memory that they are in
            self._text = np.empty(room, np.uint8)
        text = self._text[at:room]
        status, size, end = _inflate(self._stream, self._before, data[: last + 1], first, tail, text)
        return Inflated(text[WINDOW:size], int(status), int(end))


def closing_tail(data: NDArray[np.uint8], last: int) -> NDArray[np.uint8]:
    """Return the tail for data to bit `last`: the bits in its last byte, then a last block that holds nothing."""
    whole, left = divmod(last, 8)
    # The block has the bits 1 (last), 01 (fixed codes) and seven zeros (its end).
    bits = int(data[whole]) & (1 << left) - 1 | 3 << left
    content = np.array([bits & 0xFF, bits >> 8 & 0xFF, bits >> 16], np.uint8)
    return np.concatenate([content[: (left + 10 + 7) // 8], FILE_END])


@compiled
def _inflate(stream, before, data, first, tail, text):
    """Inflate the text before, `data` from bit `first` to its last byte but one, and the tail; see `Inflater`."""
    state = stream.words
    pointer, begin = np.uint64(state.ctypes.data), np.uint64(data.ctypes.data)
    call_with_state(stream.initialise, pointer)
    state[0], state[1] = np.uint64(text.ctypes.data), np.uint64(len(text))
    state[2], state[4] = np.uint64(before.ctypes.data), np.uint64(len(before))
    status = call_with_state(stream.run, pointer)
    # ISA-L reads bits ahead; those of the first byte are given to it as such.
    at, last = (first >> 3) + 1, len(data) - 1
    state[3] = np.uint64(data[at - 1]) >> np.uint64(first & 7)
    state[2], state[4] = begin + np.uint64(at), np.uint64(last - at) | np.uint64(8 - (first & 7)) << np.uint64(32)
    if status == 0:
        status = call_with_state(stream.run, pointer)
    left, ahead = np.int64(state[4] & _LOW_WORD), np.int64(state[4] >> np.uint64(35))
    end, ended = np.int64(state[2] - begin) - ahead, left > 0
    if status == 0 and not ended and len(tail) > 0:
        state[2], state[4] = np.uint64(tail.ctypes.data), state[4] | np.uint64(len(tail))
        status = call_with_state(stream.run, pointer)
        left = np.int64(state[4] & _LOW_WORD) + np.int64(state[4] >> np.uint64(35))
        ended = left >= _SPARE
        end = np.int64(IN_TAIL) if left == _SPARE < len(tail) else last + len(tail) - left
    if status != 0 or state[1] & _LOW_WORD == 0:
        kind = WRONG
    else:
        kind = ENDED if ended else NEEDS_INPUT
    return kind, np.int64(state[0] - np.uint64(text.ctypes.data)), end


def resolve(first: NDArray[np.uint8], second: NDArray[np.uint8], window: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the text of two results, whose unknown text before is `window` (uint8[WINDOW])."""
    meaning = np.empty((256, 256), np.uint8)
    np.fill_diagonal(meaning, np.arange(256))
    meaning[UNKNOWN[0], UNKNOWN[1]] = window
    text = np.empty(len(first), np.uint8)
    _translate(first, second, meaning.reshape(-1), text)
    return text


@compiled
def _translate(first, second, meaning, text):
    for i in range(len(first)):
        text[i] = meaning[np.int64(first[i]) << 8 | second[i]]


@inlined
def _bits(data, position, count):
    """Return up to 16 bits."""
    at = position >> 3
    word = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
    return (word >> (position & 7)) & ((1 << count) - 1)


@inlined
def _word(data, at):
    """Return 8 bytes."""
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@compiled
def _next_header(data, first, last, order):
    """Return the first bit, from `first` on, where the header of a dynamic block begins whose codes are complete."""
    lengths = np.zeros(19, np.int64)
    table = np.zeros((128, 2), np.int64)
    codes = np.zeros(320, np.int64)
    word = np.uint64(0)
    limit = 8 * (len(data) - PADDING)
    for position in range(first, min(last, limit - 400)):
        if position == first or position & 7 == 0:
            word = _word(data, position >> 3)
        head = np.int64(word >> np.uint64(position & 7))
        # Not the last block, dynamic Huffman codes, at most 286 literal codes and 30 distance codes.
        if head & 7 != 4 or (head >> 3) & 31 > 29 or (head >> 8) & 31 > 29:
            continue
        count = ((head >> 13) & 15) + 4
        code_lengths = _word(data, (position + 17) >> 3) >> np.uint64((position + 17) & 7)
        room = 128
        for i in range(count):
            length = np.int64(code_lengths >> np.uint64(3 * i)) & 7
            room -= (128 >> length) & 127
            if room < 0:
                break
        if room != 0:
            continue
        lengths[:] = 0
        for i in range(count):
            lengths[order[i]] = np.int64(code_lengths >> np.uint64(3 * i)) & 7
        _fill_table(table, lengths)
        literals, distances = ((head >> 3) & 31) + 257, ((head >> 8) & 31) + 1
        at = _read_lengths(data, position + 17 + 3 * count, table, codes, literals + distances, limit)
        if at < 0 or codes[256] == 0 or _room(codes, 0, literals) != 0:
            continue
        left = _room(codes, literals, literals + distances)
        whole = 1 << _LONGEST_CODE
        if left == 0 or left == whole or left == whole >> 1:  # complete, none, or one of one bit
            return position
    return NO_BLOCK


@inlined
def _fill_table(table, lengths):
    """Fill symbol and length for all 7 bits that may follow, whose codes begin with the highest bit."""
    code = 0
    for length in range(1, 8):
        for symbol in range(19):
            if lengths[symbol] != length:
                continue
            reverse = 0
            for bit in range(length):
                reverse |= ((code >> bit) & 1) << (length - 1 - bit)
            for i in range(reverse, 128, 1 << length):
                table[i, 0], table[i, 1] = symbol, length
            code += 1
        code <<= 1


@inlined
def _read_lengths(data, position, table, codes, wanted, limit):
    """Read the lengths of literal and distance codes; return the bit behind them, or -1 if they are wrong."""
    got = 0
    while got < wanted:
        if position + 14 > limit:
            return -1
        following = _bits(data, position, 7)
        symbol = table[following, 0]
        position += table[following, 1]
        if symbol < 16:
            codes[got] = symbol
            got += 1
            continue
        value = 0
        if symbol == 16:
            if got == 0:
                return -1
            value, times = codes[got - 1], 3 + _bits(data, position, 2)
            position += 2
        elif symbol == 17:
            times = 3 + _bits(data, position, 3)
            position += 3
        else:
            times = 11 + _bits(data, position, 7)
            position += 7
        if got + times > wanted:
            return -1
        codes[got : got + times] = value
        got += times
    return position


@inlined
def _room(codes, begin, end):
    """Return the share of 2**15 that codes of these lengths leave; it is negative if they are too many."""
    left = 1 << _LONGEST_CODE
    for i in range(begin, end):
        if codes[i] > 0:
            left -= 1 << (_LONGEST_CODE - codes[i])
    return left
