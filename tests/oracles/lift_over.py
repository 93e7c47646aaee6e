"""Lift-over and grouping of one read, base by base, to test `quire.align.lift_over.cpu` against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quire.align.parameters import (
    MOST_QUALITY,
    MOST_RIVALS_ON_PRIMARY,
    QUALITY_OF_GROUPS,
    RIVAL_DENOMINATOR,
    RIVAL_NUMERATOR,
)


@dataclass(frozen=True)
class ContigAlignment:
    """An alignment of an alternate contig: columns of a SAM line, with a 0-based position."""

    contig: int
    reverse: bool
    position: int
    elements: Sequence[tuple[int, str]]

    def places(self) -> list[int | None]:
        """Return the place of every base of the alternate contig, from its end on if `reverse`; None in a clip."""
        places: list[int | None] = []
        target = self.position
        for length, operation in self.elements:
            if operation in "SH":
                places += [None] * length
            if operation == "I":
                places += [target] * length
            if operation in "M=X":
                places += range(target, target + length)
            if operation in "M=XDN":
                target += length
        return places

    @property
    def aligned(self) -> range:
        """Return the bases of the alternate contig between the clips, in its own direction."""
        elements = self.elements[::-1] if self.reverse else self.elements
        begin = 0
        for length, operation in elements:
            if operation not in "SHP":
                break
            begin += length if operation != "P" else 0
        return range(begin, begin + sum(length for length, operation in elements if operation in "M=XI"))


@dataclass(frozen=True)
class Lifted:
    """A place to which a hit was lifted over."""

    contig: int
    reverse: bool
    start: int
    end: int


@dataclass(frozen=True)
class PlacedHit:
    """An alignment of a read; `begin` and `end_on_read` are its part of the read as read."""

    contig: int
    start: int
    end: int
    reverse: bool
    score: int
    begin: int
    end_on_read: int
    rank: int

    def overlaps(self, other: "PlacedHit") -> bool:
        """Return True if they share at least half of the shorter one's part of the read."""
        shared = min(self.end_on_read, other.end_on_read) - max(self.begin, other.begin)
        return 2 * shared >= min(self.end_on_read - self.begin, other.end_on_read - other.begin)


@dataclass
class LiftedRow:
    """A resulting record: a hit with its quality and the tags om and lt; `is_beaten` if it has the tag pa."""

    hit: PlacedHit
    quality: int
    original_quality: int = -1
    is_beaten: bool = False
    lifted: list[Lifted] = field(default_factory=list)
    added: bool = False


def lift(hit: PlacedHit, alignments: Sequence[ContigAlignment]) -> list[Lifted]:
    """Return the places of a hit according to the alignments of its contig, in their order along it."""
    lifted = []
    for alignment in sorted(alignments, key=lambda alignment: alignment.aligned.start):
        if hit.end <= alignment.aligned.start or alignment.aligned.stop <= hit.start:
            continue
        places: list[int | None] = alignment.places()
        first, last = hit.start, hit.end - 1
        if alignment.reverse:
            first, last = len(places) - hit.end, len(places) - hit.start - 1
        start, end = places[first], places[last]
        if start is None:
            continue
        end = alignment.position if end is None else end + 1  # as bwa-postalt has it
        lifted.append(Lifted(alignment.contig, hit.reverse != alignment.reverse, start - 1, end - 1))
    return lifted


