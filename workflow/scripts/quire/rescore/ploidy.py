"""Ploidy by region and sex: what is called jointly is cut where the ploidy of a sample changes.

GATK's `--ploidy-regions` gives a whole active region the largest ploidy of the rows that it touches
(HaplotypeCallerEngine.getLocalGenotypingEngine). Here a variant has the ploidies of the position at which it starts: a
stretch of the genome in which every sample keeps its ploidy is called as if that were its ploidy everywhere. So nothing
depends on where active regions, tiles or pieces lie. Where rows overlap the largest ploidy counts, as in GATK.

A sample of ploidy 0 takes no part in the stretch: its reads are counted in the ledger and not used.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np

from quire.io.bed import Interval
from quire.io.ploidy import SEXES, UNKNOWN, PloidyRegion
from quire.io.vcf import VariantRecord
from quire.rescore.chunks import CalledSample, CallingJob, stretches
from quire.rescore.reads.filters import NO_COPIES, THINNED, USED

logger = logging.getLogger("quire.rescore")
HEADER_KEY = "quirePloidy"


@dataclass(frozen=True)
class PloidyMap:
    """The ploidy of one sample everywhere.

    Attributes:
        usual: where nothing else is said.
        borders: by contig, positions at which the ploidy may change, ascending, the first 0.
        ploidies: by contig, from each border on.
    """

    usual: int
    borders: Mapping[str, Sequence[int]]
    ploidies: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, usual: int, rows: Sequence[PloidyRegion]) -> "PloidyMap":
        """From the rows that are about the sample; where several overlap, the largest ploidy counts."""
        borders: dict[str, list[int]] = {}
        ploidies: dict[str, list[int]] = {}
        for contig in dict.fromkeys(row.contig for row in rows):
            own = [row for row in rows if row.contig == contig and row.end > row.start]
            at = np.unique([0, *(row.start for row in own), *(row.end for row in own)])
            most = np.full(len(at), -1)
            for row in own:
                first, last = np.searchsorted(at, [row.start, row.end])
                most[first:last] = np.maximum(most[first:last], row.ploidy)
            most[most < 0] = usual
            changes = np.flatnonzero(np.diff(most, prepend=-1))
            borders[contig], ploidies[contig] = at[changes].tolist(), most[changes].tolist()
        return cls(usual, borders, ploidies)

    def at(self, contig: str, position: int) -> int:
        """The ploidy at a position."""
        if contig not in self.borders:
            return self.usual
        return self.ploidies[contig][bisect_right(self.borders[contig], position) - 1]

    def header_lines(self) -> list[str]:
        """What a gVCF says of it: the usual ploidy, and spans of others (1-based, end included; 0 is the contig's)."""
        lines = [f"##{HEADER_KEY}=<Ploidy={self.usual}>"]
        for contig, borders in self.borders.items():
            for start, end, ploidy in zip(borders, [*borders[1:], 0], self.ploidies[contig], strict=True):
                if ploidy != self.usual:
                    lines.append(f"##{HEADER_KEY}=<Ploidy={ploidy},Start={start + 1},End={end},Contig={contig}>")
        return lines

    @classmethod
    def from_header(cls, lines: Sequence[str]) -> "PloidyMap | None":
        """The map that a gVCF's header holds; None where it holds none."""
        usual, rows = None, []
        for line in lines:
            if line.startswith(f"##{HEADER_KEY}=<"):
                # The contig's name comes last, since it may hold anything.
                fields = dict(item.split("=", 1) for item in line.partition("=<")[2].removesuffix(">").split(",", 3))
                ploidy = int(fields["Ploidy"])
                if "Contig" in fields:
                    end = int(fields["End"]) or 1 << 31
                    rows.append(PloidyRegion(fields["Contig"], int(fields["Start"]) - 1, end, ploidy, UNKNOWN))
                else:
                    usual = ploidy
        return None if usual is None else cls.of(usual, rows)


def ploidy_of_sample(name: str, usual: int, sex: str, rows: Sequence[PloidyRegion]) -> PloidyMap:
    """The ploidies of a sample.

    Args:
        name: for messages.
        usual: outside all rows.
        sex: as in the sheet of samples.
        rows: of all samples.
    """
    sex = SEXES[sex.lower()]
    if sex == UNKNOWN and any(row.sex != UNKNOWN for row in rows):
        logger.warning("sample %s has no sex in the sheet: ploidies of one sex are not for it", name)
    return PloidyMap.of(usual, [row for row in rows if row.sex in (UNKNOWN, sex)])


def by_ploidy(
    job: CallingJob,
    intervals: Sequence[Interval],
    call: Callable[[CallingJob, Sequence[Interval]], Iterator[VariantRecord]],
) -> Iterator[VariantRecord]:
    """Call intervals, cut where the ploidy of a sample changes; samples that are absent get a column all the same.

    Args:
        job: its samples' ploidies are their usual ones.
        intervals: in genome order.
        call: gives the records of intervals in which the samples of its job have one ploidy throughout.
    """
    pieces = [piece for interval in intervals for piece in _cut(job.samples, interval)]
    for ploidies, group in groupby(pieces, key=lambda piece: piece[0]):
        part = [interval for _, interval in group]
        samples = [replace(sample, ploidy=own) for sample, own in zip(job.samples, ploidies, strict=True)]
        present = [sample for sample in samples if sample.ploidy]
        for sample in samples:
            if not sample.ploidy:
                _count(job, sample, part)
        if not present:
            continue
        for record in call(replace(job, samples=present), part):
            yield record if len(present) == len(samples) else _with_absent(record, ploidies)


def _cut(samples: Sequence[CalledSample], interval: Interval) -> Iterator[tuple[tuple[int, ...], Interval]]:
    """The pieces of an interval in which every sample has one ploidy, and these."""
    contig, start, end = interval
    maps = [sample.ploidies for sample in samples]
    inner = {
        border for own in maps if own is not None for border in own.borders.get(contig, ()) if start < border < end
    }
    edges = [start, *sorted(inner), end]
    for low, high in pairwise(edges):
        yield (
            tuple(
                sample.ploidy if own is None else own.at(contig, low) for sample, own in zip(samples, maps, strict=True)
            ),
            (contig, low, high),
        )


def _count(job: CallingJob, sample: CalledSample, intervals: Sequence[Interval]) -> None:
    """Put the reads of a sample that is absent from some intervals into the ledger."""
    for contig, owned in stretches(intervals):
        start, end = int(owned[0, 0]), int(owned[-1, 1])
        _, counts = sample.source.fetch(contig, start, end, owned, job.parameters)
        counts[NO_COPIES] += counts[USED] + counts[THINNED]
        counts[[USED, THINNED]] = 0
        job.ledger[sample.name][:] += counts


def _with_absent(record: VariantRecord, ploidies: Sequence[int]) -> VariantRecord:
    """A record with columns for the samples of ploidy 0 too."""
    present = iter(record.samples)
    nothing = dict.fromkeys(record.samples[0]) | {"GT": "."}
    return replace(record, samples=[next(present) if ploidy else nothing for ploidy in ploidies])
