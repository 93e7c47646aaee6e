"""Failures in the threads of a card's engine: the error is raised, and no thread is left."""

import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from quire.align.engines import gpu as engine_gpu
from quire.align.mapper import Mapper
from quire.align.parameters import READS_PER_BATCH_ON_CARD
from quire.align.read_counts import ReadCounts
from quire.align.unit import USUAL_LENGTH, card_memory
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.io.read_files import ReadFiles
from quire.reads import PairBatch, ReadBatch

BATCHES = 30
EACH = np.arange(11)  # ten names of a letter, ten reads of a base
BATCH = PairBatch(
    ReadBatch(np.zeros(10, np.uint8), EACH, np.zeros(10, np.uint8), np.zeros(10, np.uint8), EACH, 0), None
)


class Failure(Exception):
    """The error that a test raises."""


class Engine(engine_gpu.CardEngine):
    """An engine without a card; `fails` names the step that fails after its tenth call."""

    fails = ""

    def _open(self) -> None:
        self.calls = {"upload": 0, "map": 0}
        self.card, self.steps, self.card_reference, self.pages = self, None, None, []
        self.most_pairs = 1 << 30
        if self.fails == "open":
            raise Failure

    def staging(self, size: int) -> np.ndarray:
        return np.empty(size, np.uint8)

    def mark(self) -> None:
        pass

    def upload_ahead(self, _array, _mark):
        self._count("upload")
        return SimpleNamespace()

    def _map(self, searched, _insert_size, pieces):
        assert pieces == 1
        self._count("map")
        self._buffers.put(searched.staged.buffer)
        results = SimpleNamespace(batch=searched.batch, buffer=np.empty(0, np.uint8), users=1)
        results.piece = lambda *_: (searched.batch, None)
        return [results]

    def _count(self, step: str) -> None:
        self.calls[step] += 1
        if step == self.fails and self.calls[step] > 10:
            raise Failure


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("fails", ["", "open", "read", "fill", "upload", "map", "write", "consumer"])
def test_a_failure_comes_out(fails: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"fill": 0, "write": 0}

    def count(step: str) -> None:
        calls[step] += 1
        if step == fails and calls[step] > 10:
            raise Failure

    def write(batch: PairBatch, *_) -> tuple[np.ndarray, ReadCounts]:
        count("write")
        return np.zeros(3, np.uint8), ReadCounts(reads=len(batch))

    def batches():
        for number in range(BATCHES):
            if fails == "read" and number == 12:
                raise Failure
            yield BATCH

    monkeypatch.setattr(engine_gpu, "fill", lambda *_: count("fill"))
    monkeypatch.setattr(engine_gpu, "encode_records", write)
    monkeypatch.setattr(engine_gpu, "layout_of", lambda *_: SimpleNamespace(size=100))
    engine = Engine(lambda: None, None, [])
    engine.fails = fails
    mapper = Mapper(engine)
    written = 0

    def consume() -> None:
        nonlocal written
        for _ in mapper.map(batches(), threads, sink=None):
            written += 1
            if fails == "consumer" and written == 5:
                raise Failure

    if fails:
        with pytest.raises(Failure):
            consume()
        assert written < BATCHES
    else:
        consume()
        assert (written, mapper.counts.reads) == (BATCHES, 10 * BATCHES)
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("quire")]


@pytest.mark.parametrize("reads", ["auto", 1000])
def test_half_a_card_is_enough_where_it_is_shared(reads: int | str, tmp_path: Path) -> None:
    """With the memory for which a job shares a card, its pages stay resident and batches are mapped in one part."""
    folders = [tmp_path / name for name in ("reference", "page_0", "page_1")]
    resident = 0
    for number, folder in enumerate(folders):
        folder.mkdir()
        for file in ("one.npy", "two.npy"):
            (folder / file).write_bytes(bytes(1000 * (number + 1)))
            resident += 1000 * (number + 1)
    inputs = UnitInputs(folders[0], folders[1:], ReadFiles([Path("1.fq")]))
    wanted = card_memory(inputs, MappingSettings(threads=1, reads_per_batch=reads))
    assert resident <= wanted * (1 - engine_gpu.BATCH_SHARE)
    count = READS_PER_BATCH_ON_CARD if reads == "auto" else reads

    class Batch(SimpleNamespace):
        def __len__(self) -> int:
            return count

    bases = np.broadcast_to(np.uint8(0), count * USUAL_LENGTH)
    engine = engine_gpu.CardEngine(lambda: None, None, [None, None])
    engine.pages, engine.free_bytes = [], wanted - resident
    engine._plan(Batch(mate1=SimpleNamespace(bases=bases), mate2=SimpleNamespace(bases=bases)))
    assert engine.most_pairs >= count
    engine.free_bytes //= 2
    engine._plan(Batch(mate1=SimpleNamespace(bases=bases), mate2=SimpleNamespace(bases=bases)))
    assert engine.most_pairs < count
