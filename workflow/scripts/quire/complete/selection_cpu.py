"""Choice of the hits that get a record, and their order.

The first hit of a read has the fewest differences. Ties are broken by the hash of the read's name and the place on the
axis, then by that place, then by strand. `max_hits` keeps the first hits in that order. The records of a read are its
first hit, then the others sorted by differences, strand and place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Hits
from quire.reads import ReadBatch, Reads
from quire.sequence.ties.cpu import tie_hash
from quire.simd.compiled import compiled


@dataclass(frozen=True)
class CompleteSettings:
    """The configuration's keys of a search and of its device; the answer does not depend on those from `threads` on."""

    name: str
    max_differences: int = 2
    report: str = "all"
    max_hits: int = 0
    threads: int = 1
    backend: str = "auto"
    memory: str = "auto"


class CountedReads(NamedTuple):
    """Reads whose hits are counted.

    Attributes:
        batch, reads: the reads as read, and on both strands.
        counts: int64[n, k + 1], hits of each read by number of differences.
    """

    batch: ReadBatch
    reads: Reads
    counts: NDArray[np.int64]


class Chosen(NamedTuple):
    """Hits that get a record, in the order of the records.

    Attributes:
        hits: hits of the reads of a batch.
        is_first: bool[n], True for the first hit of a read.
    """

    hits: Hits
    is_first: NDArray[np.bool_]


def take(hits: Hits, which: NDArray[np.integer] | NDArray[np.bool_]) -> Hits:
    """Return the chosen hits (indices or bool)."""
    return Hits._make(values[which] for values in hits)


def join(parts: Iterable[Hits]) -> Hits:
    """Return the hits of all parts, in order."""
    nothing = Hits._make(np.empty(0, dtype) for dtype in (np.int64, np.uint8, np.int64, np.int64, np.uint8))
    return Hits._make(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True))


def count_by_read(hits: Hits, counts: NDArray[np.int64]) -> None:
    """Add hits to the counts by number of differences (int64[reads, k + 1])."""
    width = counts.shape[1]
    counts += np.bincount(hits.read * width + hits.distance, minlength=counts.size).reshape(counts.shape)


def reportable(counts: NDArray[np.int64], settings: CompleteSettings) -> NDArray[np.int64]:
    """Return the number of hits of each read (int64[n]) that would get a record without `max_hits`."""
    if settings.report == "count":
        return np.zeros(len(counts), np.int64)
    if settings.report == "best":
        best = (counts > 0).argmax(axis=1)
        return np.take_along_axis(counts, best[:, None], axis=1)[:, 0]
    totals: NDArray[np.int64] = counts.sum(axis=1)
    return totals


def listed(counts: NDArray[np.int64], settings: CompleteSettings) -> NDArray[np.int64]:
    """Return the number of hits of each read (int64[n]) that get a record."""
    number = reportable(counts, settings)
    return np.minimum(number, settings.max_hits) if settings.max_hits else number


def of_report(hits: Hits, counts: NDArray[np.int64], settings: CompleteSettings) -> Hits:
    """Return the hits that would get a record without `max_hits`."""
    if settings.report == "all":
        return hits
    if settings.report == "count":
        return take(hits, np.empty(0, np.int64))
    return take(hits, hits.distance == (counts > 0).argmax(axis=1)[hits.read])


def choose(hits: Hits, name_hash: NDArray[np.uint64], max_hits: int) -> Chosen:
    """Choose at most `max_hits` (0: all) hits of each read from those of `of_report`, and order them."""
    ties = tie_hashes(name_hash, hits.read, hits.begin)
    hits = take(hits, np.lexsort((hits.strand, hits.begin, ties, hits.distance, hits.read)))
    rank = np.arange(len(hits.read)) - np.searchsorted(hits.read, hits.read)
    if max_hits:
        hits, rank = take(hits, rank < max_hits), rank[rank < max_hits]
    order = np.lexsort((hits.begin, hits.strand, hits.distance, rank > 0, hits.read))
    return Chosen(take(hits, order), rank[order] == 0)


@compiled
def tie_hashes(
    name_hash: NDArray[np.uint64], reads: NDArray[np.int64], begins: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the hash (uint64[n]) of the name and the place of each hit."""
    hashes = np.empty(len(reads), np.uint64)
    for i in range(len(reads)):
        hashes[i] = tie_hash(name_hash[reads[i]], begins[i])
    return hashes
