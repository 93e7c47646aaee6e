"""Files of an alignment: the records or regions of FASTA that are aligned, PAF, BAM, and the segments of a dot plot."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.algorithms.pairwise import PairwiseAlignment
from quire.algorithms.pairwise.recount import Columns, stretches
from quire.errors import InputError
from quire.io.bam.layout import FIXED_FIELDS, NUMBER_OF_CODE, SIZE_BYTES
from quire.io.bam.writer import header_text, open_bam
from quire.io.files import write_json_atomic
from quire.reference.fasta import read_fasta
from quire.version import VERSION

OPTIMAL_TAG = "go"
"""Tag of PAF and BAM: Y if the alignment is guaranteed to be optimal, N if anchors were used."""
MOST_SEGMENTS = 2000  # segments of a dot plot, more than a picture has columns
_MOST_OPERATIONS = 0xFFFF  # in a BAM record's CIGAR field; longer CIGARs go into the tag CG (SAM 1.6, section 4.2.2)
_LENGTH_BITS = 32 - sam.CIGAR_SHIFT
_SPAN = re.compile(r"(?P<name>.+):(?P<start>[0-9][0-9,]*)-(?P<end>[0-9][0-9,]*)")
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class SequenceRegion:
    """A part of a FASTA record.

    Attributes:
        record_length: bases of the whole record.
        start: position of the first base, 0-based.
        codes: uint8[n], codes of the bases: 0..3 for A, C, G, T, and 4 for all others.
    """

    name: str
    record_length: int
    start: int
    codes: NDArray[np.uint8]

    @property
    def end(self) -> int:
        """End position, 0-based and exclusive."""
        return self.start + len(self.codes)

    def __str__(self) -> str:
        return f"{self.name}:{self.start + 1:,}-{self.end:,}"


def read_region(fasta: Path, region: str) -> SequenceRegion:
    """Read a record of a FASTA (plain, gzip or bgzip), or a region of it.

    The region is "" for the only record; else the name of a record, or `name:start-end` (1-based, end included, commas
    allowed). If this whole text is the name of a record, that record is read.

    Raises:
        InputError: bad FASTA, several records but none named, no such record, or a region outside of the record.
    """
    span = _SPAN.fullmatch(region)
    wanted = (region, span["name"]) if span else (region,)
    kept: dict[str, list[NDArray[np.uint8]]] = {}
    lengths: dict[str, int] = {}
    for piece in read_fasta(fasta):
        lengths[piece.name] = lengths.get(piece.name, 0) + len(piece.codes)
        if piece.name in wanted or (region == "" and len(lengths) == 1):
            kept.setdefault(piece.name, []).append(piece.codes)
    names = list(lengths)
    if region == "" and len(names) > 1:
        raise InputError(
            f"{fasta}: has {len(names)} records, of which one can be aligned; say which, as {fasta}:{names[0]} or "
            f"{fasta}:{names[1]}."
        )
    name = names[0] if region == "" else next((name for name in wanted if name in kept), None)
    if name is None:
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
        raise InputError(f"{fasta}: has no record {wanted[-1]} (region {region}); its records are {shown}.")
    codes, start = np.concatenate(kept[name]), 0
    if span and name != region:
        first, end = (int(span[side].replace(",", "")) for side in ("start", "end"))
        if not 1 <= first <= end <= len(codes):
            raise InputError(
                f"{fasta}: the region {region} does not lie in {name}, which has {len(codes):,} bases; positions count "
                "from 1 and the end is the last base."
            )
        start, codes = first - 1, codes[first - 1 : end].copy()
    return SequenceRegion(name, lengths[name], start, codes)


class AlignedPair(NamedTuple):
    """Two regions, their alignment (positions within the regions), counts of its columns, and if it is optimal."""

    query: SequenceRegion
    target: SequenceRegion
    alignment: PairwiseAlignment
    columns: Columns
    optimal: bool


def paf_line(pair: AlignedPair) -> str:
    """Return the line of PAF, with positions in the whole records."""
    query, target, alignment, columns, optimal = pair
    elements = alignment.cigar.tolist()
    cigar = "".join(f"{one >> sam.CIGAR_SHIFT}{sam.CIGAR_LETTERS[one & sam.CIGAR_MASK]}" for one in elements)
    fields = (
        *(query.name, query.record_length, query.start + alignment.query_begin, query.start + alignment.query_end, "+"),
        *(target.name, target.record_length, target.start + alignment.target_begin),
        *(target.start + alignment.target_end, columns.matches, columns.total, sam.UNAVAILABLE_MAPPING_QUALITY),
        *(f"NM:i:{_distance(columns)}", f"AS:i:{alignment.score}", f"de:f:{columns.divergence:.6f}"),
        *(f"{OPTIMAL_TAG}:A:{'Y' if optimal else 'N'}", f"cg:Z:{cigar}"),
    )
    return "\t".join(map(str, fields)) + "\n"


def write_bam(path: Path, pair: AlignedPair, command: str, description: str) -> None:
    """Write the alignment as the only record of a BAM, unmapped if nothing is aligned."""
    contigs = [pair.target.name], [pair.target.record_length]
    text = header_text(*contigs, [], VERSION, command, description)
    with open_bam(path, text, *contigs) as bam:
        bam.write(bam_record(pair))


def bam_record(pair: AlignedPair) -> bytes:
    """Return the BAM record; unaligned bases of the query's region are soft-clipped, bases outside it hard-clipped."""
    query, target, alignment, columns, optimal = pair
    aligned = columns.total > 0
    name = query.name.encode() + b"\0"
    cigar = _with_clips(query, alignment) if aligned else np.empty(0, np.uint32)
    tags = b""
    if aligned:
        tags = struct.pack(
            "<3si3si3sf", b"NMi", _distance(columns), b"ASi", alignment.score, b"def", columns.divergence
        )
        tags += f"{OPTIMAL_TAG}A{'Y' if optimal else 'N'}".encode()
    span = alignment.target_end - alignment.target_begin
    if len(cigar) > _MOST_OPERATIONS:
        tags += b"CGBI" + struct.pack("<I", len(cigar)) + cigar.astype("<u4").tobytes()
        cigar = np.array(
            [len(query.codes) << sam.CIGAR_SHIFT | sam.CIGAR_SOFT_CLIP, span << sam.CIGAR_SHIFT | sam.CIGAR_SKIP],
            np.uint32,
        )
    position = target.start + alignment.target_begin if aligned else -1
    numbers = np.append(NUMBER_OF_CODE[query.codes], np.zeros(len(query.codes) & 1, np.uint8))
    rest = b"".join(
        (
            name,
            cigar.astype("<u4").tobytes(),
            (numbers[::2] << 4 | numbers[1::2]).tobytes(),
            bytes([sam.UNAVAILABLE_QUALITY]) * len(query.codes),
            tags,
        )
    )
    fixed = np.zeros(1, FIXED_FIELDS)
    fixed["block_size"] = FIXED_FIELDS.itemsize - SIZE_BYTES + len(rest)
    fixed["contig"], fixed["position"] = 0 if aligned else -1, position
    fixed["name_bytes"], fixed["operations"], fixed["bases"] = len(name), len(cigar), len(query.codes)
    fixed["mapping_quality"] = sam.UNAVAILABLE_MAPPING_QUALITY if aligned else 0
    fixed["bin"] = _bin(position, position + max(span, 1)) if aligned else _bin(-1, 0)
    fixed["flag"] = 0 if aligned else sam.FLAG_UNMAPPED
    fixed["mate_contig"] = fixed["mate_position"] = -1
    return fixed.tobytes() + rest


