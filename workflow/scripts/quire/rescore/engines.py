"""What the caller computes with: the algorithms of which each backend has its own version, chosen once for a job."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.scoring import Scoring
from quire.algorithms.semiglobal import Overhang, SemiglobalAlignments, SemiglobalBatch
from quire.device.backend import ASKED_FOR, Backend
from quire.device.card import Card
from quire.device.choice import use_backend
from quire.errors import InputError
from quire.rescore.card_service import HOST_THREADS, CardService

log = logging.getLogger("quire.device.backend")
# When a card pays, from `python -m bench.gpu_calling` (docs/benchmarks/results.md). No answer depends on these.
CELLS_PER_BYTE, CELLS_OF_DEPTH = 80.0, 0.012
"""PairHMM's cells for a byte of compressed BAM: so many, and so many more by the square of the bytes over a base, since
errors of many reads become haplotypes."""
CPU_CELLS_PER_SECOND = 14e9
"""Of PairHMM in calling, one process: 11 to 16 with AVX2, 14 to 28 with AVX-512."""
CARD_CELLS_PER_SECOND_WAITED = 100e9
"""Of PairHMM in calling, for each second that a process waits for a card that it may share: 73 to 139."""
CARD_CELLS_PER_SECOND = 200e9
"""What a card computes at most of batches as they come about, one at a time, the way there and back included."""
SECONDS_WORTH_A_CARD = 2.0
"""That it has to save. Opening a card takes half a second, more where its kernels must be compiled, and others may want
it."""
LITTLE_TO_SAVE = "a card would save little time, or none."
LEAST_CELLS = 100_000_000
"""Of a batch of PairHMM that goes to the card; on the way there and back the processor has done a smaller one."""
LEAST_ALIGNED_CELLS = 5_000_000_000
"""The same of GATK's aligner: all that calling aligns takes a processor less time than waiting for PairHMM's turn."""

CARD_BYTES = 8 << 30
"""Of a card that are enough for batches as they come about; a larger one is halved."""

CARD_BATCH_SCALE = 15
"""Of batches for a card: larger ones than LEAST_CELLS come about."""


class CallingEngine(NamedTuple):
    """One backend's functions; those of all backends give the same answers.

    Attributes:
        align: haplotypes to the reference.
        log10_likelihoods: of reads under haplotypes, float64[tasks].
        batch_scale: by how much larger its batches had better be than those that stay in a processor's caches.
    """

    align: Callable[[SemiglobalBatch, Scoring, Overhang], SemiglobalAlignments]
    log10_likelihoods: Callable[[PairHmmBatch], NDArray[np.float64]]
    batch_scale: int = 1


class DeviceSettings(NamedTuple):
    """The configuration's block `device`: "auto", "gpu" or "cpu", and how much of a card's memory."""

    backend: str
    memory: str


ON_THE_CPU = DeviceSettings("cpu", "auto")


def cpu_engine() -> CallingEngine:
    """The CPU's functions."""
    from quire.algorithms.pairhmm import cpu as pairhmm
    from quire.algorithms.semiglobal import cpu as semiglobal

    return CallingEngine(semiglobal.align, pairhmm.log10_likelihoods)


def card_engine(service: CardService, least_cells: int | None = None) -> CallingEngine:
    """The functions of a card that another process holds; small batches, and what it does not answer, are the CPU's.

    Args:
        service: that process.
        least_cells: of a batch that goes to the card; None for LEAST_CELLS and LEAST_ALIGNED_CELLS.
    """
    cpu = cpu_engine()
    least = LEAST_CELLS if least_cells is None else least_cells
    least_aligned = LEAST_ALIGNED_CELLS if least_cells is None else least_cells

    def align(batch: SemiglobalBatch, scoring: Scoring, overhang: Overhang) -> SemiglobalAlignments:
        cells = cells_of_tasks(batch.tasks, batch.reference_offsets, batch.alternate_offsets)
        answer = service.ask("align", batch, scoring, overhang) if cells >= least_aligned else None
        return cpu.align(batch, scoring, overhang) if answer is None else answer

    def log10_likelihoods(batch: PairHmmBatch) -> NDArray[np.float64]:
        cells = cells_of_tasks(batch.tasks, batch.read_offsets, batch.haplotype_offsets)
        # The kernels for cards know one gap continuation quality for a batch, not one for each base.
        on_card = cells >= least and batch.gap_continuation_qualities is None
        answer = service.ask("log10_likelihoods", batch) if on_card else None
        return cpu.log10_likelihoods(batch) if answer is None else answer

    return CallingEngine(align, log10_likelihoods, CARD_BATCH_SCALE)


