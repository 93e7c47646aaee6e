"""Alignments as readable objects, and their flat form; NumPy only, so that kernel tests can use them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from quire.algorithms.extension import ExtensionJobs
from quire.align.model import Alignments
from quire.ragged import offsets_from_lengths


@dataclass(frozen=True)
class Place:
    """One alignment; contig c starts at the axis position c * 100,000."""

    score: int
    strand: int
    position: int
    read_begin: int
    read_end: int
    contig: int = 0
    span: int = -1  # bases of the reference; -1: as many as of the read

    @property
    def axis_begin(self) -> int:
        return self.contig * 100_000 + self.position

    @property
    def axis_end(self) -> int:
        return self.axis_begin + (self.read_end - self.read_begin if self.span < 0 else self.span)


def alignments_of(places: Sequence[Sequence[Place]]) -> Alignments:
    """Return the `Alignments` of reads whose places are given best first."""
    flat = [place for of_read in places for place in of_read]

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([getattr(place, name) for place in flat], dtype)

    return Alignments(
        offsets=offsets_from_lengths([len(of_read) for of_read in places]),
        read=np.repeat(np.arange(len(places), dtype=np.int32), [len(of_read) for of_read in places]),
        strand=column("strand", np.uint8),
        score=column("score", np.int32),
        read_begin=column("read_begin", np.int32),
        read_end=column("read_end", np.int32),
        axis_begin=column("axis_begin", np.int64),
        axis_end=column("axis_end", np.int64),
        contig=column("contig", np.int32),
        position=column("position", np.int64),
        cigar_begin=np.arange(len(flat), dtype=np.int64),
        cigar_length=np.ones(len(flat), np.int32),
        cigar=np.array([(place.read_end - place.read_begin) << 4 for place in flat], np.uint32),
    )


def rows_of(jobs: ExtensionJobs) -> list[tuple[int, ...]]:
    """Return jobs as tuples of their fields, in order."""
    columns = tuple(jobs)
    assert [column.dtype for column in columns] == [np.int32, np.uint8, *[np.int64] * 5]
    return list(zip(*(column.tolist() for column in columns), strict=True))
