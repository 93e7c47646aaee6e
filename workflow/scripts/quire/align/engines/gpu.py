"""Mapping of batches on a card. One thread owns the card; parsing, records and compression run on other threads.

A thread copies a batch into pinned memory, and `search` uploads it while the previous batch is computed. Results are
downloaded while the next batch is computed. Only the uploaded batch stays on the card between `search` and
`make_records`: until the insert sizes are known, `search` maps a batch for its template lengths and `make_records` maps
it again. This maps the first half million reads of a unit twice, but needs no memory.
"""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TypeVar

import numpy as np

from quire.algorithms.extension.gpu import MOST_BYTES
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.gpu import upload_index
from quire.align.engines.steps import find_alignments, rescue_and_select
from quire.align.engines.steps_gpu import bytes_per_read, steps_on
from quire.align.insert_size import MOST_BASES_LOOKED_AT, NO_INSERT_SIZES, InsertSizes
from quire.align.model import Reported
from quire.align.parameters import READS_PER_BATCH_ON_CARD
from quire.align.read_counts import ReadCounts
from quire.align.records import encode_records
from quire.align.sink import Encoded, RecordSink
from quire.device.card import Card, CardArray, Download, Upload, bytes_of
from quire.device.staged import Buffers
from quire.errors import QuireError
from quire.reads import PairBatch
from quire.reads.gpu import CardReads, Layout, fill, layout_of, orient, orient_staged
from quire.reference import Reference
from quire.reference.gpu import upload_reference
from quire.time_spent import TimeSpent

Result = TypeVar("Result")
log = logging.getLogger("quire.align")
# Share for batches of the memory that is free at the start; pages may take the rest.
BATCH_SHARE = 0.4
READS_PER_PIECE = 1 << 16  # reads or pairs of a batch whose records one thread makes


@dataclass
class CardSearched:
    """A batch after `search`; `staged` is None if mapping uploads it.

    `unique_template_lengths` (int64[pairs], -1 for pairs that are not unique) is None if they are not needed.
    """

    batch: PairBatch
    unique_template_lengths: np.ndarray | None
    staged: "_Staged | None"

    def template_lengths(self) -> np.ndarray:
        """Return the template lengths of the unique pairs, int64[pairs]; -1 for other pairs."""
        if self.unique_template_lengths is None:
            raise ValueError("the batch was searched after the insert size was known")
        return self.unique_template_lengths


@dataclass
class _Staged:
    """A batch in a pinned buffer, and its upload."""

    layout: Layout
    buffer: np.ndarray
    upload: Upload | None = None


@dataclass
class _Results:
    """The results of a batch on their way to the host: its download to a buffer.

    `users` counts the pieces of the batch whose records are not made yet.
    """

    batch: PairBatch
    download: Download
    buffer: np.ndarray
    users: int = 1

    def piece(self, begin: int, end: int) -> tuple[PairBatch, Reported]:
        """Return reads or pairs [begin, end) and their reported alignments, which are views of the buffer."""
        self.download.wait()
        reported = Reported(*self.download.arrays)
        reported = reported._replace(proper=reported.proper.view(np.bool_))
        if (begin, end) == (0, len(self.batch)):
            return self.batch, reported
        starts = [0] if self.batch.mate2 is None else [0, len(self.batch)]
        reads = [slice(start + begin, start + end) for start in starts]
        first, rows, proper, all_rows = (
            np.concatenate([column[some] for some in reads])
            for column in (reported.first, reported.rows, reported.proper, reported.all_rows)
        )
        reported = reported._replace(first=first, rows=rows, proper=proper, all_rows=all_rows)
        return self.batch.part(begin, end), reported


