"""The alignments of a batch on a card: the twin of `quire.align.alignments.cpu`."""

from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from quire.algorithms.extension import END_BONUS, EXTENSION_TYPES, JOB_TYPES, ExtensionJobs, Extensions
from quire.align.insert_size import InsertSizes, ProperLengths, proper_lengths
from quire.align.model import ROW_TYPES, Alignments
from quire.align.parameters import MACROS, SeedingPass
from quire.device.card import Card, CardArray, Kernel
from quire.reads.gpu import CardReads
from quire.reference.gpu import CardReference

SOURCE = "quire/align/alignments/alignments.cu"
DEFINES = {**MACROS, "END_BONUS": END_BONUS}
# The models of insert sizes last used on each card.
_models: WeakKeyDictionary[Card, tuple[InsertSizes, ProperLengths]] = WeakKeyDictionary()


class Found(NamedTuple):
    """Extensions with the read and strand of their jobs, round after round (alignments.cu: Found)."""

    read: CardArray
    strand: CardArray
    score: CardArray
    read_begin: CardArray
    read_end: CardArray
    axis_begin: CardArray
    axis_end: CardArray
    cigar_begin: CardArray
    cigar_length: CardArray
    extensions: int  # number of rows


class Rows(NamedTuple):
    """Rows of `Alignments` on the card, to be written (alignments.cu: Rows)."""

    read: CardArray
    strand: CardArray
    score: CardArray
    read_begin: CardArray
    read_end: CardArray
    axis_begin: CardArray
    axis_end: CardArray
    contig: CardArray
    position: CardArray
    cigar_begin: CardArray
    cigar_length: CardArray


def collect(
    card: Card, parts: list[tuple[ExtensionJobs, Extensions]], reads: CardReads, reference: CardReference
) -> Alignments:
    """Collect the results of rounds of extension, fewer than 2^31 in total; arrays on the card.

    It is fastest if the extensions of a read are adjacent.
    """
    found, cigar = _put_together(card, parts)
    count = len(reads)
    heads, following = card.full(count, -1, np.int32), card.empty(found.extensions, np.int32)
    counts = card.zeros(count, np.int32)
    kernel = _kernels(card)
    kernel("link_runs").for_each(found.extensions, found, reads, heads, following, counts)
    order_offsets = card.offsets(counts)
    order, kept = card.empty(found.extensions, np.int32), card.empty(count, np.int32)
    kernel("order_by_read").for_each(count, found, reads, reference, heads, following, order_offsets, order, kept)
    offsets, totals = card.offsets_and_totals(kept)
    total = totals.wait()[0]
    alignments = Alignments(
        offsets=offsets,
        read=card.empty(total, np.int32),
        **{name: card.empty(total, dtype) for name, dtype in ROW_TYPES.items()},
        cigar=cigar,
    )
    rows = Rows(*alignments[1:-1])
    kernel("gather").for_each(total, found, reference, order, order_offsets, offsets, count, total, rows)
    return alignments


def best_scores(
    card: Card, parts: list[tuple[ExtensionJobs, Extensions]], reads: CardReads, reference: CardReference
) -> CardArray:
    """Return each read's best score on the primary assembly and on alternate contigs (int32[n, 2]); 0 for none."""
    best = card.zeros((len(reads), 2), np.int32)
    take_best = _kernels(card)("take_best")
    for part in parts:
        found, _ = _put_together(card, [part])
        take_best.for_each(found.extensions, found, reads, reference, best)
    return best


def poorly_aligned(card: Card, best: CardArray, reads: CardReads, seeding_pass: SeedingPass) -> CardArray:
    """Return 1 (uint8[n]) for reads that take part in a later pass, given the result of `best_scores`."""
    poor = card.empty(len(reads), np.uint8)
    find_poor = _kernels(card)("find_poor")
    limits = (
        seeding_pass.numerator,
        seeding_pass.denominator,
        seeding_pass.shortest_clear,
        seeding_pass.shortest_certain,
        int(seeding_pass.all_versions),
    )
    find_poor.for_each(len(reads), best, reads, *limits, poor)
    return poor


def unique_template_lengths(card: Card, alignments: Alignments, reads: CardReads) -> CardArray:
    """Return 4 * template length + orientation of each pair (int64[pairs]); -1 unless both are unique on one contig."""
    pairs = len(reads) // 2
    lengths = card.empty(pairs, np.int64)
    _kernels(card)("unique_lengths").for_each(pairs, alignments, reads, pairs, lengths)
    return lengths


def proper_lengths_on(card: Card, insert_sizes: InsertSizes) -> ProperLengths:
    """Return the models as arrays on the card (alignments.cuh: ProperLengths)."""
    if card not in _models or _models[card][0] != insert_sizes:
        arrays = ProperLengths(*(card.upload(array) for array in proper_lengths(insert_sizes)))
        _models[card] = insert_sizes, arrays
    return _models[card][1]


def _kernels(card: Card) -> Callable[[str], Kernel]:
    return lambda entry: card.kernel(SOURCE, entry, **DEFINES)


def _put_together(card: Card, parts: list[tuple[ExtensionJobs, Extensions]]) -> tuple[Found, CardArray]:
    """Return all rounds as one, and their concatenated CIGAR operations."""
    if len(parts) == 1:
        ((jobs, part),) = parts
        return Found(jobs.read, jobs.strand, *part[:-1], len(jobs.read)), part.cigar
    count, operations = sum(len(jobs.read) for jobs, _ in parts), sum(len(part.cigar) for _, part in parts)
    columns = [card.empty(count, dtype) for dtype in (*JOB_TYPES[:2], *EXTENSION_TYPES[:-1])]
    found = Found._make([*columns, count])
    cigar = card.empty(operations, EXTENSION_TYPES[-1])
    append = _kernels(card)("append_round")
    count = operations = 0
    for jobs, part in parts:
        extensions, more = len(jobs.read), len(part.cigar)
        append.for_each(max(extensions, more), jobs, part, extensions, more, count, operations, found, cigar)
        count, operations = count + extensions, operations + more
    return found, cigar
