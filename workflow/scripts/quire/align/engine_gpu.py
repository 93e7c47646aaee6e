"""Mapping batches on a card. One thread owns the card; parsing, records and compression run beside it.

A batch is copied into pinned memory by a thread of its own and uploaded at `search`, while the batch before it is
computed; what was found of it is copied back while the batch behind it is. Nothing else of it stays on the card between
`search` and `finish`: until the insert size is known, `search` maps a batch for its template lengths and `finish` maps
it again, which costs the first half million reads of a unit twice and no memory.
"""

import logging
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np

from quire.align.insert_size import MOST_BASES_LOOKED_AT, NO_INSERT_SIZE, InsertSize
from quire.align.model import Reported
from quire.align.output import Counts, write_records
from quire.align.pages_gpu import CardPages
from quire.align.reference_gpu import upload_reference
from quire.align.reported_gpu import take_reported
from quire.align.resident_gpu import bytes_per_read, choose, find_alignments
from quire.align.template_length_gpu import unique_template_lengths
from quire.align.time_spent import TimeSpent
from quire.device.card import Card, Download, Upload, bytes_of
from quire.errors import QuireError
from quire.io.fastq import PairBatch
from quire.oriented.gpu import CardReads, Layout, fill, layout_of, orient, orient_staged

log = logging.getLogger("quire.align")
# Of the memory that is free at the start, pages may take all but this share, which is the batch's.
BATCH_SHARE = 0.4
READS_PER_PIECE = 1 << 16  # reads or pairs of a batch that one thread makes records of
STAGING_ROOM = 1.1  # a buffer's size by that of the batch it is taken for: later ones may be a little larger


