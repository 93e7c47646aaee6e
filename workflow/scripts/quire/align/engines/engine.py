"""What an engine is to a mapper: it takes a batch of reads through the search, and makes its records."""

from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import numpy as np

from quire.align.insert_size import InsertSizes
from quire.align.read_counts import ReadCounts
from quire.align.sink import Encoded, RecordSink
from quire.reads import PairBatch


class SearchedBatch(Protocol):
    """A batch after an engine's `search`."""

    @property
    def batch(self) -> PairBatch:
        """As read."""

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: bases of each read."""

    def template_lengths(self) -> np.ndarray:
        """int64[pairs]: of the unique pairs, -1 for the others."""


READS_PER_BATCH_ON_CARD = 1 << 18
Searched = TypeVar("Searched", bound=SearchedBatch)


class Engine(Protocol[Searched]):
    """What maps batches: `quire.align.engines.cpu.CpuEngine` or `quire.align.engines.gpu.CardEngine`."""

    @property
    def batches_ahead(self) -> int:
        """Batches that are searched before records are made of the first of them; known once the engine runs."""

    @property
    def pieces_ahead(self) -> int:
        """Pieces of batches that records are made of at a time; known once the engine runs."""

    @property
    def reads_per_batch(self) -> int:
        """Reads or pairs of a batch that suit the engine."""

    def running(self, threads: int) -> AbstractContextManager[None]:
        """Hold worker threads while batches are mapped."""

    def search(self, batch: PairBatch) -> Future[Searched]:
        """Seeds, candidates and extensions of a batch."""

    def make_records(
        self, searched: Searched, insert_sizes: InsertSizes, sink: RecordSink[Encoded]
    ) -> list[Future[tuple[list[Encoded], ReadCounts]]]:
        """Rescue, pairing and records of a batch.

        Args:
            searched: the batch, from `search`; it is used up.
            insert_sizes: the unit's models.
            sink: whose `encode` is called in the worker threads.

        Returns:
            Of each piece of the batch, in order: what the sink made of its records, and what its reads became.
        """
