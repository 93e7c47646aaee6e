"""Joint genotyping of the gVCFs of a cohort into one VCF (GenotypeGVCFs).

Each gVCF is imported once to a store (`store`), which costs the same for the first sample and for the thousandth. The
samples are then genotyped from their stores, window after window, so memory does not grow with the genome. At every
position where some sample may have a variant, `merge` expresses all samples in the same alleles, `genotype` decides
which alleles are real and which samples have them, `annotations` fills INFO, and `lines` writes the line.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.device.backend import cpu_only
from quire.io import vcf
from quire.io.bed import Interval
from quire.io.bgzf_cpu import compress_blocks
from quire.io.vcf import Fields
from quire.processes import in_processes
from quire.reference import Reference
from quire.rescore.filters import Filters, definitions, filters_of
from quire.rescore.given import read_given_alleles
from quire.rescore.intervals import cut_at_multiples
from quire.rescore.job import contigs_of
from quire.rescore.joint.all_sites import (
    LOW_QUALITY,
    LOW_QUALITY_LINE,
    REFERENCE_QUALITY,
    ReferenceLines,
    ReferenceRun,
    reference_runs,
)
from quire.rescore.joint.annotations import FIELDS
from quire.rescore.joint.genotype import JointCall, call_joint_site
from quire.rescore.joint.gvcf import read_head
from quire.rescore.joint.lines import joint_line, phase_texts
from quire.rescore.joint.merge import merge_site
from quire.rescore.joint.store import WINDOW
from quire.rescore.joint.window import MOST_SAMPLES, Cohort, CohortWindow, require_apart
from quire.rescore.provenance import provenance

log = logging.getLogger("quire.rescore")
WITH_REFERENCE_FIELDS = Fields.of(info=FIELDS.info.values(), format=(*FIELDS.format.values(), REFERENCE_QUALITY))
"""The fields of a VCF of every position."""


class JointRequest(NamedTuple):
    """A piece of the genome to genotype.

    Attributes:
        reference_directory: directory written by the reference stage.
        stores: of gVCFs, see `store.import_gvcf`.
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        part: bgzip VCF to write; every sample is a column, in the order of the stores.
        minimum_quality: lowest QUAL (phred) of a variant that is written.
        backend: the backend that the configuration requests; the header says that this stage uses no card.
        fasta: the reference, to be named in the header.
        threads: processes that share the piece.
        filters: the validated block `rescore.filters`; None for no filters.
        all_sites: True to write every position, see `all_sites`.
        regions: BED of the intervals of all pieces, to be named in the header.
        alleles: VCF of alleles that are genotyped in any case, see `rescore.given`.
    """

    reference_directory: str | Path
    stores: Sequence[str | Path]
    intervals: Sequence[Interval]
    part: str | Path
    minimum_quality: float
    backend: str = "auto"
    fasta: str | Path | None = None
    threads: int = 1
    filters: Mapping[str, Mapping[str, Any]] | None = None
    all_sites: bool = False
    regions: str = ""
    alleles: str | Path | None = None


def genotype_interval(request: JointRequest) -> int:
    """Genotype the samples of some gVCFs together in one piece of the genome; return the number of records.

    Raises:
        InputError: a sample is in two gVCFs, or two gVCFs differ in a reference allele.
        QuireError: a store is damaged or of another reference.
    """
    reference = Reference.open(request.reference_directory)
    cohort = Cohort(request.stores, reference)
    judged = filters_of(request.filters or {})
    alleles = read_given_alleles(request.alleles, reference)
    fields = WITH_REFERENCE_FIELDS if request.all_sites else FIELDS
    backend = cpu_only(request.backend, "joint genotyping")
    log.info("backend %s: %s", backend.name, backend.reason)
    settings = {
        "minimum_quality": request.minimum_quality,
        "emit": "all_sites" if request.all_sites else "variants",
        "intervals": request.regions,
        "alleles": request.alleles,
        "output": "all.vcf.gz",
    }
    extras = [
        *provenance("joint", [store.gvcf for store in cohort.stores], settings, request.fasta),
        backend.to_vcf(),
        *definitions(judged),
        *([LOW_QUALITY_LINE] if request.all_sites else []),
    ]
    head = vcf.header(contigs_of(reference), cohort.samples, fields, extras, reference.contig_checksums)

    def blocks(unit: Sequence[Interval]) -> tuple[int, bytes]:
        lines: list[bytes] = []
        for contig, start, end in unit:
            window = cohort.window(contig, start, end)
            given = alleles.spelled(reference, contig, window.start, end)
            genotyper = Genotyper(window, request.minimum_quality, judged, fields, given)
            found = genotyper.all_sites(reference, start, end) if request.all_sites else genotyper.variants(start, end)
            lines += found
        text = b"".join(lines)
        return text.count(b"\n"), compress_blocks(text).tobytes() if text else b""

    units = cut_at_multiples(request.intervals, unit_bases(len(cohort.samples)))
    return vcf.write_part_of_blocks(request.part, head, in_processes(blocks, units, request.threads))


def unit_bases(samples: int) -> int:
    """Return the bases that a process genotypes at a time: a window of stores, less for more than MOST_SAMPLES."""
    return max(WINDOW // -(-samples // MOST_SAMPLES), 1)


def check_gvcfs(reference_directory: str | Path, gvcfs: Sequence[str | Path], samples: Sequence[str]) -> None:
    """Raise InputError for gVCFs whose headers show that they cannot be genotyped together with those of `samples`."""
    contigs = dict(contigs_of(Reference.open(reference_directory)))
    heads = [(str(path), read_head(path, contigs).samples) for path in gvcfs]
    require_apart(heads, dict.fromkeys(samples, "the sheet of samples"))


class Genotyper:
    """Genotypes the samples of a window.

    Args:
        window: the records.
        minimum_quality: lowest QUAL of a variant.
        filters: of variants.
        fields: of the VCF.
        given: reference and alternate of the alleles that are written in any case, by position.
    """

    def __init__(
        self,
        window: CohortWindow,
        minimum_quality: float,
        filters: Filters,
        fields: Fields,
        given: Mapping[int, Sequence[tuple[str, str]]],
    ) -> None:
        self._window, self._minimum_quality = window, minimum_quality
        self._filters, self._fields, self._given = filters, fields, given
        self._phases = phase_texts(window.phases)
        self._deleted_to = -1  # last position that a written deletion removes

    def variants(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the lines of the variants that start in [start, end), in order."""
        positions = self._sites(end)
        for position, picked in zip(positions.tolist(), self._window.pick(positions), strict=True):
            line = self._site(position, picked)
            if line and position >= start:
                yield line

    def all_sites(self, reference: Reference, start: int, end: int) -> Iterator[bytes]:
        """Yield the lines of all positions of [start, end), in order."""
        for _ in self.variants(start, start):
            pass
        sites = set(self._sites(end).tolist())
        lines = ReferenceLines(self._window)
        for run in reference_runs(self._window, start, end, [*self._given]):
            letters = reference.sequence(self._window.contig, run.start, run.end)
            # A site is a run of one position, since its record has more than a block.
            line = self._site(run.start, run.picked) if run.start in sites else None
            if line is None and run.is_deleted:
                line = self._deletion(run, letters.decode())
            yield line or lines.lines(run, letters)

    def _sites(self, end: int) -> NDArray[np.int64]:
        """Return the positions before `end` at which a variant begins or an allele is given, ascending."""
        return np.union1d(self._window.sites(end), np.array([*self._given], np.int64))

    def _site(self, position: int, picked: NDArray[np.int32]) -> bytes | None:
        """Return the line of a site, None without a variant; sites are given in order, from the window's start on."""
        site = merge_site(self._window, position, picked, given=self._given.get(position, ()))
        call = call_joint_site(site, self._minimum_quality, position <= self._deleted_to)
        if call is None:
            return None
        longest = max(len(call.alleles[0]) - len(allele) for allele in call.alleles)
        self._deleted_to = max(self._deleted_to, position + longest if longest else -1)
        return self._line(call) if call.is_polymorphic or site.given else None

    def _deletion(self, run: ReferenceRun, letter: str) -> bytes | None:
        """Return the line of a position that a deletion removes in a sample."""
        site = merge_site(self._window, run.start, run.picked, letter)
        covered = run.start <= self._deleted_to
        call = call_joint_site(site, self._minimum_quality, covered, deletions_alone=True)
        return self._line(call, (LOW_QUALITY,)) if call is not None and call.is_polymorphic else None

    def _line(self, call: JointCall, own_filters: tuple[str, ...] = ()) -> bytes:
        return joint_line(self._window.contig, call, self._phases, self._filters, self._fields, own_filters)
