"""Writing of VCF 4.2, and 4.4 for structural variants: typed records to text. `vcf_parts` joins and indexes files."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pysam

from quire.errors import QuireError
from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END, atomic_path, htslib_path, open_input, read_errors

PASS = "PASS"
SPANNING_DELETION = "*"
"""ALT of an allele that is missing due to a deletion before the position (VCF 4.2, section 1.4.1)."""
NON_REFERENCE = "<NON_REF>"
"""ALT of a gVCF for all alleles that are not listed at the position."""
# A contig's line. Its name may hold commas, but not before a word and an equals sign (`quire.io.bed.require_names`).
_FURTHER = r'\w+=(?:"[^"]*"|[^,]*)'
_CONTIG = re.compile(rf"##contig=<(?:{_FURTHER},)*?ID=(?P<name>.+?)(?:,{_FURTHER})*>\s*")
_LENGTH = re.compile(r"[<,]length=(\d+)[,>]")
_LONGEST_TABIX = 1 << 29  # bases; longer contigs need a CSI index

Value = str | int | float | Sequence[str | int | float | None] | None
"""Value of a field; None is written as a dot, and True is a flag."""


@dataclass(frozen=True)
class Field:
    """A field of INFO or FORMAT, with its header line and the format of its numbers.

    Attributes:
        key, number, type, description: values of its header line.
        digits: format specification of its floating-point numbers, such as ".3f".
    """

    key: str
    number: str
    type: str
    description: str
    digits: str = ""

    def definition(self, kind: str) -> str:
        """Return the header line; `kind` is INFO or FORMAT."""
        return f'##{kind}=<ID={self.key},Number={self.number},Type={self.type},Description="{self.description}">'

    def text(self, value: Value) -> str:
        """Return a value as the text of a record."""
        # The most frequent types come first and are compared exactly: a record has about thirty values, and
        # isinstance checks for Sequence are slow.
        kind = type(value)
        if kind is int or kind is str:
            return str(value)
        if kind is float:
            return format(value, self.digits)
        if isinstance(value, list):
            return ",".join([str(item) if type(item) is int else self.text(item) for item in value])
        if value is None:
            return "."
        if isinstance(value, float):
            return format(value, self.digits)
        if isinstance(value, (int, str)) or not isinstance(value, Sequence):
            return str(value)
        return ",".join([self.text(item) for item in value])


@dataclass(frozen=True)
class Fields:
    """The fields that records of a file may have.

    Attributes:
        info, format: fields by key, in the order of the header.
    """

    info: Mapping[str, Field]
    format: Mapping[str, Field]

    @classmethod
    def of(cls, info: Iterable[Field], format: Iterable[Field]) -> "Fields":
        """Create from fields in the order of the header."""
        return cls({field.key: field for field in info}, {field.key: field for field in format})


@dataclass(frozen=True)
class VariantRecord:
    """One record of a VCF.

    Attributes:
        contig: name of the contig.
        start: 0-based position of the first base of `alleles[0]`.
        alleles: letters of each allele, reference first; the others may include SPANNING_DELETION and NON_REFERENCE.
        quality: QUAL, phred; None for no value.
        filters: names of failed filters, empty for PASS; None if no filter was applied.
        info: values of INFO by key, in output order.
        samples: values of FORMAT by key for each sample, GT first; all samples have the same keys.
        identifier: ID.
    """

    contig: str
    start: int
    alleles: tuple[str, ...]
    quality: float | None
    filters: tuple[str, ...] | None
    info: Mapping[str, Value]
    samples: Sequence[Mapping[str, Value]]
    identifier: str = "."

    def line(self, fields: Fields) -> str:
        """Return the record as a line of text."""
        reference, *alternates = self.alleles
        keys = list(self.samples[0]) if self.samples else []
        of_info, of_format = fields.info, fields.format
        columns = [
            self.contig,
            str(self.start + 1),
            self.identifier,
            reference,
            ",".join(alternates) or ".",
            "." if self.quality is None else f"{self.quality:.2f}",
            "." if self.filters is None else ";".join(self.filters) or PASS,
            ";".join(
                [key if value is True else f"{key}={of_info[key].text(value)}" for key, value in self.info.items()]
            )
            or ".",
            *([":".join(keys)] if keys else []),
            *[":".join([of_format[key].text(sample[key]) for key in keys]) for sample in self.samples],
        ]
        return "\t".join(columns) + "\n"


def header(
    contigs: Sequence[tuple[str, int]],
    samples: Sequence[str],
    fields: Fields,
    extras: Iterable[str] = (),
    checksums: Sequence[str] = (),
    version: str = "4.2",
) -> str:
    """Return the header's text.

    `contigs` have names and lengths in the order of the reference; `checksums` are their MD5, if known; `extras` are
    further `##key=value` lines.
    """
    lines = [f"##fileformat=VCFv{version}", "##source=Quire", *extras]
    lines.append(f'##FILTER=<ID={PASS},Description="All filters passed">')
    lines += [field.definition("INFO") for field in fields.info.values()]
    lines += [field.definition("FORMAT") for field in fields.format.values()]
    for (name, length), checksum in zip(contigs, checksums or [""] * len(contigs), strict=True):
        lines.append(f"##contig=<ID={name},length={length}{f',md5={checksum}' if checksum else ''}>")
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    return "\n".join(lines) + "\n"


def write_part(path: str | Path, head: str, lines: Iterable[str]) -> int:
    """Write a bgzip VCF from lines of `VariantRecord.line` and return their number.

    The header has its own blocks, so that `vcf_parts.join` can copy the others.
    """
    count = 0
    with atomic_path(path) as temporary:
        temporary.touch()  # raises an error for a file that cannot be opened, where pysam.BGZFile crashes
        with pysam.BGZFile(htslib_path(temporary), "wb", None) as stream:
            stream.write(head.encode())
            stream.flush()
            for line in lines:
                stream.write(line.encode())
                count += 1
    return count


def write_part_of_blocks(path: str | Path, head: str, parts: Iterable[tuple[int, bytes]]) -> int:
    """Write a bgzip VCF from numbers of records with their blocks, and return the sum of the numbers."""
    count = 0
    with atomic_path(path) as temporary, temporary.open("wb") as out:
        out.write(compress_blocks(head.encode()).tobytes())
        for number, blocks in parts:
            count += number
            out.write(blocks)
        out.write(BGZF_END)
    return count


def contig_ranks(head: Sequence[str]) -> dict[str, int]:
    """Return the position of each contig in the header, by name."""
    return {name_of_contig(line): i for i, line in enumerate(contig_lines(head))}


def is_long(head: Sequence[str]) -> bool:
    """Return True if a contig of a header is too long for TBI."""
    return max((length_of_contig(line) or 0 for line in contig_lines(head)), default=0) > _LONGEST_TABIX


def contig_lines(head: Sequence[str]) -> list[str]:
    """Return the contig lines of a header."""
    return [line for line in head if line.startswith("##contig=")]


def name_of_contig(line: str) -> str:
    """Return the name in a contig line; the whole line if it has none."""
    found = _CONTIG.fullmatch(line)
    return found["name"] if found else line.rstrip()


def length_of_contig(line: str) -> int | None:
    """Return the length in a contig line, or None."""
    found = _LENGTH.findall(line)
    return int(found[-1]) if found else None


def read_head(part: str | Path) -> list[str]:
    """Return the header lines of a bgzip VCF that Quire wrote, with line ends."""
    lines: list[str] = []
    with read_errors(part), open_input(part) as stream:  # pysam.BGZFile crashes if the file is missing
        for line in stream:
            if not line.startswith(b"#"):
                break
            lines.append(line.decode(errors="replace"))
    if not lines or not lines[-1].startswith("#CHROM\t"):
        raise QuireError(f"{part}: has no complete header; delete it and run again.")
    return lines
