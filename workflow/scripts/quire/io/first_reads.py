"""Checks of the first reads of a FASTQ file: interleaved mates, encoding of qualities, and UMIs.

Mistakes in the first two would go unnoticed: interleaved mates would be mapped as single reads, and Phred+64 would give
qualities that are 31 too high. The checks are plain Python and take one or two milliseconds, so that they can run
before any job. The reader (`quire.io.fastq`) reports errors of the text, and mapping checks the other UMIs.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from quire.errors import InputError
from quire.io.files import DAMAGE, open_input

EXAMINED, PIECE = 1 << 18, 1 << 13  # bytes of text examined; bytes inflated at a time
# Qualities of Illumina 1.3 to 1.7 are Phred+64, with no letter below '@' (';' in Solexa's scale). A file whose letters
# start there and exceed Q50 ('S') in Phred+33, the highest that instruments write, is taken as Phred+64.
LOWEST_OF_64, HIGHEST_OF_33 = ord(";"), ord("S")
PHRED64_OFFSET = 64
# instrument:run:flowcell:lane:tile:x:y, after which bcl-convert appends a UMI, if there is one.
_ILLUMINA_NAME = re.compile(r"[^:]+:\d+:(?P<flowcell>[A-Za-z0-9-]+):(?P<lane>\d+):\d+:\d+:\d+(:|$)")

# The UMI is after the last ':' or '_', as in `quire.align.umis_cpu`.
_UMI_OF_NAME = re.compile(r"[:_][ACGTN]+([+-][ACGTN]+)*\Z")


class FirstReads(NamedTuple):
    """Findings about the first reads of a file.

    Attributes:
        reads: number of reads examined.
        interleaved_at: 1-based number of the first record whose successor is its mate; 0 for none.
        name: name of that record.
        lowest, highest: lowest and highest letter of the qualities as ASCII; 0 and 0 without reads.
    """

    reads: int
    interleaved_at: int
    name: str
    lowest: int
    highest: int

    @property
    def phred64(self) -> bool:
        """Return True if the qualities appear to be Phred+64."""
        return self.lowest >= LOWEST_OF_64 and self.highest > HIGHEST_OF_33


def examine(path: str | Path) -> FirstReads:
    """Examine the first reads of a FASTQ, up to the first record that does not have four lines."""
    records = list(_records(_text(path)))
    titles = [_title(title) for title, _, _ in records]
    qualities = b"".join(letters for _, _, letters in records)
    record = _first_interleaved(titles)
    name = titles[record - 1][0].decode("ascii", "replace") if record else ""
    return FirstReads(len(records), record, name, min(qualities, default=0), max(qualities, default=0))


def flowcell_and_lane(name: str) -> str:
    """Return `flowcell.lane` of a read's name in Illumina's format since Casava 1.8; empty for other names."""
    found = _ILLUMINA_NAME.match(name)
    return f"{found['flowcell']}.{found['lane']}" if found else ""


def first_name(path: str | Path) -> str:
    """Return the name of the first read of a FASTQ file; empty if there is none."""
    title = next((title for title, _, _ in _records(_text(path, PIECE))), b"@")
    return _title(title)[0].decode("ascii", "replace")


def first_names(path: str | Path) -> list[str]:
    """Return the names of the first reads of a FASTQ file, in order, without /1 or /2."""
    return [_title(title)[0].decode("ascii", "replace") for title, _, _ in _records(_text(path))]


def first_records(path: str | Path) -> tuple[tuple[bytes, int, bytes], ...]:
    """Return name, mate by the title (1, 2, or 0 if unknown) and bases of the first reads, of ten those not all N."""
    records = islice(_records(_text(path, PIECE)), 10)
    return tuple((*_title(title), bases) for title, bases, _ in records if bases.strip(b"Nn."))


def require_mates(first: str | Path, second: str | Path, what: str) -> None:
    """Raise InputError if the names of the first reads show exchanged mates, or files of two different runs.

    `what` says where the user named the file of first mates.
    """
    mates = [{mate for _, mate, _ in first_records(path)} for path in (first, second)]
    if mates == [{2}, {1}]:
        raise InputError(
            f"{what}: by their names the reads of {first} are second mates and those of {second} first mates; "
            "exchange fq1 and fq2."
        )
    one, other = first_name(first), first_name(second)
    if one != other:
        raise InputError(
            f"{what}: the first read of {first} is named {one} and that of {second} {other}; give the two files of one "
            "run, in the same order."
        )


def require_umis_in_names(path: str | Path, names: Iterable[str], what: str) -> None:
    """Raise InputError if a name does not end in a UMI.

    `names` are those of the first reads; `what` says where the user named the file.
    """
    for number, name in enumerate(names, 1):
        if not _UMI_OF_NAME.search(name):
            raise InputError(
                f"{what}: {path}: align.umi: read {number} ({name}) has no UMI of A, C, G, T and N after the last ':' "
                "or '_' of its name; write UMIs there (bcl-convert, umi_tools extract), or set align.umi: none."
            )


def require_umis_of_reads(path: str | Path, reads: str | Path, interleaved: bool, what: str) -> None:
    """Raise InputError if the first records of a UMI file have no bases, or names that differ from the first reads'.

    With `interleaved` mates in `reads`, two share a UMI. `what` says where the user named the file of UMIs.
    """
    umis = [(*_title(title), len(letters)) for title, letters, _ in _records(_text(path))]
    for number, ((umi, _, length), name) in enumerate(
        zip(umis, first_names(reads)[:: 1 + interleaved], strict=False), 1
    ):
        if (found := umi.decode("ascii", "replace")) != name:
            raise InputError(
                f"{what}: {path}: record {number} is named {found} but that of {reads} is named {name}; give the files "
                "of one run, in the same order."
            )
        if not length:
            raise InputError(f"{what}: {path}: record {number} has no bases; each read, or pair, needs a UMI.")


def require_as_declared(path: str | Path, interleaved: bool, qualities: str, has_mates: bool, what: str = "") -> None:
    """Raise InputError if the first reads of a file are not as the sheet of units describes them.

    `qualities` are "phred33", "phred64", or "" for Phred+33 that is not declared; with `has_mates` the mates have their
    own file. `what` says where the user named the file.
    """
    first, place = examine(path), f"{what}: {path}" if what else str(path)
    if first.interleaved_at and not interleaved:
        number = first.interleaved_at
        remedy = (
            "give this file alone, as fq1, with yes in the column interleaved"
            if has_mates
            else "say yes in the column interleaved of the sheet of units, or give the two files it was made from"
        )
        raise InputError(
            f"{place}: records {number} and {number + 1} are the two mates of {first.name}, so that the file is "
            f"interleaved; {remedy}."
        )
    if first.phred64 and not qualities:
        raise InputError(
            f"{place}: the qualities of its first {first.reads} reads go from {chr(first.lowest)!r} to "
            f"{chr(first.highest)!r}, which suggests Phred+64; set phred64 in the column qualities of the sheet of "
            "units, or phred33 if they are correct."
        )


def _text(path: str | Path, size: int = EXAMINED) -> bytes:
    """Return the beginning of a file's text, as far as it can be read."""
    text = b""
    # The reader reports damage.
    with open_input(path) as stream, suppress(EOFError, *DAMAGE):
        while len(text) < size and (more := stream.read(PIECE)):
            text += more
    return text


