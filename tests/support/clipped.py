"""Read pairs of a genome with long indels, aligned like a mapper's output: the longest piece, the rest clipped."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from tests.support.builders import random_bases, reverse_complement

SHORTEST_ALIGNED = 30
QUALITY = "I"


class Base(NamedTuple):
    """A base of a haplotype and its position in the reference; contig "" for none."""

    letter: str
    contig: str
    position: int


class Piece(NamedTuple):
    """Bases [first, last) of a read that come from consecutive reference positions."""

    first: int
    last: int
    contig: str
    start: int


def spelled(contig: str, reference: str, changes: Sequence[tuple[int, int, Sequence[Base]]]) -> list[Base]:
    """Build a haplotype: replace each span of a change (start, end, inserted bases)."""
    bases: list[Base] = []
    at = 0
    for start, end, inserted in sorted(changes, key=lambda change: change[0]):
        bases += [Base(reference[p], contig, p) for p in range(at, start)]
        bases += inserted
        at = end
    return bases + [Base(reference[p], contig, p) for p in range(at, len(reference))]


def novel(generator: random.Random, length: int) -> list[Base]:
    """Return random bases without a reference position."""
    return [Base(letter, "", -1) for letter in random_bases(generator, length)]


def pieces_of(bases: Sequence[Base]) -> list[Piece]:
    """Split bases into runs of consecutive positions."""
    pieces: list[Piece] = []
    for i, base in enumerate(bases):
        follows = i > 0 and base.contig and base[1:] == (bases[i - 1].contig, bases[i - 1].position + 1)
        if follows:
            pieces[-1] = pieces[-1]._replace(last=i + 1)
        elif base.contig:
            pieces.append(Piece(i, i + 1, base.contig, base.position))
    return [piece for piece in pieces if piece.last - piece.first >= SHORTEST_ALIGNED]


def sam_lines(
    generator: random.Random,
    haplotypes: Sequence[Sequence[Base]],
    pairs: int,
    length: int = 100,
    insert: int = 280,
    errors: float = 0.001,
) -> list[tuple[str, int, str]]:
    """Return (contig, position, SAM line) of pairs drawn evenly over the haplotypes, sorted."""
    lines: list[tuple[str, int, str]] = []
    for number in range(pairs):
        bases = generator.choice(haplotypes)
        size = max(length, int(generator.gauss(insert, 30)))
        start = generator.randrange(len(bases) - size)
        ends = [bases[start : start + length], bases[start + size - length : start + size]]
        lines += _pair(generator, f"pair{number}", ends, errors)
    return sorted(lines, key=lambda line: line[:2])


def _pair(generator: random.Random, name: str, ends: Sequence[Sequence[Base]], errors: float):
    """Return the SAM lines of both mates; a read of several pieces also has a supplementary alignment."""
    found = [sorted(pieces_of(end), key=lambda piece: piece.first - piece.last) for end in ends]
    if not any(found):
        return
    places = [(own or other)[0] for own, other in zip(found, found[::-1], strict=True)]
    for mate, (end, pieces) in enumerate(zip(ends, found, strict=True)):
        own, other = places[mate], places[1 - mate]
        text = "".join(generator.choice("ACGT") if generator.random() < errors else base.letter for base in end)
        flag = 1 | (64, 128)[mate] | (16 if mate and pieces else 0) | (4 if not pieces else 0)
        flag |= (8 if not found[1 - mate] else 0) | (32 if not mate and found[1] else 0)
        size = 0
        if all(found) and own.contig == other.contig:
            left, right = places[0].start, places[1].start + places[1].last - places[1].first
            size = (right - left) * (-1 if mate else 1)
        behind = ["=" if own.contig == other.contig else other.contig, other.start + 1, size]
        if not pieces:
            unmapped = reverse_complement(text) if mate else text
            yield own.contig, own.start, _line(name, flag, own, 0, "*", behind, unmapped, "")
            continue
        for rank, piece in enumerate(pieces[:2]):
            clip = "SH"[rank]
            cigar = f"{piece.first}{clip}" * (piece.first > 0) + f"{piece.last - piece.first}M"
            cigar += f"{len(text) - piece.last}{clip}" * (piece.last < len(text))
            bases = text if rank == 0 else text[piece.first : piece.last]
            tag = ""
            if len(pieces) > 1:
                there = pieces[1 - rank]
                tag = f"\tSA:Z:{there.contig},{there.start + 1},+,{there.last - there.first}M,60,0;"
            line = _line(name, flag | (2048 if rank else 0), piece, 60, cigar, behind, bases, tag)
            yield piece.contig, piece.start, line


def _line(name: str, flag: int, place: Piece, quality: int, cigar: str, behind: list, bases: str, tag: str) -> str:
    fields = [name, flag, place.contig, place.start + 1, quality, cigar, *behind, bases, QUALITY * len(bases)]
    return "\t".join(map(str, fields)) + tag
