"""The stage that finds the matches of queries of any size in the pages of a reference and writes MUMmer's text."""

import logging
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from quire.device.backend import Backend
from quire.device.choice import use_backend
from quire.index import SearchInputs
from quire.io.ahead import ahead
from quire.io.bytes_read import share_read
from quire.io.files import atomic_path, lacks_bgzip_end, write_json_atomic
from quire.ledger import require_balance
from quire.mems.engines import Engine, MemsCardEngine, MemsCpuEngine
from quire.mems.queries_cpu import read_queries
from quire.mems.tasks import (
    MOST_MATCHES,
    Counts,
    PreparedBatch,
    Search,
    TextPiece,
    Writer,
    prepare,
    tasks_of_batch,
)
from quire.mems.text_cpu import contigs_of
from quire.reference import Reference
from quire.run.inputs import identify
from quire.run.interrupts import worker_threads

log = logging.getLogger("quire.mems")
BATCHES_AHEAD = 2
TASKS_PER_THREAD = 2  # tasks running or waiting to be written


@dataclass(frozen=True)
class MemsOutputs:
    """The outputs of a search: the matches as MUMmer's text, and its summary as JSON."""

    mems: Path
    summary: Path


@dataclass(frozen=True)
class MemsSettings:
    """The configuration's keys of a search and of its device; the answer does not depend on those from `threads` on.

    MUMmer's options: `strands` "reverse" is `-r`, "both" `-b`; `unique` "none" is `-maxmatch`, "reference"
    `-mumreference`, "both" `-mum`.
    """

    name: str
    min_length: int = 20
    strands: Literal["forward", "reverse", "both"] = "both"
    unique: Literal["none", "reference", "both"] = "none"
    threads: int = 1
    backend: str = "auto"
    memory: str = "auto"


def find_mems(inputs: SearchInputs, outputs: MemsOutputs, settings: MemsSettings) -> None:
    """Find the maximal exact matches of queries; the outputs appear whole or not at all.

    Matches are sorted by query in the order of the file, then by strand with the query as given first, then by start in
    the query and in the reference (with unique "both" by start in the reference).
    """
    began = time.monotonic()
    reference, indexes = inputs.open()
    with use_backend(settings.backend, settings.memory) as (backend, open_card):
        if open_card is None:
            counts = _search(MemsCpuEngine(reference, indexes), reference, inputs, outputs, settings)
        else:
            engine = MemsCardEngine(open_card, reference, indexes)
            with engine.running():
                counts = _search(engine, reference, inputs, outputs, settings)
    seconds = time.monotonic() - began
    write_json_atomic(outputs.summary, _summary(inputs, reference, settings, backend, counts, seconds))
    log.info("%s: %d matches of %d queries in %.1f s", settings.name, counts.matches, counts.queries, seconds)


def _search(
    engine: Engine, reference: Reference, inputs: SearchInputs, outputs: MemsOutputs, settings: MemsSettings
) -> Counts:
    """Search with an engine and write the matches."""
    strands = (settings.strands != "reverse", settings.strands != "forward")
    search = Search(engine, contigs_of(reference), settings.min_length, settings.unique, strands, MOST_MATCHES)
    with atomic_path(outputs.mems) as path:
        with open(path, "wb") as file:
            writer = Writer(file, search, lambda: share_read([inputs.queries]))
            _run(inputs.queries, search, settings.threads, writer)
        counts = writer.counts
        written = {"with matches": counts.queries_with_matches, "without": counts.queries_without_matches}
        require_balance("mems", settings.name, {"queries": counts.queries}, written)
    return counts


def _run(queries: Path, search: Search, threads: int, writer: Writer) -> None:
    """Search all queries with `threads` threads, and write the results in the order of the queries."""

    def batches() -> Iterator[PreparedBatch]:
        return (prepare(batch, search) for batch in read_queries(queries))

    waiting: deque[tuple[Future[TextPiece | None], Iterator[TextPiece]]] = deque()
    with worker_threads(threads, "quire-mems") as pool:

        def write_first() -> None:
            future, task = waiting.popleft()
            result = future.result()
            while result is not None:
                writer.write(result)
                result = next(task, None)

        for prepared in ahead(batches, BATCHES_AHEAD):
            writer.read(prepared)
            for task in tasks_of_batch(prepared, lambda: writer.bases_per_task, search):
                if len(waiting) >= TASKS_PER_THREAD * threads:
                    write_first()
                waiting.append((pool.submit(next, task, None), task))
        while waiting:
            write_first()


def _summary(
    inputs: SearchInputs, reference: Reference, settings: MemsSettings, backend: Backend, counts: Counts, seconds: float
) -> dict[str, Any]:
    """Return the summary of a search (docs/formats.md)."""
    warnings = []
    if lacks_bgzip_end(inputs.queries):
        warnings.append(f"{inputs.queries} has no closing bgzip block: if it is truncated, queries are missing.")
    return {
        "tool": "mems",
        "name": settings.name,
        "inputs": {"queries": str(inputs.queries), "reference": str(inputs.fasta)},
        "identity": identify({"queries": inputs.queries}, reference),
        "settings": asdict(settings),
        "backend": backend.to_json(),
        "counts": asdict(counts),
        "seconds": round(seconds, 3),
        "warnings": warnings,
    }