def _with_clips(query: SequenceRegion, alignment: PairwiseAlignment) -> NDArray[np.uint32]:
    """Return the CIGAR with clips for the bases of the query's record before and after the aligned ones."""
    before, after = query.start, query.record_length - query.end
    if max(before, after) >> _LENGTH_BITS:  # too long for an element
        before = after = 0
    clips = [
        (before, sam.CIGAR_HARD_CLIP),
        (alignment.query_begin, sam.CIGAR_SOFT_CLIP),
        (len(query.codes) - alignment.query_end, sam.CIGAR_SOFT_CLIP),
        (after, sam.CIGAR_HARD_CLIP),
    ]
    elements = [np.array([length << sam.CIGAR_SHIFT | kind] if length else [], np.uint32) for length, kind in clips]
    return np.concatenate([*elements[:2], alignment.cigar, *elements[2:]])


def _distance(columns: Columns) -> int:
    """Return the value of the tag NM."""
    return columns.mismatches + columns.inserted_bases + columns.deleted_bases


def _bin(begin: int, end: int) -> int:
    """Return the bin of [begin, end) (SAM specification, section 5.3: reg2bin); 4680 for [-1, 0)."""
    last = end - 1
    for shift, first in ((14, 4681), (17, 585), (20, 73), (23, 9), (26, 1)):
        if begin >> shift == last >> shift:
            return first + (begin >> shift) & 0xFFFF
    return 0


def write_dots(path: Path, pair: AlignedPair) -> None:
    """Write the dot plot: the path as line segments (see `segments`), with positions in the whole records."""
    query, target, alignment, *_ = pair
    sides = {
        side: {"name": region.name, "start": region.start, "end": region.end}
        for side, region in (("query", query), ("target", target))
    }
    found = segments(alignment) + np.array([query.start, target.start] * 2)
    content: dict[str, Any] = {**sides, "segments": found.tolist()}
    write_json_atomic(path, content)


def segments(alignment: PairwiseAlignment, most: int = MOST_SEGMENTS) -> NDArray[np.int64]:
    """Return the line segments (int64[k, 4]): query and target positions where parts without gaps begin, then end.

    Neighbouring parts are merged so that there are at most `most`.
    """
    parts = stretches(alignment)
    together = max(1, -(-len(parts.length) // most))
    first = np.arange(0, len(parts.length), together)
    last = np.minimum(first + together, len(parts.length)) - 1
    lengths = parts.length[last]
    ends = parts.query[last] + lengths, parts.target[last] + lengths
    return np.stack([parts.query[first], parts.target[first], *ends], axis=1)
