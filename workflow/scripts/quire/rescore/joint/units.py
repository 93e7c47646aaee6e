"""Joint genotyping shared out among processes: units of the genome, and gVCFs that each process opens for itself."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from quire.io.bed import Interval
from quire.rescore.intervals import cut_at_multiples
from quire.rescore.joint.inputs import Gvcf, open_gvcfs
from quire.rescore.processes import in_processes

UNIT_BASES = 50_000  # that one process genotypes at a time, and whose lines it holds

LinesOf = Callable[[Sequence[Gvcf], Sequence[Interval]], Iterable[str]]
"""Gives the lines of what starts in some intervals, in order, whatever the intervals beside them are."""


class GvcfFiles:
    """Some gVCFs, open in whichever process asks for them: processes that share one file would share its position.

    Attributes:
        samples: of all files, in their order.
    """

    def __init__(self, paths: Sequence[str | Path], contigs: Mapping[str, int]) -> None:
        """Open and check the files; see `open_gvcfs`."""
        self._paths, self._contigs = paths, contigs
        self._owner, self._opened = os.getpid(), open_gvcfs(paths, contigs, {})
        self.samples = [sample for gvcf in self._opened for sample in gvcf.samples]

    def opened(self) -> Sequence[Gvcf]:
        """The files, opened by this process."""
        if self._owner != os.getpid():
            self._owner, self._opened = os.getpid(), open_gvcfs(self._paths, self._contigs, {})
        return self._opened

    def close(self) -> None:
        """Close the files."""
        for gvcf in self._opened:
            gvcf.close()


def lines_of_units(files: GvcfFiles, intervals: Sequence[Interval], lines_of: LinesOf, threads: int) -> Iterator[str]:
    """The lines of some intervals in order, unit by unit, several at a time.

    Args:
        files: the gVCFs.
        intervals: in genome order.
        lines_of: of each unit; it may run in another process.
        threads: processes.
    """
    units = cut_at_multiples(intervals, UNIT_BASES)
    for lines in in_processes(lambda unit: list(lines_of(files.opened(), unit)), units, threads):
        yield from lines
