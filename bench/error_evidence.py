"""The reads' evidence for a variant, and whether Quire assembles it: the facts behind the causes of `bench.errors`."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pysam
from quire.report.truth import ReferenceBases, Variant, spell
from quire.rescore.job import CallingJob
from quire.rescore.trace import observing
from quire.rescore.units import call_unit
from quire.rescore.why.listener import Story
from quire.sequence.codes import LETTERS

USABLE_MAPQ = 20
LEAST_FLANK, MOST_FLANK = 6, 60
MOST_NEIGHBOURS = 4
_LEFT_OUT = pysam.FUNMAP | pysam.FSECONDARY | pysam.FDUP | pysam.FQCFAIL | pysam.FSUPPLEMENTARY


@dataclass
class Evidence:
    """Reads over a variant.

    Attributes:
        usable: reads over it with a mapping quality of at least USABLE_MAPQ.
        poor: other reads over it.
        holding, poor_holding: those of each that contain the alternate allele with its flanks.
        reference: usable reads that contain the reference allele with its flanks.
    """

    usable: int = 0
    poor: int = 0
    holding: int = 0
    poor_holding: int = 0
    reference: int = 0

    @property
    def share(self) -> float:
        """Share of the alternate among the usable reads that contain either allele."""
        return self.holding / max(1, self.holding + self.reference)


class Spellings(NamedTuple):
    """Strings of which a sequence contains one if it carries the allele, one for each set of variants in the flanks."""

    alternate: tuple[str, ...]
    reference: tuple[str, ...]


def spellings(contig: str, variant: Variant, near: Sequence[Variant], sequence: ReferenceBases) -> Spellings:
    """Return both alleles with flanks long enough for neither to occur in the other's window.

    Args:
        contig: of the variant.
        variant: the variant.
        near: other variants that a haplotype may carry.
        sequence: returns reference bases of (contig, start, end).
    """
    start, end = max(0, variant.position - 2 * MOST_FLANK), variant.end + 2 * MOST_FLANK
    window = sequence(contig, start, end)
    left, right = window[: variant.position - start], window[variant.end - start :]
    flank = next(
        (
            flank
            for flank in range(LEAST_FLANK, MOST_FLANK)
            if left[-flank:] + variant.alternate + right[:flank] not in window
            and left[-flank:] + variant.reference + right[:flank] not in left + variant.alternate + right
        ),
        MOST_FLANK,
    )
    low, high = max(0, variant.position - flank), variant.end + flank
    inside = [one for one in near if low <= one.position and one.end <= high and one != variant]
    inside = [one for one in inside if one.end <= variant.position or one.position >= variant.end][:MOST_NEIGHBOURS]
    bases = sequence(contig, low, high)
    sets = [
        list(chosen) for size in range(len(inside) + 1) for chosen in itertools.combinations(inside, size)
    ]  # fmt: skip
    spelled = (tuple(filter(None, (spell([*own, *chosen], bases, low) for chosen in sets))) for own in ([variant], []))
    return Spellings(*spelled)


def evidence(bam: Path, contig: str, variant: Variant, spelled: Spellings) -> Evidence:
    """Count the reads that contain each allele."""
    found = Evidence()
    with pysam.AlignmentFile(str(bam)) as reads:
        for read in reads.fetch(contig, variant.position, variant.position + 1):
            if read.flag & _LEFT_OUT or read.query_sequence is None:
                continue
            holds = any(text in read.query_sequence for text in spelled.alternate)
            if read.mapping_quality >= USABLE_MAPQ:
                found.usable += 1
                found.holding += holds
                found.reference += not holds and any(text in read.query_sequence for text in spelled.reference)
            else:
                found.poor += 1
                found.poor_holding += holds
    return found


def is_assembled(job: CallingJob, contig: str, variant: Variant, spelled: Spellings) -> bool:
    """Return if one of the haplotypes that Quire assembles there contains the alternate allele with its flanks."""
    return any(text in haplotype for haplotype in _haplotypes(job, contig, variant) for text in spelled.alternate)


def _haplotypes(job: CallingJob, contig: str, variant: Variant) -> Iterator[str]:
    for position in sorted({variant.position, variant.end - 1}):
        story = Story({id(sample.source): sample.name for sample in job.samples}, contig, position)
        with observing(story.hear):
            call_unit(job, [(contig, position, position + 1)])
        for haplotype in story.region.aligned if story.region is not None else ():
            yield "".join(chr(LETTERS[code]) for code in haplotype.bases)
