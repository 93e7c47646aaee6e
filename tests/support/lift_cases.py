"""Reads with hits on alternate contigs, and the alignments of these contigs, for tests of lift-over."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from quire.align.model import Reported
from quire.ragged import offsets_from_lengths
from quire.sam import CIGAR_MATCH, CIGAR_SHIFT

from tests.oracles.lift_over import ContigAlignment, PlacedHit

READ_LENGTH = 100
LENGTHS = {
    "chr1": 3000, "chr2": 2000, "1_alt": 900, "2_alt": 700, "HLA-A*01:01": 500, "decoy*1": 400, "chr3": 500,
}  # fmt: skip
NAMES = list(LENGTHS)
ALTERNATE = (2, 3, 4, 5)
PARTS = ((0, 100), (0, 100), (0, 60), (50, 100), (10, 90), (0, 45), (55, 100))  # parts of the read, as sequenced


class Case(NamedTuple):
    """A read: its reported hits with their qualities, the primary hit first, and its other hits."""

    reported: list[tuple[PlacedHit, int]]
    others: list[PlacedHit]


def random_list(generator: random.Random) -> tuple[dict[int, list[ContigAlignment]], str]:
    """Draw alignments of three alternate contigs, some of which may have none, and the alternate list with them."""
    alignments: dict[int, list[ContigAlignment]] = {}
    lines = []
    for contig in ALTERNATE[:3]:
        for _ in range(generator.choice([1, 1, 2, 3])):
            elements = _random_elements(generator, LENGTHS[NAMES[contig]])
            target = generator.choice([0, 1])
            room = LENGTHS[NAMES[target]] - sum(length for length, operation in elements if operation in "MD=XN")
            if room < 1:
                continue
            found = ContigAlignment(
                target, generator.random() < 0.5, generator.choice([0, generator.randrange(room)]), elements
            )
            alignments.setdefault(contig, []).append(found)
            cigar = "".join(f"{length}{operation}" for length, operation in elements)
            flag = 16 * found.reverse + generator.choice([0, 256, 2048])
            lines.append(f"{NAMES[contig]}\t{flag}\t{NAMES[target]}\t{found.position + 1}\t0\t{cigar}" + "\t*" * 5)
    lines += [f"{NAMES[contig]}\t4\t*\t0\t0\t*" + "\t*" * 5 for contig in ALTERNATE if contig not in alignments]
    return alignments, "\n".join(["@SQ\tSN:chr1\tLN:3000", *lines, ""])


def _random_elements(generator: random.Random, length: int) -> list[tuple[int, str]]:
    """Draw a CIGAR of `length` bases, often with clips, some of them both hard and soft."""
    ends = [(generator.choice([0, 0, 30, 120]), generator.choice("SH")) for _ in range(2)]
    left, elements = length - ends[0][0] - ends[1][0], []
    while left > 0:
        matched = min(left, generator.randint(20, 200))
        elements.append((matched, "M"))
        left -= matched
        if left > 60 and generator.random() < 0.7:
            gap = generator.randint(1, 60)
            is_insertion = generator.random() < 0.5
            elements.append((min(gap, left - 20), "I") if is_insertion else (gap, "D"))
            left -= elements[-1][0] if is_insertion else 0
    clips = [[(2, "H"), (size - 2, "S")] if size and kind == "H" else [(size, "S")] for size, kind in ends]
    return [element for element in (*clips[0], *elements, *clips[1][::-1]) if element[0]]


def random_case(generator: random.Random, alignments: Mapping[int, list[ContigAlignment]]) -> Case:
    """Draw a read with some hits, mostly at lifted positions of one another, reported as mapping may report them."""
    count = generator.choice([1, 2, 2, 3, 4, 6, 9])
    around = generator.randrange(0, 1800)
    hits = [_random_hit(generator, alignments, around) for _ in range(count)]
    hits.sort(key=lambda hit: (hit.contig in ALTERNATE, -hit.score))
    hits = [replace(hit, rank=rank) for rank, hit in enumerate(hits)]
    on_primary = [hit for hit in hits if hit.contig not in ALTERNATE]
    best = max(hit.score for hit in hits)
    reported = [generator.choice([*on_primary[:1] * 4, *on_primary])] if on_primary else hits[:1]
    if on_primary and generator.random() < 0.3:
        reported += [hit for hit in on_primary if hit not in reported][:1]
    further = [hit for hit in hits if hit.contig in ALTERNATE and hit not in reported]
    reported += [hit for hit in further if generator.random() * best < hit.score / 2][: 4 - len(reported)]
    qualities = [generator.choice([0, 0, 3, 17, 30, 45, 60]) for _ in reported]
    return Case(list(zip(reported, qualities, strict=True)), [hit for hit in hits if hit not in reported])


def _random_hit(generator: random.Random, alignments: Mapping[int, list[ContigAlignment]], around: int) -> PlacedHit:
    contig = generator.choice([0, 0, 1, 2, 2, 3, 3, 4, 5, 6])
    begin, end = generator.choice(PARTS)
    span = end - begin
    last = LENGTHS[NAMES[contig]] - span
    start = generator.randrange(last + 1)
    if contig < 2 and generator.random() < 0.8:
        start = min(last, around + generator.randrange(-40, 40)) if around > 40 else start
    for alignment in alignments.get(contig, [])[:1]:  # a base of the alternate contig near this hit
        places = alignment.places()
        near = [i for i, place in enumerate(places) if place is not None and abs(place - around) < 40]
        if near and generator.random() < 0.8:
            base = generator.choice(near)
            start = min(last, max(0, len(places) - base - span if alignment.reverse else base))
    mismatches = min(generator.choice([0, 0, 1, 1, 2, 3, 4, 5, 6]), span // 10)
    return PlacedHit(contig, start, start + span, generator.random() < 0.5, span - 5 * mismatches, begin, end, 0)


def reported_of(cases: list[Case], strangers: int) -> tuple[Reported, np.ndarray]:
    """Return mapping's report of the cases, with `strangers` unmapped reads after each, and the reads' offsets."""
    rows, all_rows, hits, qualities = [], [], [], []
    for case in cases:
        rows += [len(case.reported), *[0] * strangers]
        all_rows += [len(case.reported) + len(case.others), *[0] * strangers]
        hits += [*(hit for hit, _ in case.reported), *case.others]
        qualities += [*(quality for _, quality in case.reported), *[0] * len(case.others)]

    def column(values: list[int], dtype: type) -> np.ndarray:
        return np.array(values, dtype)

    spans = [hit.end - hit.start for hit in hits]
    starts = [1000 * hit.contig + hit.start for hit in hits]
    turned = [(READ_LENGTH - hit.end_on_read, READ_LENGTH - hit.begin) for hit in hits]
    parts = [part if hit.reverse else (hit.begin, hit.end_on_read) for hit, part in zip(hits, turned, strict=True)]
    reported = Reported(
        first=offsets_from_lengths(all_rows)[:-1],
        rows=column(rows, np.int32),
        proper=np.zeros(len(rows), np.bool_),
        quality=column(qualities, np.uint8),
        suboptimal_score=column(range(len(hits)), np.int32),
        strand=column([hit.reverse for hit in hits], np.uint8),
        score=column([hit.score for hit in hits], np.int32),
        read_begin=column([begin for begin, _ in parts], np.int32),
        read_end=column([end for _, end in parts], np.int32),
        axis_begin=column(starts, np.int64),
        axis_end=column([start + span for start, span in zip(starts, spans, strict=True)], np.int64),
        contig=column([hit.contig for hit in hits], np.int32),
        position=column([hit.start for hit in hits], np.int64),
        cigar_begin=np.arange(len(hits), dtype=np.int64),
        cigar_length=np.ones(len(hits), np.int32),
        cigar=column([span << CIGAR_SHIFT | CIGAR_MATCH for span in spans], np.uint32),
        all_rows=column(all_rows, np.int32),
        rank=column([hit.rank for hit in hits], np.int32),
    )
    return reported, READ_LENGTH * np.arange(len(rows) + 1, dtype=np.int64)
