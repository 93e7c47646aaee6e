"""VCF 4.2: typed records become text here and nowhere else; parts of the genome are put together and indexed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pysam

from quire.errors import QuireError
from quire.io.files import atomic_path

PASS = "PASS"
SPANNING_DELETION = "*"
"""ALT of an allele that a deletion before the position took away (VCF 4.2, section 1.4.1)."""
NON_REFERENCE = "<NON_REF>"
"""ALT of a gVCF for any allele that is not named at the position."""
_LONGEST_TABIX = 1 << 29  # contigs beyond need a CSI index

Value = str | int | float | Sequence[str | int | float | None] | None
"""What a field holds; None is written as a dot."""


@dataclass(frozen=True)
class Field:
    """A field of INFO or FORMAT: its line in the header, and how its numbers are written.

    Attributes:
        key, number, type, description: as in the header.
        digits: format specification of its floating-point numbers, such as ".3f".
    """

    key: str
    number: str
    type: str
    description: str
    digits: str = ""

    def definition(self, kind: str) -> str:
        """The header's line; `kind` is INFO or FORMAT."""
        return f'##{kind}=<ID={self.key},Number={self.number},Type={self.type},Description="{self.description}">'

    def text(self, value: Value) -> str:
        """A value as it stands in a record."""
        # What most values are comes first, by their very type: a record has some thirty, and to ask for any Sequence
        # takes long.
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
    """The fields that the records of a file may have.

    Attributes:
        info, format: by key, in the order of the header.
    """

    info: Mapping[str, Field]
    format: Mapping[str, Field]

    @classmethod
    def of(cls, info: Iterable[Field], format: Iterable[Field]) -> "Fields":
        """From the definitions in the header's order."""
        return cls({field.key: field for field in info}, {field.key: field for field in format})


@dataclass(frozen=True)
class VariantRecord:
    """One record of a VCF.

    Attributes:
        contig: name; start: 0-based position of the first base of `alleles[0]`.
        alleles: letters, the reference's first; SPANNING_DELETION and NON_REFERENCE may stand among the others.
        quality: QUAL, phred; None for none.
        filters: names of the filters that it failed, none is PASS; None where no filter was applied.
        info: values of INFO by key, in the order in which they are written.
        samples: for each sample the values of FORMAT by key, GT first; all samples have the same keys.
    """

    contig: str
    start: int
    alleles: tuple[str, ...]
    quality: float | None
    filters: tuple[str, ...] | None
    info: Mapping[str, Value]
    samples: Sequence[Mapping[str, Value]]

    def line(self, fields: Fields) -> str:
        """The record as a line of text."""
        reference, *alternates = self.alleles
        keys = list(self.samples[0]) if self.samples else []
        of_info, of_format = fields.info, fields.format
        columns = [
            self.contig,
            str(self.start + 1),
            ".",
            reference,
            ",".join(alternates) or ".",
            "." if self.quality is None else f"{self.quality:.2f}",
            "." if self.filters is None else ";".join(self.filters) or PASS,
            ";".join([f"{key}={of_info[key].text(value)}" for key, value in self.info.items()]) or ".",
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
) -> str:
    """Header text.

    Args:
        contigs: name and length, in the reference's order.
        samples: column names.
        fields: of the records.
        extras: further `##key=value` lines.
        checksums: MD5 of each contig, as SAM's M5; none where they are not known.
    """
    lines = ["##fileformat=VCFv4.2", "##source=Quire", *extras]
    lines.append(f'##FILTER=<ID={PASS},Description="All filters passed">')
    lines += [field.definition("INFO") for field in fields.info.values()]
    lines += [field.definition("FORMAT") for field in fields.format.values()]
    for (name, length), checksum in zip(contigs, checksums or [""] * len(contigs), strict=True):
        lines.append(f"##contig=<ID={name},length={length}{f',md5={checksum}' if checksum else ''}>")
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    return "\n".join(lines) + "\n"


def write_part(path: str | Path, head: str, lines: Iterable[str]) -> int:
    """Write a bgzip VCF under its final name, its records as `VariantRecord.line` gives them; their number.

    The header stands in blocks of its own, so that `vcf_parts.join` can copy the others.
    """
    count = 0
    with atomic_path(path) as temporary, pysam.BGZFile(str(temporary), "wb", None) as stream:
        stream.write(head.encode())
        stream.flush()
        for line in lines:
            stream.write(line.encode())
            count += 1
    return count


class LineCounter(Protocol):
    """Takes every line that `gather` writes behind the header, without its end."""

    def add(self, line: bytes) -> None:
        """Take a line."""


def gather(
    parts: Sequence[str | Path], output: str | Path, index: str | Path, counter: LineCounter | None = None
) -> int:
    """Join parts, given in genome order, to one indexed bgzip VCF.

    Args:
        parts: what `write_part` wrote, at least one; the header is the first's.
        output: the VCF (.vcf.gz).
        index: its index; .csi or .tbi by its name, and CSI content where a contig is too long for TBI.
        counter: is shown every record; None where nobody counts.

    Returns:
        The number of variants.

    Raises:
        QuireError: parts of different samples, or not in genome order.
    """
    variants = 0
    with atomic_path(output) as temporary, atomic_path(index) as temporary_index:
        head = read_head(parts[0])
        ranks = contig_ranks(head)
        last = (-1, -1)
        with pysam.BGZFile(str(temporary), "wb", None) as stream:
            stream.write("".join(head).encode())
            for part in parts:
                if read_head(part)[-1] != head[-1]:
                    raise QuireError(
                        f"{part}: its samples are not those of {parts[0]}; delete the parts and run again."
                    )
                for line in _body(part):
                    contig, position, _ = line.split(b"\t", 2)
                    here = (ranks[contig.decode()], int(position))
                    if here < last:
                        raise QuireError(
                            f"{part}: out of genome order at {contig.decode()}:{here[1]}; run rescore again."
                        )
                    last = here
                    stream.write(line + b"\n")
                    if counter is not None:
                        counter.add(line)
                    variants += 1
        csi = str(index).endswith(".csi") or is_long(head)
        pysam.tabix_index(
            str(temporary), preset="vcf", force=True, csi=csi, index=str(temporary_index), keep_original=True
        )
    return variants


def contig_ranks(head: Sequence[str]) -> dict[str, int]:
    """The order of a header's contigs, by name."""
    return {line.split("ID=")[1].split(",length")[0]: i for i, line in enumerate(contig_lines(head))}


def is_long(head: Sequence[str]) -> bool:
    """Whether a contig of a header is too long for TBI."""
    lengths = (int(re.split("[,>]", line.rsplit(",length=", 1)[1])[0]) for line in contig_lines(head))
    return max(lengths, default=0) > _LONGEST_TABIX


def contig_lines(head: Sequence[str]) -> list[str]:
    """Lines of a header that name contigs."""
    return [line for line in head if line.startswith("##contig=")]


def read_head(part: str | Path) -> list[str]:
    """Header lines of a bgzip VCF, with their line ends."""
    lines = []
    with pysam.BGZFile(str(part), "rb", None) as stream:
        for line in stream:
            if not line.startswith(b"#"):
                break
            lines.append(line.decode() + "\n")
    return lines


def _body(part: str | Path) -> Iterable[bytes]:
    """Variant lines of a part, without line ends."""
    with pysam.BGZFile(str(part), "rb", None) as stream:
        for line in stream:
            if line and not line.startswith(b"#"):
                yield line
