"""Alignment of haplotypes to the reference, their variants, and the span to genotype.

Follows CigarUtils.calculateCigar, AlignmentUtils.leftAlignIndels, EventMap and AssemblyRegionTrimmer. Bases are codes
(A0 C1 G2 T3 N4) in byte strings; positions are 0-based on the contig.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from quire.algorithms.scoring import HAPLOTYPE_TO_REFERENCE
from quire.algorithms.semiglobal import SemiglobalBatch
from quire.ragged import pack_bytes
from quire.rescore.engines import CallingEngine
from quire.rescore.parameters import INDEL_PADDING, SNV_PADDING
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_MATCH, CIGAR_SHIFT, CIGAR_SOFT_CLIP
from quire.simd.compiled import compiled

_N = 4
_PAD = bytes([_N] * 10)  # CigarUtils.SW_PAD: both ends are anchored
_MINIMUM_REFERENCE_LENGTH = 30  # of a haplotype's alignment (ReadThreadingAssembler)
_LONGEST_UNIT = 100  # bases of an allele in which a repeat unit is searched
# Typed constants: Numba gives a Python literal a type of its own and would compile every helper again for it.
_MATCH, _INSERTION, _DELETION = np.uint8(CIGAR_MATCH), np.uint8(CIGAR_INSERTION), np.uint8(CIGAR_DELETION)
_ZERO = np.int64(0)

Cigar = tuple[tuple[int, int], ...]  # (operation, length)


class Event(NamedTuple):
    """A variant of a haplotype: `reference_length` bases from `start` on are replaced by `alternate`.

    The alleles of an indel begin with the base before it, as in VCF.
    """

    start: int
    reference_length: int
    alternate: bytes

    @property
    def end(self) -> int:
        """Position after the last reference base."""
        return self.start + self.reference_length

    @property
    def is_indel(self) -> bool:
        """True if the lengths of the alleles differ."""
        return self.reference_length != len(self.alternate)


_NO_EVENTS: Mapping[int, Event] = MappingProxyType({})


class Haplotype(NamedTuple):
    """A sequence of a region, aligned to the reference.

    Attributes:
        bases: codes.
        start: position of its first aligned base.
        cigar: of M, I and D.
        events: its variants by start.
    """

    bases: bytes
    start: int
    cigar: Cigar
    events: Mapping[int, Event] = _NO_EVENTS

    @property
    def is_reference(self) -> bool:
        """True if it carries no variant."""
        return not self.events

    def overlapping(self, position: int) -> list[Event]:
        """Return the events over a position (EventMap.getOverlappingEvents)."""
        found = [event for event in self.events.values() if event.start <= position < event.end]
        if any(event.reference_length == 1 and event.is_indel for event in found):
            found = [e for e in found if not (len(e.alternate) == 1 and e.is_indel and e.end == position + 1)]
        return found


def align_haplotypes(
    regions: Sequence[tuple[bytes, Sequence[bytes]]], engine: CallingEngine
) -> list[list[Cigar | None]]:
    """Return left-aligned CIGARs of each region's (reference, haplotypes); None if no alignment spans the reference.

    The engine aligns haplotypes that differ by more than two substitutions.
    """
    answers: list[list[Cigar | None]] = [[None] * len(haplotypes) for _, haplotypes in regions]
    waiting: list[tuple[int, int]] = []
    for r, (reference, haplotypes) in enumerate(regions):
        for h, bases in enumerate(haplotypes):
            # No alignment with gaps scores better than two substitutions: 2 x 350 < 2 x 260 + 200.
            if len(reference) == len(bases) and len([*islice(_differing(reference, bases), 3)]) < 3:
                answers[r][h] = ((CIGAR_MATCH, len(reference)),)
            else:
                waiting.append((r, h))
    if not waiting:
        return answers
    references, reference_offsets = pack_bytes([_PAD + reference + _PAD for reference, _ in regions])
    alternates, alternate_offsets = pack_bytes([_PAD + regions[r][1][h] + _PAD for r, h in waiting])
    tasks = np.array([[r, i] for i, (r, _) in enumerate(waiting)], np.int32)
    batch = SemiglobalBatch(references, reference_offsets, alternates, alternate_offsets, tasks)
    alignments = engine.align(batch, HAPLOTYPE_TO_REFERENCE)
    for i, (r, h) in enumerate(waiting):
        if alignments.offsets[i] == 0:
            answers[r][h] = _usable_cigar(alignments.cigar(i), regions[r][0], regions[r][1][h])
    return answers


def _differing(one: bytes, other: bytes) -> Iterator[int]:
    """Yield the positions, ascending, at which two byte strings of one length differ."""
    # The strings are compared as integers, because few of some hundred bases differ.
    if one == other:
        return
    left, at = int.from_bytes(one, "little") ^ int.from_bytes(other, "little"), 0
    while left:
        equal = ((left & -left).bit_length() - 1) >> 3
        at += equal
        yield at
        at += 1
        left >>= 8 * (equal + 1)


def _usable_cigar(padded: np.ndarray, reference: bytes, bases: bytes) -> Cigar | None:
    """Return the CIGAR without the pads, with left-aligned indels; None if the pads are not aligned to each other."""
    elements = [(element & CIGAR_MASK, element >> CIGAR_SHIFT) for element in padded.tolist()]
    first, last = elements[0], elements[-1]
    if first[0] != CIGAR_MATCH or last[0] != CIGAR_MATCH or min(first[1], last[1]) < len(_PAD):
        return None
    if any(operation == CIGAR_SOFT_CLIP for operation, _ in elements):
        return None
    lengths = np.array([length for _, length in elements], np.int64)
    lengths[0] -= len(_PAD)
    lengths[-1] -= len(_PAD)
    operations = np.array([operation for operation, _ in elements], np.uint8)
    operations, lengths = left_aligned(
        operations, lengths, np.frombuffer(reference, np.uint8), np.frombuffer(bases, np.uint8)
    )
    cigar = tuple(zip(operations.tolist(), lengths.tolist(), strict=True))
    spanned = sum(length for operation, length in cigar if operation != CIGAR_INSERTION)
    return None if spanned < min(_MINIMUM_REFERENCE_LENGTH, len(reference)) else cigar


@compiled
def left_aligned(operations, lengths, reference, query):
    """Move every indel left as far as the bases allow, merging indels that meet (AlignmentUtils.leftAlignIndels).

    Operations (uint8: M, I and D as in `quire.sam`) and their lengths (int64) span both sequences (uint8 codes). Return
    the operations and lengths of the new alignment.
    """
    room = 4 * len(operations) + 4
    new_operations = np.empty(room, np.uint8)
    new_lengths = np.empty(room, np.int64)
    size = _ZERO  # elements are written from the right
    inserted, deleted = _ZERO, _ZERO  # the current indel, which ends at reference_end, query_end
    reference_end, query_end = len(reference), len(query)
    for element in range(len(operations) - 1, -1, -1):
        length = lengths[element]
        if operations[element] == _INSERTION:
            inserted += length
            continue
        if operations[element] == _DELETION:
            deleted += length
            continue
        if inserted > 0 and deleted > 0:
            shared = _ZERO  # the common end of both alleles is not part of the indel
            while (
                shared < min(inserted, deleted)
                and reference[reference_end - 1 - shared] == query[query_end - 1 - shared]
            ):
                shared += 1
            size = _push(new_operations, new_lengths, size, _MATCH, shared)
            inserted, deleted = inserted - shared, deleted - shared
            reference_end, query_end = reference_end - shared, query_end - shared
        shift = _ZERO
        if (inserted > 0) != (deleted > 0):
            while shift < length and reference[reference_end - 1 - shift] == query[query_end - 1 - shift]:
                shift += 1
        size = _push(new_operations, new_lengths, size, _MATCH, shift)
        reference_end, query_end = reference_end - shift, query_end - shift
        if shift == length and element > 0 and length > 0 and inserted + deleted > 0:
            continue  # the block on the left is used up, so the indel meets the next one
        size = _push(new_operations, new_lengths, size, _DELETION, deleted)
        size = _push(new_operations, new_lengths, size, _INSERTION, inserted)
        reference_end -= deleted
        query_end -= inserted
        inserted, deleted = _ZERO, _ZERO
        size = _push(new_operations, new_lengths, size, _MATCH, length - shift)
        reference_end -= length - shift
        query_end -= length - shift
    size = _push(new_operations, new_lengths, size, _DELETION, deleted)
    size = _push(new_operations, new_lengths, size, _INSERTION, inserted)
    return new_operations[:size][::-1].copy(), new_lengths[:size][::-1].copy()


@compiled
def _push(operations, lengths, size, operation, length):
    if length == 0:
        return size
    if size > 0 and operations[size - 1] == operation:
        lengths[size - 1] += length
        return size
    operations[size] = operation
    lengths[size] = length
    return size + 1


def events_of(bases: bytes, cigar: Cigar, start: int, reference: bytes, reference_start: int) -> dict[int, Event]:
    """Return the variants of a haplotype, aligned from position `start` on, by start (getEventsFromHaplotype).

    `reference` holds codes from position `reference_start` on.
    """
    events: dict[int, Event] = {}
    if len(cigar) == 1 and start == reference_start and bases == reference:
        return events
    query, at = 0, start - reference_start
    for i, (operation, length) in enumerate(cigar):
        if operation == CIGAR_MATCH:
            theirs, ours = reference[at : at + length], bases[query : query + length]
            for offset in _differing(theirs, ours):
                if theirs[offset] < _N and ours[offset] < _N:
                    _add(events, Event(reference_start + at + offset, 1, ours[offset : offset + 1]))
            query += length
            at += length
        elif operation == CIGAR_INSERTION:
            inserted = reference[at - 1 : at] + bases[query : query + length]
            if 0 < i < len(cigar) - 1 and at > 0 and _N not in inserted:
                _add(events, Event(reference_start + at - 1, 1, inserted))
            query += length
        else:
            deleted = reference[at - 1 : at + length]
            if at > 0 and _N not in deleted:
                _add(events, Event(reference_start + at - 1, length + 1, deleted[:1]))
            at += length
    return events


def _add(events: dict[int, Event], event: Event) -> None:
    """Add an event, merged with one of the same start if there is one (EventMap.makeCompoundEvents)."""
    other = events.get(event.start)
    if other is None:
        events[event.start] = event
        return
    long = max(event.reference_length, other.reference_length)
    # The first base comes from the substitution, if there is one, and the rest from the insertion, if there is one.
    substitution = event if not event.is_indel else other
    longest = max(event.alternate, other.alternate, key=len)
    events[event.start] = Event(event.start, long, substitution.alternate[:1] + longest[1:])


def make_haplotypes(
    bases: Iterable[bytes], cigars: Iterable[Cigar | None], reference: bytes, start: int
) -> list[Haplotype]:
    """Return the aligned haplotypes of a region with their events; haplotypes without an alignment are left out."""
    return [
        Haplotype(sequence, start, cigar, events_of(sequence, cigar, start, reference, start))
        for sequence, cigar in zip(bases, cigars, strict=True)
        if cigar is not None
    ]


def genotyping_span(
    events: Iterable[Event], region: tuple[int, int], padded: tuple[int, int], reference: bytes
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the span in which variants are called, and the padded span for trimming (AssemblyRegionTrimmer.trim).

    The events are those of all haplotypes, and `reference` holds the codes of the padded span. An indel is padded by
    INDEL_PADDING bases in addition to the repeat that contains it. Return None if no variant overlaps the region.
    """
    inside = [event for event in events if event.start < region[1] and event.end > region[0]]
    if not inside:
        return None
    low, high = min(event.start for event in inside), max(event.end for event in inside)
    variants = max(low, region[0]), min(high, region[1])
    for event in inside:
        padding = SNV_PADDING
        if event.is_indel:
            padding = INDEL_PADDING + _repeat_length(event, reference, padded[0])
        low, high = min(low, event.start - padding), max(high, event.end + padding)
    return variants, (max(low, padded[0]), min(high, padded[1]))


