"""Maximal exact matches by comparing every base with every base: short, slow and obviously correct."""

from collections.abc import Sequence

import numpy as np
from quire.algorithms.mems import Queries

Match = tuple[int, int, int]
"""(start in the flat codes, start on the axis, length)."""


def maximal_matches(islands: Sequence[np.ndarray], queries: Queries, min_length: int) -> list[Match]:
    """Return all maximal exact matches, sorted.

    Args:
        islands: uint8[], the codes (0..3, 4 = ambiguous) of each island, in the order of the axis.
        queries: the queries, on the strand that is searched.
        min_length: bases of a match, at least 1.
    """
    found = []
    axis = 0
    for island in islands:
        for first, last in zip(queries.offsets[:-1], queries.offsets[1:], strict=True):
            found += [
                (int(first) + start, axis + at, length)
                for start, at, length in _matches_of_two(queries.codes[first:last], island)
                if length >= min_length
            ]
        axis += len(island)
    return sorted(found)


def _matches_of_two(query: np.ndarray, island: np.ndarray) -> list[Match]:
    """Return the runs of equal letters of each diagonal."""
    found = []
    for diagonal in range(-len(query) + 1, len(island)):
        length = 0
        for start in range(max(0, -diagonal), len(query) + 1):
            at = start + diagonal
            inside = start < len(query) and at < len(island)
            if inside and query[start] == island[at] and query[start] <= 3:
                length += 1
                continue
            if length:
                found.append((start - length, at - length, length))
            length = 0
            if not inside:
                break
    return found


def unique_in_reference(matches: list[Match], islands: Sequence[np.ndarray], queries: Queries) -> list[Match]:
    """Select the matches whose letters occur once on the axis; an occurrence lies within one island."""
    texts = [island.astype(np.uint8).tobytes() for island in islands]
    return [match for match in matches if sum(_occurrences(text, _letters(match, queries)) for text in texts) == 1]


def unique_in_query(matches: list[Match], queries: Queries) -> list[Match]:
    """Select the matches whose letters occur once in their query, sorted by query and start on the axis."""
    kept = []
    for match in matches:
        query = int(np.searchsorted(queries.offsets, match[0], side="right")) - 1
        text = queries.codes[queries.offsets[query] : queries.offsets[query + 1]].astype(np.uint8).tobytes()
        if _occurrences(text, _letters(match, queries)) == 1:
            kept.append((query, match[1], match))
    return [match for _, _, match in sorted(kept)]


def _letters(match: Match, queries: Queries) -> bytes:
    return queries.codes[match[0] : match[0] + match[2]].astype(np.uint8).tobytes()


def _occurrences(text: bytes, word: bytes) -> int:
    """Count the occurrences of a word in a text; they may overlap."""
    count, at = 0, text.find(word)
    while at >= 0:
        count, at = count + 1, text.find(word, at + 1)
    return count
