"""Extension against its oracle: bands, ends of islands, ambiguous bases, gaps, ties, and any grouping of jobs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.extension import BAND_STEP, ExtensionJobs
from quire.algorithms.extension.cpu import extend

from tests.oracles import extension as oracle
from tests.support.examples import examples
from tests.support.read_builders import make_reads, pack

OPERATIONS = "MID"


def mutate(rng: np.random.Generator, sequence: np.ndarray, edits: int) -> np.ndarray:
    codes = list(sequence)
    for _ in range(edits):
        place = int(rng.integers(0, len(codes)))
        kind = rng.integers(0, 4)
        if kind == 0:
            codes[place] = (codes[place] + 1) % 4
        elif kind == 1:
            codes[place:place] = list(rng.integers(0, 4, int(rng.integers(1, 6))))
        elif kind == 2 and len(codes) > 30:
            del codes[place : place + int(rng.integers(1, 6))]
        else:
            codes[place] = 4
    return np.array(codes, np.uint8)


def random_case(seed: int, jobs: int):
    rng = np.random.default_rng(seed)
    letters = int(rng.choice([1, 2, 4]))
    axis = rng.integers(0, letters, 700).astype(np.uint8)
    ambiguous = np.array([[100, 103], [350, 351]], np.int64)
    ambiguous.flags.writeable = False
    sequences, spans = [], []
    for _ in range(jobs):
        length, start = int(rng.integers(20, 140)), int(rng.integers(40, 500))
        low, high = (int(start - rng.integers(0, 30)), int(start + length + rng.integers(0, 30)))
        sequence = mutate(rng, axis[start : start + length], int(rng.integers(0, 6)))
        if rng.random() < 0.3:
            sequence = np.concatenate([sequence, rng.integers(0, 4, 25).astype(np.uint8)])
        strand = int(rng.integers(0, 2))
        forward = sequence if strand == 0 else np.where(sequence > 3, 4, 3 - sequence)[::-1].astype(np.uint8)
        sequences.append(forward)
        margin = int(rng.integers(1, 20))
        spans.append((strand, start, start - margin, start + margin, low, min(high, 700)))
    columns = np.array(spans, np.int64).T
    extension_jobs = ExtensionJobs(
        np.arange(jobs, dtype=np.int32), columns[0].astype(np.uint8), *[np.ascontiguousarray(c) for c in columns[1:]]
    )
    return axis, ambiguous, make_reads(sequences), extension_jobs


def result(extensions, job):
    begin, count = extensions.cigar_begin[job], extensions.cigar_length[job]
    cigar = [(OPERATIONS[int(c) & 15], int(c) >> 4) for c in extensions.cigar[begin : begin + count]]
    return (
        int(extensions.score[job]),
        int(extensions.read_begin[job]),
        int(extensions.read_end[job]),
        int(extensions.axis_begin[job]),
        int(extensions.axis_end[job]),
        cigar,
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6))
def test_equals_the_oracle(seed):
    axis, ambiguous, reads, jobs = random_case(seed, 12)
    got = extend(jobs, reads, pack(axis), ambiguous)
    visible = axis.copy()
    for low, high in ambiguous:
        visible[low:high] = 4
    for job in range(len(jobs.read)):
        begin, end = reads.offsets[job], reads.offsets[job + 1]
        width = jobs.diagonal_high[job] - jobs.diagonal_low[job] + 1
        width = -(-width // BAND_STEP) * BAND_STEP
        low, high = int(jobs.axis_low[job]), int(jobs.axis_high[job])
        diagonal_low = int(jobs.diagonal_low[job])
        codes = reads.codes[jobs.strand[job], begin:end]
        wanted = oracle.extend(
            codes, visible[low:high], low, int(jobs.diagonal[job]), diagonal_low, diagonal_low + int(width) - 1
        )
        if wanted is None:
            assert got.score[job] == 0
            assert got.cigar_length[job] == 0
        else:
            assert result(got, job) == wanted


@pytest.mark.parametrize("seed", range(5))
def test_grouping_of_jobs_does_not_matter(seed):
    axis, ambiguous, reads, jobs = random_case(seed, 100)
    whole = extend(jobs, reads, pack(axis), ambiguous)
    order = np.random.default_rng(seed).permutation(len(jobs.read))[:57]
    part = ExtensionJobs(*(column[order] for column in jobs))
    some = extend(part, reads, pack(axis), ambiguous)
    for i, job in enumerate(order):
        assert result(some, i) == result(whole, job)
