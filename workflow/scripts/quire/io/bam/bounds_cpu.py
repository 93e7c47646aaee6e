"""The bounds of BAM records (SAM specification, section 4.2), checked before kernels read records of unknown origin."""

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode_cpu import Records, records_of, uint32_at
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS, OPERATION_BYTES, SIZE_BYTES
from quire.io.bam.tags_cpu import after_tag
from quire.sam import CIGAR_LETTERS, CIGAR_MASK, CIGAR_SHIFT, CONSUMES_READ, FLAG_UNMAPPED
from quire.simd.compiled import compiled, inlined

_CONTIG, _POSITION, _NAME_BYTES, _OPERATIONS, _FLAG, _BASES, _MATE_CONTIG, _MATE_POSITION = (
    FIXED_FIELDS.fields[name][1]  # type: ignore[index]
    for name in ("contig", "position", "name_bytes", "operations", "flag", "bases", "mate_contig", "mate_position")
)  # offsets in a record
_KNOWN_OPERATIONS = len(CIGAR_LETTERS)
_LOWEST_LETTER, _HIGHEST_LETTER = ord("!"), ord("~")  # of names
_FINE, _SIZE, _PLACE, _NAME, _CIGAR, _TAGS = range(6)
_FAULTS = {
    _SIZE: "has parts that exceed its size",
    _PLACE: "is on a contig that the header lacks, or at a negative position",
    _NAME: "has a name without end, or with a character that SAM does not allow",
    _CIGAR: "has a CIGAR that is none, or that does not have the length of its bases",
    _TAGS: "has a tag of an unknown type, or that exceeds it",
}


class WrongRecord(ValueError):
    """A record that is not within its bounds.

    Attributes:
        index: number of records before it in the given bytes.
        name: its name, as far as it can be read.
    """

    def __init__(self, index: int, name: str, fault: str) -> None:
        super().__init__(fault)
        self.index, self.name = index, name


def checked_records(data: NDArray[np.uint8], contigs: int) -> Records:
    """Return the records, end to end in `data`, of a file with `contigs` contigs; raise WrongRecord for a wrong one."""
    index, at, fault = _first_fault(data, contigs)
    if fault != _FINE:
        name = data[at + FIXED_BYTES : at + FIXED_BYTES + int(data[at + _NAME_BYTES])] if fault > _SIZE else data[:0]
        text = name.tobytes().split(b"\0")[0].decode("ascii", "replace")
        raise WrongRecord(int(index), text if text.isprintable() else "", _FAULTS[fault])
    return records_of(data)


@compiled
def _first_fault(data, contigs):
    """Return number, start and fault of the first record that is not within its bounds."""
    index, at = 0, 0
    while at < len(data):
        fault = fault_of_fields(data, at, contigs)
        if fault == _FINE:
            fault = _fault_of_parts(data, at)
        if fault != _FINE:
            return index, at, fault
        at += SIZE_BYTES + int32_at(data, at)
        index += 1
    return index, at, _FINE


@inlined
def int32_at(data, at):
    """Return a signed little-endian number."""
    return np.int64(np.int32(uint32_at(data, at)))


@inlined
def fault_of_fields(data, at, contigs):
    """Return what is wrong with the fixed fields of the record at `at`, 0 if nothing; its end may not be in `data`."""
    if at + FIXED_BYTES > len(data):
        return _SIZE
    size, bases = int32_at(data, at) + SIZE_BYTES, int32_at(data, at + _BASES)
    name_bytes = np.int64(data[at + _NAME_BYTES])
    operations = np.int64(data[at + _OPERATIONS]) | np.int64(data[at + _OPERATIONS + 1]) << 8
    parts = FIXED_BYTES + name_bytes + OPERATION_BYTES * operations + (bases + 1) // 2 + bases
    if name_bytes < 1 or bases < 0 or parts > size:
        return _SIZE
    contig, mate_contig = int32_at(data, at + _CONTIG), int32_at(data, at + _MATE_CONTIG)
    if min(contig, mate_contig, int32_at(data, at + _POSITION), int32_at(data, at + _MATE_POSITION)) < -1:
        return _PLACE
    if max(contig, mate_contig) >= contigs:
        return _PLACE
    name_end = at + FIXED_BYTES + name_bytes
    return _NAME if name_end <= len(data) and data[name_end - 1] != 0 else _FINE


@inlined
def _fault_of_parts(data, at):
    """Return what is wrong with name, CIGAR and tags of a record whose fixed fields are right; 0 if nothing."""
    end, bases = at + SIZE_BYTES + int32_at(data, at), int32_at(data, at + _BASES)
    if end > len(data):
        return _SIZE
    operations = np.int64(data[at + _OPERATIONS]) | np.int64(data[at + _OPERATIONS + 1]) << 8
    part, length = at + FIXED_BYTES + np.int64(data[at + _NAME_BYTES]), np.int64(0)
    is_wrong = False  # without a branch per letter, so that many are compared at a time
    for k in range(np.uint64(at + FIXED_BYTES), np.uint64(part - 1)):
        is_wrong |= (data[k] < _LOWEST_LETTER) | (data[k] > _HIGHEST_LETTER)
    if is_wrong:
        return _NAME
    for _ in range(operations):
        element = uint32_at(data, part)
        if element & CIGAR_MASK >= _KNOWN_OPERATIONS:
            return _CIGAR
        if CONSUMES_READ >> (element & CIGAR_MASK) & 1:
            length += np.int64(element >> CIGAR_SHIFT)
        part += OPERATION_BYTES
    # As in htslib, a CIGAR need not fit a record without bases, or an unmapped one.
    if operations and bases and length != bases and not data[at + _FLAG] & FLAG_UNMAPPED:
        return _CIGAR
    part += (bases + 1) // 2 + bases
    while part < end:
        part = after_tag(data, part, end)
        if part < 0:
            return _TAGS
    return _FINE
