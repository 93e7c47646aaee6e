"""Comparison of calls with a truth set: recall, precision and F1 of SNVs and indels, by genotype and haplotype.

A genotype is the number of copies of an alternate allele (1 heterozygous, 2 homozygous; a haploid call counts as 2).
Variants are split by allele, trimmed and left-aligned. Equal variants with equal genotypes match. Variants within 30
bases of each other form a cluster. If a cluster has unmatched variants, both sides are expanded to pairs of haplotypes
in every phasing; if one pair occurs on both sides, the whole cluster matches. A complex change may therefore be
written as one record or as several, as hap.py and vcfeval also allow
(Krusche et al. 2019, doi:10.1038/s41587-019-0054-x).
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from quire.reference.regions import Regions, contains

ReferenceBases = Callable[[str, int, int], str]

CLUSTER_GAP = 30
MAXIMUM_CLUSTER = 24
MAXIMUM_HETEROZYGOUS = 8


class Variant(NamedTuple):
    """An alternate allele: 0-based position, reference bases and alternate bases (both upper case, not empty)."""

    position: int
    reference: str
    alternate: str

    @property
    def end(self) -> int:
        """0-based, exclusive end of the reference bases."""
        return self.position + len(self.reference)

    @property
    def kind(self) -> str:
        """`snv` if reference and alternate bases are equally long (mostly one base), else `indel`."""
        return "snv" if len(self.reference) == len(self.alternate) else "indel"


Genotypes = dict[Variant, int]


@dataclass
class TruthCounts:
    """Numbers of found, missed and false variants of one kind.

    Attributes:
        truth_found: variants of the truth that were called with the right genotype.
        missed: variants of the truth that were not called with the right genotype.
        calls_right: calls that are in the truth with the same genotype (may differ from `truth_found` if one change
            is written in several ways).
        false_calls: calls that are not in the truth with the same genotype.
    """

    truth_found: int = 0
    missed: int = 0
    calls_right: int = 0
    false_calls: int = 0

    @property
    def recall(self) -> float:
        """Fraction of the truth that was found; 0 if the truth is empty."""
        return self.truth_found / max(1, self.truth_found + self.missed)

    @property
    def precision(self) -> float:
        """Fraction of the calls that are right; 0 if there are none."""
        return self.calls_right / max(1, self.calls_right + self.false_calls)

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0


@dataclass
class Comparison:
    """Counts by kind, and the unmatched variants."""

    counts: dict[str, TruthCounts] = field(default_factory=lambda: {"snv": TruthCounts(), "indel": TruthCounts()})
    missed: list[tuple[str, Variant]] = field(default_factory=list)
    false_calls: list[tuple[str, Variant]] = field(default_factory=list)


def normalise(contig: str, variant: Variant, sequence: ReferenceBases) -> Variant:
    """Trim the bases that reference and alternate share, and left-align the variant (Tan et al. 2015)."""
    position, reference, alternate = variant
    while reference[-1] == alternate[-1] and reference != alternate:
        if len(reference) == 1 or len(alternate) == 1:
            if position == 0:
                break
            position -= 1
            before = sequence(contig, position, position + 1)
            reference, alternate = before + reference, before + alternate
        reference, alternate = reference[:-1], alternate[:-1]
    shared = 0
    while shared < min(len(reference), len(alternate)) - 1 and reference[shared] == alternate[shared]:
        shared += 1
    return Variant(position + shared, reference[shared:], alternate[shared:])


def compare(
    truth: Mapping[str, Genotypes], calls: Mapping[str, Genotypes], regions: Regions, sequence: ReferenceBases
) -> Comparison:
    """Compare normalised calls with the normalised truth, by contig, inside regions.

    A variant counts if all its reference bases lie in one region. Variants outside are still part of a cluster's
    haplotypes. `sequence` returns upper-case bases of (contig, start, end).
    """
    comparison = Comparison()
    for contig, intervals in regions.items():
        known, called = truth.get(contig, {}), calls.get(contig, {})
        matched_truth, matched_calls = match(contig, known, called, sequence)
        known_inside, called_inside = (
            [variant for variant in sorted(side) if contains(intervals, variant.position, variant.end)]
            for side in (known, called)
        )
        for variant in known_inside:
            comparison.counts[variant.kind].truth_found += variant in matched_truth
            comparison.counts[variant.kind].missed += variant not in matched_truth
        for variant in called_inside:
            comparison.counts[variant.kind].calls_right += variant in matched_calls
            comparison.counts[variant.kind].false_calls += variant not in matched_calls
        comparison.missed += [(contig, variant) for variant in known_inside if variant not in matched_truth]
        comparison.false_calls += [(contig, variant) for variant in called_inside if variant not in matched_calls]
    return comparison


def match(
    contig: str, truth: Genotypes, calls: Genotypes, sequence: ReferenceBases
) -> tuple[set[Variant], set[Variant]]:
    """Return the matching variants of the truth and of the calls on one contig."""
    equal = {variant for variant, copies in truth.items() if calls.get(variant) == copies}
    matched_truth, matched_calls = set(equal), set(equal)
    for cluster in clusters(itertools.chain(truth, calls)):
        known = {variant: truth[variant] for variant in cluster if variant in truth}
        called = {variant: calls[variant] for variant in cluster if variant in calls}
        if cluster <= equal or len(known) + len(called) > MAXIMUM_CLUSTER:
            continue
        start = max(0, min(variant.position for variant in cluster) - 1)
        end = max(variant.end for variant in cluster) + 1
        bases = sequence(contig, start, end)
        if haplotype_pairs(known, bases, start) & haplotype_pairs(called, bases, start):
            matched_truth |= known.keys()
            matched_calls |= called.keys()
    return matched_truth, matched_calls


def clusters(variants: Iterable[Variant]) -> Iterator[set[Variant]]:
    """Group variants into clusters that are more than `CLUSTER_GAP` bases apart."""
    cluster: set[Variant] = set()
    end = 0
    for variant in sorted(variants):
        if cluster and variant.position - end > CLUSTER_GAP:
            yield cluster
            cluster, end = set(), 0
        cluster.add(variant)
        end = max(end, variant.end)
    if cluster:
        yield cluster


def haplotype_pairs(genotypes: Genotypes, bases: str, start: int) -> set[tuple[str, str]]:
    """Return every unordered pair of haplotypes that is consistent with the genotypes, over all phasings.

    `bases` are the reference bases of a window that begins at the 0-based position `start`. The result is empty if
    variants overlap in every phasing or more than `MAXIMUM_HETEROZYGOUS` are heterozygous.
    """
    homozygous = [variant for variant, copies in genotypes.items() if copies >= 2]
    heterozygous = [variant for variant, copies in genotypes.items() if copies == 1]
    pairs: set[tuple[str, str]] = set()
    if len(heterozygous) > MAXIMUM_HETEROZYGOUS:
        return pairs
    for phases in itertools.product((False, True), repeat=len(heterozygous)):
        first = spell(homozygous + list(itertools.compress(heterozygous, phases)), bases, start)
        second = spell(homozygous + list(itertools.compress(heterozygous, (not p for p in phases))), bases, start)
        if first is not None and second is not None:
            pairs.add((min(first, second), max(first, second)))
    return pairs


def spell(variants: list[Variant], bases: str, start: int) -> str | None:
    """Return the window's bases with the variants applied, or None if two of them overlap."""
    pieces, done = [], start
    for position, reference, alternate in sorted(variants):
        if position < done:
            return None
        pieces += [bases[done - start : position - start], alternate]
        done = position + len(reference)
    pieces.append(bases[done - start :])
    return "".join(pieces)
