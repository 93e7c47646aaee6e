"""Comparison of one sample's calls with a truth set: reads both VCF files for `quire.report.truth`."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pysam
from pysam.libcbcf import BaseIndex

from quire.errors import InputError
from quire.io.bam.index import find_index, open_index, require_whole_lines
from quire.io.files import htslib_path, write_json_atomic
from quire.reference import Reference
from quire.reference.regions import Regions, islands_of, read_regions, total_length
from quire.report.truth import Comparison, Genotypes, ReferenceBases, TruthCounts, Variant, compare, normalise

LISTED_VARIANTS = 100
logger = logging.getLogger("quire.report")
PLAIN_BASES = frozenset("ACGTN")
PASSING = frozenset(("PASS", "."))


class CallFilter(NamedTuple):
    """Records of a VCF to keep, by QUAL (a missing one counts as 0) and by FILTER (PASS or missing)."""

    minimum_quality: float = 0.0
    only_passing: bool = True


ALL_RECORDS = CallFilter(only_passing=False)
PASSING_CALLS = CallFilter()


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

    `truth` has `vcf`, optionally `bed` (regions where the truth is complete; the target if empty) and `sample` (to
    compare). Without `intervals_bed` the target is the islands of the reference.

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
        **{kind: _describe_counts(counts) for kind, counts in comparison.counts.items()},
        "missed": [_describe(*variant) for variant in comparison.missed[:LISTED_VARIANTS]],
        "false_calls": [_describe(*variant) for variant in comparison.false_calls[:LISTED_VARIANTS]],
    }
    write_json_atomic(output, content)


def choose_sample(names: Sequence[str], truth: Mapping[str, str]) -> str:
    """Choose the sample to compare: the configured one, else the one named in the truth, else the only sample."""
    wanted = truth.get("sample")
    if not wanted:
        with open_indexed(truth["vcf"]) as variants:
            wanted = next(iter(variants.header.samples), None)
    if wanted in names:
        return str(wanted)
    if len(names) == 1 and not truth.get("sample"):
        return names[0]
    raise InputError(
        f"{truth['vcf']}: sample {wanted} of the truth is not in the sheet ({', '.join(names[:5])}); "
        "name the truth's sample as in the sheet (bcftools reheader -s)."
    )


def _describe_counts(counts: TruthCounts) -> dict[str, Any]:
    """Return the found, missed and false variants of one kind."""
    return {
        "truth": counts.truth_found + counts.missed,
        "found": counts.truth_found,
        "missed": counts.missed,
        "right_calls": counts.calls_right,
        "false_calls": counts.false_calls,
        "recall": round(counts.recall, 6),
        "precision": round(counts.precision, 6),
        "f1": round(counts.f1, 6),
    }


def _describe(contig: str, variant: Variant) -> str:
    return f"{contig}:{variant.position + 1} {variant.reference}>{variant.alternate}"


def compare_files(
    truth_vcf: str | Path,
    calls_vcf: str | Path,
    sample: str,
    regions: Regions,
    contig_lengths: Mapping[str, int],
    sequence: ReferenceBases,
    keep: CallFilter = PASSING_CALLS,
) -> Comparison:
    """Compare one sample's calls with the first sample of a truth VCF; both bgzip-compressed and indexed.

    `regions` are where the truth is complete; `sequence` returns upper-case reference bases of (contig, start, end).
    InputError is raised for a file that is not indexed, has variants on unknown contigs, or lacks the sample.
    """
    truth = _read_genotypes(truth_vcf, None, regions, contig_lengths, sequence)
    calls = _read_genotypes(calls_vcf, sample, regions, contig_lengths, sequence, keep)
    return compare(truth, calls, regions, sequence)


def open_indexed(path: str | Path) -> pysam.VariantFile:
    """Open a VCF or BCF that has an index; raise InputError if it is missing, not a VCF, or not indexed."""
    if not os.path.exists(path):
        raise InputError(f"{path}: the VCF does not exist; check the path.")
    index = open_index(path, "tbi") if find_index(path, "tbi") else None
    verbosity = pysam.set_verbosity(0)
    try:
        variants = pysam.VariantFile(htslib_path(path))
        has_index = isinstance(variants.index, BaseIndex)
        list(variants.header.samples)  # not UTF-8: a UnicodeDecodeError, which is a ValueError
    except (OSError, ValueError, NotImplementedError) as error:  # the last for plain gzip
        raise InputError(f"{path}: cannot be read as a VCF ({error}); give a bgzip-compressed VCF.") from None
    finally:
        pysam.set_verbosity(verbosity)
    if index is not None and variants.format == "VCF":
        require_whole_lines(path, index)
    if not has_index:
        variants.close()
        raise InputError(f"{path}: the VCF has no index; compress it with bgzip and index it with bcftools index -t.")
    return variants


def require_known_contigs(path: str | Path, contigs: Iterable[str]) -> None:
    """Raise InputError if the index of the VCF lists a contig that is not in `contigs`."""
    known = list(contigs)
    with open_indexed(path) as variants:
        try:
            unknown = [name for name in variants.index if name not in set(known)]
        except UnicodeDecodeError:
            raise InputError(f"{path}: the name of a contig is not text; correct the file and its index.") from None
    if unknown:
        raise InputError(
            f"{path}: contig {unknown[0]} is not in the reference (which has {', '.join(known[:3])}, ...); "
            "give a VCF of the same reference."
        )


def _read_genotypes(
    path: str | Path,
    sample: str | None,
    regions: Regions,
    contig_lengths: Mapping[str, int],
    sequence: ReferenceBases,
    keep: CallFilter = ALL_RECORDS,
) -> dict[str, Genotypes]:
    """Read the normalised genotypes of a sample, None for the first, on the contigs of the regions."""
    # All variants of these contigs that pass the filter are read, inside the regions or not. The other parameters and
    # the errors are those of `compare_files`.
    require_known_contigs(path, contig_lengths)
    found: dict[str, Genotypes] = {}
    last = "its header"
    try:
        with open_indexed(path) as variants:
            column = _column_of(path, variants, sample)
            for contig in regions:
                genotypes: Genotypes = {}
                found[contig] = genotypes
                for record in variants.fetch(contig) if contig in variants.index else ():
                    last = f"{contig}:{record.pos}"
                    failed = keep.only_passing and not PASSING.issuperset(record.filter)
                    if failed or (record.qual or 0.0) < keep.minimum_quality:
                        continue
                    for variant, copies in _alleles_of(record, column):
                        placed = normalise(contig, variant, sequence)
                        genotypes[placed] = max(copies, genotypes.get(placed, 0))
    except (OSError, ValueError, LookupError) as error:  # pysam raises all of these
        raise InputError(
            f"{path}: cannot be read as a VCF at or after {last} ({error}); correct the record, or copy the file again."
        ) from None
    return found


def _column_of(path: str | Path, variants: pysam.VariantFile, sample: str | None) -> int:
    names = list(variants.header.samples)
    if not names:
        raise InputError(f"{path}: the VCF has no sample; genotypes are needed for a comparison.")
    if sample is None:
        return 0
    if sample not in names:
        raise InputError(f"{path}: the VCF has no sample {sample}; its samples are {', '.join(names[:5])}.")
    return names.index(sample)


def _alleles_of(record: pysam.VariantRecord, column: int) -> list[tuple[Variant, int]]:
    """Return one sample's alternate alleles with their copies (1 or 2); empty if the genotype is incomplete."""
    genotype = record.samples[column].allele_indices or ()
    indices = [index for index in genotype if index is not None]
    alleles = [allele.upper() for allele in record.alleles or ()]
    if len(indices) < len(genotype):
        return []
    carried = []
    for index in sorted(set(indices) - {0}):
        if PLAIN_BASES.issuperset(alleles[index]):
            copies = 2 if len(indices) == 1 else indices.count(index)
            carried.append((Variant(record.start, alleles[0], alleles[index]), copies))
    return carried
