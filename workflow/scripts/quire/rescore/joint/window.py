"""The records of all samples of a cohort around some positions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION
from quire.ragged import offsets_from_lengths
from quire.reference import Reference
from quire.rescore.joint.columns import RecordColumns, RecordPart, empty_part, join
from quire.rescore.joint.store import WINDOW, Store, first_windows, overlapping
from quire.rescore.joint.window_cpu import pick_records

MOST_SAMPLES = 1000  # whose records of a whole window a process holds: about 0.7 GB


class Cohort:
    """Stores of gVCFs, in the order of the columns of the output.

    Attributes:
        samples: names, in the order of the columns of the VCF.
        file_of_sample, number_in_file: int32[samples], the file of each sample, and its number in it.
    """

    def __init__(self, paths: Sequence[str | Path], reference: Reference) -> None:
        """Open the stores; raise InputError if a sample is in two of them."""
        self.stores = [Store.open(path, reference) for path in paths]
        self._first_window = first_windows(reference)
        self._reference = reference
        require_apart([(store.gvcf, store.samples) for store in self.stores], {})
        self.samples = [sample for store in self.stores for sample in store.samples]
        sizes = [len(store.samples) for store in self.stores]
        self.file_of_sample = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self.number_in_file = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
        self._kept_key = -1, -1, -1
        self._kept: list[list[tuple[int, RecordPart]]] = []
        self._varying = {contig for store in self.stores for contig in store.ploidies.borders}
        self._usual = np.array([store.ploidies.usual for store in self.stores], np.int64)[self.file_of_sample]

    def window(self, contig: str, start: int, end: int) -> "CohortWindow":
        """Return the records that overlap a span of a contig (0-based, half-open), and all that such a span needs.

        These are also the records up to the start of a chain of variants that reaches into the span: each of the
        variants may decide whether '*' is written at the next.
        """
        number = self._reference.contig_number[contig]
        before = int(self._first_window[number])
        reach = start
        while True:
            # All records of a window are there if the span has its length (`overlapping`).
            low = reach if end - reach < WINDOW else reach // WINDOW * WINDOW
            parts = [overlapping(windows, reach, end) for windows in self._windows(before, reach, end)]
            counts = [sum(len(part.columns.start) for part in own) for own in parts]
            joined = join([part for own in parts for part in own] or [empty_part()])
            window = CohortWindow(
                self, contig, reach, joined.columns, joined.spellings, joined.phases, offsets_from_lengths(counts)
            )
            reach = window.reach(reach)
            if reach >= low:
                window.start = reach
                return window

    def _windows(self, before: int, start: int, end: int) -> list[list[tuple[int, RecordPart]]]:
        """Return the windows of each store around a span. Short targets share a window, which is kept for them."""
        key = before, start // WINDOW, (end - 1) // WINDOW
        if key == self._kept_key:
            return self._kept
        found = [store.windows(*key) for store in self.stores]
        if end - start < WINDOW and len(self.samples) <= MOST_SAMPLES:
            self._kept_key, self._kept = key, found
        return found

    def ploidies(self, contig: str, position: int) -> NDArray[np.int64]:
        """Return the ploidy of each sample at a position where its file has no record (int64[samples])."""
        if contig not in self._varying:
            return self._usual
        return np.array([store.ploidies.at(contig, position) for store in self.stores], np.int64)[self.file_of_sample]

    def ploidy_borders(self, contig: str) -> list[int]:
        """Return the positions of a contig where a ploidy changes."""
        return sorted({at for store in self.stores for at in store.ploidies.borders.get(contig, ())})


def require_apart(files: Iterable[tuple[str, Sequence[str]]], taken: Mapping[str, str]) -> None:
    """Raise InputError for a sample in two files (path, samples), or among `taken`, names with the source of each."""
    found = dict(taken)
    for path, names in files:
        for name in names:
            if name in found:
                raise InputError(f"{path}: its sample {name!r} is in {found[name]} too; leave one of them out.")
            found[name] = path


@dataclass
class CohortWindow:
    """Records of a cohort, those of one file after another.

    Attributes:
        start: the first position whose sites can be genotyped.
        columns, spellings, phases: the records, see `joint.columns.RecordPart`.
        first: int64[files + 1], the first record of each file.
    """

    cohort: Cohort
    contig: str
    start: int
    columns: RecordColumns
    spellings: Sequence[str]
    phases: Sequence[str]
    first: NDArray[np.int64]

    @cached_property
    def alleles(self) -> list[list[str]]:
        """The alleles of each spelling, the reference's first."""
        return [[reference, *others.split(",")] for reference, _, others in (s.partition("\t") for s in self.spellings)]

    @cached_property
    def is_variant(self) -> NDArray[np.bool_]:
        """True for a record in which an allele other than NON_REFERENCE and '*' starts."""
        named = [not set(alleles[1:]) <= {NON_REFERENCE, SPANNING_DELETION} for alleles in self.alleles]
        return np.array(named, np.bool_)[self.columns.spelling]

    @cached_property
    def deletes(self) -> NDArray[np.bool_]:
        """True for a record of which an allele is shorter than the reference's."""
        shorter = [any(a != NON_REFERENCE and len(a) < len(own[0]) for a in own) for own in self.alleles]
        return np.array(shorter, np.bool_)[self.columns.spelling]

    def reach(self, start: int) -> int:
        """Return the last position up to `start` that no earlier variant spans: no later site depends on one before."""
        variants = np.flatnonzero(self.is_variant)
        starts, ends = self.columns.start[variants], self.columns.end[variants]
        while True:
            spanning = starts[(starts < start) & (ends > start)]
            if not len(spanning):
                return start
            start = int(spanning.min())

    def sites(self, end: int) -> NDArray[np.int64]:
        """Return the positions from `start` to before `end` at which a variant begins, ascending."""
        starts = np.unique(self.columns.start[self.is_variant]).astype(np.int64)
        return starts[(starts >= self.start) & (starts < end)]

    def pick(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the record of each file that counts at each of some ascending positions, -1 for none."""
        picked = np.empty((len(positions), len(self.first) - 1), np.int32)
        is_long = np.array([len(alleles[0]) > 1 for alleles in self.alleles], np.bool_)[self.columns.spelling]
        pick_records(self.first, self.columns.start, self.columns.end, is_long, positions, picked)
        return picked

    def name(self, record: int) -> str:
        """Return file and position of a record, for messages."""
        file = int(np.searchsorted(self.first, record, side="right")) - 1
        return f"{self.cohort.stores[file].gvcf}: the record at position {int(self.columns.start[record]) + 1}"
