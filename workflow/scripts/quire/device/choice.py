"""The choice of the backend, made once when a job starts, with one sentence that gives the reason.

`auto` takes a card if one can be used. The obstacle is determined and reported, not guessed from a failed import.
Stages that run on the CPU only import nothing from here, and CuPy is imported only to search for a card.
"""

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from quire.device.backend import ASKED_FOR, Backend
from quire.device.card import Card
from quire.device.driver_card import ask_driver, has_driver
from quire.device.lease import AllHeld, VisibleCard, lease
from quire.errors import InputError

log = logging.getLogger("quire.device.backend")

# The oldest compute capability that kernels are compiled for, by the major version of CUDA.
OLDEST_CAPABILITY = {12: (7, 0), 13: (7, 5)}
# The oldest driver for each major version of CUDA, for remedies in messages.
OLDEST_DRIVER = {12: 525, 13: 580}
INSTALL = "install requirements-gpu.txt"
INSTALL_CUDA12 = "install requirements-gpu-cuda12.txt instead of requirements-gpu.txt"
NO_DRIVER = "there is no NVIDIA driver.", f"install the driver, version {OLDEST_DRIVER[13]} or newer"
NO_DEVICE = "cudaErrorNoDevice"
ALL_HELD = "other jobs hold all cards."
BYTES_OF_CUDA = 1 << 30  # that CUDA takes of a card for each process; half of that on an H200
_MEMORY = re.compile(r"([1-9][0-9]*(?:\.[0-9]+)?)(MB|GB)")
_BYTES = {"MB": 10**6, "GB": 10**9}


class Unusable(Exception):
    """Reason why no card can be used: one sentence and its remedy."""

    def __init__(self, sentence: str, remedy: str) -> None:
        super().__init__(sentence)
        self.sentence, self.remedy = sentence, remedy


def _load_probe() -> Any:
    """Return `quire.device.probe`; tests have objects with the same functions.

    Raises:
        Unusable: the driver's library is missing. CuPy would take 0.15 s to find that out.
    """
    if not has_driver():
        raise Unusable(*NO_DRIVER)
    from quire.device import probe

    return probe


