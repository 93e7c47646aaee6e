"""GC content and mappability of the reference in short windows.

A base is mappable if the LENGTH bases from it occur once in the reference, on both strands: about what a pair of reads
needs to have one place. Of all words of LENGTH bases those are looked at whose hash is a multiple of a power of two, so
that all copies of a word are looked at or none, and MOST_WORDS fit into memory.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.finish.evidence_cpu import WINDOW
from quire.reference import Reference
from quire.sequence.codes import AMBIGUOUS
from quire.sequence.ties.cpu import tie_hash
from quire.simd.compiled import compiled

LENGTH = 100  # bases of a word
MOST_WORDS = 1 << 26  # a word takes 8 bytes
LEAST_SPACING = 16  # bases per word
_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the rolling hash, odd
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
_FIRST = np.uint64(pow(int(_BASE), LENGTH - 1, 1 << 64))  # factor of the first letter of a word
_VALUES = np.random.default_rng(1).integers(0, 1 << 64, 4, np.uint64)  # of the letters


class Content(NamedTuple):
    """Content of all windows of WINDOW bases, contig by contig.

    Attributes:
        known: uint8[windows], bases that are not N.
        gc: uint8[windows], G and C.
        words, single: uint8[windows], words that begin in the window, and those that occur once.
    """

    known: NDArray[np.uint8]
    gc: NDArray[np.uint8]
    words: NDArray[np.uint8]
    single: NDArray[np.uint8]


def content_of(reference: Reference, first_window: NDArray[np.int64], spacing: int = LEAST_SPACING) -> Content:
    """Return the content of the windows, of which each contig's first is given.

    `spacing` is the least number of bases per word that is looked at, a power of two.
    """
    windows = int(first_window[-1])
    while reference.axis_length > MOST_WORDS * spacing:
        spacing *= 2
    keys = np.empty(2 * reference.axis_length // spacing + 1000, np.uint64)
    bits = max(1, windows.bit_length())
    content = Content(*(np.zeros(windows, np.uint8) for _ in range(4)))
    count = 0
    for contig, length in enumerate(reference.contig_lengths.tolist()):
        codes = reference.contig_codes(contig, 0, length)
        count += _scan(codes, int(first_window[contig]), spacing - 1, bits, content.known, content.gc, keys[count:])
    keys = keys[:count]
    keys.sort()
    _count_words(keys, bits, content.words, content.single)
    return content


@compiled
def _scan(codes, first, mask, bits, known, gc, keys):
    """Count the bases of a contig's windows, and fill `keys` with hashes of words above their window's number."""
    values = _VALUES
    run, count = 0, 0
    forward, reverse = np.uint64(0), np.uint64(0)
    for at in range(len(codes)):
        code = codes[at]
        if code >= AMBIGUOUS:
            run, forward, reverse = 0, np.uint64(0), np.uint64(0)
            continue
        window = first + at // WINDOW
        known[window] += 1
        gc[window] += code == 1 or code == 2
        if run >= LENGTH:
            old = codes[at - LENGTH]
            forward -= values[old] * _FIRST
            reverse -= values[3 - old]
        forward = forward * _BASE + values[code]
        # The reverse complement's first letter is the complement of the newest.
        if run >= LENGTH:
            reverse = reverse * _INVERSE + values[3 - code] * _FIRST
        else:
            power = np.uint64(1)
            for _ in range(run):
                power *= _BASE
            reverse += values[3 - code] * power
        run += 1
        if run >= LENGTH:
            word = tie_hash(forward + reverse, 0)  # the same for both strands
            if word & np.uint64(mask) == 0 and count < len(keys):
                window = first + (at - LENGTH + 1) // WINDOW
                keys[count] = tie_hash(word, 0) >> np.uint64(bits) << np.uint64(bits) | np.uint64(window)
                count += 1
    return count


@compiled
def _count_words(keys, bits, words, single):
    """Count the words of each window and those whose hash no other word has; the keys are sorted."""
    shift = np.uint64(bits)
    low = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(len(keys)):
        word, window = keys[i] >> shift, np.int64(keys[i] & low)
        words[window] += 1
        is_single = (i == 0 or keys[i - 1] >> shift != word) and (i + 1 == len(keys) or keys[i + 1] >> shift != word)
        single[window] += is_single
