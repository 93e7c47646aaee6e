"""A sample with rearranged chromosomes: its pairs of reads, aligned exactly where they come from, as BAM."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

READ, FRAGMENT, DEVIATION = 100, 300, 30
SHORTEST = 25  # bases of a part of a read that is aligned on its own
COMPLEMENT = str.maketrans("ACGT", "TGCA")


class Piece(NamedTuple):
    """A stretch of a contig in a chromosome, on either strand."""

    contig: str
    start: int
    end: int
    reverse: bool = False


class Part(NamedTuple):
    """A part of a read on a piece: bases of the read, in the chromosome's direction, and the place."""

    first: int
    last: int
    contig: str
    start: int
    reverse: bool


Chromosome = Sequence[Piece | str]
"""Pieces and inserted letters, end to end."""


def letters_of(genome: Mapping[str, str], chromosome: Chromosome) -> str:
    """Return the letters of a chromosome."""
    texts = []
    for piece in chromosome:
        if isinstance(piece, str):
            texts.append(piece)
        else:
            text = genome[piece.contig][piece.start : piece.end]
            texts.append(text.translate(COMPLEMENT)[::-1] if piece.reverse else text)
    return "".join(texts)


def parts_of(chromosome: Chromosome, start: int, end: int) -> list[Part]:
    """Return the parts of a read over [start, end) of a chromosome, the longest first."""
    parts, at = [], 0
    for piece in chromosome:
        size = len(piece) if isinstance(piece, str) else piece.end - piece.start
        low, high = max(start, at), min(end, at + size)
        if low < high and not isinstance(piece, str):
            place = piece.end - (high - at) if piece.reverse else piece.start + low - at
            parts.append(Part(low - start, high - start, piece.contig, place, piece.reverse))
        at += size
    return sorted((part for part in parts if part.last - part.first >= SHORTEST), key=lambda p: p.first - p.last)


def fragments(length: int, depth: float, generator: np.random.Generator) -> list[tuple[int, int]]:
    """Draw fragments of a chromosome."""
    count = int(depth * length / (2 * READ))
    sizes = np.clip(generator.normal(FRAGMENT, DEVIATION, count), READ + 20, length).astype(int)
    starts = (generator.random(count) * (length - sizes)).astype(int)
    return [(int(a), int(a + s)) for a, s in zip(starts, sizes, strict=True)]


def write_fastq(
    prefix: Path, genome: Mapping[str, str], haplotypes: Sequence[Sequence[Chromosome]], depth: float, seed: int = 1
) -> None:
    """Write the pairs of all chromosomes of all haplotypes as PREFIX_1.fq and PREFIX_2.fq, to `depth` together."""
    generator = np.random.default_rng(seed)
    with open(f"{prefix}_1.fq", "w") as one, open(f"{prefix}_2.fq", "w") as two:
        for number, chromosome in enumerate(one for haplotype in haplotypes for one in haplotype):
            text = letters_of(genome, chromosome)
            for serial, (start, end) in enumerate(fragments(len(text), depth / len(haplotypes), generator)):
                second = text[end - READ : end].translate(COMPLEMENT)[::-1]
                one.write(f"@r{number}.{serial}\n{text[start : start + READ]}\n+\n{'I' * READ}\n")
                two.write(f"@r{number}.{serial}\n{second}\n+\n{'I' * READ}\n")


def write_bam(
    path: Path, genome: Mapping[str, str], haplotypes: Sequence[Sequence[Chromosome]], depth: float,
    sample: str = "rearranged", seed: int = 1,
) -> None:  # fmt: skip
    """Write the same pairs, aligned where they come from: the longest part of a read, and others as supplementary."""
    generator = np.random.default_rng(seed)
    header = pysam.AlignmentHeader.from_dict(
        {
            "HD": {"VN": "1.6", "SO": "coordinate"},
            "SQ": [{"SN": name, "LN": len(text)} for name, text in genome.items()],
            "RG": [{"ID": sample, "SM": sample}],
        }
    )
    records: list[pysam.AlignedSegment] = []
    for number, chromosome in enumerate(one for haplotype in haplotypes for one in haplotype):
        text = letters_of(genome, chromosome)
        for serial, (start, end) in enumerate(fragments(len(text), depth / len(haplotypes), generator)):
            spans = (start, start + READ), (end - READ, end)
            mates = [
                _records(header, text, chromosome, span, which) for which, span in enumerate(spans)
            ]  # the second is read from the other strand
            _join(mates, f"r{number}.{serial}", sample)
            records += [record for own in mates for record in own]
    records.sort(key=lambda record: (record.reference_id % (1 << 31), record.reference_start))
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for record in records:
            out.write(record)
    pysam.index(str(path))


def _records(
    header: pysam.AlignmentHeader, text: str, chromosome: Chromosome, span: tuple[int, int], which: int
) -> list[pysam.AlignedSegment]:
    """Return the records of a read, the primary one first."""
    bases, made = text[span[0] : span[1]], []
    for number, part in enumerate(parts_of(chromosome, *span)[:2] or [None]):
        record = pysam.AlignedSegment(header)
        record.flag = 1 | (64, 128)[which] | (2048 if number else 0)
        if part is None:
            record.flag |= 4
            record.query_sequence = bases if which == 0 else bases.translate(COMPLEMENT)[::-1]
        else:
            before, after = part.first, len(bases) - part.last
            if part.reverse:
                before, after = after, before
            record.flag |= 16 if part.reverse != (which == 1) else 0
            record.query_sequence = bases.translate(COMPLEMENT)[::-1] if part.reverse else bases
            record.reference_name, record.reference_start, record.mapping_quality = part.contig, part.start, 60
            clip = "H" if number else "S"
            shape = ((before, clip), (part.last - part.first, "M"), (after, clip))
            record.cigarstring = "".join(f"{size}{kind}" for size, kind in shape if size)
            if number:
                record.query_sequence = record.query_sequence[before : len(bases) - after]
        record.query_qualities = pysam.qualitystring_to_array("I" * len(record.query_sequence))
        made.append(record)
    return made


def _join(mates: Sequence[Sequence[pysam.AlignedSegment]], name: str, sample: str) -> None:
    """Fill in the names, and what a record tells of its mate."""
    for own, other in ((mates[0], mates[1][0]), (mates[1], mates[0][0])):
        for record in own:
            record.query_name = name
            record.set_tag("RG", sample)
            record.flag |= (8 if other.flag & 4 else 0) | (32 if other.flag & 16 else 0)
            if other.flag & 4 and not record.flag & 4:
                other.reference_id, other.reference_start = record.reference_id, record.reference_start
            record.next_reference_id, record.next_reference_start = other.reference_id, other.reference_start
            if record.reference_id == other.reference_id and not (record.flag | other.flag) & 4:
                low = min(record.reference_start, other.reference_start)
                size = max(record.reference_end or 0, other.reference_end or 0) - low
                record.template_length = size if record.reference_start == low else -size
                if record.is_reverse != other.is_reverse:
                    record.flag |= 2
