"""Reads from inside an insertion: unmapped reads with mates nearby, and reads that were mapped to a copy elsewhere."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode import Records, bases_of, name_hashes, tags_begin
from quire.io.bam.layout import SIZE_BYTES
from quire.rescore.long_indels.contigs import on_both_strands, with_poor_hidden
from quire.rescore.reads.source import ReadSource
from quire.sam import (
    FLAG_DUPLICATE,
    FLAG_FAILED_QUALITY_CHECK,
    FLAG_MATE_UNMAPPED,
    FLAG_PAIRED,
    FLAG_REVERSE,
    FLAG_SECONDARY,
    FLAG_SUPPLEMENTARY,
    FLAG_UNMAPPED,
)

REACH = 600  # bases on either side of an insertion in which mates are searched
FAR = 1000  # a mate farther away is not at its expected position
JOINED = 500  # reads elsewhere within this distance are fetched together
MOST_PLACES = 12  # most places elsewhere; those with most reads are kept
MOST_READS = 2000  # more add nothing
_UNWANTED = FLAG_DUPLICATE | FLAG_FAILED_QUALITY_CHECK | FLAG_SECONDARY

Place = tuple[str, int]  # contig and 0-based position of an alignment


def reads_within(source: ReadSource, contig: str, start: int, end: int) -> list[NDArray[np.uint8]]:
    """Return codes, on both strands, of reads that may be part of an insertion between `start` and `end`.

    Args:
        source: of the sample.
        contig: name.
        start: end of the sequence before the insertion, 0-based.
        end: start of the sequence after the insertion, 0-based.
    """
    low = max(0, start - REACH)
    records = source.records(contig, low, end + REACH)
    usable = np.flatnonzero(records.fixed["flag"] & _UNWANTED == 0)
    flag = records.fixed["flag"][usable]
    unmapped = usable[flag & (FLAG_UNMAPPED | FLAG_MATE_UNMAPPED) == FLAG_UNMAPPED][:MOST_READS]
    sequences = _sequences(records, unmapped)
    contigs = list(source.contigs)
    wanted = _mates_elsewhere(records, usable, (start, end), contigs) + _primaries(records, usable)
    names = np.unique(name_hashes(records, usable))
    for place, first, last in _places(wanted):
        there = source.records(place, max(0, first - 1), last + 1)
        position = there.fixed["position"]
        inside = (
            (there.fixed["flag"] & (_UNWANTED | FLAG_SUPPLEMENTARY) == 0) & (first <= position) & (position <= last)
        )
        chosen = np.flatnonzero(inside)
        chosen = chosen[np.isin(name_hashes(there, chosen), names)][:MOST_READS]
        sequences += _sequences(there, chosen)
    return on_both_strands(sequences)


def _sequences(records: Records, chosen: NDArray[np.int64]) -> list[NDArray[np.uint8]]:
    offsets, bases, qualities = bases_of(records, chosen)
    hidden = with_poor_hidden(bases, qualities)
    return [hidden[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def _mates_elsewhere(
    records: Records, usable: NDArray[np.int64], place: tuple[int, int], contigs: Sequence[str]
) -> list[Place]:
    """Return the positions of mates that, judging by the reads here, belong at `place` but are mapped elsewhere."""
    fixed = records.fixed[usable]
    flag, position = fixed["flag"], fixed["position"].astype(np.int64)
    paired = flag & (FLAG_PAIRED | FLAG_UNMAPPED | FLAG_MATE_UNMAPPED) == FLAG_PAIRED
    far = (fixed["mate_contig"] != fixed["contig"]) | (np.abs(fixed["mate_position"] - position) > FAR)
    towards = np.where(flag & FLAG_REVERSE != 0, position > place[0] - FAR, position < place[1])
    chosen = np.flatnonzero(paired & far & towards)
    return [
        (contigs[contig], at)
        for contig, at in zip(
            fixed["mate_contig"][chosen].tolist(), fixed["mate_position"][chosen].tolist(), strict=True
        )
    ]


def _primaries(records: Records, usable: NDArray[np.int64]) -> list[Place]:
    """Return the positions of the primary alignments of reads with a supplementary one here (tag SA)."""
    chosen = usable[records.fixed["flag"][usable] & FLAG_SUPPLEMENTARY != 0]
    places = []
    ends = records.starts[chosen] + SIZE_BYTES + records.fixed["block_size"][chosen]
    for tags, end in zip(tags_begin(records, chosen).tolist(), ends.tolist(), strict=True):
        text = records.data[tags:end].tobytes()
        _, found, rest = text.partition(b"SAZ")
        if found:
            contig, position = rest.split(b",", 2)[:2]
            places.append((contig.decode(), int(position) - 1))
    return places


def _places(wanted: Sequence[Place]) -> list[tuple[str, int, int]]:
    """Return spans (contig, first and last position) of neighbouring reads: the spans with most reads, in order."""
    spans: list[tuple[str, int, int]] = []
    sizes: list[int] = []
    for contig, position in sorted(wanted):
        if spans and spans[-1][0] == contig and position - spans[-1][2] <= JOINED:
            spans[-1] = contig, spans[-1][1], position
            sizes[-1] += 1
        else:
            spans.append((contig, position, position))
            sizes.append(1)
    order = sorted(range(len(spans)), key=lambda s: (-sizes[s], spans[s]))[:MOST_PLACES]
    return sorted(spans[s] for s in order)
