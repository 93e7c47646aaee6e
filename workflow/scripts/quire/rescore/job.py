"""A calling job: its output, samples and settings, none of which changes as it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bed import Interval
from quire.io.open_files import allow_open_files
from quire.io.ploidy import read_ploidy_regions
from quire.io.primers import read_primers
from quire.reference import Reference
from quire.rescore.dragen.gaps_cpu import gap_tables
from quire.rescore.dragen.tables import RepeatTables, read_tables
from quire.rescore.engines import ON_THE_CPU, CallingEngine, DeviceSettings, cpu_engine
from quire.rescore.filters import Filters, filters_of
from quire.rescore.given import NO_ALLELES, GivenAlleles, read_given_alleles
from quire.rescore.parameters import CallingParameters
from quire.rescore.ploidy import PloidyMap, ploidy_of_sample
from quire.rescore.reads.source import ReadSource
from quire.rescore.window import Window


class Output(Enum):
    """The output of a calling job."""

    VARIANTS = "variants"
    """The variants of all samples, called jointly."""
    GVCF = "gvcf"
    """The variants of one sample, and reference blocks between them."""


class CallingRequest(NamedTuple):
    """A piece of the genome to call.

    Attributes:
        output: what to write; a gVCF has one sample.
        reference_directory: directory written by the reference stage.
        samples: `sample`, `ploidy` and `bam` (an indexed BAM or CRAM) of each, `sex` where ploidies depend on it, and
            with DRAGEN's error models `repeats`, the file of the sample's tables (`dragen.tables`).
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        part: bgzip VCF to write, with one column for each sample.
        part_index: its index to write, .tbi or .csi; None for a part that is joined with others.
        parameters: the validated `rescore` block, see `CallingParameters` and `filters_of`.
        ledger: JSON to write: numbers of the piece's reads by sample and outcome (`reads.filters.FILTERS`).
        fasta: the reference as FASTA, to decode CRAM, and to be named in the header.
        threads: processes that share the piece.
        device: requested backend; the header names the chosen one.
        ploidy_regions: BED of other ploidies, see `quire.io.ploidy`.
        alleles: VCF of alleles that are genotyped in any case, see `given`.
        primers: BED of the primers of amplicons, whose bases are not used, see `quire.io.primers`.
    """

    output: Output
    reference_directory: str | Path
    samples: Sequence[Mapping[str, Any]]
    intervals: Sequence[Interval]
    part: str | Path
    parameters: Mapping[str, Any]
    ledger: str | Path
    fasta: str | Path | None = None
    threads: int = 1
    device: DeviceSettings = ON_THE_CPU
    ploidy_regions: str | Path | None = None
    alleles: str | Path | None = None
    primers: str | Path | None = None
    part_index: str | Path | None = None


@dataclass(frozen=True)
class CalledSample:
    """A sample with its reads.

    `ploidy` is its usual one, or that of the `units.Part` that is called; `repeats` are its tables of short tandem
    repeats, for DRAGEN's error models only.
    """

    name: str
    ploidy: int
    source: ReadSource
    ploidies: PloidyMap
    repeats: RepeatTables | None = None


@dataclass(frozen=True)
class CallingJob:
    """The inputs of a calling job; its samples are called jointly, and filters apply to variants only.

    A gVCF has one sample.
    """

    output: Output
    reference: Reference
    samples: Sequence[CalledSample]
    parameters: CallingParameters
    filters: Filters
    engine: CallingEngine
    given: GivenAlleles = NO_ALLELES

    @property
    def ploidies(self) -> NDArray[np.int64]:
        """int64[samples]."""
        return np.array([sample.ploidy for sample in self.samples], np.int64)

    @cached_property
    def repeat_gaps(self) -> NDArray[np.uint8] | None:
        """uint8[samples, 2, 8, 20] of `gap_tables`; None without DRAGEN's error models."""
        tables = [gap_tables(sample.repeats) for sample in self.samples if sample.repeats is not None]
        return np.stack(tables) if self.parameters.dragen else None

    def window(self, contig: str, start: int, end: int) -> Window:
        """Return the reference from `start` to `end`, cut at the contig's ends."""
        length = int(self.reference.contig_lengths[self.reference.contig_number[contig]])
        start, end = max(0, start), min(length, end)
        return Window(contig, length, start, self.reference.contig_codes(contig, start, end))


def open_job(
    output: Output,
    reference_directory: str | Path,
    samples: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    fasta: str | Path | None = None,
    ploidy_regions: str | Path | None = None,
    alleles: str | Path | None = None,
    primers: str | Path | None = None,
) -> CallingJob:
    """Open the reference and the alignments of a job that computes on the CPU; arguments as in `CallingRequest`."""
    reference = Reference.open(reference_directory)
    lengths = dict(contigs_of(reference))
    rows = read_ploidy_regions(ploidy_regions, lengths) if ploidy_regions else []
    cut = read_primers(primers, lengths) if primers else {}
    settings = CallingParameters.from_settings(parameters)
    opened = []
    allow_open_files()  # one for each sample
    for given in samples:
        reads = open_reads(given["bam"], reference, fasta, given["sample"])
        reads.primers = cut
        name, ploidy = given["sample"], int(given["ploidy"])
        ploidies = ploidy_of_sample(name, ploidy, given.get("sex", ""), rows)
        repeats = read_tables(given["repeats"]) if settings.dragen else None
        opened.append(CalledSample(name, ploidy, reads, ploidies, repeats))
    filters, forced = filters_of(parameters.get("filters", {})), read_given_alleles(alleles, reference)
    return CallingJob(output, reference, opened, settings, filters, cpu_engine(), forced)


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
            f"{path}: has no read groups, so the sample of its reads is unknown; add one of sample {sample} with "
            "samtools addreplacerg."
        )
    for group, owner in source.samples.items():
        if owner != sample:
            whose = "of no sample" if owner is None else f"of sample {owner}"
            raise InputError(
                f"{path}: its read group {group!r} is {whose} and not of {sample}; use the read groups' name of the "
                "sample, or separate samples with samtools split."
            )
    return source


def contigs_of(reference: Reference) -> list[tuple[str, int]]:
    """Return names and lengths of the reference's contigs."""
    return list(zip(reference.contig_names, map(int, reference.contig_lengths), strict=True))
