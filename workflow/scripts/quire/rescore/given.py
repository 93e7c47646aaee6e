"""The alleles of a user's VCF, genotyped in every sample whether reads show them or not.

Follows GATK's `--alleles` (HaplotypeCallerEngine.isActive, AssemblyResultSet.addGivenAlleles, GenotypingEngine's forced
alleles). Their positions are active, haplotypes that lack them are copied with them, and they are written whatever
their QUAL. GenotypeGVCFs drops such alleles if no sample has them; here joint genotyping keeps them too.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np

from quire.errors import InputError
from quire.io.bed import require_known
from quire.io.files import open_input, read_errors
from quire.reference import Reference
from quire.rescore.haplotypes import Cigar, Event, Haplotype, events_of, left_aligned
from quire.rescore.records import allele_text
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.codes import LETTERS

LONGEST = 49  # inserted or deleted bases; `long_indels` finds more
_REPEAT = 500  # bases before an indel in which it is left-aligned
_COPIED = 5  # haplotypes that are copied with an allele (NUM_HAPLOTYPES_TO_INJECT_FORCE_CALLING_ALLELES_INTO)
_BASES = frozenset("ACGT")
_CODES = str.maketrans("ACGTN", "\0\1\2\3\4")
_START = attrgetter("start")


@dataclass(frozen=True)
class GivenAlleles:
    """Alleles by contig, ascending, left-aligned."""

    by_contig: Mapping[str, Sequence[Event]]

    def within(self, contig: str, start: int, end: int) -> Sequence[Event]:
        """Return the alleles that start in a span."""
        events = self.by_contig.get(contig, ())
        return events[bisect_left(events, start, key=_START) : bisect_left(events, end, key=_START)]

    def spelled(self, reference: Reference, contig: str, start: int, end: int) -> dict[int, list[tuple[str, str]]]:
        """Return the reference's and the other allele of those that start in a span, by position."""
        found: dict[int, list[tuple[str, str]]] = {}
        for event in self.within(contig, start, end):
            letters = reference.sequence(contig, event.start, event.end).decode()
            found.setdefault(event.start, []).append((letters, allele_text(event.alternate)))
        return found


NO_ALLELES = GivenAlleles({})


def read_given_alleles(path: str | Path | None, reference: Reference) -> GivenAlleles:
    """Read the alleles of a VCF, plain or gzip; none without a path. ALT `*` is left out.

    Raises:
        InputError: a record does not fit the reference, or an allele cannot be genotyped.
    """
    found: dict[str, set[Event]] = {}
    for contig, event in _events(path, reference) if path else ():
        found.setdefault(contig, set()).add(event)
    if path and not found:
        raise InputError(f"{path}: has no alleles; add some, or leave its key in the configuration empty.")
    return GivenAlleles({contig: sorted(events) for contig, events in found.items()})


def _events(path: str | Path, reference: Reference) -> Iterator[tuple[str, Event]]:
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    with read_errors(path), open_input(path) as stream:
        if not stream.readline().startswith(b"##fileformat=VCF"):
            raise InputError(f"{path}: is not a VCF; name one with sites and alleles as rescore.alleles.")
        for number, line in enumerate(stream, 2):
            if line.startswith(b"#"):
                continue
            where = f"{path}: line {number}"
            columns = line.decode(errors="replace").rstrip("\r\n").split("\t")
            if len(columns) < 5 or not (columns[1].isascii() and columns[1].isdecimal()):
                raise InputError(f"{where}: is not a VCF record with a position and alleles; correct it.")
            contig, start, letters = columns[0], int(columns[1]) - 1, columns[3].upper()
            require_known(where, contig, lengths)
            bounds = (min(max(0, end), lengths[contig]) for end in (start, start + len(letters)))
            own = reference.sequence(contig, *bounds).decode()
            if not letters or letters != own:
                raise InputError(
                    f"{where}: REF is {letters!r} but the reference has {own!r} there; give a VCF of this reference."
                )
            for alternate in columns[4].upper().split(","):
                if alternate != "*":
                    for event in _events_of(where, reference, contig, start, letters, alternate):
                        yield contig, event