@dataclass
class Searched:
    """A batch after `search`.

    Attributes:
        batch: as read.
        found: int64[pairs], template lengths of the unique pairs, -1 for the others; None if nobody waits for them.
        staged: the batch on its way to the card; None if it is uploaded when it is mapped.
    """

    batch: PairBatch
    found: np.ndarray | None
    staged: "_Staged | None"

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: bases of each read."""
        mates = [self.batch.mate1] if self.batch.mate2 is None else [self.batch.mate1, self.batch.mate2]
        return np.concatenate([np.diff(mate.offsets) for mate in mates])

    def template_lengths(self) -> np.ndarray:
        """int64[pairs]: of the unique pairs, -1 for the others."""
        return self.found


@dataclass
class _Staged:
    """A batch in a pinned buffer, and its upload."""

    layout: Layout
    buffer: np.ndarray
    upload: Upload | None = None


class _Buffers:
    """Pinned buffers that nobody uses at the moment. Any thread may take one and put it back."""

    def __init__(self) -> None:
        self._free: queue.SimpleQueue[np.ndarray] = queue.SimpleQueue()

    def take(self, size: int, make: Callable[[int], np.ndarray]) -> np.ndarray:
        """One of `size` bytes or more; `make` makes one, and has the last word on what memory there is for it."""
        try:
            buffer = self._free.get_nowait()
        except queue.Empty:
            buffer = np.empty(0, np.uint8)
        return buffer if len(buffer) >= size else make(int(size * STAGING_ROOM))

    def put(self, buffer: np.ndarray) -> None:
        """Give one back."""
        self._free.put(buffer)


@dataclass
class _Results:
    """What was found of a batch, on its way to the host.

    Attributes:
        batch: as read.
        download: the arrays of `Reported`.
        buffer: that it is copied into.
        users: pieces of the batch that have not been written yet.
    """

    batch: PairBatch
    download: Download
    buffer: np.ndarray
    users: int = 1

    def piece(self, begin: int, end: int) -> tuple[PairBatch, Reported]:
        """Reads or pairs [begin, end), and what is reported of them; the buffer must stay until it has been used."""
        self.download.wait()
        reported = Reported(*self.download.arrays)
        reported = reported._replace(proper=reported.proper.view(np.bool_))
        if (begin, end) == (0, len(self.batch)):
            return self.batch, reported
        starts = [0] if self.batch.mate2 is None else [0, len(self.batch)]
        reads = [slice(start + begin, start + end) for start in starts]
        first, rows, proper = (
            np.concatenate([column[some] for some in reads])
            for column in (reported.first, reported.rows, reported.proper)
        )
        return self.batch.part(begin, end), reported._replace(first=first, rows=rows, proper=proper)


class CardEngine:
    """Maps batches on a card; see `quire.align.mapper.Engine`."""

    batches_ahead = 3  # one being copied on the host, one on its way up, and one that is mapped
    reads_per_batch = 1 << 18

    def __init__(self, open_card: Callable[[], Card], reference, indexes: list, read_group: str) -> None:
        """Say what to map with; nothing is uploaded before `running`.

        Args:
            open_card: called on the thread that will own the card.
            reference: `quire.reference.Reference`.
            indexes: `PageIndex`es of the whole axis in order.
            read_group: RG text of the records.
        """
        self.open_card, self.reference, self.indexes, self.read_group = open_card, reference, indexes, read_group
        self._insert_size_known = False
        self._bases_searched = 0  # while it is not known
        self.most_pairs: int | None = None  # that the card has room for, once it is known
        # Of batches on their way up: as many are in use at a time as batches are ahead, and one more. Of what was found
        # on its way down: as many as batches become records.
        self._buffers, self._result_buffers = _Buffers(), _Buffers()
        self._leaving: tuple[Download, list] | None = None  # the last download, and the card's arrays that it reads
        self._lock = Lock()
        self._spent = TimeSpent()

    @contextmanager
    def running(self, threads: int) -> Iterator[None]:
        """Open the card, make text and pages resident, and hold the worker threads.

        Three quarters of the threads make records, the others' share is for those that read, copy, launch and write:
        more of them gave no more speed (docs/benchmarks.md), they only wait for a core.
        """
        threads = max(1, threads * 3 // 4)
        self.pieces_ahead = threads + 2 * self.reads_per_batch // READS_PER_PIECE  # those of two batches are mapped
        with (
            ThreadPoolExecutor(1, "quire-card") as self._owner,
            ThreadPoolExecutor(1, "quire-copy") as self._copier,
            ThreadPoolExecutor(threads, "quire-records") as self._pool,
        ):
            self._owner.submit(self._open).result()
            start = time.monotonic()
            try:
                yield
            finally:
                self._owner.submit(self._close).result()
                elapsed = max(time.monotonic() - start, 1e-9)
                log.info("of %.1f s: the card's thread busy %.0f %%, the %d threads of records %.0f %%", elapsed,
                         100 * self._spent.seconds["card"] / elapsed, threads,
                         100 * self._spent.seconds["records"] / elapsed / threads)  # fmt: skip

    def search(self, batch: PairBatch) -> Future:
        """A future of `Searched`."""
        if self.most_pairs is None:
            self._plan(batch)
        if batch.mate2 is not None and not self._insert_size_known and self._bases_searched < MOST_BASES_LOOKED_AT:
            self._bases_searched += len(batch.mate1.bases) + len(batch.mate2.bases)
            return self._owner.submit(self._sample, batch)
        if len(batch) > self.most_pairs:
            return self._owner.submit(self._upload, batch, None)
        layout = layout_of(batch.mate1, batch.mate2)
        buffer = self._buffers.take(layout.size, lambda size: self._owner.submit(self.card.staging, size).result())
        return self._copier.submit(self._stage, batch, _Staged(layout, buffer))

    def finish(self, searched: Searched, insert_size: InsertSize) -> list[Future]:
        """Of the pieces of the batch, futures of (BGZF blocks as uint8 arrays, Counts)."""
        self._insert_size_known = True
        pieces = -(-len(searched.batch) // READS_PER_PIECE)
        mapped = self._owner.submit(self._map, searched, insert_size, pieces)
        return [self._pool.submit(self._write, mapped, number, pieces) for number in range(pieces)]

    def _open(self) -> None:
        self.card = self.open_card()
        try:
            self.card_reference = upload_reference(self.card, self.reference)
            room = int(self.card.free_bytes() * (1 - BATCH_SHARE))
            pages = CardPages(self.card, self.indexes, room)
        except MemoryError as error:
            raise QuireError(
                f"{self.card.name}: the text of {self.reference.axis_length} bases and its index do not fit ({error}); "
                "give device.memory more, use another card, or use device.backend: cpu."
            ) from None
        # Pages that all stay are searched together.
        self.pages = pages if pages.cycled else pages.resident
        self.free_bytes = self.card.free_bytes()
        log.info("%s: text and index of %d bases resident, %.2f GB free for batches", self.card.name,
                 self.reference.axis_length, self.free_bytes / 1e9)  # fmt: skip

    def _plan(self, batch: PairBatch) -> None:
        """Say how many reads or pairs half of the free memory is for; the other half is for matrices of extension."""
        mates = 1 if batch.mate2 is None else 2
        bases = len(batch.mate1.bases) + (0 if batch.mate2 is None else len(batch.mate2.bases))
        length = bases / max(1, mates * len(batch))
        each = mates * bytes_per_read(length, len(self.indexes), isinstance(self.pages, list))
        self.most_pairs = max(1, self.free_bytes // 2 // each)
        if self.most_pairs < len(batch):
            log.info("batches are mapped in parts of %d reads or pairs: the card has no room for more", self.most_pairs)

    def _close(self) -> None:
        self._let_go()
        del self.card, self.card_reference, self.pages

    def _stage(self, batch: PairBatch, staged: _Staged) -> Searched:
        """Copy a batch into its pinned buffer, and have the card's thread send it up."""
        fill(staged.buffer, staged.layout, batch.mate1, batch.mate2)
        return self._owner.submit(self._upload, batch, staged).result()

    def _upload(self, batch: PairBatch, staged: _Staged | None) -> Searched:
        if staged is not None:
            try:
                with self._spent.on("card"):
                    # Its memory may be that of the batch before, whose last kernels may still be running.
                    staged.upload = self.card.upload_ahead(staged.buffer[: staged.layout.size], self.card.mark())
            except MemoryError:  # it is uploaded in pieces when it is mapped
                self._buffers.put(staged.buffer)
                staged = None
        return Searched(batch, None, staged)

    def _sample(self, batch: PairBatch) -> Searched:
        with self._spent.on("card"):
            found = [lengths for _, lengths in self._in_parts(batch, self._template_lengths)]
        return Searched(batch, np.concatenate(found), None)

    def _template_lengths(self, batch: PairBatch) -> np.ndarray:
        card = self.card
        reads = orient(card, batch.mate1, batch.mate2)
        _, alignments = find_alignments(card, reads, self.pages, self.card_reference)
        return card.download(unique_template_lengths(card, alignments, reads))

    def _map(self, searched: Searched, insert_size: InsertSize, pieces: int) -> list[_Results]:
        staged, searched.staged = searched.staged, None
        buffer = None if staged is None else staged.buffer

        def map_part(batch: PairBatch) -> _Results:
            nonlocal staged
            if staged is not None and len(batch) == len(searched.batch):
                reads = orient_staged(self.card, staged.upload.array(), staged.layout)
            else:
                staged = None
                reads = orient(self.card, batch.mate1, batch.mate2)
            return self._map_reads(batch, reads, insert_size)

        with self._spent.on("card"):
            mapped = [results for _, results in self._in_parts(searched.batch, map_part)]
        if buffer is not None:  # Its upload has been waited for, or is of no use: then the batch was mapped in parts.
            self._buffers.put(buffer)
        if len(mapped) == 1:
            mapped[0].users = pieces
        return mapped

    def _map_reads(self, batch: PairBatch, reads: CardReads, insert_size: InsertSize) -> _Results:
        card, paired = self.card, batch.mate2 is not None
        found = find_alignments(card, reads, self.pages, self.card_reference)
        self._let_go()  # of the batch before: its rows went down while this one was searched
        insert_size = insert_size if paired else NO_INSERT_SIZE
        alignments, selection = choose(card, found, reads, paired, self.card_reference, insert_size)
        arrays = [*take_reported(card, alignments, selection)]
        buffer = self._result_buffers.take(bytes_of(arrays), card.staging)
        self._leaving = card.download_ahead(arrays, buffer), arrays
        return _Results(batch, self._leaving[0], buffer)

    def _let_go(self) -> None:
        """Wait for the last download and free what it read."""
        if self._leaving is not None:
            self._leaving[0].wait()
            self._leaving = None

    def _in_parts(self, batch: PairBatch, function: Callable) -> Iterator[tuple[PairBatch, object]]:
        """Apply a function to a batch, or to pieces of it for which the card's memory suffices, in order."""
        parts = -(-len(batch) // self.most_pairs)
        size = -(-len(batch) // parts)  # all alike
        begin = 0
        while begin < len(batch):
            part = batch if size >= len(batch) else batch.part(begin, min(begin + size, len(batch)))
            try:
                result = function(part)
            except MemoryError as error:  # the card's, whichever call it comes from
                reason = str(error)
            else:
                yield part, result
                begin += len(part)
                continue
            # Only here, behind the exception and the frames that it held, are the arrays of the attempt free.
            self._let_go()
            self.card.release()
            if size == 1:
                raise QuireError(
                    f"{self.card.name}: its memory does not suffice for a single read beside text and index "
                    f"({reason}); give device.memory more, or use device.backend: cpu."
                )
            size = self.most_pairs = size // 2
            log.warning(
                "the card has no room for a batch (%s): going on with %d reads or pairs at a time", reason, size
            )

    def _write(self, mapped: Future, number: int, pieces: int) -> tuple[list[np.ndarray], Counts]:
        """Records of one of the pieces of a batch: a share of its reads, or of its parts if it was mapped in parts."""
        parts = mapped.result()
        written, counts = [], Counts()
        for results, begin, end in _share(parts, number, pieces):
            piece = results.piece(begin, end)
            with self._spent.on("records"):
                blocks, counted = write_records(*piece, self.reference, self.read_group)
            self._used(results)
            written += blocks
            counts.add(counted)
        return written, counts

    def _used(self, results: _Results) -> None:
        with self._lock:
            results.users -= 1
            if not results.users:
                self._result_buffers.put(results.buffer)


def _share(parts: list[_Results], number: int, pieces: int) -> list[tuple[_Results, int, int]]:
    """Parts of a batch, with the reads or pairs [begin, end) of each, that are the piece of this number."""

    def from_to(count: int) -> tuple[int, int]:
        return count * number // pieces, count * (number + 1) // pieces

    if len(parts) == 1:
        return [(parts[0], *from_to(len(parts[0].batch)))]
    begin, end = from_to(len(parts))
    return [(part, 0, len(part.batch)) for part in parts[begin:end]]
