"""Recovery of a unit's records from the finished BAM of its sample, instead of mapping the unit again.

A unit's buckets are temporary, since they take more space than the finished BAM. When a sample is finished again,
because a lane was added or a setting of finishing changed, the records of its other units are recovered from the
finished BAM. They are byte-identical to the mapper's records once the duplicate flag is cleared. Records of one unit
with the same position and strand are in the order of the unit's reads, which is the only order that finishing relies
on. The sample is therefore identical to one that is mapped from the reads.

The BAM does not contain the units' headers, ledgers and insert sizes; these are kept in a JSON file next to it. The
file also records the input of each unit (`quire.align.origin`); if the input has changed, the unit is mapped. CRAM
does not preserve records byte for byte, so nothing is recovered from it.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from quire.buckets.cpu import Dealt, deal
from quire.buckets.file import BucketFile, UnitFiles, open_buckets, writers_of
from quire.errors import QuireError
from quire.finish.sorting import in_order
from quire.io.bam.decode_cpu import qualities_begin, records_of
from quire.io.bam.layout import FIXED_FIELDS, SIZE_BYTES
from quire.io.bam.stream_cpu import BamStream, RecordStretch
from quire.io.bam.tags_cpu import text_tag
from quire.io.bam.writer import with_assembly
from quire.io.files import read_json, write_json_atomic
from quire.sam import FLAG_DUPLICATE
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled

FORMAT_VERSION = 2
# A finished file that is newer than the kept JSON file by more than this was modified. When a job ends, Snakemake
# updates the time stamps of both, one after the other.
SECONDS_APART = 60
STRETCH_BYTES = 1 << 20  # compressed bytes that are read at a time
# Largest ratio of the file's records to the unit's for which reading is cheaper than mapping. Per record, reading takes
# 0.6 core microseconds (1.0 for the unit's own) and mapping 8 to 9
# (docs/decisions/0024-keep-mapping-in-the-finished-bam.md).
MOST_TIMES = 12
_FLAG_OFFSET = FIXED_FIELDS.fields["flag"][1]  # type: ignore[index]
_R, _G = ord("R"), ord("G")
log = logging.getLogger("quire.align")


class _NotTheFile(QuireError):
    """Error: the finished file was modified or is incomplete."""


def keep_units(
    path: str | Path, alignments: Path, finished: Mapping[str, str], units: Sequence[tuple[str, UnitFiles]]
) -> None:
    """Write the JSON file that is needed to recover units from a finished file; for a CRAM, no unit is kept.

    `finished` tells how the file was finished: the ending of its `index` ("bam.bai") and the `assembly` that its header
    names. `units` are the names and files of the units, in the order in which they were finished.
    """
    kept = {}
    for name, files in units if alignments.suffix == ".bam" else ():
        ledger = read_json(files.ledger)
        with BucketFile(files.records) as buckets:
            records, header = buckets.records, buckets.header_text
        kept[name] = {
            "mapped_from": ledger.get("mapped_from"),
            "records": records,
            "header": header,
            "ledger": ledger,
            "insert_size": read_json(files.insert_size),
        }
    size = alignments.stat().st_size
    write_json_atomic(path, {"format_version": FORMAT_VERSION, **finished, "bytes": size, "units": kept})


def keep_assembly(path: Path, alignments: Path, assembly: str) -> None:
    """Change the JSON file of `keep_units` for a file whose header names another assembly, but not its time stamp."""
    status, content = path.stat(), read_json(path)
    write_json_atomic(path, content | {"assembly": assembly, "bytes": alignments.stat().st_size})
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def take_back(
    path: Path, alignments: Path, read_group: str, unit: str, mapped_from: str, outputs: UnitFiles, threads: int
) -> bool:
    """Recover the output files of mapping a unit from the finished BAM of its sample, each atomically; True if done.

    `path` is the JSON file of `keep_units`, and may be missing. Nothing is done if the finished file is missing or was
    modified, if the unit is not in it or was mapped from another input (`mapped_from`), or if it is so small a part of
    the file that mapping is faster.
    """
    kept = _kept(path, alignments)
    own = kept.get(unit)
    if own is None or own["mapped_from"] != mapped_from:
        return False
    all_records = sum(one["records"] for one in kept.values())
    if all_records > MOST_TIMES * own["records"]:
        log.info(
            "%s has %d records, %d of them of this unit: mapping is faster than reading them", alignments, all_records,
            own["records"],
        )  # fmt: skip
        return False
    try:
        records = _deal_out(alignments, read_group, own, outputs.records, threads)
    except _NotTheFile as error:
        log.warning("%s The reads are mapped instead.", error)
        return False
    write_json_atomic(outputs.insert_size, own["insert_size"])
    write_json_atomic(outputs.ledger, own["ledger"])
    log.info("%d records recovered from %s", records, alignments)
    return True


def _kept(path: Path, alignments: Path) -> dict[str, dict[str, Any]]:
    """Read the kept units by name; empty if the finished file is not the one that they were kept for."""
    try:
        status, kept_at = alignments.stat(), path.stat().st_mtime
        content = read_json(path)
    except OSError:
        return {}
    except QuireError as error:
        log.warning("%s The reads are mapped instead.", error)
        return {}
    unlike = status.st_size != content["bytes"] or status.st_mtime > kept_at + SECONDS_APART
    return {} if content["format_version"] != FORMAT_VERSION or unlike else content["units"]


def _deal_out(alignments: Path, read_group: str, kept: dict[str, Any], output: Path, threads: int) -> int:
    """Write the unit's buckets and return the number of their records."""
    stream = BamStream(alignments, _NotTheFile, "it is not used")
    group = np.frombuffer(bytearray(read_group.encode()), np.uint8)  # writable, as the kernels expect
    names, lengths = stream.contig_names, stream.contig_lengths
    own = (line for line in kept["header"].splitlines() if not line.startswith("@HD"))
    if not set(own) <= set(with_assembly(stream.header_text, "").splitlines()):
        raise _NotTheFile(f"{alignments}: has another header than when it was finished.")
    with (
        open_buckets(output, kept["header"], names, lengths, writers_of(threads)) as file,
        ThreadPoolExecutor(threads) as pool,
    ):

        def dealt(stretch: RecordStretch) -> Dealt:
            records = stretch.records()
            return deal(records_of(_unmarked_of(records.data, records.starts, records.fixed, group)), file.genome)

        stretches = stream.stretches(pool, STRETCH_BYTES, 2 * threads)
        for part in in_order(pool, dealt, stretches, lambda _: 1, 2 * threads):
            file.write(part)
        if file.records != kept["records"]:
            raise _NotTheFile(f"{alignments}: has {file.records} records of {read_group}, not {kept['records']}.")
    return file.records


@compiled
def _unmarked_of(data, starts, fixed, group):
    """Return the records of a read group, concatenated, with the duplicate flag cleared (uint8[])."""
    out, at = np.empty(len(data), np.uint8), 0
    for i in range(len(starts)):
        end = starts[i] + SIZE_BYTES + np.int64(fixed[i].block_size)
        tags = qualities_begin(starts[i], fixed[i]) + np.int64(fixed[i].bases)
        begin, behind = text_tag(data, tags, end, _R, _G)
        if behind - begin != len(group):
            continue
        k = 0
        while k < len(group) and data[begin + k] == group[k]:
            k += 1
        if k == len(group):
            flag = at + _FLAG_OFFSET
            at = copy_items(out, at, data, starts[i], end)
            out[flag] &= np.uint8(~FLAG_DUPLICATE & 255)
            out[flag + 1] &= np.uint8(~FLAG_DUPLICATE >> 8 & 255)
    return out[:at].copy()
