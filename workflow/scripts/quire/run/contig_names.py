"""Files that name contigs, held against those of the reference before any job runs: chr1 is not 1."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pysam

from quire.errors import InputError
from quire.io.bed import contigs_of_bed, other_name
from quire.io.files import open_input, read_errors
from quire.reference import Reference
from quire.reference.storage import MANIFEST

_BLOCK = 1 << 24  # bytes of a FASTA that are looked through at a time
MOST_LINES = 3_000_000
"""Lines of a file without an index that are looked through for a contig of the reference; jobs look at all."""

# Keys of files all of whose contigs must be the reference's, and of files that need have only some of them.
BEDS = ("rescore.intervals", "rescore.ploidy_regions", "report.truth.bed")
TABLES = ("annotate.gff3", "report.known_sites", "report.truth.vcf")


def check_contig_names(settings: Mapping[str, Any]) -> None:
    """Check that the files of a configuration name contigs as the reference does.

    Raises:
        InputError: naming the key, the file and, of a BED file, the line.
    """
    given = {key: path for key in (*BEDS, *TABLES) if (path := _value(settings, key))}
    if not given or not settings["samples"]:
        return
    contigs = contig_names(settings)
    for key, path in given.items():
        if key in BEDS:
            for line, contig in contigs_of_bed(path):
                if contig not in contigs:
                    raise InputError(
                        f"{key}: {path}: line {line}: unknown contig {contig!r}; {_hint(contig, contigs)}."
                    )
        else:
            _require_one_known(key, path, contigs)


def contig_names(settings: Mapping[str, Any]) -> Collection[str]:
    """Of the packed reference, of the FASTA's index, or else of the FASTA itself, which is read for them."""
    directory, fasta = Path(settings["reference"]["index_directory"]) / "reference", settings["reference"]["fasta"]
    if (directory / MANIFEST).exists():
        return set(Reference.open(directory, verify=False).contig_names)
    return set(contigs_of_index(fasta) or _names_in(fasta))


def contigs_of_index(fasta: str) -> dict[str, int]:
    """Names and lengths of the contigs by the index (.fai) of a FASTA; none where it is missing, older, or none."""
    index = Path(f"{fasta}.fai")
    try:
        if index.stat().st_mtime_ns < Path(fasta).stat().st_mtime_ns:
            return {}
        rows = [line.split("\t") for line in index.read_text().splitlines()]
        return {row[0]: int(row[1]) for row in rows}
    except (OSError, ValueError, IndexError):
        return {}


def _names_in(fasta: str) -> Iterator[str]:
    """The first word of each heading of a FASTA."""
    with read_errors(fasta), open_input(fasta) as stream:
        rest = b"\n"
        while block := stream.read(_BLOCK):
            block = rest + block
            last = block.rfind(b"\n")
            at = block.find(b"\n>", 0, last)
            while at >= 0:
                end = block.find(b"\n", at + 1)
                yield _first_word(block[at + 2 : end])
                at = block.find(b"\n>", end, last)
            rest = block[last:]
        if rest.startswith(b"\n>"):
            yield _first_word(rest[2:])


def _first_word(heading: bytes) -> str:
    words = heading.decode(errors="replace").split(maxsplit=1)
    return words[0] if words else ""


def _require_one_known(key: str, path: str, contigs: Collection[str]) -> None:
    first = ""
    for contig in _contigs_of_table(path):
        # bcftools csq takes 1 for chr1.
        if contig in contigs or (key == "annotate.gff3" and other_name(contig) in contigs):
            return
        first = first or contig
    if first:
        raise InputError(
            f"{key}: {path}: none of its contigs, such as {first!r}, is one of the reference; {_hint(first, contigs)}."
        )


def _contigs_of_table(path: str) -> Iterator[str]:
    """The contigs of a VCF or GFF3: by its index, or as far as it is looked through."""
    with suppress(OSError, ValueError), pysam.TabixFile(path) as indexed:
        yield from indexed.contigs
        return
    with read_errors(path), open_input(path) as stream:
        seen = ""
        for line in itertools.islice(stream, MOST_LINES):
            contig = "" if line.startswith(b"#") else line.split(b"\t", 1)[0].strip().decode(errors="replace")
            if contig and contig != seen:
                yield contig
                seen = contig


def _hint(contig: str, contigs: Collection[str]) -> str:
    other = other_name(contig)
    return f"the reference calls it {other!r}" if other in contigs else "the reference has no such contig"


def _value(settings: Mapping[str, Any], key: str) -> str:
    value: Any = settings
    for part in key.split("."):
        value = value[part]
    return str(value)
