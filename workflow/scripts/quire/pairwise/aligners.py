"""Engines that align pairs for the stage: threads of the CPU, or a card."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from quire.algorithms.pairwise import Pair, PairwiseAlignment, cpu
from quire.device.card import Card, OutOfDeviceMemory
from quire.errors import InputError
from quire.progress import Progress

log = logging.getLogger("quire.pairwise")
LARGE = 100_000_000  # cells from which all threads align one pair; one thread aligns a smaller pair
LARGE_ON_CARD = 16_000_000
"""Cells from which a card aligns a pair: a short call takes it half a millisecond (H200), a core 6 million cells."""


class PairAligner(Protocol):
    """An engine that aligns pairs."""

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """Align pairs.

        Raises:
            InputError: a pair needs too much memory.
        """

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """Align a pair so that the alignment ends at the end of both sequences in every mode."""


class CpuAligner:
    """An engine on threads of the CPU.

    Args:
        name: name of the search, for messages.
        threads: number of threads.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name, self._threads = name, threads

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """See `PairAligner`."""
        for pair in pairs:
            self._require_room(pair)
        progress = _Progress(sum(len(pair.query) * len(pair.target) for pair in pairs))
        with ThreadPoolExecutor(self._threads, "quire-pairwise") as pool:
            small = {
                number: pool.submit(cpu.align, pair)
                for number, pair in enumerate(pairs)
                if len(pair.query) * len(pair.target) < LARGE
            }
            found = []
            for number, pair in enumerate(pairs):
                if number in small:
                    found.append(small[number].result())
                    progress(len(pair.query) * len(pair.target))
                else:
                    found.append(cpu.align(pair, self._threads, progress=progress))
        return found

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """See `PairAligner`."""
        self._require_room(pair)
        return cpu.align(pair, self._threads, at_corner=True)

    def _require_room(self, pair: Pair) -> None:
        rows, columns = len(pair.query), len(pair.target)
        if rows == 0 or columns == 0:
            return
        needed = cpu.tiling_for(rows, columns).border_bytes
        if needed > cpu.MEMORY:
            raise InputError(
                f"pairwise {self._name}: {rows:,} x {columns:,} bases need {needed / 1e9:,.1f} GB, and "
                f"{cpu.MEMORY / 1e9:.1f} GB may be used; give regions, or anchors: mems."
            )


class CardAligner:
    """An engine that aligns large pairs on a card, and the others on threads of the CPU.

    Args:
        name: name of the search, for messages.
        threads: number of threads of the CPU.
        card: the card.
    """

    def __init__(self, name: str, threads: int, card: Card) -> None:
        self._cpu, self._card = CpuAligner(name, threads), card

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """See `PairAligner`; the CPU also aligns pairs for which the card has no room or no kernel."""
        from quire.algorithms.pairwise import gpu

        found: dict[int, PairwiseAlignment] = {}
        for number, pair in enumerate(pairs):
            if len(pair.query) * len(pair.target) >= LARGE_ON_CARD:
                try:
                    found[number] = gpu.align(self._card, pair)
                except OutOfDeviceMemory:
                    log.warning("the card has no memory left for this pair: aligning it on the CPU")
                except ValueError as error:
                    log.warning("%s: aligning the pair on the CPU", error)
        rest = [number for number in range(len(pairs)) if number not in found]
        found.update(zip(rest, self._cpu.align_many([pairs[number] for number in rest]), strict=True))
        return [found[number] for number in range(len(pairs))]

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """See `PairAligner`; the ends between anchors are short, and the CPU aligns them."""
        return self._cpu.align_to_corner(pair)


class _Progress:
    """Log of the computed cells, every few seconds."""

    def __init__(self, cells: int) -> None:
        self.cells, self.done, self.progress = cells, 0, Progress(log)

    def __call__(self, cells: int) -> None:
        """Add computed cells."""
        self.done += cells
        self.progress.tell(
            lambda: f"{self.done / self.progress.elapsed / 1e9:.1f} billion cells a second",
            lambda: self.done / self.cells,
        )
