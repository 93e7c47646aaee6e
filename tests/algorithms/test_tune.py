"""Tuning: the fastest design is found, kept, and used while it fits the card and the kernels."""

import json
import logging
from contextlib import contextmanager

import numpy as np
import pytest
from quire.algorithms.fm_index.gpu import search_packed
from quire.algorithms.fm_index.tuning import designs as designs_gpu
from quire.algorithms.fm_index.tuning import synthetic as synthetic_gpu
from quire.algorithms.fm_index.tuning import tune as tune_gpu
from quire.algorithms.fm_index.tuning.designs import Design, advise, best_design, default_design, designs, keep, kept
from quire.device.backend import Backend
from quire.device.compiler import read_source
from quire.errors import QuireError

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler

pytestmark = needs_compiler
FAST = Design("task", 1, False)
MEASURED = [FAST, Design("memory", 2, True), Design("full", 2, False)]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    advise.cache_clear()
    return tmp_path


class Clock:
    """By which the designs, one after another, take so long; one reading in five is an outlier."""

    def __init__(self, *seconds: float) -> None:
        self.readings = [given * factor for given in seconds for factor in (9, 1, 1, 1, 1)]

    def __call__(self, card, launch) -> float:
        kernels = len(card._kernels)
        launch()
        assert len(card._kernels) == kernels, "a design is compiled before it is timed"
        return self.readings.pop(0)


@pytest.fixture(scope="module")
def result() -> dict:
    """Of tuning one distance, with the thread a query fastest."""
    return tune_gpu.tune(EmulatedCard(), "13000", Clock(0.5, 2.0, 1.0, 1.5), rows=6000, count=40, distances=[64])


def test_figures(result: dict) -> None:
    assert (result["card"], result["driver"], result["best_distance"]) == ("emulated card", "13000", 64)
    assert result["best"] == {"64": FAST._asdict()}
    assert [row["kind"] for row in result["figures"]] == [design.kind for design in designs(4)]
    assert result["figures"][0]["seconds"] == 0.5
    assert result["figures"][0]["queries_per_second"] == 80
    assert result["figures"][0]["visits_per_second"] >= 31 * 80


def test_what_is_kept_is_used(result: dict) -> None:
    card = EmulatedCard()
    assert best_design(card, 4) == default_design(4) != FAST
    path = keep(result)
    assert kept(card.name)["best"] == {64: FAST}
    assert best_design(card, 4) == FAST
    assert best_design(card, 8) == default_design(8), "a distance that was not measured"
    assert [item.name for item in path.parent.iterdir()] == ["emulated-card.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"source_digest": "of older kernels"},
        {"card": "another card"},
        {"best": {"64": {"kind": "full", "lanes": 16, "stream": False}}},
        {"best": {"64": {"kind": "full"}}},
        {"best": None},
    ],
)
def test_what_does_not_fit_is_not_used(result: dict, change: dict) -> None:
    path = keep(result)
    path.write_text(json.dumps({**result, **change}))
    assert best_design(EmulatedCard(), 4) == default_design(4)


@pytest.mark.parametrize("damage", ["", "{", "[]", "null"])
def test_a_damaged_file_is_not_used(result: dict, damage: str) -> None:
    keep(result).write_text(damage)
    assert best_design(EmulatedCard(), 4) == default_design(4)


def test_a_faster_distance_is_said_once(result: dict, caplog) -> None:
    other = {**result["figures"][0], "distance": 192, "queries_per_second": 120}
    best = {**result["best"], "192": Design("full", 4, False)._asdict()}
    keep({**result, "figures": [*result["figures"], other], "best": best, "best_distance": 192})
    with caplog.at_level(logging.INFO, "quire.index"):
        for words in (4, 4, 8, 16):
            advise("emulated card", words)
    assert [record.getMessage().split(" (")[0] for record in caplog.records] == [
        "emulated card searches an index of sampling_distance 192 1.50 times as fast as this one of 64"
    ]


def test_designs_that_differ_are_refused() -> None:
    text = read_source(designs_gpu.SOURCE)[0]
    broken = text.replace("found[query] = {rows.low, rows.high}", "found[query] = {rows.low + SHARE_COUNT, rows.high}")
    assert broken != text
    card = EmulatedCard(texts={designs_gpu.SOURCE: broken})
    page = synthetic_gpu.random_page(card, 1000, 64)
    queries = synthetic_gpu.sample_queries(card, page, 32, 9)
    with pytest.raises(QuireError, match="full, 2 lanes, cached and by task, 1 lanes, cached differ"):
        tune_gpu.time_designs(card, page, queries, 32, lambda card, launch: 1.0, MEASURED)


