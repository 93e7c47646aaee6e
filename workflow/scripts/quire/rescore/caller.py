"""The caller: from the reads of a piece of the genome to its variants."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.device.backend import Backend
from quire.errors import InputError
from quire.io import vcf
from quire.io.bed import Interval
from quire.io.files import write_json_atomic
from quire.io.ploidy import read_ploidy_regions
from quire.io.vcf import Fields, VariantRecord
from quire.ledger import require_balance
from quire.progress import Progress
from quire.reference import Reference
from quire.rescore.chunks import CalledSample, CallingJob, call_stretch, stretches
from quire.rescore.dragen.tables import read_tables
from quire.rescore.engines import ON_THE_CPU, DeviceSettings, calling_engine, cells_of_depth, cpu_engine
from quire.rescore.filters import Filters, definitions, filtered, filters_of
from quire.rescore.intervals import cut_at_multiples
from quire.rescore.parameters import CallingParameters
from quire.rescore.ploidy import by_ploidy, ploidy_of_sample
from quire.rescore.processes import in_processes
from quire.rescore.provenance import provenance
from quire.rescore.reads.filters import FILTERS
from quire.rescore.reads.source import ReadSource
from quire.rescore.records import FIELDS
from quire.rescore.region_counts import STEPS, RegionCounter, sentence
from quire.rescore.trace import listening

logger = logging.getLogger("quire.rescore")
UNIT_BASES = 250_000  # that one process calls at a time


def call_interval(
    reference_directory: str | Path,
    samples: Sequence[Mapping[str, Any]],
    intervals: Sequence[Interval],
    output_vcf_part: str | Path,
    parameters: Mapping[str, Any],
    ledger_path: str | Path,
    fasta: str | Path | None = None,
    threads: int = 1,
    device: DeviceSettings = ON_THE_CPU,
    ploidy_regions: str | Path | None = None,
) -> int:
    """Call the variants of one piece of the genome, jointly over all samples, and write them.

    Args:
        reference_directory: of the reference stage.
        samples: `sample`, `ploidy` and `bam` (an indexed BAM or CRAM) of each, `sex` where ploidies go by it, and with
            DRAGEN's error models `repeats`, the file of the sample's tables (`dragen.tables`).
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        output_vcf_part: bgzip VCF to write; every sample is a column.
        parameters: the validated `rescore` block, see `CallingParameters` and `filters_of`.
        ledger_path: JSON to write: reads of the piece by sample and by what became of them.
        fasta: the reference as FASTA, to decode CRAM, and to be named in the header.
        threads: processes that share the piece.
        device: what to compute on; the header says what was chosen.
        ploidy_regions: BED of other ploidies, see `quire.io.ploidy`.

    Returns:
        The number of variants.

    Raises:
        InputError: a BAM that cannot be read, is of another reference or sample, or no card where one is demanded.
        QuireError: a process was killed.
    """
    filters = filters_of(parameters.get("filters", {}))
    job = open_job(reference_directory, samples, parameters, fasta, ploidy_regions)
    with computing(job, device, intervals, threads) as (backend, job):
        extras = [*provenance("rescore", parameters, fasta), backend.to_vcf(), *definitions(filters)]
        names, contigs = [sample.name for sample in job.samples], contigs_of(job.reference)
        head = vcf.header(contigs, names, FIELDS, extras, job.reference.contig_checksums)
        variants = write_units(job, output_vcf_part, head, intervals, partial(call_records, filters), FIELDS, threads)
    write_ledger(ledger_path, intervals, job, variants)
    return variants


def call_records(filters: Filters, job: CallingJob, intervals: Sequence[Interval]) -> Iterator[VariantRecord]:
    """Records of the variants that start in some intervals, in order; `filters` are applied."""
    return (filtered(record, filters, FIELDS) for record in by_ploidy(job, intervals, _records_of_one_ploidy))


def _records_of_one_ploidy(job: CallingJob, intervals: Sequence[Interval]) -> Iterator[VariantRecord]:
    return (record for contig, group in stretches(intervals) for record in call_stretch(job, contig, group))


RecordsOf = Callable[[CallingJob, Sequence[Interval]], Iterator[VariantRecord]]
"""What calls some intervals: records in order; reads that start there go into the job's ledger."""


class CalledUnit(NamedTuple):
    """What comes back of a unit of work.

    Attributes:
        lines: of the VCF.
        variants: how many of them are no reference blocks.
        ledger: by sample int64[filters].
        regions: active regions by what was given up in them.
    """

    lines: list[str]
    variants: int
    ledger: dict[str, NDArray[np.int64]]
    regions: Counter[str]


def write_units(
    job: CallingJob,
    output: str | Path,
    head: str,
    intervals: Sequence[Interval],
    records_of: RecordsOf,
    fields: Fields,
    threads: int,
) -> int:
    """Call some intervals in units, several at a time, and write them as one VCF; the job's ledger is filled.

    Returns:
        The number of variants.
    """
    variants = 0

    def lines() -> Iterator[str]:
        nonlocal variants
        units = cut_at_multiples(intervals, UNIT_BASES)
        load = partial(_load_kernels, fields is not FIELDS, job.parameters.dragen)
        progress, calling = Progress(logger), partial(_call_unit, job, records_of, fields)
        for done, called in enumerate(in_processes(calling, units, threads, load), 1):
            progress.tell_count(done, len(units), "windows called")
            variants += called.variants
            for name, counts in called.ledger.items():
                job.ledger[name][:] += counts
            job.regions.update(called.regions)
            yield from called.lines

    vcf.write_part(output, head, lines())
    return variants