class CardEngine:
    """Maps batches on a card; see `quire.align.mapper`."""

    batches_ahead = 3  # one is copied on the host, one is uploaded, and one is mapped

    def __init__(self, open_card: Callable[[], Card], reference: Reference, indexes: list[FmIndex]) -> None:
        """Keep reference and indexes of all pages; `running` opens the card on its thread and uploads them."""
        self.open_card, self.reference, self.indexes = open_card, reference, indexes
        self._insert_sizes_known = False
        self._bases_searched = 0  # until the insert sizes are known
        self.most_pairs = 0  # reads or pairs that fit the card; 0 before the first batch
        # For uploads: one more than `batches_ahead` is in use at a time. For results: one for each batch whose records
        # are being made.
        self._buffers, self._result_buffers = Buffers(), Buffers()
        # The last download, and the arrays on the card that it reads.
        self._leaving: tuple[Download, list[CardArray]] | None = None
        self._lock = Lock()
        self._spent = TimeSpent()

    @contextmanager
    def running(self, threads: int) -> Iterator[None]:
        """Open the card, upload text and pages, and hold the worker threads.

        Three quarters of the threads make records; the rest is left to the threads that read, copy, launch and write.
        In measurements more threads for records were no faster, since they waited for a core.
        """
        threads = max(1, threads * 3 // 4)
        self.pieces_ahead = threads + 2 * READS_PER_BATCH_ON_CARD // READS_PER_PIECE  # pieces of two batches are mapped
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

    def search(self, batch: PairBatch) -> Future[CardSearched]:
        """Upload a batch; until the insert sizes are known, search it for the template lengths of its unique pairs."""
        if not self.most_pairs:
            self._plan(batch)
        if batch.mate2 is not None and not self._insert_sizes_known and self._bases_searched < MOST_BASES_LOOKED_AT:
            self._bases_searched += len(batch.mate1.bases) + len(batch.mate2.bases)
            return self._owner.submit(self._sample, batch)
        if len(batch) > self.most_pairs:
            return self._owner.submit(self._upload, batch, None)
        layout = layout_of(batch.mate1, batch.mate2)
        buffer = self._buffers.take(layout.size, lambda size: self._owner.submit(self.card.staging, size).result())
        return self._copier.submit(self._stage, batch, _Staged(layout, buffer))

    def make_records(
        self, searched: CardSearched, insert_sizes: InsertSizes, sink: RecordSink
    ) -> list[Future[tuple[list[Encoded], ReadCounts]]]:
        """Map a batch, and make the records of each of its pieces."""
        self._insert_sizes_known = True
        pieces = -(-len(searched.batch) // READS_PER_PIECE)
        mapped = self._owner.submit(self._map, searched, insert_sizes, pieces)
        return [self._pool.submit(self._encode_piece, mapped, number, pieces, sink) for number in range(pieces)]

    def _open(self) -> None:
        self.card = self.open_card()
        self.card_reference, self.pages = upload_index(
            self.card, partial(upload_reference, self.card, self.reference), self.indexes, 1 - BATCH_SHARE
        )
        self.free_bytes = self.card.free_bytes()
        # Half of the memory is for the batch, and a quarter for the matrices of extension (`_plan`, `extend`).
        self.steps = steps_on(self.card, isinstance(self.pages, list) and self.free_bytes // 4 >= MOST_BYTES)
        log.info("%s: text and index of %d bases resident, %.2f GB free for batches", self.card.name,
                 self.reference.axis_length, self.free_bytes / 1e9)  # fmt: skip

    def _plan(self, batch: PairBatch) -> None:
        """Plan how many reads or pairs fit half of the free memory; the other half is for matrices of extension."""
        mates = 1 if batch.mate2 is None else 2
        bases = len(batch.mate1.bases) + (0 if batch.mate2 is None else len(batch.mate2.bases))
        length = bases / max(1, mates * len(batch))
        each = mates * bytes_per_read(length, len(self.indexes), isinstance(self.pages, list))
        self.most_pairs = max(1, self.free_bytes // 2 // each)
        if self.most_pairs < len(batch):
            log.info("card memory limits batches to parts of %d reads or pairs", self.most_pairs)

    def _close(self) -> None:
        self._let_go()
        del self.card, self.steps, self.card_reference, self.pages

    def _stage(self, batch: PairBatch, staged: _Staged) -> CardSearched:
        """Copy a batch into its pinned buffer, and let the card's thread upload it."""
        fill(staged.buffer, staged.layout, batch.mate1, batch.mate2)
        return self._owner.submit(self._upload, batch, staged).result()

    def _upload(self, batch: PairBatch, staged: _Staged | None) -> CardSearched:
        if staged is not None:
            try:
                with self._spent.on("card"):
                    # The memory may have been that of the previous batch, whose last kernels may still be running.
                    staged.upload = self.card.upload_ahead(staged.buffer[: staged.layout.size], self.card.mark())
            except MemoryError:  # mapping uploads it in parts
                self._buffers.put(staged.buffer)
                staged = None
        return CardSearched(batch, None, staged)

    def _sample(self, batch: PairBatch) -> CardSearched:
        with self._spent.on("card"):
            lengths = list(self._in_parts(batch, self._template_lengths))
        return CardSearched(batch, np.concatenate(lengths), None)

    def _template_lengths(self, batch: PairBatch) -> np.ndarray:
        reads = orient(self.card, batch.mate1, batch.mate2)
        found = find_alignments(self.steps, reads, batch.mate2 is not None, self.pages, self.card_reference)
        return self.card.download(self.steps.unique_template_lengths(found.alignments, reads))

    def _map(self, searched: CardSearched, insert_sizes: InsertSizes, pieces: int) -> list[_Results]:
        staged, searched.staged = searched.staged, None
        buffer = None if staged is None else staged.buffer

        def map_part(batch: PairBatch) -> _Results:
            nonlocal staged
            if staged is not None and staged.upload is not None and len(batch) == len(searched.batch):
                reads = orient_staged(self.card, staged.upload.array(), staged.layout)
            else:
                staged = None
                reads = orient(self.card, batch.mate1, batch.mate2)
            return self._map_reads(batch, reads, insert_sizes)

        with self._spent.on("card"):
            mapped = list(self._in_parts(searched.batch, map_part))
        if buffer is not None:  # its upload is complete, or unused because the batch was mapped in parts
            self._buffers.put(buffer)
        if len(mapped) == 1:
            mapped[0].users = pieces
        return mapped

    def _map_reads(self, batch: PairBatch, reads: CardReads, insert_sizes: InsertSizes) -> _Results:
        card, paired = self.card, batch.mate2 is not None
        found = find_alignments(self.steps, reads, paired, self.pages, self.card_reference)
        self._let_go()  # the rows of the previous batch were downloaded while this one was searched
        insert_sizes = insert_sizes if paired else NO_INSERT_SIZES
        chosen = rescue_and_select(self.steps, found, reads, paired, self.card_reference, insert_sizes)
        lifted_over = self.card_reference.alternate if self.reference.lifts is not None else None
        arrays = [*self.steps.take_reported(*chosen, lifted_over)]
        buffer = self._result_buffers.take(bytes_of(arrays), card.staging)
        self._leaving = card.download_ahead(arrays, buffer), arrays
        return _Results(batch, self._leaving[0], buffer)

    def _let_go(self) -> None:
        """Wait for the last download and free the arrays that it reads."""
        if self._leaving is not None:
            self._leaving[0].wait()
            self._leaving = None

    def _in_parts(self, batch: PairBatch, function: Callable[[PairBatch], Result]) -> Iterator[Result]:
        """Apply a function to a batch, or in order to parts of it that fit the memory of the card."""
        parts = -(-len(batch) // self.most_pairs)
        size = -(-len(batch) // parts)  # equal parts
        begin = 0
        while begin < len(batch):
            part = batch if size >= len(batch) else batch.part(begin, min(begin + size, len(batch)))
            try:
                result = function(part)
            except MemoryError as error:  # of the card, from any call
                reason = str(error)
            else:
                yield result
                begin += len(part)
                continue
            # The arrays of the attempt are free only here, after the exception's frames were released.
            self._let_go()
            self.card.release()
            if size == 1:
                raise QuireError(
                    f"{self.card.name}: its memory is too small for a single read in addition to text and index "
                    f"({reason}); raise device.memory, or use device.backend: cpu."
                )
            size = self.most_pairs = size // 2
            log.warning(
                "card memory is too small for a batch (%s); continuing with %d reads or pairs at a time", reason, size
            )

    def _encode_piece(
        self, mapped: Future[list[_Results]], number: int, pieces: int, sink: RecordSink
    ) -> tuple[list[Encoded], ReadCounts]:
        """Make the records of a piece of a batch: some of its reads, or some of its parts if it was mapped in parts."""
        encoded, counts = [], ReadCounts()
        for results, begin, end in _share(mapped.result(), number, pieces):
            batch, reported = results.piece(begin, end)
            with self._spent.on("records"):
                piece, piece_counts = encode_records(batch, reported, self.reference, sink)
            with self._lock:
                results.users -= 1
                if not results.users:
                    self._result_buffers.put(results.buffer)
            encoded.append(piece)
            counts.add(piece_counts)
        return encoded, counts


def _share(parts: list[_Results], number: int, pieces: int) -> list[tuple[_Results, int, int]]:
    """Return the parts of a batch, with the reads or pairs [begin, end) of each, that form a piece."""

    def from_to(count: int) -> tuple[int, int]:
        return count * number // pieces, count * (number + 1) // pieces

    if len(parts) == 1:
        return [(parts[0], *from_to(len(parts[0].batch)))]
    begin, end = from_to(len(parts))
    return [(part, 0, len(part.batch)) for part in parts[begin:end]]