def test_designs_that_a_card_has_no_shared_memory_for_are_left_out(monkeypatch) -> None:
    card = EmulatedCard()
    page = synthetic_gpu.random_page(card, 3000, 960)
    queries = synthetic_gpu.sample_queries(card, page, 32, 9)
    for shared_bytes, kinds in ((227 << 10, {"task", "memory", "full"}), (64 << 10, {"task", "full"})):
        monkeypatch.setattr(card, "shared_bytes", shared_bytes)
        times = tune_gpu.time_designs(card, page, queries, 32, lambda card, launch: 1.0)
        assert {design.kind for design, _ in times} == kinds


@pytest.mark.parametrize("sampling_distance", [64, 192, 448, 960])
def test_the_random_index_is_one(card, sampling_distance: int) -> None:
    """Its counters are those of its planes; queries from it occur; visits are counted as a step by step search sees."""
    page = synthetic_gpu.random_page(card, 9000, sampling_distance)
    words, C = page.words_per_block, card.download(page.C)
    blocks = card.download(page.blocks).reshape(-1, words)
    bits = np.unpackbits(np.ascontiguousarray(blocks[:, 2:]).view(np.uint8), bitorder="little")
    planes = bits.reshape(-1, 2, 64)
    codes = (planes[:, 0] + 2 * planes[:, 1]).reshape(len(blocks), -1)
    before = [np.append(0, np.cumsum((codes == code).sum(axis=1)))[:-1] for code in range(4)]
    assert (blocks[:, 0] == before[0].astype(np.uint64) | before[1].astype(np.uint64) << np.uint64(32)).all()
    assert (blocks[:, 1] == before[2].astype(np.uint64) | before[3].astype(np.uint64) << np.uint64(32)).all()
    rows = sampling_distance * (len(blocks) - 1)
    bwt = codes[:-1].reshape(-1)
    assert (bwt[page.primary], C[4]) == (0, rows)
    bwt[page.primary] = 9
    counts = [np.append(0, np.cumsum(bwt == code)) for code in range(4)]
    assert C.tolist() == [1, *(1 + np.cumsum([count[-1] for count in counts]))]

    queries = synthetic_gpu.sample_queries(card, page, 32, 50)
    wanted, visited = [], 0
    for query in card.download(queries).tolist():
        symbols = [query >> 2 * i & 3 for i in range(31, -1, -1)]
        low, high = C[symbols[0]], C[symbols[0] + 1]
        for symbol in symbols[1:]:
            visited += len({low // sampling_distance, high // sampling_distance}) if low < high else 0
            if low < high:
                low, high = C[symbol] + counts[symbol][low], C[symbol] + counts[symbol][high]
        wanted.append([low, high])
    assert sum(low < high for low, high in wanted) >= 49, "one walk may meet the sentinel"
    assert card.download(search_packed(card, page, queries, 32)).tolist() == wanted
    assert synthetic_gpu.visits(card, page, queries, 32) == visited
    launch, reads = synthetic_gpu.reader_of_blocks(card, page, 2000)
    launch()  # it only takes time
    assert reads >= 2000


def run_main(monkeypatch, backend: Backend, card: EmulatedCard | None) -> None:
    """The command, as if the choice of the backend had given this."""

    @contextmanager
    def use_backend(_requested):
        yield backend, None if card is None else lambda: card

    monkeypatch.setattr(tune_gpu, "use_backend", use_backend)
    monkeypatch.setattr(tune_gpu, "driver_version", lambda: "13000")
    monkeypatch.setattr(tune_gpu, "seconds_by_events", Clock(3.0, 2.0, 1.0, 0.5))
    monkeypatch.setattr("sys.argv", ["tune", "--rows", "6000", "--queries", "40", "--distances", "64"])
    tune_gpu.main()


def test_the_command_keeps_what_it_measured(monkeypatch) -> None:
    card = EmulatedCard()
    run_main(monkeypatch, Backend("gpu", "a card was found."), card)
    assert best_design(card, 4) == Design("full", 2, True)


def test_the_command_says_why_there_is_no_card(monkeypatch, cache) -> None:
    with pytest.raises(SystemExit, match=r"^tune: nothing to measure: there is no NVIDIA driver\.$"):
        run_main(monkeypatch, Backend("cpu", "there is no NVIDIA driver."), None)
    assert not list(cache.iterdir())
