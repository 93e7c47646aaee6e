"""A unit of work: some intervals of the genome, called by one process and returned as text of the VCF."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

from quire.io.bed import Interval
from quire.io.vcf import Fields, VariantRecord
from quire.rescore.chunks import read_chunks, stretches
from quire.rescore.filters import filtered
from quire.rescore.gvcf.chunk import stretch_lines
from quire.rescore.gvcf.records import FIELDS as GVCF_FIELDS
from quire.rescore.job import CalledSample, CallingJob, Output
from quire.rescore.reads.filters_cpu import NO_COPIES, THINNED, USED
from quire.rescore.records import FIELDS
from quire.rescore.tally import Tally
from quire.rescore.variants import call_chunk

FIELDS_OF: Mapping[Output, Fields] = {Output.VARIANTS: FIELDS, Output.GVCF: GVCF_FIELDS}
"""The INFO and FORMAT fields of each output."""


class CalledUnit(NamedTuple):
    """The result of a unit: lines of the VCF, the number of those that are not reference blocks, and its tally."""

    text: bytes
    variants: int
    tally: Tally


def call_unit(job: CallingJob, intervals: Sequence[Interval]) -> CalledUnit:
    """Call some intervals, given in genome order, and write the lines of the job's output."""
    tally = Tally([sample.name for sample in job.samples], intervals)
    fields = FIELDS_OF[job.output]
    lines, variants = list[bytes](), 0
    for part in parts_of_one_ploidy(job, intervals, tally):
        for contig, stretch in stretches(part.intervals):
            if job.output is Output.GVCF:
                for text, number in stretch_lines(part.job, contig, stretch, tally):
                    lines.append(text)
                    variants += number
                continue
            for chunk in read_chunks(part.job, contig, stretch, tally):
                for record in call_chunk(part.job, chunk, tally):
                    lines.append(part.with_absent(filtered(record, job.filters, fields)).line(fields).encode())
                    variants += 1
    return CalledUnit(b"".join(lines), variants, tally)


class Part(NamedTuple):
    """Intervals, in genome order, in which every sample keeps its ploidy.

    The job has the samples that are present, each with its ploidy there; `ploidies` are those of all samples, 0 for an
    absent one.
    """

    job: CallingJob
    intervals: list[Interval]
    ploidies: tuple[int, ...]

    def with_absent(self, record: VariantRecord) -> VariantRecord:
        """Return the record with columns for absent samples too."""
        if 0 not in self.ploidies:
            return record
        present = iter(record.samples)
        nothing = dict.fromkeys(record.samples[0]) | {"GT": "."}
        return replace(record, samples=[next(present) if ploidy else nothing for ploidy in self.ploidies])


def parts_of_one_ploidy(job: CallingJob, intervals: Sequence[Interval], tally: Tally) -> Iterator[Part]:
    """Cut intervals, in genome order, where the ploidy of a sample changes.

    Parts without any present sample are left out; the tally counts the reads of absent samples.
    """
    pieces = [piece for interval in intervals for piece in _cut(job.samples, interval)]
    for ploidies, group in groupby(pieces, key=lambda piece: piece[0]):
        inside = [interval for _, interval in group]
        samples = [replace(sample, ploidy=own) for sample, own in zip(job.samples, ploidies, strict=True)]
        for sample in samples:
            if not sample.ploidy:
                _count_absent(job, sample, inside, tally)
        present = [sample for sample in samples if sample.ploidy]
        if present:
            yield Part(replace(job, samples=present), inside, ploidies)


def _cut(samples: Sequence[CalledSample], interval: Interval) -> Iterator[tuple[tuple[int, ...], Interval]]:
    """Yield the pieces of an interval in which every sample has one ploidy, each after its ploidies."""
    contig, start, end = interval
    maps = [sample.ploidies for sample in samples]
    inner = {border for own in maps for border in own.borders.get(contig, ()) if start < border < end}
    for low, high in pairwise([start, *sorted(inner), end]):
        yield tuple(own.at(contig, low) for own in maps), (contig, low, high)


def _count_absent(job: CallingJob, sample: CalledSample, intervals: Sequence[Interval], tally: Tally) -> None:
    """Count the reads of a sample that is absent from some intervals."""
    for contig, owned in stretches(intervals):
        start, end = int(owned[0, 0]), int(owned[-1, 1])
        _, counts = sample.source.fetch(contig, start, end, owned, job.parameters)
        counts[NO_COPIES] += counts[USED] + counts[THINNED]
        counts[[USED, THINNED]] = 0
        tally.reads[sample.name] += counts
