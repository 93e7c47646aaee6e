"""Seeding by a scan of the whole axis: short, slow and obviously correct."""

import numpy as np
from quire.algorithms.seeding import (
    DIAGONAL_BIAS,
    FEW_HITS,
    MAXIMUM_SEEDS,
    RAREST_LIMIT,
    RAREST_LIMIT_BESIDE,
    SeedingParameters,
)

from tests.oracles.ties import tie_hash


def seed_ends(length: int, parameters: SeedingParameters) -> list[int]:
    """Return the (exclusive) ends of a read's seeds."""
    shortest = parameters.seed_length
    if length < shortest:
        return []
    stride = max(parameters.stride, -(-(length - shortest) // (MAXIMUM_SEEDS - 2)))
    ends = list(range(shortest, length + 1, stride))
    return ends if ends[-1] == length else [*ends, length]


def occurrences(axis: np.ndarray, pattern: np.ndarray) -> list[int]:
    """Return the start positions of a pattern of codes in the axis of codes, ascending."""
    text, wanted = axis.astype(np.uint8).tobytes(), pattern.astype(np.uint8).tobytes()
    found, start = [], text.find(wanted)
    while start >= 0:
        found.append(start)
        start = text.find(wanted, start + 1)
    return found


def find_hits(axis: np.ndarray, codes: np.ndarray, name_hash: int, parameters: SeedingParameters) -> list[int]:
    """Return the hits of one read, encoded as in the package, ascending.

    Args:
        axis: uint8[], codes 0..3 of the whole axis (ambiguous bases replaced as in the index).
        codes: uint8[2, length], the oriented read.
        name_hash: hash of the read's name.
        parameters: stride, cap and least length.
    """
    hits: list[int] = []
    dropped: list[tuple[int, int, int, int, list[int]]] = []
    for strand in (0, 1):
        for ordinal, end in enumerate(seed_ends(codes.shape[1], parameters)):
            rarest = None
            for depth in parameters.depths():
                seed = codes[strand, max(end - depth, 0) : end]
                if end < depth or (seed > 3).any():
                    break
                places = occurrences(axis, seed)
                if len(places) <= parameters.maximum_hits:
                    hits += [encode(strand, place - (end - int(depth)), ordinal) for place in places]
                    rarest = None
                    break
                rarest = (len(places), strand, ordinal, end - int(depth), places)
            if rarest:
                dropped.append(rarest)
    if len(hits) < FEW_HITS and dropped:
        count, strand, ordinal, begin, places = min(dropped, key=lambda seed: seed[:3])
        if count <= (RAREST_LIMIT_BESIDE if hits else RAREST_LIMIT):
            chosen = sorted(places, key=lambda p: (tie_hash(name_hash, p), p))[: parameters.maximum_hits]
            hits += [encode(strand, place - begin, ordinal) for place in chosen]
    return sorted(hits)


def encode(strand: int, diagonal: int, ordinal: int) -> int:
    """Return a hit as an integer."""
    return strand << 63 | (diagonal + DIAGONAL_BIAS) << 8 | ordinal