def _repeat_length(event: Event, reference: bytes, reference_start: int) -> int:
    """Return the length of the tandem repeat that an indel lengthens or shortens (getNumTandemRepeatUnits)."""
    after = event.start + 1 - reference_start
    removed = reference[after : after + event.reference_length - 1]
    inserted = event.alternate[1:]
    changed = max(inserted, removed, key=len)[:_LONGEST_UNIT]
    unit = next(n for n in range(1, len(changed) + 1) if changed == (changed[:n] * len(changed))[: len(changed)])
    if len(changed) % unit:
        unit = len(changed)
    # As in GATK, the reference allele is prepended to itself, and its copies are subtracted again.
    context = reference[after:]
    in_removed = _leading_copies(changed[:unit], removed)
    copies = [_leading_copies(changed[:unit], allele + context) - in_removed for allele in (removed, inserted)]
    return max(copies) * unit if min(copies) > 0 else 0


def _leading_copies(unit: bytes, text: bytes) -> int:
    """Count the copies of the unit at the start of the text."""
    copies = 0
    while text.startswith(unit, copies * len(unit)):
        copies += 1
    return copies


def trim(haplotypes: Sequence[Haplotype], span: tuple[int, int]) -> list[Haplotype]:
    """Cut haplotypes to a span and return the distinct ones, the reference first (AssemblyResultSet.trimTo).

    A haplotype with a deletion over either end of the span cannot be cut there and is left out.
    """
    found: dict[bytes, Haplotype] = {}
    for haplotype in haplotypes:
        trimmed = _trim_one(haplotype, span)
        if trimmed is not None and (trimmed.bases not in found or haplotype.is_reference):
            found[trimmed.bases] = trimmed
    # GATK's order (Haplotype.SIZE_AND_BASE_ORDER), but with the reference first.
    return sorted(found.values(), key=lambda h: (not h.is_reference, len(h.bases), h.bases))


