"""Checks of a GFF3 before `bcftools csq` reads it (`quire.rescore.consequences`), which trusts it.

csq reads the bases of the reference from a transcript's start to its end. For a CDS or an exon that exceeds them it
reads beyond these bases, and bcftools 1.16 and 1.21 write the bytes that they find there as amino acids.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from quire.errors import InputError
from quire.io.files import open_input, read_errors

# csq copies names into BCSQ, whose values are separated by commas and their fields by vertical bars.
_SEPARATORS = re.compile(r"[,|\x00-\x1f\x7f]")
_PARTS = frozenset((b"exon", b"CDS", b"three_prime_UTR", b"five_prime_UTR"))  # of transcripts; csq ignores their names
_COLUMNS, _MOST_DIGITS = 9, 9  # csq has positions of 32 bits
_ATTRIBUTE = re.compile(rb"(?:^|;)(ID|Name|Parent)=([^;]*)")
_REMEDY = "give a GFF3 file as Ensembl writes it for this assembly"


class _Transcripts:
    """Where transcripts are, and what their parts span: contig, start (1-based), end, line."""

    def __init__(self) -> None:
        self.places: dict[bytes, tuple[bytes, int, int, int]] = {}
        self.parts: dict[bytes, tuple[bytes, int, int, int]] = {}
        self.twice: set[bytes] = set()

    def add(self, name: bytes, contig: bytes, start: int, end: int, line: int) -> None:
        """Add a transcript."""
        if self.places.setdefault(name, (contig, start, end, line))[:3] != (contig, start, end):
            self.twice.add(name)

    def add_part(self, name: bytes, contig: bytes, start: int, end: int, line: int) -> None:
        """Add a part of a transcript, which may follow it."""
        before = self.parts.get(name)
        if before is None:
            self.parts[name] = contig, start, end, line
        elif before[0] != contig:
            self.twice.add(name)
        elif start < before[1] or end > before[2]:
            self.parts[name] = contig, min(start, before[1]), max(end, before[2]), line

    def wrong_line(self) -> int:
        """Return the line of a transcript that does not hold its parts, or lies on several places; 0 for none."""
        for name, (contig, start, end, _) in self.parts.items():
            place = self.places.get(name)
            if place and (name in self.twice or contig != place[0] or start < place[1] or end > place[2]):
                return place[3]
        return 0


def require_sound_genes(gff3: str | Path, contigs: Sequence[str]) -> None:
    """Refuse a GFF3 that csq would misread, or with names that forge fields of BCSQ, or without any of `contigs`."""
    plain = {name.removeprefix("chr").encode() for name in contigs}  # csq ignores `chr` too
    first, shared = b"missing", False
    transcripts = _Transcripts()
    with read_errors(gff3), open_input(gff3) as stream:
        for number, line in enumerate(stream, 1):
            columns = line.split(b"\t", _COLUMNS - 1)
            if line.startswith(b"#") or (len(columns) == 1 and not line.strip()):
                continue
            if not _are_whole(columns):
                raise InputError(
                    f"{gff3}: line {number}: is not nine columns with a start, an end after it, strand and phase; "
                    f"{_REMEDY}."
                )
            contig, _, kind, start, end, _, _, _, text = columns
            if not shared:
                shared = contig.removeprefix(b"chr") in plain
                first = contig if first == b"missing" else first
            if kind == b"biological_region":  # which csq ignores
                continue
            parent = _only_parent(text) if kind in _PARTS else None
            if parent is not None:
                transcripts.add_part(parent, contig, int(start), int(end), number)
                continue
            name = _transcript_of(kind, text, f"{gff3}: line {number}")
            if name is not None:
                transcripts.add(name, contig, int(start), int(end), number)
    if wrong := transcripts.wrong_line():
        raise InputError(
            f"{gff3}: line {wrong}: this transcript does not hold all its exons and coding sequences, or is given for "
            f"several places; {_REMEDY}."
        )
    if not shared:
        raise InputError(
            f"{gff3}: holds no genes on the contigs of the reference (its first is {first.decode('ascii', 'replace')}, "
            f"the reference's {contigs[0]}); give the genes of this assembly, with its names of contigs."
        )


def _are_whole(columns: Sequence[bytes]) -> bool:
    """Return True for the columns of a feature whose end is not before its start."""
    if len(columns) != _COLUMNS or not len(columns[6]) == len(columns[7]) == 1:  # as csq expects of strand and phase
        return False
    start, end = columns[3], columns[4]
    return start.isdigit() and end.isdigit() and len(end) <= _MOST_DIGITS and 1 <= int(start) <= int(end)


def _only_parent(text: bytes) -> bytes | None:
    """Return the transcript in the attributes of one of its parts; None for a gene, or for no parent or several."""
    if text.count(b"Parent=") != 1 or text.find(b"ID=gene:") >= 0:
        return None
    before, _, after = text.partition(b"Parent=")
    parent = after.split(b";", 1)[0].rstrip(b"\r\n").removeprefix(b"transcript:").removeprefix(b"gene:")
    return parent if before[-1:] in (b"", b";") else None


def _transcript_of(kind: bytes, text: bytes, line: str) -> bytes | None:
    """Return the ID of a transcript, or None for a gene; raise InputError for names that forge fields of BCSQ."""
    attributes = dict(_ATTRIBUTE.findall(text.removesuffix(b"\n").removesuffix(b"\r")))
    name = attributes.get(b"ID", b"")
    is_gene = kind == b"gene" or b"Parent" not in attributes or name.startswith(b"gene:")
    # Of a transcript csq writes only the ID.
    if not all(map(_is_plain, (name, attributes.get(b"Name", b"") if is_gene else b""))):
        raise InputError(
            f"{line}: an ID or Name holds a comma, a vertical bar or a control character, or is not UTF-8, and would "
            "be read as other fields of BCSQ; write such characters as GFF3 does (%2C)."
        )
    return None if is_gene else name.removeprefix(b"transcript:")


def _is_plain(name: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        return not _SEPARATORS.search(name.decode())
    return False