def usable_cards(load_probe: Callable[[], Any] = _load_probe) -> list[VisibleCard]:
    """Return the visible cards that can run kernels; raise Unusable, with the first obstacle, if there are none."""
    try:
        probe = load_probe()
    except Unusable:
        raise
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("cupy", "cupy_backends"):
            obstacle = "CuPy is not installed." if ask_driver()[1] else "the machine shows no NVIDIA card."
            raise Unusable(obstacle, INSTALL) from None
        raise Unusable(f"CuPy lacks a package ({_line(error)}).", f"{INSTALL} again") from None
    except Exception as error:
        raise Unusable(f"CuPy cannot be loaded ({_line(error)}).", f"{INSTALL} again") from None
    try:
        runtime, driver = probe.runtime_version() // 1000, probe.driver_version()
    except RuntimeError as error:
        raise Unusable(f"the NVIDIA driver reports an error ({_line(error)}).", "try nvidia-smi, and restart") from None
    if driver == 0:
        raise Unusable(*NO_DRIVER)
    if driver // 1000 < runtime:
        raise Unusable(
            f"the NVIDIA driver is too old: it supports CUDA {driver // 1000}.{driver % 1000 // 10}; the installed "
            f"CuPy needs {runtime}.",
            f"update the driver to version {OLDEST_DRIVER.get(runtime, OLDEST_DRIVER[13])} or newer"
            + (f" or {INSTALL_CUDA12}" if driver // 1000 == 12 else ""),
        )
    cards = _visible(probe)
    try:
        compiler = probe.compiler_version()
        newest = max(probe.architectures())
    except (RuntimeError, ImportError, OSError) as error:  # depends on how the library is missing
        sentence = f"NVRTC, the kernels' compiler, cannot be loaded ({_line(error)})."
        raise Unusable(sentence, f"{INSTALL} again") from None
    oldest = OLDEST_CAPABILITY.get(compiler[0], OLDEST_CAPABILITY[13])
    fitting = [card for card in cards if oldest <= card.capability <= divmod(newest, 10)]
    if fitting:
        return fitting
    card = cards[0]
    described = f"{card.name} has compute capability {card.capability[0]}.{card.capability[1]}"
    if card.capability < oldest:
        raise Unusable(
            f"the card is too old: {described}, and CUDA {compiler[0]} needs {oldest[0]}.{oldest[1]}.",
            INSTALL_CUDA12 if card.capability >= OLDEST_CAPABILITY[12] else "use another card",
        )
    raise Unusable(
        f"the card is too new: {described}, which NVRTC {compiler[0]}.{compiler[1]} does not know.",
        "install a newer nvidia-cuda-nvrtc",
    )


def _visible(probe: Any) -> list[VisibleCard]:
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = f"CUDA_VISIBLE_DEVICES is {chosen!r} and leaves no card visible."
    unhide = "unset CUDA_VISIBLE_DEVICES, or ask the scheduler for a card"
    if chosen is not None and chosen.strip() in ("", "-1"):
        raise Unusable(hidden, unhide)
    if chosen is None and "SLURM_JOB_ID" in os.environ:
        # Without device constraints in Slurm, a visible card may belong to another job.
        raise Unusable("Slurm gave this job no card.", "ask for one (--set-resources map_unit:gpu=1)")
    try:
        cards: list[VisibleCard] = probe.visible_cards()
    except RuntimeError as error:
        if NO_DEVICE not in str(error):
            raise Unusable(
                f"the NVIDIA driver reports an error ({_line(error)}).", "try nvidia-smi, and restart"
            ) from None
        cards = []
    if not cards and chosen is not None:
        raise Unusable(hidden, unhide)
    if not cards:
        raise Unusable("the NVIDIA driver shows no card.", "see whether nvidia-smi lists one")
    return cards


def resolve(
    requested: str, memory: str = "auto", load_probe: Callable[[], Any] = _load_probe
) -> tuple[Backend, list[VisibleCard]]:
    """Return the backend of a job, and the cards that it may take one of (none on the CPU); see `use_backend`."""
    budget = parse_memory(memory)
    if requested not in ("auto", "gpu", "cpu"):
        raise InputError(f"device.backend is {requested!r}; give auto, gpu or cpu.")
    if requested == "cpu":
        return Backend("cpu", ASKED_FOR), []
    try:
        cards = usable_cards(load_probe)
    except Unusable as problem:
        return _without_card(requested, problem), []
    reason = ASKED_FOR if requested == "gpu" else "a card was found."
    return Backend("gpu", reason, cards[0].name, budget), cards


def _without_card(requested: str, problem: Unusable) -> Backend:
    if requested == "gpu":
        raise InputError(
            f"device.backend is gpu, but {problem.sentence} Remedy: {problem.remedy}, or set device.backend to auto."
        )
    return Backend("cpu", problem.sentence)


@contextmanager
def use_backend(
    requested: str,
    memory: str = "auto",
    load_probe: Callable[[], Any] = _load_probe,
    leases: Path | None = None,
    wait: bool = True,
    wanted: int | None = None,
) -> Iterator[tuple[Backend, Callable[[], Card] | None]]:
    """Choose the backend of a job and hold its card while the block runs.

    If other jobs of this user hold all cards, it waits for one (unless not `wait`), or takes the CPU. `requested` and
    `memory` are the configuration's block `device`. With `wanted` bytes of a card the job is as fast as with all of it
    (None: a whole card): if two such jobs fit, the card is shared and the job plans with half of it. If other programs
    leave too little memory for that, the job takes the whole card as soon as no other job uses it. InputError is raised
    for an invalid value, and for "gpu" without a usable card.

    Yields:
        The choice, and a function that opens the card on the thread that calls it (CuPy's state belongs to a thread);
        None instead of the function on the CPU.
    """
    backend, cards = resolve(requested, memory, load_probe)
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        log.info("CUDA_VISIBLE_DEVICES is %s", visible)
    with ExitStack() as stack:
        without_room: set[str] = set()  # cards whose half is too small, since other programs use memory there
        while cards:
            shared = [
                wanted is not None and wanted <= half_of(card) and card.identifier not in without_room for card in cards
            ]
            try:
                held = stack.enter_context(lease([card.identifier for card in cards], leases, wait, shared))
            except AllHeld:
                backend, cards = _without_card(requested, Unusable(ALL_HELD, "wait for them")), []
                break
            card, most = cards[held.card], backend.memory
            try:
                free = load_probe().free_memory(card.ordinal)
            except RuntimeError as error:  # the first real use of a card; another program may hold it exclusively
                stack.close()  # releases the lease
                cards.remove(card)
                problem = Unusable(
                    f"{card.name} cannot be opened ({_line(error)}).", "see in nvidia-smi which program uses it"
                )
                if cards:
                    log.info("%s Trying another card.", problem.sentence)
                else:
                    backend = _without_card(requested, problem)
                continue
            if wanted is not None and shared[held.card]:
                share = _share_of(card, free, min(wanted, most or wanted), held.alone)
                if share is None:
                    # The whole card may still suffice, once no other job uses it.
                    log.info("%.1f GB are free on card %s: too little to share it", free / 1e9, card.identifier)
                    without_room.add(card.identifier)
                    stack.close()  # releases the lease: a job that waits for a whole card must not hold a half
                    continue
                most = min(share, most or share)
            log.info(
                "backend gpu on %s (number %d, compute capability %d.%d): %s %.1f of %.1f GB are free, %s may be used",
                card.name, card.ordinal, *card.capability, backend.reason, free / 1e9, card.memory / 1e9,
                "all" if most is None else f"{min(most, free) / 1e9:.1f} GB",
            )  # fmt: skip
            yield replace(backend, card=card.name), partial(_open, card.ordinal, most)
            return
        log.info("backend cpu: %s", backend.reason)
        yield backend, None


def half_of(card: VisibleCard) -> int:
    """Return the bytes available to a job that shares a card; CUDA itself takes some for each process."""
    return card.memory // 2 - BYTES_OF_CUDA


def _share_of(card: VisibleCard, free: int, wanted: int, alone: bool) -> int | None:
    """Return the bytes available to a job on a shared card; None if too few are free."""
    # The first of two jobs requires enough for both, since the other may come before this one has allocated its memory.
    if free < (2 * wanted if alone else wanted):
        return None
    return min(half_of(card), free // 2 if alone else free)


def _open(ordinal: int, budget: int | None) -> Card:
    from quire.device.cupy_card import CupyCard

    return CupyCard(ordinal, budget)


def parse_memory(text: str) -> int | None:
    """Return the bytes of a size such as "800MB" or "4GB" (decimal), or None for "auto"; else raise InputError."""
    if text == "auto":
        return None
    found = _MEMORY.fullmatch(str(text))
    if not found:
        raise InputError(f"device.memory is {text!r}; give auto, or a number with its unit, such as 4GB or 800MB.")
    return int(float(found[1]) * _BYTES[found[2]])


def _line(error: Exception) -> str:
    """Return the first line of an exception's message without a final full stop; CuPy adds a page of advice to some."""
    error = error.__cause__ if isinstance(error.__cause__, Exception) else error
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".: ")
