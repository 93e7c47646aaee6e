"""Reference implementations of the align stage's decisions: slow, exhaustive, in floating point where bwa uses it."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from quire.align.insert_size import InsertSizes
from quire.align.parameters import (
    BAND_MARGIN,
    CROWDED_PARTS,
    FEWEST_KMERS,
    KMER,
    MOST_CANDIDATES,
    MOST_SUPPLEMENTARY,
    NEAR_BEST,
    PAIR_BONUS_LIMIT,
    SHORTEST_CERTAIN,
    SIMPLE_WORD,
    UNPAIRED_COST,
)

from tests.oracles.ties import tie_hash
from tests.support.places import Place


def votes_for_diagonals(read: Sequence[int], window: Sequence[int]) -> dict[int, int]:
    """Count the k-mers without N that a read and a window share, by diagonal (position in the window less in the read).

    Diagonals on which the read begins before the window are left out.
    """
    where = defaultdict(list)
    for position in range(len(window) - KMER + 1):
        where[tuple(window[position : position + KMER])].append(position)
    votes: Counter[int] = Counter()
    for place in range(len(read) - KMER + 1):
        kmer = tuple(read[place : place + KMER])
        if max(kmer) < 4:
            votes.update(position - place for position in where.get(kmer, ()) if position >= place)
    return votes


def best_diagonals(read: Sequence[int], window: Sequence[int], target: int) -> list[int]:
    """Return the diagonal with most votes, and the best outside its band; [] for none."""
    votes = votes_for_diagonals(read, window)

    def order(diagonal: int) -> tuple[int, int, int]:
        return -votes[diagonal], abs(diagonal - target), diagonal

    found: list[int] = []
    for _ in range(2):
        beyond = [
            one
            for one in votes
            if votes[one] >= FEWEST_KMERS and all(abs(one - other) > BAND_MARGIN for other in found)
        ]
        found += sorted(beyond, key=order)[:1]
    return found


def bwa_quality(score: int, second: int, near: int, read_span: int, axis_span: int, crowded: int = 0) -> int:
    """Return the quality of mem_approx_mapq_se (bwamem.c) with default parameters, and our rule for crowded reads."""
    second = max(second, 19)
    if second >= score:
        return 0
    span = max(read_span, axis_span)
    identity = 1.0 - (span - score) / 5.0 / span
    factor = 1.0 if span < 50 else math.log(50) / math.log(span)
    factor *= identity * identity
    quality = int(6.02 * (score - second) * factor * factor + 0.499)
    if near > 0:
        quality -= int(4.343 * math.log(near + 1) + 0.499)
    return lowered(quality, crowded)


def lowered(quality: int, crowded: int) -> int:
    """Reduce a quality from 0 to 60 by one part for each of `crowded` short reads at the MOST_CANDIDATES cap."""
    return min(60, max(0, quality) * (CROWDED_PARTS - crowded) // CROWDED_PARTS)


def bwa_insert_size(lengths: Sequence[int]) -> tuple[float, float, int, int]:
    """Return mean, standard deviation, lowest and highest proper length as in bwa mem's mem_pestat."""
    ordered = sorted(lengths)
    quartile, third = (ordered[int(share * len(ordered) + 0.499)] for share in (0.25, 0.75))
    spread = third - quartile
    low, high = max(1, int(quartile - 2.0 * spread + 0.499)), int(third + 2.0 * spread + 0.499)
    inner = [length for length in ordered if low <= length <= high]
    mean = sum(inner) / len(inner)
    deviation = math.sqrt(sum((length - mean) ** 2 for length in inner) / len(inner))
    low, high = int(quartile - 3.0 * spread + 0.499), int(third + 3.0 * spread + 0.499)
    if low > mean - 4.0 * deviation:
        low = int(mean - 4.0 * deviation + 0.499)
    if high < mean + 4.0 * deviation:
        high = int(mean + 4.0 * deviation + 0.499)
    return mean, deviation, max(1, low), high


def as_read(place: Place, length: int) -> tuple[int, int]:
    """Return the part of the read in the direction as read."""
    if place.strand == 0:
        return place.read_begin, place.read_end
    return length - place.read_end, length - place.read_begin


def compete(a: Place, b: Place, length: int) -> bool:
    """Return True if two places of a read overlap, on the read, by at least half of the shorter one."""
    parts = [set(range(*as_read(place, length))) for place in (a, b)]
    return 2 * len(parts[0] & parts[1]) >= min(map(len, parts))


def five_prime(place: Place, length: int) -> int:
    """Return the contig position of a read's 5' end, clipped bases included: its first base or its last plus 1."""
    if place.strand == 0:
        return place.position - place.read_begin
    return place.position + place.axis_end - place.axis_begin + length - place.read_end


