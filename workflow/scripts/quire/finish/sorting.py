r"""Merge of a sample's units into one sorted file with duplicates marked, bucket by bucket.

    buckets of a unit -\   /-> sort, mark, compress -\
    buckets of a unit ---->--> ...                    --> BAM, index
    ...               -/    \-> ...                  -/

Ranges are finished by all threads and written in order, so that the output depends on neither threads nor memory.
Records are sorted by contig, position, strand, library, unit and the order of the unit's reads.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from quire.buckets.file import BucketFile
from quire.finish.counts.sample import Counting, Prepared
from quire.finish.evidence_cpu import EvidenceCollector, Scanned
from quire.finish.marking import Marking
from quire.finish.ranges_cpu import COUNTED, FinishedRange, Range, finish_range, ranges
from quire.io.ahead import ahead
from quire.io.bam.indexing_cpu import IndexBuilder
from quire.io.bam.writer import open_bam, with_assembly
from quire.ledger import require_balance
from quire.progress import Progress
from quire.time_spent import TimeSpent
from quire.version import VERSION

MEGABYTE = 1 << 20
COUNTS_BEHIND = 2  # written ranges that may wait for their depth to be counted
_TIMES_RECORDS = 5  # memory to finish a range, in multiples of the size of its records
log = logging.getLogger("quire.align")
Item = TypeVar("Item")
Result = TypeVar("Result")
RangeAndFacts = tuple[FinishedRange, Sequence[Prepared], Scanned | None]
"""A finished range, its records to be counted in order, and its evidence if that is collected."""


@dataclass(frozen=True)
class Effort:
    """Resources that the steps may use: threads of the job, and memory in MB."""

    threads: int
    memory_mb: int


@dataclass(frozen=True)
class SortedFile:
    """Paths of a sorted BAM file, which is written atomically, and of its index: "bai" or "csi"; no path for none.

    Its header names the assembly, if one is given.
    """

    bam: Path
    index: Path | None
    index_kind: str = "bai"
    assembly: str = ""


@dataclass(frozen=True)
class Sorted:
    """Numbers of records read and written, and int64[libraries, COUNTED] of `quire.finish.ranges_cpu.count_marked`."""

    records_in: int
    records_out: int
    counts: NDArray[np.int64]


def sort_and_mark(
    sample: str,
    units: Sequence[tuple[BucketFile, int]],
    output: SortedFile,
    effort: Effort,
    counting: Counting,
    marking: Marking,
    evidence: EvidenceCollector | None = None,
) -> Sorted:
    """Write the sorted and marked records of the units, and the index.

    The units are buckets of one reference, each with the number of its library, in the order that decides ties. Threads
    and memory do not change the output. The sample's name is for messages. A collector is given the same records.

    Raises:
        QuireError: if a file is damaged, a record lacks a tag needed to find duplicates, records were lost or doubled,
            or the disk is full.
    """
    head = units[0][0]
    libraries = 1 + max(library for _, library in units)
    records_in = sum(file.records for file, _ in units)
    with ThreadPoolExecutor(effort.threads) as executor:
        builder = IndexBuilder(output.index_kind, head.contig_lengths)
        text = with_assembly(sorted_header([file.header_text for file, _ in units]), output.assembly)
        with open_bam(output.bam, text, head.contig_names, head.contig_lengths) as bam:
            counts, records_out, unplaced = np.zeros((libraries, COUNTED), np.int64), 0, 0

            def finished_range(part: Range) -> RangeAndFacts:
                done = finish_range(part, head.genome, libraries, builder.depth, marking)
                scanned = evidence.scan(done.records) if evidence else None
                return done, counting.prepare(done.records), scanned

            memory = effort.memory_mb * MEGABYTE // _TIMES_RECORDS
            parts = in_order(executor, finished_range, ranges(units, head.genome), lambda part: part.bytes, memory)
            spent, progress = TimeSpent(), Progress(log)

            def written() -> Iterator[RangeAndFacts]:
                """Write the ranges in order, and yield each after it is in the file."""
                while True:
                    with spent.on("waiting for sorted records"):
                        found = next(parts, None)
                    if found is None:
                        return
                    done = found[0]
                    if done.entries is not None:
                        builder.add(done.entries, bam.offset)
                    with spent.on("waiting for the file"):
                        bam.write_blocks([done.blocks])
                    yield found

            # One thread writes and another passes records on to be counted, so that neither waits for the other.
            with closing(ahead(written, COUNTS_BEHIND)) as finished:
                for done, batches, scanned in finished:
                    if done.entries is None:
                        unplaced += len(done.records.starts)
                    with spent.on("waiting for the counts"):
                        counting.take(batches)
                    if evidence and scanned:
                        evidence.take(scanned)
                    counts += done.counts
                    records_out += len(done.records.starts)
                    progress.tell_count(records_out, records_in, "records sorted")
            log.info("%s: %s", sample, spent.shares(progress.elapsed))
            require_balance("align (sorting)", sample, {"records in": records_in}, {"records out": records_out})
            if output.index is not None:
                builder.write(output.index, unplaced)
    return Sorted(records_in, records_out, counts)


FINISHED = "sorted by coordinate, duplicates marked by library"


def sorted_header(headers: Sequence[str]) -> str:
    """Return the header of the merged file: the contigs of the first, and all read groups, programs and comments.

    Each unit's chain of programs is extended by a @PG line for sorting and marking.
    """
    lines = [header.splitlines() for header in headers]
    kept = ["@HD\tVN:1.6\tSO:coordinate"]
    kept += [line for line in lines[0] if line.startswith("@SQ")]
    for kind in ("@RG", "@PG", "@CO"):
        kept += dict.fromkeys(line for unit in lines for line in unit if line.startswith(kind))
    for unit in lines:
        programs = [line for line in unit if line.startswith("@PG")]
        if programs:
            last = next(field[3:] for field in programs[-1].split("\t") if field.startswith("ID:"))
            kept.append(f"@PG\tID:finish.{last}\tPN:quire\tPP:{last}\tVN:{VERSION}\tDS:{FINISHED}")
    return "\n".join(kept) + "\n"


def in_order(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    cost: Callable[[Item], int],
    most: int,
) -> Iterator[Result]:
    """Yield function(item) for all items in order, with a total cost of running items of at most `most`.

    A single item runs whatever it costs.
    """
    waiting: deque[tuple[Future[Result], int]] = deque()
    held = 0
    try:
        for item in items:
            price = cost(item)
            while waiting and held + price > most:
                future, paid = waiting.popleft()
                yield future.result()
                held -= paid
            waiting.append((executor.submit(function, item), price))
            held += price
        while waiting:
            yield waiting.popleft()[0].result()
    finally:
        for future, _ in waiting:
            future.cancel()
