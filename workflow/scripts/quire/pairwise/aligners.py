"""Engines that align pairs for the stage: threads of the CPU, or a card."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from quire.algorithms.pairwise import Pair, PairwiseAlignment, cpu
from quire.device.card import Card, OutOfDeviceMemory
from quire.errors import InputError
from quire.progress import Progress

log = logging.getLogger("quire.pairwise")
LARGE = 100_000_000  # cells from which all threads align one pair; one thread aligns a smaller pair
LARGE_ON_CARD = 16_000_000
"""Cells from which a card aligns a pair: a short call takes it half a millisecond (H200), a core 6 million cells."""


class PairAligner:
    """An engine that aligns large pairs on a card, if there is one, and the others on threads of the CPU.

    Args:
        name: name of the search, for messages.
        threads: number of threads of the CPU.
        card: the card, or None.
    """

    def __init__(self, name: str, threads: int, card: Card | None = None) -> None:
        self._name, self._threads, self._card = name, threads, card

    def align_many(self, pairs: Sequence[Pair]) -> list[PairwiseAlignment]:
        """Align pairs; raise InputError if one needs too much memory."""
        found = [self._align_on_card(pair) for pair in pairs]
        rest = [(number, pair) for number, pair in enumerate(pairs) if found[number] is None]
        for _, pair in rest:
            self._require_room(pair)
        cells, done, log_progress = sum(cells_of(pair) for _, pair in rest), 0, Progress(log)

        def progress(more: int) -> None:
            nonlocal done
            done += more
            log_progress.tell(
                lambda: f"{done / log_progress.elapsed / 1e9:.1f} billion cells a second", lambda: done / cells
            )

        with ThreadPoolExecutor(self._threads, "quire-pairwise") as pool:
            small = {number: pool.submit(cpu.align, pair) for number, pair in rest if cells_of(pair) < LARGE}
            for number, pair in rest:
                if number in small:
                    found[number] = small[number].result()
                    progress(cells_of(pair))
                else:
                    found[number] = cpu.align(pair, self._threads, progress=progress)
        return [alignment for alignment in found if alignment is not None]

    def align_to_corner(self, pair: Pair) -> PairwiseAlignment:
        """Align a short pair on the CPU so that the alignment ends at the end of both sequences in every mode."""
        self._require_room(pair)
        return cpu.align(pair, self._threads, at_corner=True)

    def _align_on_card(self, pair: Pair) -> PairwiseAlignment | None:
        """Align a pair on the card, or return None if it is small or the card has no room or no kernel for it."""
        if self._card is None or cells_of(pair) < LARGE_ON_CARD:
            return None
        from quire.algorithms.pairwise import gpu

        try:
            return gpu.align(self._card, pair)
        except OutOfDeviceMemory:
            log.warning("the card has no memory left for this pair: aligning it on the CPU")
        except ValueError as error:
            log.warning("%s: aligning the pair on the CPU", error)
        return None

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


def cells_of(pair: Pair) -> int:
    """Return the number of cells of a pair's matrix."""
    return len(pair.query) * len(pair.target)