def _records(text: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield title, bases and qualities of each four-line record at the beginning of a text."""
    lines = [line.removesuffix(b"\r") for line in text.split(b"\n")[:-1]]
    for i in range(0, len(lines) - 3, 4):
        title, bases, plus, qualities = lines[i : i + 4]
        if not title.startswith(b"@") or not plus.startswith(b"+") or len(bases) != len(qualities):
            return
        yield title, bases, qualities


def _title(title: bytes) -> tuple[bytes, int]:
    """Return the name without /1 or /2, and the mate according to the title: 1, 2, or 0 if unknown."""
    name, _, comment = title[1:].replace(b"\t", b" ").partition(b" ")
    for mate, ending, start in ((1, b"/1", b"1:"), (2, b"/2", b"2:")):
        if name.endswith(ending):
            return name.removesuffix(ending), mate
        if comment.startswith(start):
            return name, mate
    return name, 0


def _first_interleaved(titles: list[tuple[bytes, int]]) -> int:
    """Return the 1-based number of the first record whose mate follows it; 0 for none."""
    # One pair is enough if titles mark the mates. Without marks (fasterq-dump writes the same title twice), all reads
    # must be in pairs of one name, and there must be several names.
    for number in range(1, len(titles)):
        (name, mate), (other, other_mate) = titles[number - 1 : number + 1]
        if name == other and (mate, other_mate) == (1, 2):
            return number
    names = [name for name, mate in titles if mate == 0]
    pairs = len(names) // 2
    in_pairs = len(names) == len(titles) and names[: 2 * pairs : 2] == names[1 : 2 * pairs : 2]
    return 1 if in_pairs and len(set(names)) > 1 else 0
