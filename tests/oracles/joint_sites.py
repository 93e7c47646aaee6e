"""Sites of joint genotyping in plain Python: samples in the same alleles, and the alleles that are real.

Follows ReferenceConfidenceVariantContextMerger and GenotypingEngine.calculateGenotypes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION
from quire.rescore.genotyping import NO_CALL, likeliest_alleles, pseudocounts, whole_counts
from quire.rescore.genotyping.allele_frequency_cpu import no_variant_log10
from quire.rescore.gvcf.variants_cpu import likeliest_call, subset_phreds
from quire.rescore.parameters import MAXIMUM_ALTERNATE_ALLELES
from quire.rescore.ploidy import PloidyMap

from tests.support.gvcf import info_of, lines_of


def integers(text: str | None) -> list[int]:
    """Parse integers separated by commas; a missing text, or one with a dot, gives an empty list."""
    return [int(item) for item in text.split(",")] if text and "." not in text else []


class GvcfRecord:
    """A line of a gVCF: `genotypes` has GT of each sample, `samples` the values that are not missing."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.start, self.reference, self.alternates = int(fields[1]) - 1, fields[3], fields[4].split(",")
        self.info = info_of(fields)
        self.end = int(self.info["END"]) if "END" in self.info else self.start + len(self.reference)
        columns = [dict(zip(fields[8].split(":"), column.split(":"), strict=False)) for column in fields[9:]]
        self.genotypes = [column["GT"] for column in columns]
        self.samples = [{k: value for k, value in column.items() if value.strip("./,|")} for column in columns]

    @property
    def is_variant(self) -> bool:
        """True if an allele other than NON_REFERENCE and '*' starts here."""
        return bool({*self.alternates} - {NON_REFERENCE, SPANNING_DELETION})

    @property
    def deletes(self) -> bool:
        """True if an allele is shorter than the reference's."""
        return any(a != NON_REFERENCE and len(a) < len(self.reference) for a in self.alternates)


class Gvcf:
    """The records of a gVCF by contig."""

    def __init__(self, path: Path) -> None:
        self.ploidies = PloidyMap.from_header([])
        self.records: dict[str, list[GvcfRecord]] = {}
        for fields in lines_of(path):
            self.records.setdefault(fields[0], []).append(GvcfRecord(fields))
            self.samples = len(fields) - 9

    def reaching(self, contig: str, position: int) -> GvcfRecord | None:
        """Return the record that counts at a position: the last that begins, or a deletion that reaches farther."""
        begun = [record for record in self.records[contig] if record.start <= position]
        deletions = [record for record in begun if len(record.reference) > 1]
        farthest = max(enumerate(deletions), key=lambda one: (one[1].end, one[0]), default=None)
        both = begun[-1:] + ([farthest[1]] if farthest else [])
        return next((record for record in both if record.end > position), None)


# ---- samples in the same alleles ----


@dataclass(frozen=True)
class SampleAtSite:
    """A sample at a site: PL (None if unknown) and AD of the site's alleles, and the values of its own record."""

    ploidy: int
    phreds: NDArray[np.int64] | None = None
    allele_depths: tuple[int, ...] = ()
    depth: int | None = None
    quality: int | None = None
    strands: tuple[int, ...] = ()
    is_reference: bool = False
    phase: tuple[str, str, int | None] | None = None


@dataclass(frozen=True)
class JointSite:
    """A site with its alleles and samples; `records` start at it, `depth` counts the reads of all samples."""

    start: int
    alleles: list[str]
    samples: list[SampleAtSite]
    records: list[GvcfRecord]
    depth: int


def merge_site(
    contig: str, start: int, records: Sequence[GvcfRecord | None], gvcfs: Sequence[Gvcf], letter: str = ""
) -> JointSite:
    """Merge the samples of all files; `letter` is the reference's, needed if no record starts at the position.

    A sample has the likelihoods of `<NON_REF>` for every allele that its record does not name. If its record starts
    before the site, its deletion over the site is '*', and every other allele is `<NON_REF>`.
    """
    here = [record for record in records if record is not None and record.start == start]
    reference = max((record.reference for record in here), key=len, default=letter)
    alleles, samples, depth = [reference], [], 0
    named = [[] if record is None else [reference, *_spelled(record, start, reference)] for record in records]
    for own in named:
        alleles += [a for a in dict.fromkeys(own[1:]) if a not in ("", NON_REFERENCE, *alleles)]
    for record, gvcf, own in zip(records, gvcfs, named, strict=True):
        if record is None:
            samples += [SampleAtSite(gvcf.ploidies.at(contig, start))] * gvcf.samples
            continue
        merged = [_sample(record, column, own, alleles) for column in range(gvcf.samples)]
        samples += merged
        depth += int(record.info["DP"]) if "DP" in record.info else sum(one.depth or 0 for one in merged)
    return JointSite(start, alleles, samples, here, depth)


def _spelled(record: GvcfRecord, start: int, reference: str) -> list[str]:
    """Spell the alternates of a record for a site with this reference allele; "" for one without a meaning there."""
    if record.start == start:
        tail = reference[len(record.reference) :]
        return [a if a in (NON_REFERENCE, SPANNING_DELETION) else a + tail for a in record.alternates]
    shorter = SPANNING_DELETION, ""
    return [a if a == NON_REFERENCE else shorter[len(a) >= len(record.reference)] for a in record.alternates]