def lift_over(
    reported: Sequence[tuple[PlacedHit, int]],
    others: Sequence[PlacedHit],
    length: int,
    alternate: Sequence[int],
    alignments: Mapping[int, Sequence[ContigAlignment]],
) -> list[LiftedRow]:
    """Return the rows of one read.

    Args:
        reported: reported hits with their qualities, the primary one first.
        others: hits that are not reported.
        length: length of the read.
        alternate: alternate contigs.
        alignments: alignments of the alternate contigs that have any.
    """
    parents = _parents([hit for hit, _ in reported], others, alternate)
    done: list[LiftedRow] = []
    for number, (hit, quality) in enumerate(reported):
        rivals = [
            other
            for other, parent in parents.items()
            if parent == hit and RIVAL_DENOMINATOR * other.score > RIVAL_NUMERATOR * hit.score
        ]
        if len(rivals) > MOST_RIVALS_ON_PRIMARY and not any(rival.contig in alternate for rival in rivals):
            rivals = []
        row = LiftedRow(hit, quality)
        row.is_beaten = hit.contig not in alternate and any(
            other.contig in alternate and other.score > hit.score and other.overlaps(hit) for other, _ in reported
        )
        is_whole = hit.contig in alternate or number == 0 or (hit.begin == 0 and hit.end_on_read == length)
        if not is_whole or not any(each.contig in alternate for each in [hit, *rivals]):
            done.append(row)
            continue
        lifted = {each: lift(each, alignments.get(each.contig, [])) for each in [hit, *rivals]}
        groups = _groups(lifted)
        own = next(group for group in groups if hit in group)
        if len(own) > 1:
            row.original_quality = quality
            row.quality = _quality_of(groups, own)
            row.quality = max(row.quality, quality) if hit.contig in alignments else min(row.quality, quality)
        if len(lifted[hit]) <= 1:
            for before in done:
                _change_quality(before, row.quality, hit, lifted[hit])
        row.lifted = lifted[hit]
        added = [each for each in own if each != hit and each.contig in alignments]
        done += [row, *(LiftedRow(each, row.quality, lifted=lifted[each], added=True) for each in added)]
    return done


def _parents(
    reported: Sequence[PlacedHit], others: Sequence[PlacedHit], alternate: Sequence[int]
) -> dict[PlacedHit, PlacedHit | None]:
    """Return, for each hit from the best on, the better hit with which it competes, or None.

    If the mate made another hit the primary one, that hit replaces a better one on the primary assembly.
    """
    parents: dict[PlacedHit, PlacedHit | None] = {}
    for hit in sorted([*reported, *others], key=lambda hit: (-hit.score, hit.rank)):
        better = [other for other, parent in parents.items() if parent is None and other.overlaps(hit)]
        parents[hit] = better[0] if better else None
    primary = reported[0]
    first = parents[primary]
    if first is not None and first.contig not in alternate:  # the mate determined the primary one
        parents = {hit: primary if first in (hit, parent) else parent for hit, parent in parents.items()}
        parents[primary] = None
    return parents


def _groups(lifted: Mapping[PlacedHit, Sequence[Lifted]]) -> list[list[PlacedHit]]:
    """Return hits with overlapping places; a lifted hit has the place of its first lift."""

    def place(hit: PlacedHit) -> tuple[int, int, int]:
        first = next(iter(lifted[hit]), None)
        return (hit.contig, hit.start, hit.end) if first is None else (first.contig, first.start, first.end)

    groups: list[list[PlacedHit]] = []
    last, end = -1, 0
    for hit in sorted(lifted, key=lambda hit: place(hit)[:2]):
        contig, start, hit_end = place(hit)
        if contig != last:
            last, end = contig, 0
            groups.append([])
        elif start >= end:
            groups.append([])
        groups[-1].append(hit)
        end = max(end, hit_end)
    return groups


def _quality_of(groups: Sequence[Sequence[PlacedHit]], own: Sequence[PlacedHit]) -> int:
    best = [max(hit.score for hit in group) for group in groups]
    first = best.index(max(best))
    if groups[first] is not own:
        return 0
    others = best[:first] + best[first + 1 :]
    return min(QUALITY_OF_GROUPS * (best[first] - max(others)), MOST_QUALITY) if others else MOST_QUALITY


def _change_quality(before: LiftedRow, quality: int, hit: PlacedHit, lifted: Sequence[Lifted]) -> None:
    """Change the quality of a row that was reported before a lifted hit."""
    if before.added:
        return
    is_there = any(
        each.contig == before.hit.contig
        and each.reverse == before.hit.reverse
        and before.hit.start < each.end
        and each.start < before.hit.start + hit.end - hit.start  # bwa-postalt uses the lifted hit's span
        for each in lifted
    )
    if is_there:
        known = before.original_quality if before.original_quality > 0 else before.quality
        before.quality = min(known, quality)
    elif before.is_beaten:
        if before.original_quality < 0:
            before.original_quality = before.quality
        before.quality = 0
