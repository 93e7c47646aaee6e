"""Input gVCFs: checked once when opened, then read side by side, one record at a time, and parsed lazily.

Most records are reference blocks. Of a block, only position and kind are used. The rest of a line is parsed only when a
site that overlaps it is genotyped.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from quire.errors import InputError
from quire.io.bam.index import open_index, require_whole_lines
from quire.io.files import htslib_path, lacks_bgzip_end
from quire.io.open_files import allow_open_files
from quire.io.sniff import is_bgzip
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION, contig_lines, length_of_contig, name_of_contig
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.gvcf.records import RAW_MAPPING_QUALITY
from quire.rescore.ploidy import PloidyMap
from quire.run.inputs import require_text

_FIRST_SAMPLE = 9  # column
_RECORDS_COMPARED = 1000  # records of each contig that are compared with the reference
_FURTHEST = 1 << 31  # a position beyond any contig
_BASES = frozenset("ACGT")
_NONE_SPELT = (NON_REFERENCE,)  # the alternates of a block, shared by nearly all records


def integers(text: str | None) -> list[int]:
    """Parse integers separated by commas; a missing text, or one with a dot, gives an empty list."""
    return [int(item) for item in text.split(",")] if text and "." not in text else []


class GvcfRecord:
    """A line of a gVCF; of a block, `reference` has only the first base."""

    __slots__ = ("__dict__", "_rest", "alternates", "reference", "source", "start")

    def __init__(self, line: str, source: "Gvcf") -> None:
        """Parse the columns that every record needs."""
        _, position, _, self.reference, alternates, self._rest = line.split("\t", 5)
        if not position.isdecimal():
            raise ValueError(f"position {position!r}")
        self.start = int(position) - 1
        self.alternates = _NONE_SPELT if alternates == NON_REFERENCE else tuple(alternates.split(","))
        self.source = source

    @property
    def is_variant(self) -> bool:
        """True if an allele other than NON_REFERENCE and '*' starts here."""
        if self.alternates is _NONE_SPELT:
            return False
        return any(allele not in (NON_REFERENCE, SPANNING_DELETION) for allele in self.alternates)

    @cached_property
    def _columns(self) -> list[str]:
        columns = self._rest.split("\t")  # QUAL, FILTER, INFO, FORMAT, samples
        if len(columns) != 4 + len(self.source.samples):
            raise InputError(f"{self.at()} does not have the columns of the header; make or copy the gVCF again.")
        return columns

    @cached_property
    def info(self) -> Mapping[str, str]:
        """INFO by key; flags have an empty value."""
        pairs = (item.partition("=") for item in self._columns[2].split(";"))
        return {key: value for key, _, value in pairs}

    @cached_property
    def end(self) -> int:
        """Position after the last that the record covers."""
        return int(self.info["END"]) if "END" in self.info else self.start + len(self.reference)

    @cached_property
    def samples(self) -> list[dict[str, str]]:
        """FORMAT by key for every sample of the file, without missing values."""
        keys = self._columns[3].split(":")
        return [
            {key: value for key, value in zip(keys, column.split(":"), strict=False) if value.strip("./,|")}
            if column.strip("./:,|")
            else {}
            for column in self._columns[4:]
        ]

    @property
    def genotypes(self) -> list[str]:
        """GT of every sample as written."""
        at = self._columns[3].split(":").index("GT")
        return [column.split(":")[at] for column in self._columns[4:]]

    def require_valid(self) -> None:
        """Parse all values that genotyping may need; raise an InputError for one that is wrong."""
        try:
            for key in ("DP", "END"):
                int(self.info.get(key, 0))
            for key in RANK_SUMS:
                float(self.info.get(key) or 0)
            if self.info.get(RAW_MAPPING_QUALITY):
                square, count = self.info[RAW_MAPPING_QUALITY].split(",")
                int(float(square)), int(count)
            for values, _ in zip(self.samples, self.genotypes, strict=True):
                for key in ("DP", "MIN_DP", "GQ", "PS"):
                    int(values.get(key, 0))
                for key in ("AD", "PL", "SB"):
                    np.array(integers(values.get(key)), np.int64)
        except (ValueError, LookupError, ArithmeticError) as error:
            raise InputError(f"{self.at()} has a wrong value ({error}); make or copy the gVCF again.") from error

    def at(self) -> str:
        """Return file and position of the record, for messages."""
        return f"{self.source.path}: the record at position {self.start + 1}"


class Gvcf:
    """An indexed gVCF of one or more samples.

    Attributes:
        path: as given.
        samples: names.
        ploidies: from the header, which has them in Quire's files; 2 everywhere in other files.
    """

    def __init__(self, path: str | Path, contigs: Mapping[str, int]) -> None:
        """Open the file and check its header; `contigs` are the lengths of the reference's contigs by name."""
        # Raises InputError if the file does not exist, is not a gVCF, is truncated, lacks an index or is of another
        # reference.
        self.path = str(path)
        self._lengths = contigs
        if not Path(path).is_file():
            raise InputError(f"{path}: no such file; correct rescore.more_gvcfs.")
        if not is_bgzip(path):
            raise InputError(f"{path}: is not bgzip; run bgzip and bcftools index --tbi on it.")
        if lacks_bgzip_end(path):
            raise InputError(f"{path}: is truncated; make or copy the file again.")
        require_whole_lines(path, open_index(path, "tbi"))
        try:
            self._file = pysam.TabixFile(htslib_path(path), encoding="utf-8")
            header = list(self._file.header)
            unknown = set(self._file.contigs) - set(contigs)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error}); make or copy the file and its index again.") from error
        if not any(line.startswith(f"##ALT=<ID={NON_REFERENCE[1:-1]},") for line in header):
            raise InputError(
                f"{path}: its header has no allele {NON_REFERENCE}, so it is not a gVCF; "
                "make one with `rescore.gvcf: true` or with GATK's HaplotypeCaller -ERC GVCF."
            )
        try:
            self._check_contigs(header, contigs)
            self.ploidies = PloidyMap.from_header(header)
        except (ValueError, LookupError) as error:
            raise InputError(f"{path}: its header has a wrong line ({error}); make or copy the file again.") from error
        if unknown:
            raise InputError(
                f"{path}: its index has the contig {min(unknown)!r}, which is not in the reference; run bcftools index "
                "--tbi on it again, or make it with this reference."
            )
        if not header[-1].startswith("#CHROM"):
            raise InputError(f"{path}: its header has no line with the names of the samples; make the file again.")
        self.samples: Sequence[str] = header[-1].split("\t")[_FIRST_SAMPLE:]
        for sample in self.samples:
            require_text(sample, f"{path}: the name of a sample")

    def _check_contigs(self, header: Sequence[str], contigs: Mapping[str, int]) -> None:
        for line in contig_lines(header):
            name, length = name_of_contig(line), length_of_contig(line)
            if name not in contigs or length not in (None, contigs[name]):
                raise InputError(
                    f"{self.path}: its contig {name!r} ({length} bases) is not in the reference; "
                    "make the gVCF again with this reference."
                )

    def require_letters(self, sequence: Callable[[str, int, int], bytes]) -> None:
        """Raise InputError if the first records of each contig differ from the letters that `sequence` returns."""
        for contig in self._file.contigs:
            length = self._lengths.get(contig, 0)
            for record in islice(self.records(contig, 0, _FURTHEST), _RECORDS_COMPARED):
                end = record.start + len(record.reference)
                if record.start < 0 or end > length:
                    raise InputError(f"{record.at()} of {contig} is beyond the contig; make the gVCF again.")
                own = sequence(contig, record.start, end).decode()
                for place, (letter, other) in enumerate(zip(record.reference.upper(), own, strict=True)):
                    if letter != other and {letter, other} <= _BASES:
                        raise InputError(
                            f"{self.path}: says {letter} at {contig}:{record.start + place + 1} where the reference "
                            f"has {other}; make the gVCF again with this reference."
                        )

    def records(self, contig: str, start: int, end: int) -> Iterator[GvcfRecord]:
        """Yield the records that overlap [start, end) of a contig, by start."""
        if contig not in self._file.contigs:
            return
        try:
            # As text, pysam gives a line up to a NUL, and so may lose the next one; as a tuple it refuses the line.
            for row in self._file.fetch(contig, start, end, parser=pysam.asTuple()):
                yield GvcfRecord(str(row), self)
        except (OSError, ValueError, AssertionError) as error:
            raise InputError(f"{self.path}: cannot be read at {contig}:{start + 1}-{end}; is it damaged?") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_gvcfs(paths: Sequence[str | Path], contigs: Mapping[str, int], taken: Mapping[str, str]) -> list[Gvcf]:
    """Open gVCFs; raise InputError for a sample in two files or among `taken`, names with the source of each."""
    found = dict(taken)
    opened = []
    allow_open_files()
    for path in paths:
        gvcf = Gvcf(path, contigs)
        for sample in gvcf.samples:
            if sample in found:
                raise InputError(f"{path}: its sample {sample!r} is in {found[sample]} too; leave one of them out.")
            found[sample] = str(path)
        opened.append(gvcf)
    return opened


