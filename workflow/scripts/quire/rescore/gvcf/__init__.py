"""A sample's own record of every position: its variants, and between them how sure it is to carry the reference (gVCF).

HaplotypeCallerEngine.callRegion with reference confidence. `chunk` calls some tiles, `variants` genotypes a site with
`<NON_REF>` among the alleles, `blocks` joins positions of like confidence, `records` writes both. Samples are brought
together by `quire.rescore.joint`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.io import vcf
from quire.io.bed import Interval
from quire.io.vcf import VariantRecord
from quire.reference import Reference
from quire.rescore.caller import computing, contigs_of, open_job, write_ledger, write_units
from quire.rescore.chunks import CallingJob, read_chunks, stretches
from quire.rescore.engines import ON_THE_CPU, DeviceSettings
from quire.rescore.gvcf.blocks import with_blocks
from quire.rescore.gvcf.chunk import LOOK_BACK, call_chunk
from quire.rescore.gvcf.records import FIELDS, header_lines
from quire.rescore.ploidy import by_ploidy
from quire.rescore.provenance import provenance


def call_gvcf_interval(
    reference_directory: str | Path,
    sample: Mapping[str, Any],
    intervals: Sequence[Interval],
    output_gvcf_part: str | Path,
    parameters: Mapping[str, Any],
    ledger_path: str | Path,
    fasta: str | Path | None = None,
    threads: int = 1,
    device: DeviceSettings = ON_THE_CPU,
    ploidy_regions: str | Path | None = None,
) -> int:
    """Write one sample's variants and reference blocks of one piece of the genome.

    Args:
        reference_directory: of the reference stage.
        sample: its `sample`, `ploidy` and `bam` (an indexed BAM or CRAM), and `sex` where ploidies go by it.
        intervals: the piece (contig, start, end), 0-based, half-open, in genome order.
        output_gvcf_part: bgzip VCF to write.
        parameters: the validated `rescore` block, see `CallingParameters`.
        ledger_path: JSON to write: reads of the piece by what became of them.
        fasta: the reference as FASTA, to decode CRAM, and to be named in the header.
        threads: processes that share the piece.
        device: what to compute on; the header says what was chosen.
        ploidy_regions: BED of other ploidies, see `quire.io.ploidy`.

    Returns:
        The number of variants, blocks not counted.

    Raises:
        InputError: a BAM that cannot be read, is of another reference or sample, or no card where one is demanded.
        QuireError: a process was killed.
    """
    job = open_job(reference_directory, [sample], parameters, fasta, ploidy_regions)
    name, ploidies = job.samples[0].name, job.samples[0].ploidies
    of_ploidy = ploidies.header_lines() if ploidies else []
    with computing(job, device, intervals, threads) as (backend, job):
        extras = [*provenance("rescore", parameters, fasta), *header_lines(), *of_ploidy, backend.to_vcf()]
        head = vcf.header(contigs_of(job.reference), [name], FIELDS, extras, job.reference.contig_checksums)
        variants = write_units(job, output_gvcf_part, head, intervals, call_gvcf_records, FIELDS, threads)
    write_ledger(ledger_path, intervals, job, variants)
    return variants


def call_gvcf_records(job: CallingJob, intervals: Sequence[Interval]) -> Iterator[VariantRecord]:
    """Records of the variants and blocks of some intervals, in order; the job has one sample."""
    return by_ploidy(job, intervals, _records_of_one_ploidy)


def _records_of_one_ploidy(job: CallingJob, intervals: Sequence[Interval]) -> Iterator[VariantRecord]:
    return (record for contig, group in stretches(intervals) for record in stretch_records(job, contig, group))


def stretch_records(job: CallingJob, contig: str, intervals: NDArray[np.int64]) -> Iterator[VariantRecord]:
    """Records of intervals (int64[n, 2]) of a contig, in order; the job has one sample."""
    called = (call_chunk(job, chunk) for chunk in read_chunks(job, contig, intervals, LOOK_BACK))
    return with_blocks(contig, called, intervals, partial(_letters, job.reference, contig), job.samples[0].ploidy)


def _letters(reference: Reference, contig: str, start: int, end: int) -> str:
    return reference.sequence(contig, start, end).decode()
