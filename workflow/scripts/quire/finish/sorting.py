"""The records of a sample's units in one sorted file with duplicates marked, bucket by bucket.

    buckets of a unit -\\   /-> mark, sort, compress -\\
    buckets of a unit ---->--> ...                    --> BAM, index
    ...               -/    \\-> ...                  -/

All threads take part; buckets come back in order, so that the records depend on neither threads nor memory. Order is
decided by contig, position, strand, library, unit and the order of the unit's reads.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from quire.buckets.file import BucketFile
from quire.finish.counts.sample import Prepared
from quire.finish.ranges import COUNTED, FinishedRange, Range, finish_range, ranges
from quire.io.ahead import ahead
from quire.io.bam.decode import Records
from quire.io.bam.indexing import IndexBuilder
from quire.io.bam.writer import BamWriter
from quire.ledger import require_balance
from quire.progress import Progress
from quire.time_spent import TimeSpent
from quire.version import VERSION

MEGABYTE = 1 << 20
COUNTS_BEHIND = 2  # ranges that are in the file and wait for their depth to be counted
_TIMES_RECORDS = 5  # memory that finishing a range takes, over the size of its records
log = logging.getLogger("quire.align")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Onlooker(Protocol):
    """Is shown all records while they pass."""

    def prepare(self, records: Records) -> Sequence[Prepared]:
        """Look at some records, in any order and any thread; returns what `take` is given."""

    def take(self, batches: Sequence[Prepared]) -> None:
        """Take what `prepare` made of the records that follow in the order of the file."""


@dataclass(frozen=True)
class Effort:
    """What the steps may use: all threads of the job, and memory (MB)."""

    threads: int
    memory_mb: int


class Marking(NamedTuple):
    """How duplicates are found.

    Attributes:
        optical_distance: pixels in x and in y between optical duplicates; None counts none.
        umis: whether duplicates have the same UMI (RX).
    """

    optical_distance: int | None = None
    umis: bool = False


NO_OPTICAL = Marking()


@dataclass(frozen=True)
class Sorted:
    """What was written.

    Attributes:
        records_in, records_out: read and written.
        counts: int64[libraries, COUNTED] of `quire.finish.ranges.count_marked`.
    """

    records_in: int
    records_out: int
    counts: NDArray[np.int64]


def sort_and_mark(
    sample: str,
    units: Sequence[tuple[BucketFile, int]],
    output: Path,
    index: Path | None,
    index_kind: str,
    effort: Effort,
    onlooker: Onlooker | None = None,
    marking: Marking = NO_OPTICAL,
) -> Sorted:
    """Write the sorted and marked records of some units, and the index.

    Args:
        sample: name, for complaints.
        units: buckets of one reference, each with the number of its library, in the order that decides ties.
        output: BAM; it appears whole or not at all.
        index: where its index goes; None for none.
        index_kind: "bai" or "csi".
        effort: changes nothing in the answer.
        onlooker: is shown all records; None where nobody looks.
        marking: how duplicates are found.

    Raises:
        QuireError: a file that is damaged, a record without the tags that are compared, a record lost or
            doubled, a full disk.
    """
    head = units[0][0]
    libraries = 1 + max(library for _, library in units)
    records_in = sum(file.records for file, _ in units)
    with ThreadPoolExecutor(effort.threads) as executor:
        builder = IndexBuilder(index_kind, head.contig_lengths)
        text = sorted_header([file.header_text for file, _ in units])
        with BamWriter(output, text, head.contig_names, head.contig_lengths) as bam:
            counts, records_out, unplaced = np.zeros((libraries, COUNTED), np.int64), 0, 0

            def finished_range(part: Range) -> tuple[FinishedRange, Sequence[Prepared]]:
                done = finish_range(part, head.genome, libraries, builder.depth, *marking)
                return done, [] if onlooker is None else onlooker.prepare(done.records)

            memory = effort.memory_mb * MEGABYTE // _TIMES_RECORDS
            parts = in_order(executor, finished_range, ranges(units, head.genome), lambda part: part.bytes, memory)
            spent, progress = TimeSpent(), Progress(log)

            def written() -> Iterator[tuple[FinishedRange, Sequence[Prepared]]]:
                """The ranges once they are in the file, in their order."""
                while True:
                    with spent.on("waiting for sorted records"):
                        found = next(parts, None)
                    if found is None:
                        return
                    done, _ = found
                    if done.entries is not None:
                        builder.add(done.entries, bam.offset)
                    with spent.on("waiting for the file"):
                        bam.write_blocks([done.blocks])
                    yield found

            # One thread writes, another one hands records on to be counted: neither waits for what the other does.
            with closing(ahead(written, COUNTS_BEHIND)) as finished:
                for done, batches in finished:
                    if done.entries is None:
                        unplaced += len(done.records.starts)
                    if onlooker is not None:
                        with spent.on("waiting for the counts"):
                            onlooker.take(batches)
                    counts += done.counts
                    records_out += len(done.records.starts)
                    progress.tell_count(records_out, records_in, "records sorted")
            log.info("%s: %s", sample, spent.shares(progress.elapsed))
            require_balance("align (sorting)", sample, {"records in": records_in}, {"records out": records_out})
            if index is not None:
                builder.write(index, unplaced)
    return Sorted(records_in, records_out, counts)


FINISHED = "sorted by coordinate, duplicates marked by library"


def sorted_header(headers: Sequence[str]) -> str:
    """The header of the merged file: the contigs of the first, all read groups, all programs and what sorting adds.

    Each chain of programs ends in a line that says that its records were sorted and marked.
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
