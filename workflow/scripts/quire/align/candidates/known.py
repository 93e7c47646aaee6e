"""Removal of candidates that an earlier pass has found and aligned."""

import numpy as np

from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.simd.compiled import compiled


def leave_out_known(jobs: ExtensionJobs, rounds: list[tuple[ExtensionJobs, Extensions]]) -> ExtensionJobs:
    """Return the jobs that no earlier round has; equal jobs have equal alignments. All are in the order of reads."""
    is_new = np.ones(len(jobs.read), np.bool_)
    for earlier, _ in rounds:
        _strike_known(jobs, earlier, is_new)
    chosen = np.flatnonzero(is_new)
    return ExtensionJobs(*(column.take(chosen) for column in jobs))


@compiled
def _strike_known(jobs, earlier, is_new):
    """Clear `is_new` for the jobs that are among the earlier jobs."""
    read, strand, diagonal, diagonal_low, diagonal_high, axis_low, axis_high = jobs
    of_read, on_strand, on_diagonal, low, high, begin, end = earlier
    first = 0
    for job in range(len(read)):
        while first < len(of_read) and of_read[first] < read[job]:
            first += 1
        other = first
        while other < len(of_read) and of_read[other] == read[job]:
            if (
                on_diagonal[other] == diagonal[job]
                and on_strand[other] == strand[job]
                and low[other] == diagonal_low[job]
                and high[other] == diagonal_high[job]
                and begin[other] == axis_low[job]
                and end[other] == axis_high[job]
            ):
                is_new[job] = False
            other += 1
