"""Alignments with ends clipped at gaps, for the step of wider bands, made with NumPy alone: drawn, not computed."""

import random
from dataclasses import dataclass

import numpy as np
from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.align.parameters import BAND_MARGIN
from quire.align.wider.oracle import Aligned, wider_band
from quire.reads import ReadBatch

from tests.support.card_builders import make_batch, reverse_complement

ISLANDS = (0, 1500, 4000)
ROUNDS = 3


@dataclass
class GappedReads:
    """Reads, and rounds of alignments of them.

    Attributes:
        axis: int64[], codes 0..3.
        batch: the reads.
        oriented: codes of each read on its strand.
        best: int32[n, 2], as `best_scores` gives it.
        rounds: jobs and what came of them.
        expected: of each round, index of what is to be aligned again, first and last diagonal.
    """

    axis: np.ndarray
    batch: ReadBatch
    oriented: list[list[int]]
    best: np.ndarray
    rounds: list[tuple[ExtensionJobs, Extensions]]
    expected: list[list[tuple[int, int, int]]]


def gapped_reads(seed: int, count: int) -> GappedReads:
    """Draw `count` reads with an alignment each: gaps of up to 80 bases at ends, near the borders of islands too."""
    generator = random.Random(seed)
    codes = [generator.randrange(4) for _ in range(ISLANDS[-1])]
    codes[600:900] = [generator.randrange(4) for _ in range(30)] * 10  # a tandem repeat
    codes[2000:2120] = [0, 1] * 60
    reads, oriented, rows, best = [], [], [], []
    for _ in range(count):
        island = generator.randrange(2)
        low, high = ISLANDS[island], ISLANDS[island + 1]
        span = generator.choice([40, 100, 150, 250])
        begin = generator.choice([low + generator.randrange(90), high - span - generator.randrange(90),
                                  generator.randrange(low, high - span)])  # fmt: skip
        middle = codes[begin : begin + span]
        left, left_clip = _end(generator, codes, begin, -1)
        right, right_clip = _end(generator, codes, begin + span, 1)
        read = _with_differences(generator, left) + middle + _with_differences(generator, right)
        ambiguous = [4 if generator.random() < 0.002 else code for code in read]
        strand = generator.randrange(2)
        oriented.append([code & 3 if code < 4 else 0 for code in ambiguous])
        reads.append(reverse_complement(ambiguous) if strand else ambiguous)
        read_begin, read_end = left_clip, len(read) - right_clip
        own, shift = begin - len(left), generator.randrange(-10, 30)
        score = max(1, read_end - read_begin - 5 * generator.randrange(4))
        best.append(score + generator.choice([0, 0, 3, 20, 45]))
        rows.append((strand, own, own - BAND_MARGIN - max(0, -shift), own + BAND_MARGIN + max(0, shift), low, high,
                     score, read_begin, read_end, own + read_begin, own + read_end))  # fmt: skip
    rounds, expected = [], []
    for turn in range(ROUNDS):
        # Reads ascend within a round; the second round is of none.
        chosen = [number for number in range(count) if number % 2 == turn // 2] if turn != 1 else []
        columns = list(zip(*(rows[number] for number in chosen), strict=True)) or [()] * len(rows[0])
        strand, *rest = (np.array(column, np.int64) for column in columns)
        jobs = ExtensionJobs(np.array(chosen, np.int32), strand.astype(np.uint8), *rest[:5])
        score, read_begin, read_end = (column.astype(np.int32) for column in rest[5:8])
        found = Extensions(
            score, read_begin, read_end, rest[8], rest[9], np.zeros(len(chosen), np.int64),
            np.zeros(len(chosen), np.int32), np.zeros(0, np.uint32),
        )  # fmt: skip
        rounds.append((jobs, found))
        expected.append([])
        for i, number in enumerate(chosen):
            _, _, band_low, band_high, low, high, *aligned = rows[number]
            band = wider_band(oriented[number], codes, low, high, Aligned(*aligned, band_low, band_high), best[number])
            if band:
                expected[-1].append((i, *band))
    scores = np.array([best, [0] * count], np.int32).T.copy()
    return GappedReads(np.array(codes), make_batch(reads), oriented, scores, rounds, expected)


def _end(generator: random.Random, codes: list[int], place: int, side: int) -> tuple[list[int], int]:
    """What a read has before (side -1) or behind a place of the axis, and how much of it is clipped."""
    length, gap = generator.choice([0, 12, 30, 50, 90]), generator.choice([5, 18, 23, 40, 64, 65, 80])
    inserted = generator.random() < 0.4
    skipped = 0 if inserted else gap
    if side < 0:
        end = max(0, place - skipped)
        kept = codes[max(0, end - length) : end]
    else:
        kept = codes[place + skipped : place + skipped + length]
    if not kept:
        return [], 0
    extra = [generator.randrange(4) for _ in range(gap if inserted else 0)]
    whole = kept + extra if side < 0 else extra + kept
    return whole, len(whole)


def _with_differences(generator: random.Random, codes: list[int]) -> list[int]:
    rate = generator.choice([0, 0, 0.02, 0.15])
    return [code ^ generator.randrange(1, 4) if generator.random() < rate else code for code in codes]
