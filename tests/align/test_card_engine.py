"""The threads of a card's engine when something fails in one of them: the error comes out, and no thread is left."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from quire.align.engines import gpu as engine_gpu
from quire.align.mapper import Mapper
from quire.align.read_counts import ReadCounts
from quire.reads import PairBatch, ReadBatch

BATCHES = 30
EACH = np.arange(11)  # ten names of a letter, ten reads of a base
BATCH = PairBatch(
    ReadBatch(np.zeros(10, np.uint8), EACH, np.zeros(10, np.uint8), np.zeros(10, np.uint8), EACH, 0), None
)


class Failure(Exception):
    """What a test lets happen."""


class Engine(engine_gpu.CardEngine):
    """An engine without a card; `fails` names the step that fails, behind its tenth call."""

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