class Span(NamedTuple):
    """Consecutive positions (0-based, half-open); records start only at the first.

    Attributes:
        is_site: True if a record with a named alternate starts at `start`.
        current: for each file the record that started last, None before the first; overwritten by the next span.
        deletions: for each file the record of several bases that reaches farthest, if any; overwritten likewise.
    """

    start: int
    end: int
    is_site: bool
    current: Sequence[GvcfRecord | None]
    deletions: Sequence[GvcfRecord | None]

    def reaching(self, position: int) -> list[GvcfRecord | None]:
        """Return for each file the record that covers a position of the span, or None."""
        # Quire's gVCFs have no blocks inside long deletions: behind a variant there, the deletion counts again.
        return [
            next((record for record in both if record is not None and record.end > position), None)
            for both in zip(self.current, self.deletions, strict=True)
        ]


def spans(gvcfs: Sequence[Gvcf], contig: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans of a contig from the first record that overlaps [start, end) up to `end`.

    Only two records of each file are held, so memory does not grow with the span.
    """
    current: list[GvcfRecord | None] = [None] * len(gvcfs)
    deletions: list[GvcfRecord | None] = [None] * len(gvcfs)

    def numbered(number: int) -> Iterator[tuple[int, int, GvcfRecord]]:
        for record in gvcfs[number].records(contig, start, end):
            yield record.start, number, record

    position, is_site = -1, False
    # Only one item of each file is in the heap, so (start, number) decides and records are never compared.
    for at, number, record in heapq.merge(*map(numbered, range(len(gvcfs)))):
        if at != position:
            if position >= 0:
                yield Span(position, at, is_site, current, deletions)
            position, is_site = at, False
        current[number] = record
        if len(record.reference) > 1 and ((held := deletions[number]) is None or held.end <= record.end):
            deletions[number] = record
        is_site = is_site or record.is_variant
    if position >= 0:
        yield Span(position, max(end, position), is_site, current, deletions)
