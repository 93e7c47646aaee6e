"""Records of positions without a variant, for a VCF of every position.

As in GenotypeGVCFs with --include-non-variant-sites, except for RGQ: here it is the phred by which the reference is
more likely than anything else, from the likelihoods of all alleles. GATK writes the quality of the dropped genotype,
whatever that genotype was.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from quire.io.vcf import NON_REFERENCE, Field, Fields, Value, VariantRecord
from quire.rescore.genotyping.allele_frequency_cpu import genotype_counts

from tests.oracles.joint.inputs import Gvcf, GvcfRecord, Span, integers

LOW_QUALITY = "LowQual"
LOW_QUALITY_LINE = f'##FILTER=<ID={LOW_QUALITY},Description="QUAL below rescore.minimum_quality">'
REFERENCE_QUALITY = Field("RGQ", "1", "Integer", "Phred probability that a genotype without variant is wrong")
_LARGEST_QUALITY = 99
Letters = Callable[[str, int, int], bytes]
"""Returns the reference's letters of a span of a contig."""
SiteRecord = Callable[[int, Sequence[GvcfRecord | None], str], VariantRecord | None]
"""Returns the record of a variant at a position or None, given the records that span it and the reference's letter."""


class ReferenceRun(NamedTuple):
    """Consecutive positions, one for each letter, with the values of the first one's record and no variant."""

    record: VariantRecord
    letters: str

    def lines(self, fields: Fields) -> Iterator[str]:
        """Yield one line of the VCF for each position."""
        contig, start, identifier, _, rest = self.record.line(fields).split("\t", 4)
        for position, letter in enumerate(self.letters, int(start)):
            yield f"{contig}\t{position}\t{identifier}\t{letter}\t{rest}"


def between_variants(
    contig: str, span: Span, within: tuple[int, int], gvcfs: Sequence[Gvcf], letters: Letters, deletion_at: SiteRecord
) -> Iterator[VariantRecord | ReferenceRun]:
    """Yield all positions `within` a part of a span in which no variant starts.

    `deletion_at` makes the record of a position that a deletion removes in a sample.
    """
    for first, after in pairwise(_borders(contig, span, within, gvcfs)):
        reaching = span.reaching(first)
        bases = letters(contig, first, after).decode()
        if not any(record is not None and record.start < first and _deletes(record) for record in reaching):
            yield ReferenceRun(_reference_record(contig, first, reaching, gvcfs), bases)
            continue
        for position, base in enumerate(bases, first):
            record = deletion_at(position, reaching, base)
            yield record or ReferenceRun(_reference_record(contig, position, reaching, gvcfs), base)


def _borders(contig: str, span: Span, within: tuple[int, int], gvcfs: Sequence[Gvcf]) -> list[int]:
    """Return the positions of a span, ends included, at which the values of a sample may change."""
    start, end = within
    borders = [start, end]
    for record in (*span.current, *span.deletions):
        if record is not None:
            borders.append(record.end)
            if record.alternates != (NON_REFERENCE,):
                borders.append(record.start + 1)
    for gvcf in gvcfs:
        borders += gvcf.ploidies.borders.get(contig, ())
    return sorted({border for border in borders if start <= border <= end})


def _deletes(record: GvcfRecord) -> bool:
    return any(a != NON_REFERENCE and len(a) < len(record.reference) for a in record.alternates)


def _reference_record(
    contig: str, position: int, reaching: Sequence[GvcfRecord | None], gvcfs: Sequence[Gvcf]
) -> VariantRecord:
    """Return the record of a position without a variant; its reference allele is a placeholder."""
    samples: list[dict[str, Value]] = []
    depth = 0
    for record, gvcf in zip(reaching, gvcfs, strict=True):
        if record is None:
            samples += [_nothing(gvcf.ploidies.at(contig, position)) for _ in gvcf.samples]
            continue
        own = [_sample(record, column, position) for column in range(len(gvcf.samples))]
        samples += own
        depth += int(record.info["DP"]) if "DP" in record.info else sum(int(str(one["DP"] or 0)) for one in own)
    known = any(one["DP"] is not None for one in samples)
    return VariantRecord(
        contig=contig,
        start=position,
        alleles=("N",),
        quality=None,
        filters=(),
        info={"DP": depth} if depth else {},
        samples=samples if known else [{"GT": one["GT"]} for one in samples],
    )


def _nothing(ploidy: int) -> dict[str, Value]:
    return {"GT": "/".join("." * ploidy) or ".", "DP": None, "RGQ": None}


def _sample(record: GvcfRecord, column: int, position: int) -> dict[str, Value]:
    """Return FORMAT of a sample: the reference if it is more likely than anything else, otherwise no call."""
    values = record.samples[column]
    ploidy = record.genotypes[column].replace("|", "/").count("/") + 1
    depth = int(values.get("MIN_DP", values.get("DP", 0)))
    quality = _reference_quality(record, column, position, ploidy)
    if not depth or quality is None:
        return _nothing(ploidy)
    return {"GT": "/".join(("0" if quality else ".") * ploidy), "DP": depth, "RGQ": quality}


def _reference_quality(record: GvcfRecord, column: int, position: int, ploidy: int) -> int | None:
    """Return the phred by which genotypes that keep the position are more likely (at least 0); None without data."""
    values = record.samples[column]
    phreds = integers(values.get("PL"))
    if not phreds:
        is_reference = set(record.genotypes[column]) <= set("0/|")
        return None if "GQ" not in values else int(values["GQ"]) if is_reference else 0
    # In a record that starts before the position, only deletions change the position.
    keeps = [
        a == 0 or (position > record.start and allele != NON_REFERENCE and len(allele) >= len(record.reference))
        for a, allele in enumerate((record.reference, *record.alternates))
    ]
    counts = genotype_counts(ploidy, len(keeps))
    unchanged = counts[:, keeps].sum(axis=1) == ploidy
    likelihoods = np.array(phreds)
    return int(min(max(likelihoods[~unchanged].min() - likelihoods[unchanged].min(), 0), _LARGEST_QUALITY))