def _sample(record: GvcfRecord, column: int, named: list[str], alleles: list[str]) -> SampleAtSite:
    """Return a sample of a record; `named` are the record's alleles as spelled at the site."""
    values, members = record.samples[column], record.genotypes[column].replace("|", "/").split("/")
    ploidy, phreds = len(members), integers(values.get("PL"))
    quality = int(values["GQ"]) if "GQ" in values else None
    old = _genotypes(ploidy, len(named))

    def index(allele: str) -> int:
        """Return the record's allele; of several deletions, that whose homozygous genotype is the most likely."""
        found = [i for i, name in enumerate(named) if i > 0 and name == allele] or [named.index(NON_REFERENCE)]
        return min(found, key=lambda i: phreds[old.index((i,) * ploidy)]) if phreds else found[0]

    own = [0, *map(index, alleles[1:])]
    spelled = None
    if phreds:
        new = _genotypes(ploidy, len(own))
        spelled = np.array([phreds[old.index(tuple(sorted(own[m] for m in one)))] for one in new], np.int64)
    elif {*members} <= {"0", "."} and quality is not None and ploidy == 2:
        # makeApproximateDiploidLog10LikelihoodsFromGQ, with two alternates as in ReblockGVCF
        costs = {2: 0, 1: quality, 0: 10 * quality}
        spelled = np.array([costs[one.count(0)] for one in _genotypes(2, len(own))], np.int64)
    depths, strands = integers(values.get("AD")), integers(values.get("SB"))
    least = values.get("MIN_DP", values.get("DP"))
    has_phase = "PGT" in values and "PID" in values
    return SampleAtSite(
        ploidy,
        spelled,
        tuple(depths[i] if i < len(depths) else 0 for i in own) if depths else (),
        None if least is None else int(least),
        quality,
        tuple(strands) if len(strands) == 4 else (),
        {*members} <= {"0", "."},
        (values["PGT"], values["PID"], int(values["PS"]) if "PS" in values else None) if has_phase else None,
    )


def _genotypes(ploidy: int, alleles: int) -> list[tuple[int, ...]]:
    """Return the genotypes in the order of PL."""
    return sorted(combinations_with_replacement(range(alleles), ploidy), key=lambda members: members[::-1])


# ---- genotypes ----


@dataclass(frozen=True)
class JointGenotype:
    """The genotype of a sample: alleles (all NO_CALL without a call), PL, GQ, AD and DP."""

    alleles: tuple[int, ...]
    phreds: NDArray[np.int64] | None
    quality: int | None
    allele_depths: tuple[int, ...]
    depth: int | None
    source: SampleAtSite

    @cached_property
    def is_called(self) -> bool:
        """True if the sample has a genotype."""
        return bool(self.alleles) and NO_CALL not in self.alleles


@dataclass(frozen=True)
class JointCall:
    """A called site with the alleles that are written; `likeliest_counts` are MLEAC."""

    site: JointSite
    alleles: list[str]
    quality: float
    genotypes: list[JointGenotype]
    likeliest_counts: list[int]

    @property
    def is_polymorphic(self) -> bool:
        """True if a sample has an alternate allele."""
        return any(allele > 0 for genotype in self.genotypes for allele in genotype.alleles)


def call_joint_site(
    site: JointSite, minimum_quality: float, deleted_to: int, deletions_alone: bool = False
) -> JointCall | None:
    """Genotype all samples of a site; return None if no variant is likely enough. All may have the reference.

    A site with '*' as the only alternate is returned with `deletions_alone` only, and then whatever its QUAL.
    """
    known = [(sample.ploidy, sample.phreds) for sample in site.samples if sample.phreds is not None]
    number = len(site.alleles)
    if number < 2 or not known or not site.depth:
        return None
    ploidies, phreds = np.array([ploidy for ploidy, _ in known]), np.concatenate([own for _, own in known])
    considered = list(range(number))
    if number - 1 > MAXIMUM_ALTERNATE_ALLELES:
        considered = likeliest_alleles(phreds, ploidies, number)
        phreds = np.concatenate([subset_phreds(own, ploidy, number, considered) for ploidy, own in known])
    alleles = [site.alleles[a] for a in considered]
    spanning = alleles.index(SPANNING_DELETION) if SPANNING_DELETION in alleles else -1
    nothing, absent, expected = no_variant_log10(phreds / -10.0, ploidies, pseudocounts(alleles), spanning)
    if len(alleles) == 2 and spanning < 0:
        absent[1] = nothing
    likely = [a for i, a in enumerate(considered) if i and absent[i] + 1e-10 < -minimum_quality / 10]
    kept = [a for a in likely if site.alleles[a] != SPANNING_DELETION or site.start <= deleted_to]
    quality = -10.0 * nothing + 0.0
    is_deletion = [site.alleles[a] for a in kept] == [SPANNING_DELETION]
    if not kept or (not deletions_alone if is_deletion else quality < minimum_quality):
        return None
    genotypes = [_genotype(sample, number, [0, *kept]) for sample in site.samples]
    counts = whole_counts(expected[[considered.index(a) for a in kept]])
    return JointCall(site, [site.alleles[a] for a in (0, *kept)], quality, genotypes, counts)


def _genotype(sample: SampleAtSite, alleles: int, kept: Sequence[int]) -> JointGenotype:
    """Genotype a sample; equal likelihoods give no call, and without reads PL, GQ and AD are empty."""
    no_call = (NO_CALL,) * sample.ploidy
    if sample.phreds is None:
        return JointGenotype(no_call, None, None, (), sample.depth, sample)
    if sample.is_reference and sample.quality == 0 and not sample.depth:
        return JointGenotype(no_call, None, None, (), None, sample)
    phreds = subset_phreds(sample.phreds, sample.ploidy, alleles, kept)
    members, quality = likeliest_call(phreds, sample.ploidy, len(kept))
    depths = tuple(sample.allele_depths[a] for a in kept) if sample.allele_depths else ()
    if not depths and sample.depth:
        depths = (sample.depth, *[0] * (len(kept) - 1))
    return JointGenotype(members, phreds, None if NO_CALL in members else quality, depths, sample.depth, sample)
