"""The records of a sample's units in one sorted file with duplicates marked: dealt out to buckets, then finished.

    unit BAM -> inflate -> deal out -\\                       /-> mark, sort, compress -\\
    unit BAM -> inflate -> deal out --> buckets in a file --> ...                      --> BAM, index
    unit BAM -> ...                -/                        \\-> ...                   -/

Both halves run in all threads; stretches and buckets come back in order, so that the records depend on neither threads
nor memory. Order is decided by contig, position, strand, library, unit and the order in the unit's file.
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

from quire.finish.buckets import BucketLayout, Dealt, ScratchFile, deal, layout
from quire.finish.ranges import FinishedRange, Range, finish_range, ranges
from quire.io.ahead import ahead
from quire.io.bam.decode import records_of
from quire.io.bam.indexing import IndexBuilder
from quire.io.bam.stream import BamStream, RecordStretch
from quire.io.bam.writer import BamWriter
from quire.ledger import require_balance

MEGABYTE = 1 << 20
LARGEST_STRETCH = 8 * MEGABYTE  # compressed
LEAST_STRETCH = 1 << 17
WRITES_AHEAD = 2  # stretches or ranges that wait for the file
_TIMES_COMPRESSED = 16  # memory that dealing out a stretch takes, over its compressed size
_TIMES_INFLATED = 5  # memory that finishing a range takes, over the size of its records
log = logging.getLogger("quire.align")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Effort:
    """What the steps may use: all threads of the job, memory (MB), and a folder for temporary files."""

    threads: int
    memory_mb: int
    scratch: Path


@dataclass(frozen=True)
class Sorted:
    """What was written.

    Attributes:
        records_in, records_out: read and written.
        counts: int64[libraries, 3], reads, mapped reads and duplicates, without secondary and supplementary records.
    """

    records_in: int
    records_out: int
    counts: NDArray[np.int64]


def sort_and_mark(
    sample: str,
    units: Sequence[tuple[Path, int]],
    output: Path,
    index: Path | None,
    index_kind: str,
    effort: Effort,
    take: Callable[[NDArray[np.uint8]], None] | None = None,
) -> Sorted:
    """Write the sorted and marked records of some units' files, and the index.

    Args:
        sample: name, for complaints.
        units: BAM files of one reference, each with the number of its library, in the order that decides ties.
        output: BAM; it appears whole or not at all.
        index: where its index goes; None for none.
        index_kind: "bai" or "csi".
        effort: changes nothing in the answer.
        take: is shown all records (uint8[], end to end) in their order, as they are written; None where nobody looks.

    Raises:
        QuireError: a file that is not whole, a record without the tags that are compared, a record lost or
            doubled, a full disk.
    """
    streams = [BamStream(path) for path, _ in units]
    head = streams[0]
    genome = layout(head.contig_lengths)
    libraries = 1 + max(library for _, library in units)
    with closing(ScratchFile(effort.scratch / "buckets")) as scratch, ThreadPoolExecutor(effort.threads) as executor:
        records_in = sum(
            _deal_out(stream, library, scratch, genome, executor, effort)
            for stream, (_, library) in zip(streams, units, strict=True)
        )
        scratch.flush()
        builder = IndexBuilder(index_kind, head.contig_lengths)
        text = sorted_header([stream.header_text for stream in streams])
        with BamWriter(output, text, head.contig_names, head.contig_lengths) as bam:
            counts, records_out, unplaced = np.zeros((libraries, 3), np.int64), 0, 0
            parts = _finished(ranges(scratch, genome), scratch, genome, libraries, builder.depth, executor, effort)
            for done in ahead(lambda: parts, WRITES_AHEAD):  # in this thread nothing but writing
                if done.entries is None:
                    unplaced += done.records
                else:
                    builder.add(done.entries, bam.offset)
                bam.write_blocks([done.blocks])
                if take is not None:
                    take(done.data)
                counts += done.counts
                records_out += done.records
            require_balance("align (sorting)", sample, {"records in": records_in}, {"records out": records_out})
            if index is not None:
                builder.write(index, unplaced)
    return Sorted(records_in, records_out, counts)


def sorted_header(headers: Sequence[str]) -> str:
    """The header of the merged file: the contigs of the first, all read groups, all programs."""
    lines = [header.splitlines() for header in headers]
    kept = ["@HD\tVN:1.6\tSO:coordinate"]
    kept += [line for line in lines[0] if line.startswith("@SQ")]
    for kind in ("@RG", "@PG", "@CO"):
        kept += dict.fromkeys(line for unit in lines for line in unit if line.startswith(kind))
    return "\n".join(kept) + "\n"


def _deal_out(
    stream: BamStream, library: int, scratch: ScratchFile, genome: BucketLayout, executor: Executor, effort: Effort
) -> int:
    """Deal a unit's records out to the buckets; how many there were."""
    share = effort.memory_mb * MEGABYTE // (2 * effort.threads + 2) // _TIMES_COMPRESSED
    size = min(max(share, LEAST_STRETCH), LARGEST_STRETCH)

    def dealt(stretch: RecordStretch) -> Dealt:
        return deal(records_of(stretch.bytes()), genome)

    total = 0
    stretches = stream.stretches(executor, size, effort.threads)
    parts = in_order(executor, dealt, stretches, lambda _: 1, effort.threads + 1)
    for part in ahead(lambda: parts, WRITES_AHEAD):  # reading is the other thread's, writing this one's
        scratch.append(part, library)
        total += part.records
    log.info("%s: %d records dealt out", stream.path, total)
    return total


def _finished(
    parts: Iterable[Range],
    scratch: ScratchFile,
    genome: BucketLayout,
    libraries: int,
    index_depth: int,
    executor: Executor,
    effort: Effort,
) -> Iterator[FinishedRange]:
    """All ranges, finished, in order."""

    def finished(part: Range) -> FinishedRange:
        return finish_range(part, scratch, genome, libraries, index_depth)

    memory = effort.memory_mb * MEGABYTE // _TIMES_INFLATED
    return in_order(executor, finished, parts, lambda part: part.bytes, memory)


def in_order(
    executor: Executor,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    cost: Callable[[Item], int],
    most: int,
) -> Iterator[Result]:
    """Yield function(item) of all items in their order; as many run at a time as cost no more than `most` together.

    One runs whatever it costs.
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
