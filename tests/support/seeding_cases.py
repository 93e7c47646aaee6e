"""Axes, reads and the oracle's hits for the tests of seeding."""

from collections import Counter

import numpy as np
from quire.algorithms.seeding import FEW_HITS, RAREST_LIMIT, RAREST_LIMIT_BESIDE, SeedingParameters

from tests.oracles import seeding as oracle
from tests.oracles.ties import hash_name
from tests.support.card_builders import reverse_complement


def repetitive_axis(rng: np.random.Generator, copies: int = 30, run: int = 900) -> np.ndarray:
    """Draw random sequence, two copies that differ slightly, many copies of a shorter unit, and a run of one letter."""
    unit, first = rng.integers(0, 4, 150), rng.integers(0, 4, 250)
    second = first.copy()
    second[::47] ^= 1
    parts = [rng.integers(0, 4, 450), first, rng.integers(0, 4, 9), second]
    for _ in range(copies):
        copy = unit.copy()
        if rng.random() < 0.5:
            copy[rng.integers(0, len(unit), 2)] = rng.integers(0, 4, 2)
        parts += [copy, rng.integers(0, 4, int(rng.integers(0, 12)))]
    return np.concatenate([*parts, np.zeros(run, np.int64), rng.integers(0, 4, 300)])


def sample_reads(rng: np.random.Generator, axis: np.ndarray, lengths) -> list[list[int]]:
    """Draw reads of the axis on either strand with up to three wrong or ambiguous bases each."""
    reads = []
    for length in lengths:
        length = min(int(length), len(axis))
        start = int(rng.integers(0, len(axis) - length + 1))
        read = axis[start : start + length].copy()
        for place in rng.integers(0, length, int(rng.integers(0, 4))) if length else ():
            read[place] = rng.integers(0, 5)
        reads.append(reverse_complement(read) if rng.random() < 0.5 else read.tolist())
    return reads


def expected(axis: np.ndarray, sequences: list[list[int]], parameters: SeedingParameters) -> list[list[int]]:
    """Return the oracle's hits of each read; reads are named as `builders.make_batch` names them."""
    hits = []
    for number, sequence in enumerate(sequences):
        codes = np.array([sequence, reverse_complement(sequence)], np.uint8)
        hits.append(oracle.find_hits(axis, codes, hash_name(b"r%05d" % number), parameters))
    return hits


def count_cases(axis: np.ndarray, sequences: list[list[int]], parameters: SeedingParameters) -> Counter:
    """Count seeds and reads by case, so that a test can check that all cases occur.

    Seeds are located at the first depth, at deeper ones or nowhere; reads use only their rarest seed, or use it next to
    few hits.
    """
    cases: Counter = Counter()
    for sequence in sequences:
        usable, frequent = 0, []
        for strand in (sequence, reverse_complement(sequence)):
            for end in oracle.seed_ends(len(strand), parameters):
                counts = []
                for depth in parameters.depths():
                    seed = np.array(strand[max(end - depth, 0) : end], np.uint8)
                    if end < depth or (seed > 3).any():
                        break
                    counts.append(len(oracle.occurrences(axis, seed)))
                    if counts[-1] <= parameters.maximum_hits:
                        break
                if not counts:
                    cases["ambiguous"] += 1
                elif counts[-1] > parameters.maximum_hits:
                    cases["frequent"] += 1
                    frequent.append(counts[-1])
                else:
                    cases["deeper" if len(counts) > 1 else "first depth"] += 1
                    usable += counts[-1]
        if frequent and not usable and min(frequent) <= RAREST_LIMIT:
            cases["rarest"] += 1
            cases["many rows of a rarest"] += min(frequent) > 600
        if frequent and 0 < usable < FEW_HITS:
            cases["rarest beside hits"] += min(frequent) <= RAREST_LIMIT_BESIDE
            cases["too frequent beside hits"] += min(frequent) > RAREST_LIMIT_BESIDE
    return cases
