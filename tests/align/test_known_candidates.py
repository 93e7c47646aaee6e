"""Removal of exactly the candidates that an earlier pass found."""

import random

import numpy as np
from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.align.candidates.cpu import leave_out_known

DTYPES = (np.int32, np.uint8, np.int64, np.int64, np.int64, np.int64, np.int64)
NO_EXTENSIONS = Extensions(*(np.empty(0, np.int64) for _ in range(8)))


def random_jobs(generator: random.Random, count: int) -> list[tuple[int, ...]]:
    """Return jobs with few values in each column, so that many are equal and many differ in one column."""
    return sorted(tuple(generator.randrange(2) for _ in range(7)) for _ in range(count))


def as_arrays(jobs: list[tuple[int, ...]]) -> ExtensionJobs:
    """Return the jobs in the arrays of the steps."""
    columns = list(zip(*jobs, strict=True)) or [()] * 7
    return ExtensionJobs(*(np.array(column, dtype) for column, dtype in zip(columns, DTYPES, strict=True)))


def test_jobs_of_earlier_rounds_are_left_out_and_no_others() -> None:
    generator = random.Random(13)
    left_out = kept = 0
    for _ in range(200):
        jobs = random_jobs(generator, generator.randrange(40))
        rounds = [random_jobs(generator, generator.randrange(40)) for _ in range(generator.randrange(3))]
        known = {job for earlier in rounds for job in earlier}
        expected = [job for job in jobs if job not in known]
        found = leave_out_known(as_arrays(jobs), [(as_arrays(earlier), NO_EXTENSIONS) for earlier in rounds])
        columns = [column.tolist() for column in found]
        assert list(zip(*columns, strict=True)) == expected
        assert [column.dtype for column in found] == list(DTYPES)
        left_out, kept = left_out + len(jobs) - len(expected), kept + len(expected)
    assert min(left_out, kept) > 400