def _load_kernels(gvcf: bool, dragen: bool) -> None:
    """See `compile_kernels.load_kernels`, which itself calls variants."""
    from quire.rescore.compile_kernels import load_kernels

    load_kernels(gvcf, dragen)


def _call_unit(job: CallingJob, records_of: RecordsOf, fields: Fields, intervals: Sequence[Interval]) -> CalledUnit:
    """Call a unit, with a ledger of its own."""
    ledger = {name: np.zeros_like(counts) for name, counts in job.ledger.items()}
    lines, variants = [], 0
    counter = RegionCounter(intervals)
    with listening(counter.hear, STEPS):
        for record in records_of(replace(job, ledger=ledger), intervals):
            lines.append(record.line(fields))
            variants += record.alleles[1] != vcf.NON_REFERENCE
    return CalledUnit(lines, variants, ledger, counter.counts)


def open_job(
    reference_directory: str | Path,
    samples: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    fasta: str | Path | None,
    ploidy_regions: str | Path | None,
) -> CallingJob:
    """Open the reference and the alignments; see `call_interval`."""
    reference = Reference.open(reference_directory)
    rows = read_ploidy_regions(ploidy_regions, dict(contigs_of(reference))) if ploidy_regions else []
    settings = CallingParameters.from_settings(parameters)
    opened = []
    for given in samples:
        reads = open_reads(given["bam"], reference, fasta, given["sample"])
        name, ploidy = given["sample"], int(given["ploidy"])
        ploidies = ploidy_of_sample(name, ploidy, given.get("sex", ""), rows)
        repeats = read_tables(given["repeats"]) if settings.dragen else None
        opened.append(CalledSample(name, ploidy, reads, ploidies, repeats))
    ledger = {sample.name: np.zeros(len(FILTERS), np.int64) for sample in opened}
    return CallingJob(reference, opened, settings, cpu_engine(), ledger)


@contextmanager
def computing(
    job: CallingJob, device: DeviceSettings, intervals: Sequence[Interval], threads: int
) -> Iterator[tuple[Backend, CallingJob]]:
    """Choose what a job computes on; yields the choice, and the job with what it computes with in the block."""

    def expected_cells() -> float:
        bases = sum(end - start for _, start, end in intervals)
        read = (sum(sample.source.bytes_over(*interval) for interval in intervals) for sample in job.samples)
        return sum(cells_of_depth(size, bases) for size in read)

    processes = min(threads, len(cut_at_multiples(intervals, UNIT_BASES)))  # a virus is one unit
    with calling_engine(device, expected_cells, processes) as (backend, engine):
        yield backend, replace(job, engine=engine)


def contigs_of(reference: Reference) -> list[tuple[str, int]]:
    """Names and lengths of the reference's contigs."""
    return list(zip(reference.contig_names, map(int, reference.contig_lengths), strict=True))


def write_ledger(path: str | Path, intervals: Sequence[Interval], job: CallingJob, variants: int) -> None:
    """Write what became of a piece's reads and regions, as JSON, and the latter to the log; `variants` were written."""
    logger.info("%s", sentence(job.regions))
    write_json_atomic(
        path,
        {
            "stage": "rescore",
            "intervals": [list(interval) for interval in intervals],
            "reads": {name: _ledger_entry(name, counts) for name, counts in job.ledger.items()},
            "regions": dict(job.regions),
            "variants": variants,
        },
    )


def open_reads(path: str | Path, reference: Reference, fasta: str | Path | None, sample: str) -> ReadSource:
    """Open an alignment and check that its contigs are the reference's, and its reads the sample's.

    Raises:
        InputError: a contig that the reference does not have, or has at another length; no read groups, or one of
            another sample.
    """
    source = ReadSource(path, fasta if str(path).endswith(".cram") else None)
    lengths = dict(contigs_of(reference))
    for contig, length in source.contigs.items():
        if lengths.get(contig) != length:
            raise InputError(
                f"{path}: its contig {contig!r} ({length} bases) is not in the reference; "
                "align the reads to this reference again."
            )
    if not source.samples:
        raise InputError(
            f"{path}: has no read groups, which say whose reads these are; add one of sample {sample} with "
            "samtools addreplacerg."
        )
    for group, owner in source.samples.items():
        if owner != sample:
            whose = "of no sample" if owner is None else f"of sample {owner}"
            raise InputError(
                f"{path}: its read group {group!r} is {whose} and not of {sample}; name the sample as its read groups "
                "do, or put samples apart with samtools split."
            )
    return source


def _ledger_entry(name: str, counts: NDArray[np.int64]) -> dict[str, int]:
    """Counts of one sample by name, the total first."""
    by_filter = dict(zip(FILTERS, counts.tolist(), strict=True))
    total = {"reads": int(counts.sum())}
    require_balance("rescore", name, total, by_filter)
    return total | by_filter
