"""What aligns for the stage: threads of the CPU, or a card."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from quire.algorithms.pairwise import Memory, Pair, PairwiseAlignment, cpu
from quire.device.card import Card, OutOfDeviceMemory
from quire.errors import InputError
from quire.progress import Progress

log = logging.getLogger("quire.pairwise")
LARGE = 100_000_000  # cells from which all threads work on one pair; smaller ones are one thread's each


class PairAligner(Protocol):
    """Aligns pairs."""

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """Align pairs.

        Raises:
            InputError: there is no room for one.
        """

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """Align a pair such that the alignment ends where both sequences do, whatever the mode is."""


class CpuAligner:
    """Aligns in threads.

    Args:
        name: of the search, for messages.
        memory: what is kept of a matrix.
        threads: how many compute.
    """

    def __init__(self, name: str, memory: Memory, threads: int) -> None:
        self._name, self._memory, self._threads = name, memory, threads

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """See `PairAligner`."""
        for pair in pairs:
            self._require_room(pair)
        progress = _Progress(sum(len(pair.query) * len(pair.target) for pair in pairs))
        with ThreadPoolExecutor(self._threads, "quire-pairwise") as pool:
            small = {
                number: pool.submit(cpu.align, pair, 1, self._memory, cpu.MEMORY)
                for number, pair in enumerate(pairs)
                if len(pair.query) * len(pair.target) < LARGE
            }
            found = []
            for number, pair in enumerate(pairs):
                if number in small:
                    found.append(small[number].result())
                    progress(len(pair.query) * len(pair.target))
                else:
                    found.append(cpu.align(pair, self._threads, self._memory, cpu.MEMORY, progress=progress))
        return found

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """See `PairAligner`."""
        self._require_room(pair)
        return cpu.align(pair, self._threads, self._memory, cpu.MEMORY, at_corner=True)

    def _require_room(self, pair: Pair) -> None:
        rows, columns = len(pair.query), len(pair.target)
        if rows == 0 or columns == 0:
            return
        tiling = cpu.tiling_for(rows, columns, cpu.MEMORY)
        whole = self._memory == Memory.WHOLE
        needed = tiling.direction_bytes if whole else tiling.border_bytes
        if needed > cpu.MEMORY:
            remedy = "leave memory_mode at auto" if whole else "give regions, or anchors: mems"
            raise InputError(
                f"pairwise {self._name}: {rows:,} x {columns:,} bases need {needed / 1e9:,.1f} GB, and "
                f"{cpu.MEMORY / 1e9:.1f} GB may be used; {remedy}."
            )


class CardAligner:
    """Aligns on a card.

    Args:
        name: of the search, for messages.
        memory: what is kept of a matrix.
        threads: of the CPU, for what it does beside.
        card: where it is computed.
    """

    def __init__(self, name: str, memory: Memory, threads: int, card: Card) -> None:
        self._name, self._memory, self._threads, self._card = name, memory, threads, card

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """See `PairAligner`; what the card has no room or no kernel for is the CPU's."""
        from quire.algorithms.pairwise import gpu

        try:
            return gpu.align_many(self._card, pairs, self._memory)
        except OutOfDeviceMemory:
            log.warning("the card has no room for this: going on with the processor")
        except ValueError as error:
            log.warning("%s: going on with the processor", error)
        return CpuAligner(self._name, self._memory, self._threads).align_many(pairs)

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """See `PairAligner`; the ends between anchors are short, and the CPU's."""
        return CpuAligner(self._name, Memory.AUTO, self._threads).align_to_corner(pair)


class _Progress:
    """A line in the log every few seconds."""

    def __init__(self, cells: int) -> None:
        self.cells, self.done, self.progress = cells, 0, Progress(log)

    def __call__(self, cells: int) -> None:
        """Count cells that were computed."""
        self.done += cells
        self.progress.tell(
            lambda: f"{self.done / self.progress.elapsed / 1e9:.1f} billion cells a second",
            lambda: self.done / self.cells,
        )
