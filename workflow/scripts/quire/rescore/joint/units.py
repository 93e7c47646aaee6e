"""Joint genotyping in several processes: units of the genome, and gVCFs that each process opens itself."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from quire.io.bed import Interval
from quire.rescore.intervals import cut_at_multiples
from quire.rescore.joint.inputs import Gvcf, open_gvcfs
from quire.rescore.processes import in_processes

UNIT_BASES = 50_000  # bases that one process genotypes at a time, holding their lines

LinesOf = Callable[[Sequence[Gvcf], Sequence[Interval]], Iterable[str]]
"""Returns the lines of the records that start in some intervals, in order; they must not depend on other intervals."""


class GvcfFiles:
    """gVCFs that each process opens itself, since forked processes would share the position of an open file.

    Attributes:
        samples: of all files, in their order.
    """

    def __init__(self, paths: Sequence[str | Path], contigs: Mapping[str, int]) -> None:
        """Open and check the files; see `open_gvcfs`."""
        self._paths, self._contigs = paths, contigs
        self._owner, self._opened = os.getpid(), open_gvcfs(paths, contigs, {})
        self.samples = [sample for gvcf in self._opened for sample in gvcf.samples]

    def opened(self) -> Sequence[Gvcf]:
        """Return the files, opened by this process."""
        if self._owner != os.getpid():
            self._owner, self._opened = os.getpid(), open_gvcfs(self._paths, self._contigs, {})
        return self._opened

    def close(self) -> None:
        """Close the files."""
        for gvcf in self._opened:
            gvcf.close()


def lines_of_units(files: GvcfFiles, intervals: Sequence[Interval], lines_of: LinesOf, threads: int) -> Iterator[str]:
    """Yield the lines of some intervals in order, computing several units at a time.

    Args:
        files: the gVCFs.
        intervals: in genome order.
        lines_of: called for each unit, possibly in another process.
        threads: number of processes.
    """
    units = cut_at_multiples(intervals, UNIT_BASES)
    for lines in in_processes(lambda unit: list(lines_of(files.opened(), unit)), units, threads):
        yield from lines
