"""Counts of the called variants by sample, made while the VCF is gathered: alleles, genotypes, and read support.

The counts of a genotype depend only on its alleles, so they are computed once for each distinct genotype of a record.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from quire.io.pedigree import Person, trios_of
from quire.rescore.cohort_counts import ALTERNATE, HETEROZYGOUS, UNKNOWN, PairCounter, genotype_code
from quire.rescore.ploidy import PloidyMap

FORMAT_VERSION = 1
# QUAL spans orders of magnitude: five bins per decade from 1 to 100,000; the outer bins also hold values beyond them.
QUALITY_EDGES = np.logspace(0, 5, 26)
QUALITY_BINS = QUALITY_EDGES.size - 1
_EDGES = QUALITY_EDGES.tolist()
COUNT_NAMES = (
    *("snvs", "indels", "other", "transitions", "transversions"),
    *("heterozygous", "homozygous", "reference", "missing", "filtered"),
)
DEEPEST = 500  # larger values of DP are counted here
BEST = 99  # larger values of GQ are counted here
DEEPEST_ALLELES = 100  # a larger sum of the read counts of two alleles is scaled down to this
LONGEST_INDEL = 60  # as in bcftools stats; longer indels are counted here
NOT_AUTOSOMES = frozenset(
    f"{prefix}{name}".encode() for prefix in ("chr", "") for name in ("X", "Y", "M", "MT", "x", "y", "m", "Mt")
)
"""Contigs with one copy or very many in a sample, whose genotypes say nothing about kinship or mixtures."""
SUBSTITUTIONS = tuple(f"{before}>{after}" for before in "ACGT" for after in "ACGT" if after != before)
_PASSING = (b"PASS", b".")
# ALT of records without a variant that starts there (rescore.emit: all_sites).
_NO_VARIANT = (b".", b"*")
_TRANSITIONS = frozenset(("AG", "GA", "CT", "TC"))
_FIRST_SAMPLE = 9  # column
_CACHED = 1 << 16
NO_PLOIDIES: Mapping[str, PloidyMap] = {}
_HAPLOID = 4  # code of a haploid alternate, beside those of diploid genotypes


class ReadSupport(NamedTuple):
    """Read support of the variants that a sample carries, as numbers of records by value.

    Attributes:
        depths: by DP.
        genotype_qualities: by GQ.
        heterozygous, homozygous: SNVs of one alternate allele outside the sex chromosomes, by (reads of the reference,
            reads of the alternate).
        haploid: the same of haploid genotypes with the alternate.
    """

    depths: Counter[int]
    genotype_qualities: Counter[int]
    heterozygous: Counter[tuple[int, int]]
    homozygous: Counter[tuple[int, int]]
    haploid: Counter[tuple[int, int]]


class VariantCounter:
    """Counts of the records of a VCF, for each sample.

    Over the records that pass the filters, each sample has counts of alternate alleles that it carries: `snvs`,
    `indels`, `other` (several bases replaced by equally many, symbolic alleles), `transitions` and `transversions`. It
    also has counts of records: `heterozygous`, `homozygous` (haploid calls too), `reference` (no alternate allele) and
    `missing` (no or partial genotype; where a sample's ploidy is 0 nothing is missing). `filtered` counts the records
    that do not pass.
    """

    def __init__(
        self, head: Sequence[str], people: Sequence[Person] = (), ploidies: Mapping[str, PloidyMap] = NO_PLOIDIES
    ) -> None:
        """Start at zero, given the lines of the header, line ends included or not, a pedigree and samples' ploidies."""
        columns = head[-1].rstrip("\n").split("\t")
        self.samples = columns[_FIRST_SAMPLE:]
        lines = (re.fullmatch(r"##(\w+)=([^<].*)", line.rstrip("\n")) for line in head)
        self.header = {line[1]: line[2] for line in lines if line}
        self._filtered = 0
        # For each sample, number of records by (counts of the genotype, bin of QUAL).
        self._found: list[Counter[tuple[Counts, int]]] = [Counter() for _ in self.samples]
        self._support = [ReadSupport(Counter(), Counter(), Counter(), Counter(), Counter()) for _ in self.samples]
        self._ploidies = [ploidies.get(name) for name in self.samples]
        self._trios = trios_of(people, self.samples)
        numbers = {name: number for number, name in enumerate(self.samples)}
        self._pairs = PairCounter(
            len(self.samples),
            [(numbers[child], numbers[father], numbers[mother]) for child, father, mother in self._trios],
        )

    def add(self, line: bytes) -> None:
        """Count a record, given as its line without the line end."""
        columns = line.split(b"\t")
        if columns[4] in _NO_VARIANT:
            return
        if columns[6] not in _PASSING:
            self._filtered += 1
            return
        quality = 0.0 if columns[5] == b"." else float(columns[5])
        quality_bin = min(max(bisect_right(_EDGES, quality) - 1, 0), QUALITY_BINS - 1)
        known: dict[bytes, tuple[Counts, int]] = {}
        names = columns[8].split(b":")
        is_autosome = columns[0] not in NOT_AUTOSOMES
        simple = len(columns[3]) == len(columns[4]) == 1 and is_autosome
        codes, reads = list[int](), list[tuple[int, int]]()
        samples = zip(self._found, self._support, self._ploidies, columns[_FIRST_SAMPLE:], strict=True)
        for found, support, ploidies, column in samples:
            genotype = column.split(b":", 1)[0]
            if genotype not in known:
                known[genotype] = (_counts(columns[3], columns[4], genotype), quality_bin)
            counted = known[genotype]
            if not (genotype == b"." and ploidies and ploidies.at(columns[0].decode(), int(columns[1]) - 1) == 0):
                found[counted] += 1
            if simple:
                codes.append(genotype_code(genotype))
                reads.append((0, 0))
            if _carries(counted[0]):
                values = dict(zip(names, column.split(b":"), strict=False))
                code = UNKNOWN if not simple else _HAPLOID if genotype == b"1" else codes[-1]
                reads[-1:] = [_count_support(values, code, support)]
        if simple:
            self._pairs.add(codes, reads)
        alleles = [columns[3], *columns[4].split(b",")]
        if is_autosome and all(len(allele) == 1 for allele in alleles) and any(map(bytes.isdigit, known)):
            bases = {genotype: _base(alleles, genotype) for genotype in known}
            self._pairs.add_haploid([bases[column.split(b":", 1)[0]] for column in columns[_FIRST_SAMPLE:]])

    def merge(self, other: "VariantCounter") -> None:
        """Add the counts of another counter of the same samples."""
        self._filtered += other._filtered
        for found, more in zip(self._found, other._found, strict=True):
            found.update(more)
        for support, more_support in zip(self._support, other._support, strict=True):
            support.depths.update(more_support.depths)
            support.genotype_qualities.update(more_support.genotype_qualities)
            support.heterozygous.update(more_support.heterozygous)
            support.homozygous.update(more_support.homozygous)
            support.haploid.update(more_support.haploid)
        self._pairs.merge(other._pairs)

    def content(self) -> dict[str, Any]:
        """Return the content of variants.json (docs/formats.md)."""
        samples = {
            name: self._of_sample(found) | _figures(support)
            for name, found, support in zip(self.samples, self._found, self._support, strict=True)
        }
        for number, name in enumerate(self.samples):
            others = zip(self.samples, self._pairs.foreign(number), strict=True)
            samples[name]["foreign"] = {other: row for other, row in others if other != name}
        return {
            "format_version": FORMAT_VERSION,
            "header": self.header,
            "quality_edges": QUALITY_EDGES.tolist(),
            "samples": samples,
            "pairs": self._pairs.counts(),
            "haploid_pairs": self._pairs.haploid_counts(),
            "trios": [
                {**trio._asdict(), "sites": sites, "errors": errors}
                for trio, (sites, errors) in zip(self._trios, self._pairs.trios(), strict=True)
            ],
        }

    def _of_sample(self, found: Counter["tuple[Counts, int]"]) -> dict[str, Any]:
        counts = dict.fromkeys(COUNT_NAMES, 0)
        substitutions = dict.fromkeys(SUBSTITUTIONS, 0)
        indels: Counter[int] = Counter()
        qualities = {"snvs": [0] * QUALITY_BINS, "others": [0] * QUALITY_BINS}
        for (classes, quality_bin), records in found.items():
            names = dict(classes)
            for name, number in classes:
                if name in counts:
                    counts[name] += number * records
                elif name in substitutions:
                    substitutions[name] += number * records
                else:
                    indels[int(name)] += number * records
            if _carries(classes):
                row = "snvs" if names.get("snvs") and not names.get("indels") else "others"
                qualities[row][quality_bin] += records
        counts["filtered"] = self._filtered
        lengths = [[length, indels[length]] for length in sorted(indels)]
        return {"counts": counts, "qualities": qualities, "substitutions": substitutions, "indel_lengths": lengths}


def _base(alleles: Sequence[bytes], genotype: bytes) -> int:
    """Return the letter of a haploid genotype (GT) at a site of single bases; 0 for `*` and any other genotype."""
    letter = alleles[int(genotype)] if genotype.isdigit() else b"*"
    return 0 if letter == b"*" else letter[0]


def _carries(classes: "Counts") -> bool:
    """Return True if a genotype has an alternate allele."""
    return any(name in ("heterozygous", "homozygous") for name, _ in classes)


def _count_support(values: dict[bytes, bytes], code: int, support: ReadSupport) -> tuple[int, int]:
    """Count a carried variant; `code` is UNKNOWN unless it is a simple SNV. Return its reference reads, and all."""
    depth, genotype_quality = values.get(b"DP", b"."), values.get(b"GQ", b".")
    if depth.isdigit():
        support.depths[min(int(depth), DEEPEST)] += 1
    if genotype_quality.isdigit():
        support.genotype_qualities[min(int(genotype_quality), BEST)] += 1
    reads = values.get(b"AD", b".").split(b",")
    if code == UNKNOWN or not (len(reads) == 2 and reads[0].isdigit() and reads[1].isdigit()):
        return 0, 0
    reference, alternate = int(reads[0]), int(reads[1])
    total = reference + alternate
    if total > DEEPEST_ALLELES:
        alternate = (2 * alternate * DEEPEST_ALLELES + total) // (2 * total)
        reference = DEEPEST_ALLELES - alternate
    {HETEROZYGOUS: support.heterozygous, ALTERNATE: support.homozygous, _HAPLOID: support.haploid}[code][
        reference, alternate
    ] += 1
    return reference, reference + alternate


def _figures(support: ReadSupport) -> dict[str, Any]:
    """Return a sample's `ReadSupport` in the form of variants.json."""
    return {
        "depth": _histogram(support.depths),
        "genotype_quality": _histogram(support.genotype_qualities),
        "allele_depths": {
            name: [[*reads, records] for reads, records in sorted(found.items())]
            for name, found in (
                ("heterozygous", support.heterozygous),
                ("homozygous", support.homozygous),
                ("haploid", support.haploid),
            )
        },
    }


def _histogram(found: Counter[int]) -> list[int]:
    return [found[value] for value in range(max(found, default=-1) + 1)]


Counts = tuple[tuple[str, int], ...]
"""The counts of a genotype, by name."""


@lru_cache(_CACHED)
def _counts(reference: bytes, alternates: bytes, genotype: bytes) -> Counts:
    return tuple(classify(reference.decode(), alternates.decode(), genotype.decode()).items())


def classify(reference: str, alternates: str, genotype: str) -> Counter[str]:
    """Count a genotype's alleles (REF, ALT, GT) by `COUNT_NAMES`, `SUBSTITUTIONS` and the length of indels."""
    counts: Counter[str] = Counter()
    indices = re.split(r"[/|]", genotype)
    if "." in indices:
        counts["missing"] = 1
        return counts
    alleles = [reference.upper(), *alternates.upper().split(",")]
    for index in sorted(set(indices) - {"0"}):
        counts.update(classify_allele(alleles[0], alleles[int(index)]))
    if set(indices) == {"0"}:
        counts["reference"] = 1
    else:
        counts["heterozygous" if len(set(indices)) > 1 else "homozygous"] = 1
    return counts


def classify_allele(reference: str, alternate: str) -> list[str]:
    """Return the names under which an alternate allele counts; an indel has its length too, negative for deletions."""
    if not re.fullmatch("[ACGTN]+", alternate):
        return ["other"]
    if len(reference) != len(alternate):
        length = len(alternate) - len(reference)
        return ["indels", str(max(-LONGEST_INDEL, min(length, LONGEST_INDEL)))]
    changes = [before + after for before, after in zip(reference, alternate, strict=True) if before != after]
    if len(changes) != 1:
        return ["other"]
    kind = "transitions" if changes[0] in _TRANSITIONS else "transversions"
    change = f"{changes[0][0]}>{changes[0][1]}"
    return ["snvs", kind, *([change] if change in SUBSTITUTIONS else [])]
