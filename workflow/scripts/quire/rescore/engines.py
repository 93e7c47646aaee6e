"""The computing engine of a job: PairHMM and aligner of one backend, chosen once for the job."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.scoring import Scoring
from quire.algorithms.semiglobal import SemiglobalAlignments, SemiglobalBatch
from quire.device.backend import ASKED_FOR, Backend
from quire.device.card import Card
from quire.device.choice import use_backend
from quire.errors import InputError
from quire.rescore.card_service import HOST_THREADS, CardService

log = logging.getLogger("quire.device.backend")
# These decide when a card is used; docs/decisions/0027-card-process-of-calling.md has the measurements. No answer
# depends on them.
CELLS_PER_BYTE, CELLS_OF_DEPTH = 80.0, 0.012
"""Cells of PairHMM for each byte of compressed BAM: a constant, and a factor of the squared bytes per base, since
errors of many reads become haplotypes."""
CPU_CELLS_PER_SECOND = 14e9
"""Speed of PairHMM in one calling process: 11 to 16 G cells/s with AVX2, 14 to 28 with AVX-512."""
CARD_CELLS_PER_SECOND_WAITED = 100e9
"""Cells of PairHMM for each second that a process waits for a card, possibly shared: 73 to 139 G cells/s."""
CARD_CELLS_PER_SECOND = 200e9
"""Highest speed of a card for the batches that calling makes, one at a time, transfers included."""
SECONDS_WORTH_A_CARD = 2.0
"""Seconds that a card must save. Opening one takes half a second, or more if its kernels must be compiled, and other
jobs may want it."""
LITTLE_TO_SAVE = "a card would save little time, or none."
LEAST_CELLS = 100_000_000
"""Smallest batch of PairHMM that goes to the card; the CPU computes a smaller one in less time than the transfers."""
LEAST_ALIGNED_CELLS = 5_000_000_000
"""The same for GATK's aligner: on the CPU all alignments of calling take less time than waiting for the card."""

CARD_BYTES = 8 << 30
"""Memory of a card that is enough for the batches that calling makes; a larger batch is halved."""

CARD_BATCH_SCALE = 15
"""Factor by which batches are larger with a card, so that most exceed LEAST_CELLS."""


class CallingEngine(NamedTuple):
    """The functions of one backend; all backends give the same answers.

    `log10_likelihoods` returns float64[tasks]; `batch_scale` is the best size of a batch, as a multiple of one that
    stays in a CPU's caches.
    """

    align: Callable[[SemiglobalBatch, Scoring], SemiglobalAlignments]
    log10_likelihoods: Callable[[PairHmmBatch], NDArray[np.float64]]
    batch_scale: int = 1


class DeviceSettings(NamedTuple):
    """The block `device` of the configuration: "auto", "gpu" or "cpu", and how much of a card's memory to use."""

    backend: str
    memory: str


ON_THE_CPU = DeviceSettings("cpu", "auto")


def cpu_engine() -> CallingEngine:
    """Return the functions of the CPU."""
    from quire.algorithms.pairhmm import cpu as pairhmm
    from quire.algorithms.semiglobal import cpu as semiglobal

    return CallingEngine(semiglobal.align, pairhmm.log10_likelihoods)


def card_engine(service: CardService) -> CallingEngine:
    """Return functions that use the card of a process, and the CPU for small batches and missing answers."""
    cpu = cpu_engine()

    def align(batch: SemiglobalBatch, scoring: Scoring) -> SemiglobalAlignments:
        cells = cells_of_tasks(batch.tasks, batch.reference_offsets, batch.alternate_offsets)
        answer = service.ask("align", batch, scoring) if cells >= LEAST_ALIGNED_CELLS else None
        return cpu.align(batch, scoring) if answer is None else answer

    def log10_likelihoods(batch: PairHmmBatch) -> NDArray[np.float64]:
        cells = cells_of_tasks(batch.tasks, batch.read_offsets, batch.haplotype_offsets)
        # The GPU kernels take one gap continuation quality for a batch, not one for each base.
        on_card = cells >= LEAST_CELLS and batch.gap_continuation_qualities is None
        answer = service.ask("log10_likelihoods", batch) if on_card else None
        return cpu.log10_likelihoods(batch) if answer is None else answer

    return CallingEngine(align, log10_likelihoods, CARD_BATCH_SCALE)


