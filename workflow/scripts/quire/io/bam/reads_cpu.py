"""Reading of the reads of a BAM file as sequenced, with the same result as from FASTQ files."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.errors import InputError
from quire.io.bam.decode_cpu import (
    Records,
    bases_begin,
    qualities_begin,
    records_of,
)
from quire.io.bam.layout import FIXED_BYTES, NUMBER_OF_CODE, SIZE_BYTES
from quire.io.bam.stream_cpu import BamStream
from quire.ragged import offsets_from_lengths
from quire.reads import PairBatch, ReadBatch
from quire.sequence.codes import AMBIGUOUS, COMPLEMENT
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled

STRETCH_BYTES, THREADS, STRETCHES_AHEAD = 1 << 20, 4, 8  # compressed bytes of a stretch; inflating threads; stretches
HIGHEST_PHRED, NO_QUALITIES = 93, 255
_FINE, _LACKS_QUALITIES, _HIGH_QUALITY, _EQUAL_SIGN = range(4)
LONGEST_READ = 1024  # bases
_GROUP = "samtools collate -o grouped.bam"


def _codes() -> NDArray[np.uint8]:
    codes = np.full(16, AMBIGUOUS, np.uint8)
    codes[NUMBER_OF_CODE] = np.arange(len(NUMBER_OF_CODE))
    return codes


_CODE_OF_NUMBER = _codes()


class _Target(NamedTuple):
    """Arrays of a `ReadBatch` to be filled."""

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    codes: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@dataclass
class RecordCounts:
    """Numbers of records read so far: all, secondary and supplementary."""

    records: int = 0
    secondary: int = 0
    supplementary: int = 0


def bam_batches(path: Path, reads_per_batch: int, counts: RecordCounts, name: Path) -> Iterator[PairBatch]:
    """Yield the primary records of a BAM file as reads or pairs, on the strand that was sequenced.

    Mates are adjacent, apart from secondary and supplementary records, which are skipped; `counts` receives the numbers
    of records. Messages call the file `name`.

    Raises:
        InputError: the file is damaged or has no reads, mates are not adjacent, paired and single reads are mixed, or
            reads have no qualities or '=' for bases.
    """
    stream = BamStream(path, InputError, "copy it again", name)
    waiting: list[PairBatch] = []
    held = read = 0
    with ThreadPoolExecutor(THREADS, "quire-inflate") as pool:
        for batch in _batches_of_stretches(stream, pool, counts, name):
            waiting.append(batch)
            held += len(batch)
            read += len(batch)
            if held >= reads_per_batch:
                whole = _joined(waiting)
                whole_batches = held // reads_per_batch
                for number in range(whole_batches):
                    yield whole.part(number * reads_per_batch, (number + 1) * reads_per_batch)
                waiting = [whole.part(whole_batches * reads_per_batch, held)]
                held -= whole_batches * reads_per_batch
    if held:
        yield _joined(waiting)
    if not read:
        raise InputError(f"{name}: holds no reads; an empty file cannot be aligned, check how it was made.")


def _batches_of_stretches(
    stream: BamStream, pool: ThreadPoolExecutor, counts: RecordCounts, name: Path
) -> Iterator[PairBatch]:
    """Yield one batch per stretch of the file: its reads, or its complete pairs."""
    carry = np.empty(0, np.uint8)  # a record whose mate is in the next stretch
    paired: bool | None = None
    ordinal = 0
    for stretch in stream.stretches(pool, STRETCH_BYTES, STRETCHES_AHEAD):
        carried = min(len(carry), 1)  # records in `carry`, which are already counted
        records = stretch.records()
        if carried:
            records = records_of(np.concatenate([carry, records.data]))
        flags = records.fixed["flag"]
        secondary = (flags & sam.FLAG_SECONDARY) != 0
        supplementary = ((flags & sam.FLAG_SUPPLEMENTARY) != 0) & ~secondary
        counts.records += len(flags) - carried
        counts.secondary += int(secondary.sum())
        counts.supplementary += int(supplementary.sum())
        chosen = np.flatnonzero(~secondary & ~supplementary)
        if not len(chosen):
            continue
        if paired is None:
            paired = bool(flags[chosen[0]] & sam.FLAG_PAIRED)
        different = ((flags[chosen] & sam.FLAG_PAIRED) != 0) != paired
        if different.any():
            raise InputError(
                f"{name}: the read {_name(records, int(chosen[np.argmax(different)]))} is "
                f"{'single' if paired else 'one of a pair'}, unlike the reads before it; write pairs and single reads "
                "to separate files (`samtools view -f 1` and `-F 1`), and give each as a unit."
            )
        carry = np.empty(0, np.uint8)
        if paired and len(chosen) % 2:
            start = int(records.starts[chosen[-1]])
            size = int(records.fixed["block_size"][chosen[-1]]) + SIZE_BYTES
            carry, chosen = records.data[start : start + size].copy(), chosen[:-1]
        batch = _batch(records, chosen, paired, name, ordinal)
        ordinal += len(batch)
        yield batch
    if len(carry):
        raise _lacks_mate(name, _name(records_of(carry), 0))


def _batch(records: Records, chosen: NDArray[np.int64], paired: bool, name: Path, ordinal: int) -> PairBatch:
    if not paired:
        return PairBatch(_reads(records, chosen, name, ordinal), None)
    one, other = chosen[::2], chosen[1::2]
    flags = records.fixed["flag"]
    swapped = (flags[one] & sam.FLAG_SECOND_OF_PAIR) != 0
    first, second = np.where(swapped, other, one), np.where(swapped, one, other)
    unlike = int(_first_pair_unlike(records.data, records.starts, records.fixed, first, second))
    both = sam.FLAG_FIRST_OF_PAIR | sam.FLAG_SECOND_OF_PAIR
    wrong = ((flags[first] & both) != sam.FLAG_FIRST_OF_PAIR) | ((flags[second] & both) != sam.FLAG_SECOND_OF_PAIR)
    wrong_at = int(np.argmax(wrong)) if wrong.any() else len(wrong)
    if 0 <= unlike <= wrong_at:
        raise _lacks_mate(name, _name(records, int(one[unlike])))
    if wrong_at < len(wrong):
        raise InputError(
            f"{name}: two records named {_name(records, int(one[wrong_at]))} follow each other and are not the first "
            "and the second mate of a pair by their flags; repair them, for example by `samtools fastq` and its files."
        )
    mates = [_reads(records, rows, name, ordinal) for rows in (first, second)]
    return PairBatch(mates[0], mates[1])


def _reads(records: Records, chosen: NDArray[np.int64], name: Path, ordinal: int) -> ReadBatch:
    """Return the chosen records as reads, on the strand that was sequenced."""
    fixed = records.fixed[chosen]
    lengths = fixed["bases"].astype(np.int64)
    if (lengths > LONGEST_READ).any():
        i = int(np.argmax(lengths > LONGEST_READ))
        raise InputError(
            f"{name}: the read {_name(records, int(chosen[i]))} is {lengths[i]} bases long, and the longest read "
            f"accepted is {LONGEST_READ}; remove longer reads, this workflow is for short reads."
        )
    name_offsets, offsets = (
        offsets_from_lengths(fixed["name_bytes"].astype(np.int64) - 1),
        offsets_from_lengths(lengths),
    )
    names = np.empty(name_offsets[-1], np.uint8)
    codes, qualities = np.empty(offsets[-1], np.uint8), np.empty(offsets[-1], np.uint8)
    status, i = _decode(records, chosen, _Target(names, name_offsets, codes, qualities, offsets))
    if status != _FINE:
        why = {
            _LACKS_QUALITIES: "has no base qualities, which calling needs",
            _HIGH_QUALITY: f"has a base quality above {HIGHEST_PHRED}",
            _EQUAL_SIGN: "has '=' for bases that agree with a reference (`samtools calmd -e`)",
        }[status]
        raise InputError(
            f"{name}: the read {_name(records, int(chosen[i]))} {why}; give the reads as they were sequenced."
        )
    return ReadBatch(names, name_offsets, codes, qualities, offsets, ordinal)


def _name(records: Records, record: int) -> str:
    begin = int(records.starts[record]) + FIXED_BYTES
    end = begin + int(records.fixed["name_bytes"][record]) - 1
    return records.data[begin:end].tobytes().decode("ascii", "replace")


def _lacks_mate(name: Path, read: str) -> InputError:
    return InputError(
        f"{name}: the mate of {read} does not follow it; make mates adjacent with `{_GROUP} {name}`, and if "
        "some have no mate in the file, separate these with `samtools fastq -1 R1.fq -2 R2.fq -s single.fq`."
    )


def _joined(batches: Sequence[PairBatch]) -> PairBatch:
    """Concatenate batches."""
    if len(batches) == 1:
        return batches[0]
    mates = [_joined_reads([batch.mate1 for batch in batches])]
    second = [batch.mate2 for batch in batches if batch.mate2 is not None]
    return PairBatch(mates[0], _joined_reads(second) if second else None)


def _joined_reads(batches: Sequence[ReadBatch]) -> ReadBatch:
    name_lengths = np.concatenate([np.diff(batch.name_offsets) for batch in batches])
    lengths = np.concatenate([np.diff(batch.offsets) for batch in batches])
    return ReadBatch(
        np.concatenate([batch.names for batch in batches]),
        offsets_from_lengths(name_lengths),
        np.concatenate([batch.bases for batch in batches]),
        np.concatenate([batch.qualities for batch in batches]),
        offsets_from_lengths(lengths),
        batches[0].first_ordinal,
    )


@compiled
def _first_pair_unlike(data, starts, fixed, first, second):
    """Return the index of the first pair of records whose names differ, or -1."""
    for i in range(len(first)):
        length = fixed[first[i]].name_bytes
        if fixed[second[i]].name_bytes != length:
            return i
        one, other = starts[first[i]] + FIXED_BYTES, starts[second[i]] + FIXED_BYTES
        for k in range(length):
            if data[one + k] != data[other + k]:
                return i
    return -1


@compiled
def _decode(records, chosen, target):
    """Fill the target with the chosen records; return a status and the index in `chosen` of a wrong record."""
    data, starts, fixed = records
    names, name_offsets, codes, qualities, offsets = target
    for i in range(len(chosen)):
        start, fields = starts[chosen[i]], fixed[chosen[i]]
        name = start + FIXED_BYTES
        copy_items(names, name_offsets[i], data, name, name + name_offsets[i + 1] - name_offsets[i])
        first, length = offsets[i], offsets[i + 1] - offsets[i]
        bases, quality = bases_begin(start, fields), qualities_begin(start, fields)
        reverse = fields.flag & sam.FLAG_REVERSE != 0
        for k in range(length):
            number = data[bases + (k >> 1)] >> (0 if k & 1 else 4) & 15
            if number == 0:
                return _EQUAL_SIGN, i
            phred = data[quality + k]
            if phred > HIGHEST_PHRED:
                return (_LACKS_QUALITIES if phred == NO_QUALITIES else _HIGH_QUALITY), i
            code = _CODE_OF_NUMBER[number]
            at = first + (length - 1 - k if reverse else k)
            codes[at] = COMPLEMENT[code] if reverse else code
            qualities[at] = phred
    return _FINE, 0
