"""Loci: stretches of the genome with clips that agree, whose reads are looked at; and junctions that are the same."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from quire.finish.evidence_cpu import Evidence
from quire.structural.gaps_cpu import Span
from quire.structural.junctions import Junction, same

AGREEING = 3  # most bases between clips of one breakpoint
PADDING = 60  # bases around clips that belong to their locus
JOINED = 2000  # loci this close are read together
LONGEST_SPAN = 100_000
TOLERANCE = 15  # bases between ends that count as the same
INVERSIONS_APART = 100  # bases between the two junctions of an inversion, some of which lose bases
PAIRS_APART = 700  # bases between ends that only pairs show and others
INSERTIONS_APART = 40  # most bases between insertions that count as the same


def spans_of(evidences: Sequence[Evidence], contigs: int) -> list[Span]:
    """Return the spans of all loci, in order and disjoint; a span may end after its contig, as a breakpoint may."""
    spans: list[Span] = []
    for contig in range(contigs):
        places = np.unique(np.concatenate([_agreeing(evidence, contig) for evidence in evidences]))
        for place in places.tolist():
            low, high = max(0, place - PADDING), place + PADDING
            last = spans[-1] if spans else Span(-1, 0, 0)
            if last.contig == contig and low - last.end <= JOINED and high - last.start <= LONGEST_SPAN:
                spans[-1] = Span(contig, last.start, max(high, last.end))
            else:
                spans.append(Span(contig, max(low, last.end if last.contig == contig else 0), high))
    return spans


def _agreeing(evidence: Evidence, contig: int) -> np.ndarray:
    """Return the positions of a contig's clips that another clip on the same side agrees with."""
    first, last = np.searchsorted(evidence.clips["contig"], [contig, contig + 1])
    clips = evidence.clips[first:last]
    key = clips["right"].astype(np.int64) << 33 | clips["position"]
    near = np.diff(key) <= AGREEING
    chosen = np.zeros(len(clips), np.bool_)
    chosen[1:] |= near
    chosen[:-1] |= near
    return clips["position"][chosen].astype(np.int64)


def merged(found: Iterable[Junction]) -> list[Junction]:
    """Return the distinct junctions, in order; of those that are the same, the one that was found most often."""
    counts = Counter(found)
    kept: list[Junction] = []
    by_place: dict[tuple[int, int], list[Junction]] = {}
    for one in sorted(counts, key=lambda junction: (_rank(junction), -counts[junction], junction)):
        bucket = one.first.position // 1000
        near = [other for b in (bucket - 1, bucket, bucket + 1) for other in by_place.get((one.first.contig, b), [])]
        equal = next((other for other in near if _equivalent(one, other)), None)
        if equal is None:
            kept.append(one)
            by_place.setdefault((one.first.contig, bucket), []).append(one)
        elif one.kind == "INV" and equal.first.right != one.first.right and not equal.both:
            for own in (kept, by_place[equal.first.contig, equal.first.position // 1000]):
                own[own.index(equal)] = replace(equal, both=True)
    left = (one for one in kept if not _is_part_of_insertion(one, by_place))
    return sorted(left, key=lambda one: (one.first, one.second, _rank(one), one))


def _rank(junction: Junction) -> int:
    """Return 0 for what is known exactly, 1 for insertions without all their bases, 2 for what only pairs show."""
    return 2 if junction.imprecise else int(junction.ending is not None)


def _is_part_of_insertion(one: Junction, by_place: Mapping[tuple[int, int], Sequence[Junction]]) -> bool:
    """Return True if an end of a junction is an insertion whose bases are known: the other end is their source."""
    if one.kind == "INS" and one.ending is None:
        return False
    apart = PAIRS_APART if one.imprecise else INSERTIONS_APART
    for end in (one.first, one.second):
        bucket = end.position // 1000
        for near in (bucket - 1, bucket, bucket + 1):
            for other in by_place.get((end.contig, near), ()):
                complete = other.kind == "INS" and other.ending is None
                if complete and abs(other.first.position - end.position) <= apart:
                    return True
    return False


def _equivalent(one: Junction, other: Junction) -> bool:
    """Return True if two junctions stand for one variant."""
    if one.kind == other.kind == "INS":
        return abs(one.first.position - other.first.position) <= INSERTIONS_APART
    tolerance = INVERSIONS_APART if one.kind == "INV" and one.first.right != other.first.right else TOLERANCE
    tolerance = PAIRS_APART if one.imprecise else tolerance
    return one.kind == other.kind and same(one, other, tolerance)
