"""A genome of repeats, and reads whose ends lie behind long gaps there, while another copy has no gap."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from tests.support.builders import Read, random_bases, reverse_complement

SHORT_SIDE, LONG_SIDE = 60, 155
GAPS = (17, 23, 30)


@dataclass(frozen=True)
class Gapped:
    """A read, and where it belongs."""

    read: Read
    position: int
    cigar: str
    reverse: bool


def gapped_genome(generator: random.Random, reads: int) -> tuple[dict[str, str], list[Gapped]]:
    """One contig, and single reads of SHORT_SIDE and LONG_SIDE bases on either side of a deletion or insertion.

    Three differences leave the short side without a seed. A second copy holds the read without the gap, with so many
    differences that it scores more than the long side, and less than both sides across the gap.
    """
    pieces, planted = [random_bases(generator, 1000)], []
    for number in range(reads):
        gap, is_deletion, is_left = generator.choice(GAPS), number % 2 == 0, number % 4 < 2
        short, long = random_bases(generator, SHORT_SIDE), random_bases(generator, LONG_SIDE)
        sides = (short, long) if is_left else (long, short)
        # Its ends are others than the bases behind and before it, so that the gap has one place.
        between = other_than(sides[1][0]) + random_bases(generator, gap - 2) + other_than(sides[0][-1])
        begin = sum(map(len, pieces))
        pieces.append(sides[0] + (between if is_deletion else "") + sides[1])
        short = changed(short, range(15, SHORT_SIDE, 15))
        sides = (short, long) if is_left else (long, short)
        bases = sides[0] + ("" if is_deletion else between) + sides[1]
        across = SHORT_SIDE - 15 + LONG_SIDE - 6 - gap
        differences = (len(bases) - across) // 5 + 1
        other = changed(bases, range(8, 8 * differences + 1, 8))
        assert LONG_SIDE < len(bases) - 5 * differences < across
        pieces += [random_bases(generator, 400), other, random_bases(generator, 400)]
        is_reverse = generator.random() < 0.5
        read = Read(f"g{number}", reverse_complement(bases) if is_reverse else bases, "I" * len(bases))
        middle = f"{gap}{'D' if is_deletion else 'I'}"
        planted.append(Gapped(read, begin, f"{len(sides[0])}M{middle}{len(sides[1])}M", is_reverse))
    return {"one": "".join(pieces)}, planted


def changed(bases: str, places: Iterable[int]) -> str:
    """Return the bases with substitutions at some places."""
    letters = list(bases)
    for place in places:
        letters[place] = other_than(letters[place])
    return "".join(letters)


def other_than(base: str) -> str:
    """Return the next letter."""
    return "ACGT"[("ACGT".index(base) + 1) % 4]
