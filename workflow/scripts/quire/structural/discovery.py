"""Discovery of junctions and insertions: breakpoints of each sample, placed near them and where reads and mates point.

The clipped bases of a breakpoint are placed nearby, and give a junction. If they fit better where the other part of
the reads, or the mates of unusual pairs, are aligned, the junction leads there. If reads are clipped on both sides of
one position and no sure junction explains them, the inserted bases are first assembled
(`rescore.long_indels.contigs_cpu`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.finish.evidence_cpu import Evidence
from quire.reference import Reference
from quire.rescore.engines import CallingEngine
from quire.rescore.long_indels import SHORTEST
from quire.rescore.long_indels.breakpoints_cpu import Breakpoint, breakpoints, clips_of, facing
from quire.rescore.long_indels.contigs_cpu import bases_between
from quire.rescore.long_indels.placing_cpu import PLACED, UNIQUE, Fit, place
from quire.rescore.long_indels.proposals_cpu import insertion, twice
from quire.rescore.parameters import CallingParameters
from quire.rescore.reads.source import ReadSource
from quire.rescore.window import Window
from quire.sequence.codes import COMPLEMENT
from quire.structural.evidence_cpu import within
from quire.structural.gaps_cpu import Span, gap_junctions
from quire.structural.junctions import End, Junction, Source, away, back, complement, normalised
from quire.structural.repeats import is_repeat, with_copies

NEAR = 1500  # bases on either side of a breakpoint in which its clipped bases are placed first
MARGIN = 600  # bases around loci of which reads are fetched
SURE, SURE_BASES = 0.9, 40  # score, as a share of this many or more clipped bases, of a placement that is no chance
LEAST_SCORE = 16  # of a placement nearby
LEAST_FAR_SCORE = 24  # of a placement elsewhere
FACING = 60  # most bases between the breakpoints of an insertion, or of their overlap
SAME_CLIP = 5  # bases within which clips belong to a breakpoint
SLACK = 300  # bases around the other part of a read
LEAST_MATES = 2  # that point to the same place
MOST_TARGETS = 6
MOST_SOURCES = 24  # of a copy
LONGEST_COPY = 7000  # bases; a whole L1 has 6,000
BASES_OF_SCORE = 100  # of a copy that outweigh a matching base at its ends
MOST_UNKNOWN = 0.1  # share of clipped bases without consensus


class Sample(NamedTuple):
    """A sample's reads, and the evidence of its whole file."""

    source: ReadSource
    evidence: Evidence


def discover(
    reference: Reference,
    samples: Sequence[Sample],
    span: Span,
    parameters: CallingParameters,
    engine: CallingEngine,
) -> list[Junction]:
    """Return the junctions with a breakpoint in a span that its reads show, in any order, with repetitions."""
    found: list[Junction] = []
    name = reference.contig_names[span.contig]
    length = int(reference.contig_lengths[span.contig])
    low, high = max(0, span.start - MARGIN), min(length, span.end + MARGIN)
    window_low, window_high = max(0, low - NEAR), min(length, high + NEAR)
    window = Window(name, length, window_low, reference.contig_codes(span.contig, window_low, window_high))
    for sample in samples:
        reads, _ = sample.source.fetch(name, low, high, np.array([[low, high]]), parameters)
        clips = clips_of(reads)
        found += gap_junctions(reference, span, reads)
        inside = [one for one in breakpoints(reads, clips) if span.start <= one.position < span.end]
        targets = [_targets(reference, sample.evidence, span.contig, one) for one in inside]
        joined = [_joined(reference, span.contig, one, near) for one, near in zip(inside, targets, strict=True)]
        explained = set[int]()
        for right, left in facing(inside, FACING):
            pair = inside[right], inside[left]
            if _is_explained(pair, joined[right], joined[left]):
                continue
            sure = [_is_sure(reference, span.contig, one) for one in pair]
            if any(sure) and not _is_repeat(pair, joined[right], joined[left]):
                continue
            inserted = bases_between(reads, clips, pair, sample.source, name)
            if _is_repeat(pair, joined[right], joined[left]):
                if inserted is not None:
                    # More than one copy, perhaps: the likelihoods decide between this and the duplication.
                    found += _inserted(span.contig, pair, inserted, window, None)
                continue
            if inserted is None:
                inserted = _copied(reference, pair, targets[right] + targets[left])
            if inserted is not None:
                explained |= {right, left}
                source = _source(reference, inserted, targets[right] + targets[left])
                found += _inserted(span.contig, pair, inserted, window, source)
        for number, junction in enumerate(joined):
            if number not in explained and junction is not None:
                explained.add(number)
                if is_repeat(reference, junction) and not junction.inserted:
                    junction = with_copies(reference, sample.source, junction, parameters, engine)
                if junction.size >= SHORTEST or junction.kind == "BND":
                    found.append(junction)
        left_over = [one for number, one in enumerate(inside) if number not in explained]
        found += [
            _with_known_ends(span.contig, (left_over[right], left_over[left]), window)
            for right, left in facing(left_over, FACING)
            if all((left_over[one].tail > 3).mean() <= MOST_UNKNOWN for one in (right, left))
        ]
    return found


