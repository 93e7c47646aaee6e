"""Discovery of junctions and insertions: breakpoints of each sample, placed near them and where reads and mates point.

A breakpoint whose clipped bases continue nearby gives a junction. If they do not, and reads are clipped on both sides
of one position, the inserted bases are assembled (`rescore.long_indels.contigs_cpu`). Else the clipped bases are placed
where the other part of the reads, or the mates of unusual pairs, are aligned.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.reference import Reference
from quire.rescore.long_indels import left_aligned
from quire.rescore.long_indels.breakpoints_cpu import Breakpoint, Clips, breakpoints, clips_of
from quire.rescore.long_indels.contigs_cpu import inserted_bases, reads_within
from quire.rescore.parameters import CallingParameters
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.reads.source import ReadSource
from quire.rescore.window import Window
from quire.sequence.codes import COMPLEMENT
from quire.structural import SHORTEST
from quire.structural.evidence_cpu import Evidence, within
from quire.structural.gaps_cpu import Span, gap_junctions
from quire.structural.junctions import End, Junction, away, back, complement, normalised
from quire.structural.placing_cpu import Fit, place

NEAR = 1500  # bases on either side of a breakpoint in which its clipped bases are placed first
MARGIN = 600  # bases around loci of which reads are fetched
LEAST_SCORE = 16  # of a placement nearby
LEAST_FAR_SCORE = 24  # of a placement elsewhere
UNIQUE = 6  # least lead of a placement elsewhere over the second
PLACED = 0.5  # least score of a placement, as a share of the clipped bases
FACING = 60  # most bases between the breakpoints of an insertion, or of their overlap
SAME_CLIP = 5  # bases within which clips belong to a breakpoint
SLACK = 300  # bases around the other part of a read
LEAST_MATES = 2  # that point to the same place
MOST_TARGETS = 6
MOST_SOURCES = 24  # of a copy
LONGEST_COPY = 7000  # bases; a whole L1 has 6,000
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
        targets = {id(one): _targets(reference, sample.evidence, span.contig, one) for one in inside}
        used = set[int]()
        for pair in _facing(inside):
            insertion = _assembled(span.contig, reads, clips, pair, sample.source, window)
            if insertion is None:
                sources = targets[id(pair[0])] + targets[id(pair[1])]
                insertion = _copied(reference, span.contig, pair, sources, window)
            if insertion is not None:
                found.append(insertion)
                used |= {id(one) for one in pair}
        for one in inside:
            if id(one) not in used:
                near = [Span(span.contig, one.position - NEAR, one.position + NEAR)]
                often = [target for target in targets[id(one)] if target.pointing >= LEAST_MATES][:MOST_TARGETS]
                junction = _placed(reference, span.contig, one, near, LEAST_SCORE, 0)
                junction = junction or _placed(reference, span.contig, one, often, LEAST_FAR_SCORE, UNIQUE)
                if junction is not None:
                    used.add(id(one))
                    if junction.size >= SHORTEST or junction.kind == "BND":
                        found.append(junction)
        found += [
            _with_known_ends(span.contig, pair, window)
            for pair in _facing([one for one in inside if id(one) not in used])
            if all((one.tail > 3).mean() <= MOST_UNKNOWN for one in pair)
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


def _placed(
    reference: Reference, contig: int, breakpoint: Breakpoint, targets: Sequence[Span], least: int, unique: int
) -> Junction | None:
    """Return the junction by the best placement of a breakpoint's clipped bases in one of the targets, or None."""
    tail = _outward(breakpoint)
    best = max(_ends(reference, tail, targets), key=lambda one: one[0].score, default=None)
    if best is None:
        return None
    placement, other, inserted = best
    if placement.score < max(least, PLACED * len(tail)) or placement.score - placement.second < unique:
        return None
    return normalised(reference, End(contig, breakpoint.position, breakpoint.right), other, inserted)


def _copied(
    reference: Reference,
    contig: int,
    pair: tuple[Breakpoint, Breakpoint],
    targets: Sequence[Span],
    window: Window,
) -> Junction | None:
    """Return the insertion of a copy: of all targets, that whose two ends the clipped bases of a pair fit best."""
    tails = [_outward(one) for one in pair]
    best, copy = 0, None
    for target in targets[:MOST_SOURCES]:
        wide = [target._replace(start=target.start - LONGEST_COPY, end=target.end + LONGEST_COPY)]
        ends = [next(_ends(reference, tail, wide), None) for tail in tails]
        if ends[0] is None or ends[1] is None:
            continue
        (one, first, before), (other, last, after) = ends[0], ends[1]
        length = (last.position - first.position) * (-1 if first.right else 1)
        scores = [p.score for p in (one, other)]
        enough = all(
            score >= max(LEAST_SCORE, PLACED * (len(tail) - len(bases)))
            for score, tail, bases in zip(scores, tails, (before, after), strict=True)
        )
        if first.right != last.right and 0 < length <= LONGEST_COPY and enough and sum(scores) > best:
            best, copy = sum(scores), before + back(reference, first, length).tobytes() + complement(after)
    return None if copy is None or max(copy) > 3 else _inserted(contig, pair, copy, window)


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


def _facing(found: Sequence[Breakpoint]) -> Iterator[tuple[Breakpoint, Breakpoint]]:
    """Yield pairs of breakpoints around one position, clipped on the right and on the left."""
    for right in found:
        for left in found:
            if right.right and not left.right and abs(right.position - left.position) <= FACING:
                yield right, left


def _assembled(
    contig: int,
    reads: AlignedReads,
    clips: Clips,
    pair: tuple[Breakpoint, Breakpoint],
    source: ReadSource,
    window: Window,
) -> Junction | None:
    """Return the insertion between two breakpoints if clipped reads, or else all reads nearby, assemble to it."""
    before, after = pair[0].position, pair[1].position
    inserted = inserted_bases(reads, clips, pair, [])
    if inserted is None:
        others = reads_within(source, window.contig, min(before, after), max(before, after))
        inserted = inserted_bases(reads, clips, pair, others)
    return None if inserted is None else _inserted(contig, pair, inserted, window)


def _inserted(contig: int, pair: tuple[Breakpoint, Breakpoint], inserted: bytes, window: Window) -> Junction | None:
    """Return the left-aligned insertion of bases between two breakpoints."""
    before, after = pair[0].position, pair[1].position
    indel = left_aligned(before, max(before, after), inserted + _twice(pair, window), window.codes, window.start)
    if indel is None or indel.change < SHORTEST:
        return None
    return Junction(End(contig, indel.start + 1, True), End(contig, indel.end, False), indel.alternate[1:])


def _twice(pair: tuple[Breakpoint, Breakpoint], window: Window) -> bytes:
    """Return the bases that reads from both sides align to, which occur twice in the sample."""
    before, after = pair[0].position, pair[1].position
    return window.between(after, before).tobytes() if after < before else b""


def _with_known_ends(contig: int, pair: tuple[Breakpoint, Breakpoint], window: Window) -> Junction:
    """Return the insertion between two breakpoints of which only the ends are known."""
    before, after = pair[0].position, max(pair[0].position, pair[1].position)
    ending = pair[1].tail.tobytes() + _twice(pair, window)
    return Junction(End(contig, before, True), End(contig, after, False), pair[0].tail.tobytes(), ending=ending)