def _events_of(
    where: str, reference: Reference, contig: str, start: int, letters: str, alternate: str
) -> Sequence[Event]:
    """Return the events of an allele: one, or the SNVs of several changed bases."""
    change = len(alternate) - len(letters)
    if not (alternate and {*alternate} <= _BASES):
        raise InputError(f"{where}: ALT {alternate} is no sequence of A, C, G and T; remove it from the file.")
    if abs(change) > LONGEST:
        raise InputError(
            f"{where}: an allele inserts or deletes {abs(change)} bases, more than {LONGEST}; remove it "
            "(rescore.long_indels finds longer indels)."
        )
    length = int(reference.contig_lengths[reference.contig_number[contig]])
    low, high = max(0, start - _REPEAT), min(start + len(letters) + 1, length)
    window = reference.contig_codes(contig, low, high)
    text = LETTERS[window].tobytes().decode()
    bases = (text[: start - low] + alternate + text[start - low + len(letters) :]).translate(_CODES).encode()
    cigar: Cigar = ((CIGAR_MATCH, len(window)),)
    if change:
        shared = start - low + min(len(letters), len(alternate))
        kind = CIGAR_INSERTION if change > 0 else CIGAR_DELETION
        operations = np.array([CIGAR_MATCH, kind, CIGAR_MATCH], np.uint8)
        lengths = np.array([shared, abs(change), min(len(window), len(bases)) - shared])
        moved = left_aligned(operations, lengths, window, np.frombuffer(bases, np.uint8))
        cigar = tuple(zip(*(column.tolist() for column in moved), strict=True))
    events = [*events_of(bases, cigar, low, window.tobytes(), low).values()]
    if not events or (change and (len(events) > 1 or events[0].end >= length)):
        raise InputError(
            f"{where}: {letters}>{alternate} is neither SNVs nor one insertion or deletion inside its contig; split it "
            "with bcftools norm --atomize, or remove it."
        )
    return events


def with_given(haplotypes: Sequence[Haplotype], given: Sequence[Event]) -> list[Haplotype]:
    """Return haplotypes, the reference first, and copies of some with the given alleles that none of them has."""
    known = {event for haplotype in haplotypes for event in haplotype.events.values()}
    copies = (_with(base, event) for event in given if event not in known for base in haplotypes[:_COPIED])
    return [*haplotypes, *(copy for copy in copies if copy is not None)]


def with_all(reference: Haplotype, combinations: Iterable[Sequence[Event]]) -> Iterator[Haplotype]:
    """Yield the reference with the SNVs of each combination."""
    for events in combinations:
        haplotype: Haplotype | None = reference
        for event in events:
            haplotype = haplotype and _with(haplotype, event)
        if haplotype is not None:
            yield haplotype


def with_one_snv_less(haplotypes: Sequence[Haplotype], reference: bytes, start: int) -> Iterator[Haplotype]:
    """Yield copies of haplotypes without one of their SNVs, for each that has another variant too.

    Otherwise a read would count for an error that it has beside a variant as if it were part of the variant.
    `reference` holds codes from position `start` on.
    """
    for haplotype in haplotypes:
        for event in haplotype.events.values():
            if not event.is_indel and len(haplotype.events) > 1:
                kept = {own: other for own, other in haplotype.events.items() if own != event.start}
                before = event._replace(alternate=reference[event.start - start : event.end - start])
                changed = _with(haplotype._replace(events=kept), before)
                if changed is not None:
                    yield changed._replace(events=kept)


def _with(haplotype: Haplotype, event: Event) -> Haplotype | None:
    """Return a haplotype with one more event; None if one of its own overlaps it."""
    if any(own.start < event.end and own.end > event.start for own in haplotype.events.values()):
        return None
    change = len(event.alternate) - event.reference_length
    position, query = haplotype.start, 0
    for at, (operation, length) in enumerate(haplotype.cigar):
        end = position + length
        if operation == CIGAR_MATCH and position <= event.start and event.end + bool(change) <= end:
            first = query + event.start - position
            bases = haplotype.bases[:first] + event.alternate + haplotype.bases[first + event.reference_length :]
            kept = event.start + 1 - position
            indel = (CIGAR_INSERTION, change) if change > 0 else (CIGAR_DELETION, -change)
            inner = ((CIGAR_MATCH, kept), indel, (CIGAR_MATCH, length - kept - max(0, -change)))
            cigar = haplotype.cigar[:at] + (inner if change else ((operation, length),)) + haplotype.cigar[at + 1 :]
            return Haplotype(bases, haplotype.start, cigar, {**haplotype.events, event.start: event})
        position += length if operation != CIGAR_INSERTION else 0
        query += length if operation != CIGAR_DELETION else 0
    return None
