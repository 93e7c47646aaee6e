"""What the caller computes with: the algorithms of which each backend has its own version, chosen once for a job."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.scoring import Scoring
from quire.algorithms.semiglobal import Overhang, SemiglobalAlignments, SemiglobalBatch


class CallingEngine(NamedTuple):
    """One backend's functions; those of all backends give the same answers.

    Attributes:
        align: haplotypes to the reference.
        log10_likelihoods: of reads under haplotypes, float64[tasks].
    """

    align: Callable[[SemiglobalBatch, Scoring, Overhang], SemiglobalAlignments]
    log10_likelihoods: Callable[[PairHmmBatch], NDArray[np.float64]]


def cpu_engine() -> CallingEngine:
    """The CPU's functions."""
    from quire.algorithms.pairhmm import cpu as pairhmm
    from quire.algorithms.semiglobal import cpu as semiglobal

    return CallingEngine(semiglobal.align, pairhmm.log10_likelihoods)