def _outward(breakpoint: Breakpoint) -> NDArray[np.uint8]:
    """Return the clipped bases as read away from the breakpoint."""
    return breakpoint.tail if breakpoint.right else COMPLEMENT[breakpoint.tail[::-1]]


def _ends(reference: Reference, tail: NDArray[np.uint8], targets: Sequence[Span]) -> Iterator[tuple[Fit, End, bytes]]:
    """Yield the best placement of outward bases in each target: the end where they go on, and the bases before it."""
    for target in targets:
        low, high = max(0, target.start), min(target.end, int(reference.contig_lengths[target.contig]))
        placement = place(reference.contig_codes(target.contig, low, high), tail, True) if high > low else None
        if placement is None:
            continue
        start, size, first = low + placement.start, placement.last - placement.first, placement.first
        end = End(target.contig, start, False) if placement.forward else End(target.contig, start + size, True)
        if first:
            # A difference near the breakpoint ends a placement early; the bases before it are no insertion.
            continued = COMPLEMENT[away(reference, end, first)[::-1]]
            if int((continued != tail[:first]).sum()) <= 1 + first // 8:
                end, first = end._replace(position=end.position + (first if end.right else -first)), 0
        if max(tail[:first], default=0) <= 3:
            yield placement, end, tail[:first].tobytes()


def _joined(reference: Reference, contig: int, breakpoint: Breakpoint, targets: Sequence[Span]) -> Junction | None:
    """Return the junction by which the clipped bases go on: nearby, or better where reads and mates point."""
    reaches = NEAR // 8, NEAR // 3, NEAR  # of equal placements a near one is likelier
    near = [Span(contig, breakpoint.position - reach, breakpoint.position + reach) for reach in reaches]
    often = [target for target in targets if target.pointing >= LEAST_MATES][:MOST_TARGETS]
    score, found = _placed(reference, contig, breakpoint, near, LEAST_SCORE, 0)
    if score >= SURE * len(breakpoint.tail):
        return found
    far_score, far = _placed(reference, contig, breakpoint, often, LEAST_FAR_SCORE, UNIQUE)
    return far if far_score >= score + UNIQUE else found


def _is_sure(reference: Reference, contig: int, breakpoint: Breakpoint) -> bool:
    """Return True if nearly all of many clipped bases go on nearby: nothing but a junction explains them."""
    tail = _outward(breakpoint)
    near = Span(contig, breakpoint.position - NEAR, breakpoint.position + NEAR)
    fit = next(_ends(reference, tail, [near]), None)
    return len(tail) >= SURE_BASES and fit is not None and fit[0].score >= SURE * len(tail)


def _joins(one: Junction | None, pair: tuple[Breakpoint, Breakpoint], kind: str) -> bool:
    """Return True if a junction of a kind joins two facing breakpoints."""
    if one is None or one.kind != kind:
        return False
    ends = sorted((pair[0].position, pair[1].position))
    apart = SAME_CLIP + one.homology
    return all(abs(a - b) <= apart for a, b in zip(ends, (one.first.position, one.second.position), strict=True))


def _is_explained(pair: tuple[Breakpoint, Breakpoint], right: Junction | None, left: Junction | None) -> bool:
    """Return True if the junctions of two facing breakpoints leave no room for an insertion between them.

    Either is a short deletion that joins them, or both lead to one other place, as in an inversion or a translocation.
    """
    if _joins(right, pair, "DEL") or _joins(left, pair, "DEL"):
        return True
    if right is None or left is None:
        return False
    places = [max(one.first, one.second, key=lambda end: _distance(end, pair)) for one in (right, left)]
    if places[0].contig != places[1].contig or places[0].right == places[1].right:
        return False
    # What both kept stretches hold would be inserted.
    shared = (places[0].position - places[1].position) * (1 if places[0].right else -1)
    apart = FACING + right.homology + left.homology
    return -apart <= shared < SHORTEST and not _is_repeat(pair, right, left)


def _is_repeat(pair: tuple[Breakpoint, Breakpoint], right: Junction | None, left: Junction | None) -> bool:
    """Return True if a tandem duplication joins two facing breakpoints."""
    return _joins(right, pair, "DUP") or _joins(left, pair, "DUP")


def _distance(end: End, pair: tuple[Breakpoint, Breakpoint]) -> int:
    """Return how far an end is from a breakpoint; ends on other contigs are told apart by their sides too."""
    return abs(end.position - pair[0].position)


