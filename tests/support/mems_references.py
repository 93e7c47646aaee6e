"""References, queries and cut pages for the tests of maximal exact matches."""

from collections.abc import Sequence

import numpy as np
from quire.algorithms.mems import Cursor, PackedText, Queries
from quire.ragged import offsets_from_lengths
from quire.sequence.codes import AMBIGUOUS
from quire.sequence.packing import BASES_PER_WORD, pack, stand_in_codes

LETTERS = {"one": [0], "two": [0, 3], "four": [0, 1, 2, 3], "ambiguous": [0, 1, 2, 3, AMBIGUOUS]}
KINDS = (*LETTERS, "repeats")


def draw_sequence(rng: np.random.Generator, kind: str, length: int) -> np.ndarray:
    """Draw codes (uint8) of one of KINDS; "repeats" are copies of a unit that differ in a few bases."""
    if kind != "repeats":
        return rng.choice(LETTERS[kind], length).astype(np.uint8)
    unit = rng.integers(0, 4, int(rng.integers(1, 30)))
    codes = np.tile(unit, -(-length // len(unit)))[:length]
    changed = rng.integers(0, max(length, 1), length // 25)
    codes[changed] = rng.integers(0, 5, len(changed))
    return codes.astype(np.uint8)


def draw_queries(
    rng: np.random.Generator, islands: Sequence[np.ndarray], count: int, length: int, kind: str
) -> Queries:
    """Draw pieces of islands of up to `length` bases, some changed, random sequences, a whole island and nothing."""
    drawn = [islands[int(rng.integers(0, len(islands)))], np.empty(0, np.uint8)]
    for _ in range(count):
        island = islands[int(rng.integers(0, len(islands)))]
        size = int(rng.integers(0, length + 1))
        if rng.random() < 0.3 or len(island) < 2:
            drawn.append(draw_sequence(rng, kind, size))
            continue
        start = int(rng.integers(0, len(island)))
        piece = island[start : start + size].copy()
        changed = rng.integers(0, max(len(piece), 1), len(piece) // 12)
        piece[changed] = rng.integers(0, 5, len(changed))
        drawn.append(piece)
    order = rng.permutation(len(drawn))
    drawn = [np.asarray(drawn[i], np.uint8) for i in order]
    return Queries(np.concatenate(drawn), offsets_from_lengths([len(query) for query in drawn]))


def repetitive_text(rng: np.random.Generator, bases: int) -> np.ndarray:
    """Draw a reference (uint8), a quarter of it copies of four units with up to a fifth of their bases changed."""
    text = rng.integers(0, 4, bases).astype(np.uint8)
    for unit in [rng.integers(0, 4, size).astype(np.uint8) for size in (300, 300, 1500, 6000)]:
        for start in rng.integers(0, max(1, bases - len(unit)), bases // 16 // len(unit)):
            copy = unit.copy()
            where = rng.integers(0, len(copy), int(rng.random() * 0.2 * len(copy)))
            copy[where] = rng.integers(0, 4, len(where))
            text[start : start + len(copy)] = copy[: bases - start]
    return text


def reference_text(islands: Sequence[np.ndarray]) -> tuple[PackedText, np.ndarray]:
    """Return the packed axis of islands with its runs, and its codes 0..3 with stand-ins, for building an index."""
    codes = np.concatenate([np.empty(0, np.uint8), *islands])
    runs, start = [], 0
    for island in islands:
        known = np.concatenate(([False], island <= 3, [False]))
        edges = np.flatnonzero(known[1:] != known[:-1]) + start
        runs += edges.reshape(-1, 2).tolist()
        start += len(island)
    unknown = np.flatnonzero(codes > 3)
    codes = codes.copy()
    codes[unknown] = stand_in_codes(unknown)
    padded = np.concatenate((codes, np.zeros(-len(codes) % BASES_PER_WORD + 2 * BASES_PER_WORD, np.uint8)))
    words = pack(padded)
    words.flags.writeable = False  # as in a mapped file; a writable one would compile the kernels again
    return PackedText(words, np.array(runs, np.int64).reshape(-1, 2)), codes


def find_all(find, end: int, limit: int, pieces: Sequence[int] = ()) -> list[tuple[int, int, int]]:
    """Collect all matches of `find(begin, end, limit)` before `end`, `limit` at a time, with stops at `pieces`."""
    found: list[tuple[int, int, int]] = []
    start = 0
    for piece_end in [*sorted(pieces), end]:
        cursor = Cursor(start, 0)
        while cursor.start < piece_end:
            matches, following = find(cursor, piece_end, limit)
            assert len(matches.start) <= limit
            assert tuple(following) > tuple(cursor)
            found += list(zip(*(array.tolist() for array in matches), strict=True))
            cursor = following
        start = piece_end
    return found
