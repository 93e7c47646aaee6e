"""The oracle of complete search against edlib, and its hits by hand."""

import edlib
import numpy as np
import pytest

from tests.oracles import complete as oracle
from tests.support.complete_cases import draw_islands, draw_reads, expected

BASES = "ACGT"


def letters(codes, ambiguous: str) -> str:
    return "".join(BASES[code] if code < 4 else ambiguous for code in codes)


@pytest.mark.parametrize("seed", range(6))
def test_ends_have_the_distances_of_edlib(seed):
    rng = np.random.default_rng(seed)
    differences = int(rng.integers(0, 6))
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(2 * differences + 2, 30, 4), differences)
    found = expected(islands, reads, differences)
    for read, (ends, _) in zip(reads, found, strict=True):
        complement = [4 if code > 3 else 3 - code for code in reversed(read)]
        wanted, first = [], 0
        for island in islands:
            for strand, oriented in enumerate((read, complement)):
                query = letters(oriented, "N")[::-1]
                for end in range(1, len(island) + 1):
                    # Reversed, the end is the alignment's start; its other end is free.
                    answer = edlib.align(query, letters(island[:end], "n")[::-1], mode="SHW", k=differences)
                    if answer["editDistance"] >= 0:
                        wanted.append((strand, first + end, answer["editDistance"]))
            first += len(island)
        assert ends == sorted(wanted)


def hits_of(read: str, island: str, differences: int) -> list[tuple[int, int, int, str]]:
    """Return (begin, end, distance, CIGAR) of the forward hits."""
    codes = np.array([[BASES.find(b) if b in BASES else 4 for b in read], [4] * len(read)], np.uint8)
    axis = np.array([BASES.find(b) if b in BASES else 4 for b in island], np.uint8)
    hits = oracle.find(axis, [0, len(axis)], codes, differences)[1]
    return [(h.begin, h.end, h.distance, "".join(f"{n}{'MID'[op]}" for n, op in h.cigar)) for h in hits]


@pytest.mark.parametrize(
    ("read", "island", "differences", "wanted"),
    [
        ("ACGTTGCA", "GGACGTTGCAGG", 2, [(2, 10, 0, "8M")]),  # several ends share this beginning
        ("ACGTTGCG", "GGACGTTGCAGG", 1, [(2, 10, 1, "8M")]),  # a mismatch of the last base is no insertion
        ("CCGTTGCA", "GGACGTTGCAGG", 1, [(2, 10, 1, "8M")]),
        ("ACGTGCAC", "GGACGTTGCACGG", 1, [(2, 11, 1, "3M1D5M")]),  # the deletion is left-aligned
        ("ACGTTTGCA", "GGACGTTGCAGG", 1, [(2, 10, 1, "3M1I5M")]),
        ("ACGTNGCA", "GGACGTNGCAGG", 1, [(2, 10, 1, "8M")]),  # an N matches nothing, not even an N
        ("TACGTTGC", "ACGTTGCGG", 1, [(0, 7, 1, "1I7M")]),  # the island begins here
        ("AAAA", "AAAAAA", 0, [(0, 4, 0, "4M"), (1, 5, 0, "4M"), (2, 6, 0, "4M")]),
        ("AAAA", "AAACAA", 1, [(0, 4, 1, "4M"), (1, 5, 1, "4M"), (2, 6, 1, "4M")]),
        ("ACGTTGCA", "TTTTTTTTTT", 2, []),
    ],
)
def test_hits_by_hand(read, island, differences, wanted):
    assert hits_of(read, island, differences) == wanted


def test_hits_do_not_leave_their_island():
    codes = np.array([[0, 1, 2, 3, 3, 2], [4] * 6], np.uint8)
    axis = np.array([3, 0, 1, 2, 3, 3, 2, 0], np.uint8)
    assert [hit.begin for hit in oracle.find(axis, [0, 8], codes, 1)[1]] == [1]
    assert oracle.find(axis, [0, 4, 8], codes, 1) == ([], [])