def _trim_one(haplotype: Haplotype, span: tuple[int, int]) -> Haplotype | None:
    """Cut a haplotype to a span within its own; return None if a deletion covers the first or the last position."""
    events = haplotype.events and {s: e for s, e in haplotype.events.items() if s >= span[0] and e.end <= span[1]}
    if len(haplotype.cigar) == 1:
        first, last = span[0] - haplotype.start, span[1] - haplotype.start
        return Haplotype(haplotype.bases[first:last], span[0], ((CIGAR_MATCH, last - first),), events)
    position, query = haplotype.start, 0
    elements: list[tuple[int, int]] = []
    first_query, last_query = -1, -1
    for operation, length in haplotype.cigar:
        if operation == CIGAR_INSERTION:
            if span[0] < position < span[1]:
                elements.append((operation, length))
            query += length
            continue
        low, high = max(position, span[0]), min(position + length, span[1])
        if low < high:
            elements.append((operation, high - low))
            if operation == CIGAR_DELETION and (low == span[0] or high == span[1]):
                return None
            if operation == CIGAR_MATCH:
                if low == span[0]:
                    first_query = query + low - position
                last_query = query + high - position
        position += length
        query += length if operation == CIGAR_MATCH else 0
    if first_query < 0:
        return None
    return Haplotype(haplotype.bases[first_query:last_query], span[0], tuple(elements), events)
