"""Comparison of contig names in input files with the reference before any job runs: chr1 is not 1.

Rows of BED files are read as the jobs read them, so that an end after its contig's end is reported here too.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pysam

from quire.errors import InputError, Mistakes
from quire.io.bam.index import find_index, open_index
from quire.io.bed import other_name, read_bed
from quire.io.files import htslib_path, open_input, read_errors
from quire.io.ploidy import read_ploidy_regions
from quire.io.primers import read_primers
from quire.reference import Reference
from quire.reference.fasta import lengths_of_contigs
from quire.reference.storage import MANIFEST

MOST_LINES = 3_000_000
"""Lines of a file without an index that are searched for a contig of the reference; jobs check all lines."""

# Keys of files whose contigs must all be in the reference, with the functions that read them.
BEDS: dict[str, Callable[[str, Mapping[str, int]], object]] = {
    "reference.mask": read_bed,
    "rescore.intervals": read_bed,
    "rescore.ploidy_regions": read_ploidy_regions,
    "rescore.primers": read_primers,
    "report.truth.bed": read_bed,
}
# Keys of files of which one contig must be in the reference.
TABLES = ("rescore.alleles", "annotate.gff3", "report.known_sites", "report.truth.vcf")


def check_contig_names(settings: Mapping[str, Any]) -> None:
    """Raise InputError for input files that name contigs unlike the reference, and for wrong lines of BED files."""
    given = {key: path for key in (*BEDS, *TABLES) if (path := _value(settings, key))}
    if not given or not settings["samples"]:
        return
    lengths = contig_lengths(settings)
    with Mistakes() as mistakes:
        for key, path in given.items():
            mistakes.check(_check_bed if key in BEDS else _require_one_known, key, path, lengths)


def contig_lengths(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the contigs and their lengths, from the packed reference, the FASTA's index, or the whole FASTA."""
    return known_contigs(settings) or lengths_of_contigs(settings["reference"]["fasta"])


def known_contigs(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the contigs and their lengths from the packed reference or the FASTA's index; empty without both."""
    directory = Path(settings["reference"]["index_directory"]) / "reference"
    if (directory / MANIFEST).exists():
        reference = Reference.open(directory, verify=False)
        return dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    return contigs_of_index(settings["reference"]["fasta"])


def contigs_of_index(fasta: str) -> dict[str, int]:
    """Return names and lengths of a FASTA's contigs from its index (.fai); empty if it is missing, older or invalid."""
    index = Path(f"{fasta}.fai")
    try:
        if index.stat().st_mtime_ns < Path(fasta).stat().st_mtime_ns:
            return {}
        rows = [line.split("\t") for line in index.read_text(encoding="utf-8").splitlines()]
        return {row[0]: int(row[1]) for row in rows}
    except (OSError, ValueError, IndexError):
        return {}


def _check_bed(key: str, path: str, lengths: Mapping[str, int]) -> None:
    try:
        BEDS[key](path, lengths)
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _require_one_known(key: str, path: str, contigs: Collection[str]) -> None:
    first = ""
    for contig in _contigs_of_table(path):
        # bcftools csq accepts 1 for chr1.
        if contig in contigs or (key == "annotate.gff3" and other_name(contig) in contigs):
            return
        first = first or contig
    if first:
        other = other_name(first)
        hint = f"the reference calls it {other!r}" if other in contigs else "the reference has no such contig"
        raise InputError(f"{key}: {path}: none of its contigs, such as {first!r}, is in the reference; {hint}.")


def _contigs_of_table(path: str) -> Iterator[str]:
    """Yield the contigs of a VCF or GFF3, from its index or from its first lines."""
    if find_index(path, "tbi"):
        open_index(path, "tbi")
        with suppress(OSError, ValueError), pysam.TabixFile(htslib_path(path)) as indexed:
            yield from indexed.contigs
            return
    with read_errors(path), open_input(path) as stream:
        seen = ""
        for line in itertools.islice(stream, MOST_LINES):
            contig = "" if line.startswith(b"#") else line.split(b"\t", 1)[0].strip().decode(errors="replace")
            if contig and contig != seen:
                yield contig
                seen = contig


def _value(settings: Mapping[str, Any], key: str) -> str:
    value: Any = settings
    for part in key.split("."):
        value = value[part]
    return str(value)