def template_length(a: Place, b: Place, lengths: tuple[int, int]) -> tuple[str, int] | None:
    """Return orientation and template length of the first and the second mate's places; None for different contigs.

    Both are reversed if needed so that the first mate is a forward read; the strands are then read from left to right.
    """
    if a.contig != b.contig:
        return None
    ends = five_prime(a, lengths[0]), five_prime(b, lengths[1])
    turned = [end if a.strand == 0 else -end for end in ends]
    strands = "F", "F" if a.strand == b.strand else "R"
    if turned[1] > turned[0]:
        return "".join(strands), turned[1] - turned[0]
    # The second mate is leftmost. Read from the other side, two reads of one strand are then RR.
    return "RR" if a.strand == b.strand else "RF", turned[0] - turned[1]


def is_simple(bases: Sequence[int]) -> bool:
    """Return True if fewer than one in four of the words of a sequence are distinct."""
    words = [tuple(base % 4 for base in bases[i : i + SIMPLE_WORD]) for i in range(len(bases) - SIMPLE_WORD + 1)]
    return 4 * len(set(words)) < len(words)


@dataclass
class Chosen:
    """The reported places of one read."""

    primary: int = -1
    quality: int = 0
    suboptimal_score: int = 0
    proper: bool = False
    supplementary: list[tuple[int, int, int]] = field(default_factory=list)  # (place, quality, suboptimal score)
    mate_stands: bool = field(default=False, compare=False)  # the mate in a proper pair is good enough alone


class Marked:
    """A read's places, best first, each with the better place that it competes with (None for none).

    Places on `alternate` contigs come last. They compete with all places, by score; the others only among themselves.
    `codes` are the read's bases, of both strands.
    """

    def __init__(
        self,
        places: Sequence[Place],
        codes: Sequence[Sequence[int]],
        quality,
        alternate: Sequence[int] | frozenset[int] = (),
    ) -> None:
        self.places, self.codes, self._quality, self.alternate = places, codes, quality, alternate
        self.length = len(codes[0])
        self.of_primary = [i for i, place in enumerate(places) if place.contig not in alternate]
        everywhere = sorted(range(len(places)), key=lambda i: (-places[i].score, self.is_alternate(i), i))
        among_primary, among_all = self._losers(self.of_primary), self._losers(everywhere)
        self.overlapped_by = [(among_all if self.is_alternate(i) else among_primary)[i] for i in range(len(places))]
        self._rivals = [
            [j for j, better in (among_all if self.is_alternate(i) else among_primary).items() if better == i]
            for i in range(len(places))
        ]

    def crowded(self, i: int) -> int:
        """Return 1 for a short read if as many places as one pass keeps compete with place i (included), else 0."""
        competing = self.places if self.is_alternate(i) else self.of_primary
        return int(len(competing) >= MOST_CANDIDATES and self.length < SHORTEST_CERTAIN)

    def is_alternate(self, i: int) -> bool:
        """Return True if place i lies on an alternate contig."""
        return self.places[i].contig in self.alternate

    def _losers(self, order: Sequence[int]) -> dict[int, int | None]:
        """Map each of these places, in this order, to the better place that it competes with."""
        better: dict[int, int | None] = {}
        for i in order:
            above = [j for j in better if better[j] is None and compete(self.places[i], self.places[j], self.length)]
            better[i] = above[0] if above else None
        return better

    def rivals(self, i: int) -> list[int]:
        """Return the scores of the places that lose to place i."""
        return [self.places[j].score for j in self._rivals[i]]

    def suboptimal_score(self, i: int) -> int:
        """Return the score of the best rival; 0 for none."""
        better = self.overlapped_by[i]
        return max(self.rivals(i), default=0) if better is None else self.places[better].score

    def is_simple(self, i: int) -> bool:
        """Return True if place i covers simple sequence."""
        place = self.places[i]
        return is_simple(self.codes[place.strand][place.read_begin : place.read_end])

    def telling_score(self, i: int) -> int:
        """Return the best score of the read's parts that are not simple, place i's part included (Quire's own rule)."""
        part = i if self.overlapped_by[i] is None else self.overlapped_by[i]
        best = [j for j in self.of_primary if self.overlapped_by[j] is None]
        return max(self.places[j].score for j in best if j == part or not self.is_simple(j))

    def quality(self, i: int) -> int:
        """Return the quality of place i without its mate."""
        place = self.places[i]
        near = sum(place.score - score <= NEAR_BEST for score in self.rivals(i))
        span = place.axis_end - place.axis_begin
        spans = place.read_end - place.read_begin, span
        return self._quality(place.score, self.suboptimal_score(i), near, *spans, self.crowded(i))


def choose_single(marked: Marked) -> Chosen:
    """Choose the best place of a read without its mate."""
    return Chosen(0, marked.quality(0), marked.suboptimal_score(0)) if marked.places else Chosen()