def cells_of_depth(bam_bytes: int, bases: int) -> float:
    """About how many cells of PairHMM calling a sample takes, from the bytes of its compressed BAM over some bases.

    Those of samples that are called together add up: an error becomes a haplotype where reads of one sample share it.
    """
    return bam_bytes * (CELLS_PER_BYTE + CELLS_OF_DEPTH * (bam_bytes / max(bases, 1)) ** 2)


def seconds_of_pairhmm(cells: float, processes: int) -> tuple[float, float]:
    """About how long PairHMM of so many cells takes so many processes, and how long they wait for a card that does it.

    The card works while other processes do what is not PairHMM, which takes them as long as PairHMM at least (at
    3,000x 33 core-seconds beside 20): so long it may take without anybody waiting for it.
    """
    own = cells / (CPU_CELLS_PER_SECOND * max(processes, 1))
    waited = cells / (CARD_CELLS_PER_SECOND_WAITED * max(processes, 1))
    return own, max(waited, cells / CARD_CELLS_PER_SECOND - own)


def cells_of_tasks(tasks: NDArray[np.int32], *offsets: NDArray[np.int64]) -> int:
    """Cells of the matrices of all tasks."""
    rows, columns = (np.diff(own)[column] for own, column in zip(offsets, tasks.T, strict=True))
    return int(rows @ columns)


def _align_on_card(card: Card, batch: SemiglobalBatch, scoring: Scoring, overhang: Overhang) -> SemiglobalAlignments:
    from quire.algorithms.semiglobal import gpu

    return gpu.align_batch(card, batch, scoring, overhang, HOST_THREADS)


def _likelihoods_on_card(card: Card, batch: PairHmmBatch) -> NDArray[np.float64]:
    from quire.algorithms.pairhmm import gpu

    return gpu.log10_likelihoods(card, batch, HOST_THREADS)


CARD_WORKS: dict[str, Callable[..., Any]] = {"align": _align_on_card, "log10_likelihoods": _likelihoods_on_card}
"""What a card's process can be asked for."""


@contextmanager
def calling_engine(
    settings: DeviceSettings, expected_cells: Callable[[], float], processes: int
) -> Iterator[tuple[Backend, CallingEngine]]:
    """Choose what a calling job computes with, and hold its card while the block runs.

    Yields the choice, which is also written to the log, and the functions, which processes that are forked in the block
    may use. "auto" takes a card where it pays and none is waited for; "gpu" takes one in any case.

    Args:
        settings: the user's.
        expected_cells: tells how many cells PairHMM is to compute, about (`cells_of_depth`).
        processes: that are to call, at once.

    Raises:
        InputError: "gpu" where no card can be used, or a wrong value.
        QuireError: "gpu", and the card's process ended.
    """
    if settings.backend not in ("auto", "gpu", "cpu"):
        raise InputError(f"device.backend is {settings.backend!r}; give auto, gpu or cpu.")
    reason, pays = ASKED_FOR, settings.backend == "gpu"
    if settings.backend == "auto":
        own, cards = seconds_of_pairhmm(expected_cells(), processes)
        log.info("PairHMM takes %d processes about %.1f s here, and with a card about %.1f s", processes, own, cards)
        pays = own - cards >= SECONDS_WORTH_A_CARD
        # It goes into the header of the VCF, which is to name no number of threads.
        reason = "there is much to compute." if pays else LITTLE_TO_SAVE
    if not pays:
        log.info("backend cpu: %s", reason)
        yield Backend("cpu", reason), cpu_engine()
        return
    demanded = settings.backend == "gpu"
    use = partial(use_backend, *settings, wait=demanded, wanted=CARD_BYTES)
    service = CardService(use, CARD_WORKS, demanded)
    found = service.backend
    try:
        if found.card is None:
            yield found, cpu_engine()
        else:
            yield replace(found, reason=reason), card_engine(service)
    finally:
        service.close()
