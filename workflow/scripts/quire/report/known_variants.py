"""Comparison of two VCF files: reads truth and calls, and compares them with `quire.report.truth`."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pysam
from pysam.libcbcf import BaseIndex

from quire.errors import InputError
from quire.reference.regions import Regions
from quire.report.truth import Comparison, Genotypes, ReferenceBases, Variant, compare, normalise

PLAIN_BASES = frozenset("ACGTN")
PASSING = frozenset(("PASS", "."))


class CallFilter(NamedTuple):
    """Selection of the records of a VCF.

    Attributes:
        minimum_quality: lowest QUAL to keep; a missing QUAL counts as 0.
        only_passing: True to keep only records whose FILTER is PASS or missing.
    """

    minimum_quality: float = 0.0
    only_passing: bool = True


ALL_RECORDS = CallFilter(only_passing=False)
PASSING_CALLS = CallFilter()


def compare_files(
    truth_vcf: str | Path,
    calls_vcf: str | Path,
    sample: str,
    regions: Regions,
    contig_lengths: Mapping[str, int],
    sequence: ReferenceBases,
    keep: CallFilter = PASSING_CALLS,
) -> Comparison:
    """Compare one sample's calls with the first sample of a truth VCF.

    Args:
        truth_vcf: bgzip-compressed, indexed VCF of the known variants.
        calls_vcf: bgzip-compressed, indexed VCF of the calls.
        sample: the sample of the calls.
        regions: where the truth is complete.
        contig_lengths: the contigs of the reference.
        sequence: returns upper-case reference bases of (contig, start, end).
        keep: calls to compare; all variants of the truth count.

    Raises:
        InputError: if a file cannot be read, is not indexed, has variants on unknown contigs, or lacks the sample.
    """
    truth = read_genotypes(truth_vcf, None, regions, contig_lengths, sequence)
    calls = read_genotypes(calls_vcf, sample, regions, contig_lengths, sequence, keep)
    return compare(truth, calls, regions, sequence)


def first_sample(path: str | Path) -> str | None:
    """Return the name of the first sample of a VCF, or None if it has no genotypes."""
    with open_indexed(path) as variants:
        samples = list(variants.header.samples)
    return samples[0] if samples else None


def open_indexed(path: str | Path) -> pysam.VariantFile:
    """Open a VCF or BCF that has an index.

    Raises:
        InputError: if the file is missing, is not a VCF, or is not indexed.
    """
    if not os.path.exists(path):
        raise InputError(f"{path}: the VCF does not exist; check the path.")
    verbosity = pysam.set_verbosity(0)
    try:
        variants = pysam.VariantFile(os.fspath(path))
        has_index = isinstance(variants.index, BaseIndex)
    except (OSError, ValueError, NotImplementedError) as error:  # the last for plain gzip
        raise InputError(f"{path}: cannot be read as a VCF ({error}); give a bgzip-compressed VCF.") from None
    finally:
        pysam.set_verbosity(verbosity)
    if not has_index:
        variants.close()
        raise InputError(f"{path}: the VCF has no index; compress it with bgzip and index it with bcftools index -t.")
    return variants


def require_known_contigs(path: str | Path, contigs: Iterable[str]) -> None:
    """Raise InputError if the index of the VCF lists a contig that is not in `contigs`."""
    known = list(contigs)
    with open_indexed(path) as variants:
        unknown = [name for name in variants.index if name not in set(known)]
    if unknown:
        raise InputError(
            f"{path}: contig {unknown[0]} is not in the reference (which has {', '.join(known[:3])}, ...); "
            "give a VCF of the same reference."
        )


def read_genotypes(
    path: str | Path,
    sample: str | None,
    regions: Regions,
    contig_lengths: Mapping[str, int],
    sequence: ReferenceBases,
    keep: CallFilter = ALL_RECORDS,
) -> dict[str, Genotypes]:
    """Read a sample's normalised genotypes on the contigs of the regions.

    Args:
        path: the VCF.
        sample: the sample, or None for the first.
        regions: contigs to read; all variants of these contigs are read, inside the regions or not.
        contig_lengths: the contigs of the reference.
        sequence: returns upper-case reference bases of (contig, start, end).
        keep: records to read.

    Raises:
        InputError: see `compare_files`.
    """
    require_known_contigs(path, contig_lengths)
    found: dict[str, Genotypes] = {}
    with open_indexed(path) as variants:
        column = _column_of(path, variants, sample)
        for contig in regions:
            genotypes: Genotypes = {}
            found[contig] = genotypes
            for record in variants.fetch(contig) if contig in variants.index else ():
                failed = keep.only_passing and not PASSING.issuperset(record.filter)
                if failed or (record.qual or 0.0) < keep.minimum_quality:
                    continue
                for variant, copies in alleles_of(record, column):
                    placed = normalise(contig, variant, sequence)
                    genotypes[placed] = max(copies, genotypes.get(placed, 0))
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


def alleles_of(record: pysam.VariantRecord, column: int) -> list[tuple[Variant, int]]:
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