def choose_pair(mates: tuple[Marked, Marked], name_hash: int, models: InsertSizes) -> tuple[Chosen, Chosen]:
    """Choose the places of both mates: the best proper pair, unless two distant places win despite the pairing cost."""
    chosen = _choose_pair(mates, name_hash, models)
    for one, other, marked in ((chosen[0], chosen[1], mates[1]), (chosen[1], chosen[0], mates[0])):
        one.mate_stands = other.primary >= 0 and marked.places[other.primary].score >= min(30, marked.length - 5)
    return chosen


def _choose_pair(mates: tuple[Marked, Marked], name_hash: int, models: InsertSizes) -> tuple[Chosen, Chosen]:
    alone = choose_single(mates[0]), choose_single(mates[1])
    pairs = []
    if mates[0].places and mates[1].places and not (mates[0].of_primary and mates[1].of_primary):
        a, b = mates[0].places[0], mates[1].places[0]
        orientation, length = template_length(a, b, (mates[0].length, mates[1].length)) or ("FR", 0)
        model = getattr(models, orientation)
        alone[0].proper = alone[1].proper = model.low <= length <= model.high
        return alone
    for i in mates[0].of_primary:
        for j in mates[1].of_primary:
            a, b = mates[0].places[i], mates[1].places[j]
            orientation, length = template_length(a, b, (mates[0].length, mates[1].length)) or ("FR", 0)
            model = getattr(models, orientation)
            if model.low <= length <= model.high:
                score = a.score + b.score - int(model.penalties()[length - model.low])
                pairs.append((-score, tie_hash(name_hash, a.axis_begin + b.axis_begin), i, j))
    pairs.sort()
    if not pairs or pairs[0][0] > 0:  # a pair that costs more than it scores is never chosen
        return alone
    score, _, *best = pairs[0]
    unpaired = mates[0].places[0].score + mates[1].places[0].score - UNPAIRED_COST
    if -score <= unpaired:
        unpaired = sum(marked.telling_score(i) for marked, i in zip(mates, best, strict=True)) - UNPAIRED_COST
    if -score <= unpaired:
        proper = any(pair[2:] == (0, 0) for pair in pairs)
        alone[0].proper = alone[1].proper = proper
        return alone
    others = [-pair[0] for pair in pairs[1:]]
    second = max([0, *others])
    near = sum(second - other <= NEAR_BEST for other in others)
    quality = math.floor(6.02 * (-score - max(second, unpaired)) + 0.5)
    if near:
        quality -= int(4.343 * math.log(near + 1) + 0.499)
    quality = lowered(quality, mates[0].crowded(best[0]) + mates[1].crowded(best[1]))
    # Quire's own rule: if both mates have as many equally good places as are kept, others may have been dropped.
    as_good = [
        sum(marked.places[other].score >= marked.places[i].score for other in marked.of_primary)
        for marked, i in zip(mates, best, strict=True)
    ]
    if min(as_good) >= MOST_CANDIDATES:
        quality = 0
    chosen = []
    for marked, i in zip(mates, best, strict=True):
        own = marked.quality(i)
        chosen.append(Chosen(i, max(own, min(quality, own + PAIR_BONUS_LIMIT)), marked.suboptimal_score(i), True))
    return chosen[0], chosen[1]


def complete(chosen: Chosen, marked: Marked) -> Chosen:
    """Drop places too short without a mate, lower the quality of simple and poor ones, and add supplementary places."""
    if chosen.primary < 0:
        return chosen
    primary, least = marked.places[chosen.primary], min(30, marked.length - 5)
    if primary.score < least and not chosen.proper:
        standing = [i for i, place in enumerate(marked.places) if marked.is_alternate(i) and place.score >= least]
        if not standing:
            return Chosen()
        chosen = Chosen(standing[0], marked.quality(standing[0]), marked.suboptimal_score(standing[0]))
        primary = marked.places[chosen.primary]
    is_supported = chosen.proper and primary.score >= 0.75 * marked.length
    if not is_supported and marked.is_simple(chosen.primary):
        chosen.quality = 0
    weight = (8 if chosen.mate_stands else 3) if chosen.proper else 2
    weighted = primary.score * weight
    chosen.quality = chosen.quality * min(weighted, marked.length) // marked.length
    for i, place in enumerate(marked.places):
        root = marked.overlapped_by[chosen.primary]
        is_best = marked.overlapped_by[i] is None and i not in (chosen.primary, root)
        if place.score < least or not is_best:
            continue
        if marked.is_alternate(i) or not compete(place, primary, marked.length):
            most = 60 if marked.is_alternate(i) else chosen.quality
            chosen.supplementary.append((i, min(marked.quality(i), most), marked.suboptimal_score(i)))
    del chosen.supplementary[MOST_SUPPLEMENTARY:]
    return chosen
