"""The samples of many gVCFs at one site: alleles merged, and each sample's likelihoods for the merged alleles.

As in ReferenceConfidenceVariantContextMerger, a sample has the likelihoods of `<NON_REF>` for every allele that its
record does not name. If a sample's record starts before the site, its deletion over the site is '*', and every other
allele is `<NON_REF>`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray
from quire.errors import InputError
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, genotype_counts
from quire.rescore.phasing import Phase

from tests.oracles.joint.inputs import Gvcf, GvcfRecord, integers

_UNKNOWN = ""  # an allele without a meaning at the site
_TWO_OTHERS = 10  # PL of two alternates as a multiple of that of one, for a record with GQ only (ReblockGVCF)


@dataclass(frozen=True)
class SampleAtSite:
    """A sample at a site.

    Attributes:
        phreds: int64[genotypes] of the site's alleles; None if unknown.
        allele_depths: AD of the site's alleles; empty if unknown.
        depth: DP, or MIN_DP of a block; None if unknown.
        quality, strands, phase: GQ, SB, and PGT with PID and PS; None if the record has none.
        is_reference: True if the record calls the reference or has no call.
    """

    ploidy: int
    phreds: NDArray[np.int64] | None = None
    allele_depths: tuple[int, ...] = ()
    depth: int | None = None
    quality: int | None = None
    strands: tuple[int, int, int, int] | None = None
    is_reference: bool = False
    phase: Phase | None = None


@dataclass(frozen=True)
class JointSite:
    """A site (0-based) with its alleles, the reference's first, and its samples in the order of the columns.

    Of a sample without a record here, only the ploidy is known. `records` are those that start at the site, `depth`
    counts the reads of all samples.
    """

    start: int
    alleles: tuple[str, ...]
    samples: Sequence[SampleAtSite]
    records: Sequence[GvcfRecord]
    depth: int


def merge_site(
    contig: str, start: int, records: Sequence[GvcfRecord | None], gvcfs: Sequence[Gvcf], letter: str = ""
) -> JointSite:
    """Merge the samples of all files at a position, given the record of each file that spans it, or None.

    `letter` is the reference's at the position, needed if no record starts there.
    """
    here = [record for record in records if record is not None and record.start == start]
    reference = max((record.reference for record in here), key=len, default=letter)
    named = {record: _spelled(record, start, reference) for record in records if record is not None}
    alleles = [reference]
    for record in records:
        if record is not None:
            alleles += [a for a in dict.fromkeys(named[record]) if a not in (_UNKNOWN, NON_REFERENCE, *alleles)]
    samples: list[SampleAtSite] = []
    depth = 0
    for record, gvcf in zip(records, gvcfs, strict=True):
        if record is None:
            samples += [SampleAtSite(gvcf.ploidies.at(contig, start))] * len(gvcf.samples)
        else:
            own = _samples(record, [reference, *named[record]], alleles)
            samples += own
            depth += int(record.info["DP"]) if "DP" in record.info else sum(one.depth or 0 for one in own)
    return JointSite(start, tuple(alleles), samples, here, depth)


def _spelled(record: GvcfRecord, start: int, reference: str) -> list[str]:
    """Spell the alternates of a record for a site with this reference allele."""
    if NON_REFERENCE not in record.alternates:
        raise InputError(f"{record.at()} has no allele {NON_REFERENCE}; make the gVCF again.")
    if record.start == start:
        if not reference.startswith(record.reference):
            raise InputError(f"{record.at()} has another reference than the other gVCFs; make it with this reference.")
        tail = reference[len(record.reference) :]
        spelled = [a if a in (NON_REFERENCE, SPANNING_DELETION) else a + tail for a in record.alternates]
        for allele in (reference, *({*spelled} - {NON_REFERENCE, SPANNING_DELETION})):
            if not (allele.isascii() and allele.isalpha()):
                raise InputError(f"{record.at()} has the allele {allele!r}, which is no bases; make the gVCF again.")
        return spelled
    return [
        NON_REFERENCE if a == NON_REFERENCE else SPANNING_DELETION if len(a) < len(record.reference) else _UNKNOWN
        for a in record.alternates
    ]


def _samples(record: GvcfRecord, named: list[str], alleles: list[str]) -> list[SampleAtSite]:
    """Return the samples of a record; `named` are its alleles as spelled at the site."""
    result = []
    for genotype, values in zip(record.genotypes, record.samples, strict=True):
        members = genotype.replace("|", "/").split("/")
        ploidy = len(members)
        phreds = integers(values.get("PL"))
        quality = int(values["GQ"]) if "GQ" in values else None
        reference = set(members) <= {"0", "."}
        others = [_index(named, allele, phreds, ploidy) for allele in alleles[1:]]
        depths = integers(values.get("AD"))
        spelled = None
        if phreds:
            if len(phreds) != genotype_count(ploidy, len(named)):
                raise InputError(f"{record.at()} has {len(phreds)} values in PL, not one per genotype; make it again.")
            spelled = np.array(phreds, np.int64)[genotype_map(ploidy, (0, *others))]
        elif reference and quality is not None and ploidy == 2:
            spelled = _by_quality(quality, len(alleles))
        least = values.get("MIN_DP", values.get("DP"))
        strands = integers(values.get("SB"))
        phase = None
        if "PGT" in values and "PID" in values:
            phase = Phase(values["PGT"], values["PID"], int(values["PS"]) if "PS" in values else None)
        result.append(
            SampleAtSite(
                ploidy=ploidy,
                phreds=spelled,
                allele_depths=tuple(depths[i] if i < len(depths) else 0 for i in (0, *others)) if depths else (),
                depth=None if least is None else int(least),
                quality=quality,
                strands=(strands[0], strands[1], strands[2], strands[3]) if len(strands) == 4 else None,
                is_reference=reference,
                phase=phase,
            )
        )
    return result


def _index(named: list[str], allele: str, phreds: list[int], ploidy: int) -> int:
    """Return the index of the record's allele that represents an allele of the site."""
    # Among several deletions over the site, it is the one whose homozygous genotype is the most likely.
    found = [i for i, name in enumerate(named) if i > 0 and name == allele]
    if not found:
        return named.index(NON_REFERENCE)
    if len(found) > 1 and phreds:
        return min(found, key=lambda i: phreds[genotype_count(ploidy, i + 1) - 1])
    return found[0]


def _by_quality(quality: int, alleles: int) -> NDArray[np.int64]:
    """Approximate the PLs of a diploid reference genotype by GQ (makeApproximateDiploidLog10LikelihoodsFromGQ)."""
    counts = genotype_counts(2, alleles)
    return quality * np.where(counts[:, 0] == 2, 0, np.where(counts[:, 0] == 1, 1, _TWO_OTHERS)).astype(np.int64)


@lru_cache(maxsize=4096)
def genotype_map(ploidy: int, alleles: tuple[int, ...]) -> NDArray[np.int64]:
    """Return int64[genotypes]: the number of each genotype of new alleles among the genotypes of the old alleles.

    `alleles` is the old allele of each new one; several may be the same.
    """
    result = []
    for counts in genotype_counts(ploidy, len(alleles)).tolist():
        members = sorted(old for old, count in zip(alleles, counts, strict=True) for _ in range(count))
        result.append(sum(comb(member + place, place + 1) for place, member in enumerate(members)))
    return np.array(result, np.int64)
