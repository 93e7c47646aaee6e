"""Reads of a sample of any ploidy with planted variants, with error-free alignments."""

import random
from collections.abc import Sequence
from pathlib import Path

import pysam

from tests.support.builders import random_bases, reverse_complement, write_bam

Variant = tuple[int, str, str]  # 0-based position, reference, alternate

CODES = bytes.maketrans(b"ACGTN", bytes(range(5)))


def codes(text: str) -> bytes:
    """Convert letters to codes."""
    return text.encode().translate(CODES)


class Genome:
    """A reference with one haplotype per list of variants (sorted, not adjacent)."""

    def __init__(self, name: str, reference: str, versions: Sequence[Sequence[Variant]]) -> None:
        self.name, self.reference = name, reference
        self.versions = [self._spell(variants) for variants in versions]

    def _spell(self, variants: Sequence[Variant]) -> list[tuple[str, int]]:
        """Return (base, reference position or -1 for an inserted base) along one haplotype."""
        spelled: list[tuple[str, int]] = []
        at = 0
        for position, reference, alternate in variants:
            assert self.reference[position : position + len(reference)] == reference
            spelled += [(self.reference[p], p) for p in range(at, position)]
            shared = min(len(reference), len(alternate))
            spelled += [(alternate[k], position + k) for k in range(shared)]
            spelled += [(base, -1) for base in alternate[shared:]]
            at = position + len(reference)
        return spelled + [(self.reference[p], p) for p in range(at, len(self.reference))]

    def sam_lines(
        self, generator: random.Random, pairs: int, length: int = 100, insert: int = 250, errors: float = 0.002
    ) -> list[str]:
        """Return SAM lines of read pairs drawn evenly over all haplotypes, sorted by position."""
        lines: list[tuple[int, str]] = []
        for number in range(pairs):
            version = generator.choice(self.versions)
            size = max(length, int(generator.gauss(insert, 20)))
            start = generator.randrange(0, len(version) - size)
            ends = [version[start : start + length], version[start + size - length : start + size]]
            lines += self._pair(generator, f"pair{number}", ends, errors)
        return [line for _, line in sorted(lines, key=lambda item: item[0])]

    def _pair(self, generator: random.Random, name: str, ends: list[list[tuple[str, int]]], errors: float):
        aligned = [[p for _, p in end if p >= 0] for end in ends]
        span = aligned[1][-1] + 1 - aligned[0][0]
        for end, flag, mine, mate, size in (
            (ends[0], 99, aligned[0][0], aligned[1][0], span),
            (ends[1], 147, aligned[1][0], aligned[0][0], -span),
        ):
            bases = "".join(generator.choice("ACGT") if generator.random() < errors else b for b, _ in end)
            fields = [name, flag, self.name, mine + 1, 60, _cigar(end), "=", mate + 1, size, bases, "I" * len(bases)]
            yield mine, "\t".join(map(str, fields))


def _cigar(end: list[tuple[str, int]]) -> str:
    """Return the CIGAR of a stretch of a haplotype; inserted bases at either end are soft clips."""
    operations: list[str] = []
    last = None
    for _, position in end:
        if position < 0:
            operations.append("S" if last is None else "I")
        else:
            operations += ["D"] * (0 if last is None else position - last - 1) + ["M"]
            last = position
    while operations[-1] == "I":
        operations[len(operations) - 1 - [o == "I" for o in reversed(operations)].index(True)] = "S"
    runs: list[list] = []
    for operation in operations:
        if runs and runs[-1][1] == operation:
            runs[-1][0] += 1
        else:
            runs.append([1, operation])
    return "".join(f"{count}{operation}" for count, operation in runs)


def indexed_bam(path: Path, contigs: dict[str, int], lines: Sequence[str], sample: str | None = None) -> Path:
    """Write a sorted BAM and its index; its read group names `sample`, by default the file's name."""
    write_bam(path, contigs, lines, [f"@RG\tID:unit\tSM:{sample or path.stem}"], "coordinate")
    pysam.index(str(path))
    return path


def spaced_genome(seed: int, length: int = 6000) -> str:
    """Return a random sequence."""
    return random_bases(random.Random(seed), length)


__all__ = ["Genome", "Variant", "codes", "indexed_bam", "reverse_complement", "spaced_genome"]
