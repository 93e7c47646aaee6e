"""Comparison of one sample's calls with a truth set (block `truth` of summary.json), run as a separate job."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from quire.errors import InputError
from quire.io.files import write_json_atomic
from quire.reference import Reference
from quire.reference.regions import islands_of, read_regions, total_length
from quire.report import summary
from quire.report.known_variants import compare_files, first_sample, require_known_contigs

logger = logging.getLogger("quire.report")


def compare_with_truth(
    output: str | Path,
    *,
    samples: Sequence[str],
    vcf: str | Path,
    reference_directory: str | Path,
    truth: Mapping[str, str],
    intervals_bed: str | Path | None = None,
) -> None:
    """Compare calls with a truth set and write the counts as JSON (`truth` of summary.json, docs/formats.md).

    Args:
        output: path of the JSON file.
        samples: sample names of the sheet.
        vcf: bgzip-compressed, indexed VCF with the calls of all samples.
        reference_directory: folder written by `quire.reference.build`.
        truth: `vcf`, optionally `bed` (regions where the truth is complete; the target if empty) and `sample` (the
            sample to compare).
        intervals_bed: BED file of the target; None or empty takes the islands of the reference.

    Raises:
        InputError: if the truth or a BED file cannot be used; the message names the file and the contig.
    """
    reference = Reference.open(reference_directory)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    require_known_contigs(truth["vcf"], lengths)
    bed = truth.get("bed") or intervals_bed
    regions = read_regions(bed, lengths) if bed else islands_of(reference)
    sample = choose_sample(samples, truth)
    logger.info("%s: comparing calls with %s", sample, truth["vcf"])

    def sequence(contig: str, start: int, end: int) -> str:
        return reference.sequence(contig, max(0, start), min(end, lengths[contig])).decode()

    comparison = compare_files(truth["vcf"], vcf, sample, regions, lengths, sequence)
    content = {
        "sample": sample,
        "vcf": str(truth["vcf"]),
        "bed": str(truth.get("bed") or ""),
        "positions": total_length(regions),
        **summary.summarise_truth(comparison),
    }
    write_json_atomic(output, content)


def choose_sample(names: Sequence[str], truth: Mapping[str, str]) -> str:
    """Choose the sample to compare: the configured one, else the one named in the truth, else the only sample.

    Raises:
        InputError: if no rule applies.
    """
    wanted = truth.get("sample") or first_sample(truth["vcf"])
    if wanted in names:
        return str(wanted)
    if len(names) == 1 and not truth.get("sample"):
        return names[0]
    raise InputError(
        f"{truth['vcf']}: sample {wanted} of the truth is not in the sheet ({', '.join(names[:5])}); "
        "name the truth's sample as in the sheet (bcftools reheader -s)."
    )