def cells_of_depth(bam_bytes: int, bases: int) -> float:
    """Estimate the PairHMM cells to call a sample from the bytes of its compressed BAM over some bases.

    The estimates of samples that are called jointly add up: an error becomes a haplotype if reads of one sample share
    it.
    """
    return bam_bytes * (CELLS_PER_BYTE + CELLS_OF_DEPTH * (bam_bytes / max(bases, 1)) ** 2)


def seconds_of_pairhmm(cells: float, processes: int) -> tuple[float, float]:
    """Estimate the seconds that PairHMM takes some processes, and the seconds that they would wait for a card.

    The card works while other processes do other work. That takes them at least as long as PairHMM (33 core-seconds of
    other work and 20 of PairHMM at 3,000x), so the card may take that long before any process waits for it.
    """
    own = cells / (CPU_CELLS_PER_SECOND * max(processes, 1))
    waited = cells / (CARD_CELLS_PER_SECOND_WAITED * max(processes, 1))
    return own, max(waited, cells / CARD_CELLS_PER_SECOND - own)


def cells_of_tasks(tasks: NDArray[np.int32], *offsets: NDArray[np.int64]) -> int:
    """Count the cells of the matrices of all tasks."""
    rows, columns = (np.diff(own)[column] for own, column in zip(offsets, tasks.T, strict=True))
    return int(rows @ columns)


def _align_on_card(card: Card, batch: SemiglobalBatch, scoring: Scoring) -> SemiglobalAlignments:
    from quire.algorithms.semiglobal import gpu

    return gpu.align(card, batch, scoring, HOST_THREADS)


def _likelihoods_on_card(card: Card, batch: PairHmmBatch) -> NDArray[np.float64]:
    from quire.algorithms.pairhmm import gpu

    return gpu.log10_likelihoods(card, batch, HOST_THREADS)


CARD_WORKS: dict[str, Callable[..., Any]] = {"align": _align_on_card, "log10_likelihoods": _likelihoods_on_card}
"""The functions that a card's process offers."""


@contextmanager
def calling_engine(
    settings: DeviceSettings, expected_cells: Callable[[], float], processes: int
) -> Iterator[tuple[Backend, CallingEngine]]:
    """Choose the backend of a calling job, and hold its card while the block runs.

    Yield the choice, which is also logged, and its functions, which processes forked in the block may use.
    "auto" takes a card if it saves enough time and is free; "gpu" always takes one and waits for it.

    `expected_cells` returns the estimated number of PairHMM's cells (`cells_of_depth`), `processes` call at a time.
    """
    if settings.backend not in ("auto", "gpu", "cpu"):
        raise InputError(f"device.backend is {settings.backend!r}; give auto, gpu or cpu.")
    reason, pays = ASKED_FOR, settings.backend == "gpu"
    if settings.backend == "auto":
        own, cards = seconds_of_pairhmm(expected_cells(), processes)
        log.info("PairHMM takes %d processes about %.1f s here, and with a card about %.1f s", processes, own, cards)
        pays = own - cards >= SECONDS_WORTH_A_CARD
        # The reason goes into the header of the VCF, which must not depend on the number of threads.
        reason = "there is much to compute." if pays else LITTLE_TO_SAVE
    if not pays:
        log.info("backend cpu: %s", reason)
        yield Backend("cpu", reason), cpu_engine()
        return
    demanded = settings.backend == "gpu"
    use = partial(use_backend, *settings, wait=demanded, wanted=CARD_BYTES)
    service = CardService(use, CARD_WORKS, demanded)
    found = service.backend
    with closing(service):
        if found.card is None:
            yield found, cpu_engine()
        else:
            yield replace(found, reason=reason), card_engine(service)