def _placed(
    reference: Reference, contig: int, breakpoint: Breakpoint, targets: Sequence[Span], least: int, unique: int
) -> tuple[int, Junction | None]:
    """Return score and junction of the best placement of clipped bases in one of the targets; 0 and None if none."""
    tail = _outward(breakpoint)
    best = max(_ends(reference, tail, targets), key=lambda one: one[0].score, default=None)
    if best is None:
        return 0, None
    placement, other, inserted = best
    if placement.score < max(least, PLACED * len(tail)) or placement.score - placement.second < unique:
        return 0, None
    own = End(contig, breakpoint.position, breakpoint.right)
    return placement.score, normalised(reference, own, other, inserted)


def _copied(reference: Reference, pair: tuple[Breakpoint, Breakpoint], targets: Sequence[Span]) -> bytes | None:
    """Return inserted bases that are a copy: of the targets, that whose two ends the clipped bases of a pair fit best.

    Of two copies that fit nearly as well, the shorter one is likelier.
    """
    tails = [_outward(one) for one in pair]
    best, copy = 0.0, None
    for target in targets[:MOST_SOURCES]:
        wide = [target._replace(start=target.start - LONGEST_COPY, end=target.end + LONGEST_COPY)]
        ends = [next(_ends(reference, tail, wide), None) for tail in tails]
        if ends[0] is None or ends[1] is None:
            continue
        (one, first, before), (other, last, after) = ends[0], ends[1]
        length = (last.position - first.position) * (-1 if first.right else 1)
        enough = all(
            fit.score >= max(LEAST_SCORE, PLACED * (len(tail) - len(bases)))
            for fit, tail, bases in zip((one, other), tails, (before, after), strict=True)
        )
        rank = one.score + other.score - length / BASES_OF_SCORE
        if first.right != last.right and 0 < length <= LONGEST_COPY and enough and rank > best:
            best, copy = rank, before + back(reference, first, length).tobytes() + complement(after)
    return None if copy is None or max(copy) > 3 else copy


def _targets(reference: Reference, evidence: Evidence, contig: int, breakpoint: Breakpoint) -> list[Span]:
    """Return where reads clipped here continue, and where the mates of unusual pairs here are; most frequent first."""
    at, right = breakpoint.position, breakpoint.right
    clips = within(evidence.clips, contig, right, at - SAME_CLIP, at + SAME_CLIP + 1)
    first, last = np.searchsorted(evidence.split[:, 0], [clips.start, clips.stop])
    parts = evidence.clips[evidence.split[first:last, 1]]
    low, high = (at - evidence.usual, at + SAME_CLIP) if right else (at - SAME_CLIP, at + evidence.usual)
    mates = evidence.pairs[within(evidence.pairs, contig, right, low, high + 1)]
    places = [(int(c), int(p), 1) for c, p in zip(parts["contig"], parts["position"], strict=True)]
    places += [(int(c), int(p), 0) for c, p in zip(mates["mate_contig"], mates["mate_position"], strict=True)]
    groups: list[list[tuple[int, int, int]]] = []
    for one in sorted(places):
        if groups and groups[-1][-1][0] == one[0] and one[1] - groups[-1][-1][1] <= evidence.usual:
            groups[-1].append(one)
        else:
            groups.append([one])
    around = evidence.usual + SLACK
    found = [Span(group[0][0], group[0][1] - around, group[-1][1] + around, len(group)) for group in groups]
    return sorted(found, key=lambda target: -target.pointing)


def _source(reference: Reference, inserted: bytes, targets: Sequence[Span]) -> Source | None:
    """Return the place of which inserted bases are a copy, near one of the targets; None if they are none."""
    least, found = max(LEAST_FAR_SCORE, PLACED * len(inserted)), None
    for target in targets[:MOST_SOURCES]:
        low = max(0, target.start - LONGEST_COPY)
        high = min(target.end + LONGEST_COPY, int(reference.contig_lengths[target.contig]))
        codes = reference.contig_codes(target.contig, low, high)
        fit = place(codes, np.frombuffer(inserted, np.uint8), True)
        if fit is not None and fit.score >= least and (found is None or fit.score > least):
            start = low + fit.start
            least, found = fit.score, Source(target.contig, start, start + fit.last - fit.first, fit.forward)
    return found


def _inserted(
    contig: int, pair: tuple[Breakpoint, Breakpoint], inserted: bytes, window: Window, source: Source | None
) -> list[Junction]:
    """Return the left-aligned insertion of bases between two breakpoints; none if it is a small indel."""
    indel = insertion(pair, inserted, window)
    if indel is None or indel.change < SHORTEST:
        return []
    ends = End(contig, indel.start + 1, True), End(contig, indel.end, False)
    return [Junction(*ends, indel.alternate[1:], source=source)]


def _with_known_ends(contig: int, pair: tuple[Breakpoint, Breakpoint], window: Window) -> Junction:
    """Return the insertion between two breakpoints of which only the ends are known."""
    before, after = pair[0].position, max(pair[0].position, pair[1].position)
    ending = pair[1].tail.tobytes() + twice(pair, window)
    return Junction(End(contig, before, True), End(contig, after, False), pair[0].tail.tobytes(), ending=ending)
