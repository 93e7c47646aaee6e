"""Tuning of matches on a card: the fastest policy is found, kept, and used while it fits the card and the kernels."""

import json
import logging
from contextlib import contextmanager

import numpy as np
import pytest
from quire.algorithms.mems.tuning import policies as policies_gpu
from quire.algorithms.mems.tuning import tune as tune_gpu
from quire.algorithms.mems.tuning.policies import (
    BLOCKS,
    SHARES,
    Policy,
    best_policy,
    default_policy,
    keep,
    kept,
    seed_lengths,
)
from quire.algorithms.mems.tuning.workloads import WORKLOADS, Workload, page_of, reference_of, repetitive_text
from quire.device.backend import Backend
from quire.device.compiler import read_source
from quire.errors import QuireError
from quire.reference.construction import PAGE_OVERLAP

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler

pytestmark = needs_compiler
SMALL = Workload(12, 900, 30, 5)
FASTEST = Policy(10, 8, False, 256)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept.cache_clear()
    yield tmp_path
    kept.cache_clear()


class Clock:
    """By which one policy takes a second and all others two; one reading in five is an outlier."""

    def __init__(self, fastest: Policy) -> None:
        self.fastest, self.seen = fastest, []

    def __call__(self, card, launch) -> float:
        policy = launch.args[-1]
        kernels = len(card._kernels)
        assert len(launch()[0].start) > 0
        assert len(card._kernels) == kernels, "a policy's kernels are compiled before it is timed"
        self.seen.append(policy)
        outlier = self.seen.count(policy) % tune_gpu.REPEATS == 1
        return (9 if outlier else 1) * (1 if policy == self.fastest else 1.5 if policy.seed_length == 10 else 2)


@pytest.fixture(scope="module")
def result() -> dict:
    """Of tuning one small workload."""
    return tune_gpu.tune(EmulatedCard(), "13000", Clock(FASTEST), [SMALL])


def test_figures(result: dict) -> None:
    assert result["best"] == {"12": FASTEST._asdict()}
    rows = result["figures"]
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    assert rows[0]["seconds"] == 1
    assert len({row["matches"] for row in rows}) == 1
    assert {row["seed_length"] for row in rows} == {10, 12}
    tried = {(row["lanes"], row["keep"], row["threads"]) for row in rows if row["seed_length"] == 10}
    assert tried == {(lanes, kept, threads) for lanes, kept in SHARES for threads in BLOCKS}


def test_what_is_kept_is_used(result: dict) -> None:
    assert best_policy("emulated card", 12) == default_policy(12)
    path = keep(result)
    assert [item.name for item in path.parent.iterdir()] == ["emulated-card-mems.json"]
    assert best_policy("emulated card", 12) == FASTEST
    assert best_policy("emulated card", 400) == FASTEST, "the next smaller length that was measured"
    assert best_policy("emulated card", 11) == default_policy(11), "a length below all that were measured"
    assert best_policy("another card", 12) == default_policy(12)


@pytest.mark.parametrize(
    "change",
    [
        {"source_digest": "of older kernels"},
        {"card": "another card"},
        {"best": {"12": {**FASTEST._asdict(), "lanes": 5}}},
        {"best": {"12": {**FASTEST._asdict(), "seed_length": 0}}},
        {"best": {"12": {"lanes": 8}}},
        {"best": {}},
        {"best": None},
    ],
)
def test_what_does_not_fit_is_not_used(result: dict, change: dict) -> None:
    path = keep(result)
    path.write_text(json.dumps({**result, **change}))
    assert best_policy("emulated card", 12) == default_policy(12)


@pytest.mark.parametrize("damage", ["", "{", "[]", "null"])
def test_a_damaged_file_is_not_used(result: dict, damage: str) -> None:
    keep(result).write_text(damage)
    assert best_policy("emulated card", 12) == default_policy(12)


def test_policies_are_possible_at_every_length() -> None:
    for min_length in (1, 2, 10, 11, 14, 20, 50, 100, 1000, 1 << 30):
        assert 1 <= default_policy(min_length).seed_length <= min_length
        assert policies_gpu.is_possible(default_policy(min_length))
    # A hit belongs to the page that its first base lies in, which must know all of it.
    assert policies_gpu.LONGEST_SEED <= PAGE_OVERLAP
    for workload in WORKLOADS:
        lengths = seed_lengths(workload.min_length)
        assert lengths
        assert all(10 <= length <= workload.min_length for length in lengths)


def test_policies_that_differ_are_refused() -> None:
    source = "quire/algorithms/mems/list_seeds.cu"
    text = read_source(source)[0]
    broken = text.replace("seeds, row, found.axis,", "seeds, row, found.axis + 1,")
    assert broken != text
    card = EmulatedCard(texts={source: broken})
    with pytest.raises(QuireError, match=r"1 threads a seed, blocks of 128 and by seeds of 10, .* differ"):
        tune_gpu.tune(card, "13000", Clock(FASTEST), [SMALL])


def test_references_have_repeats() -> None:
    text = repetitive_text(np.random.default_rng(1), 40_000)
    words = np.lib.stride_tricks.sliding_window_view(text, 12) @ (4 ** np.arange(12))
    assert 0.7 < len(np.unique(words)) / len(words) < 0.97
    card = EmulatedCard()
    page = page_of(card, reference_of(text).words, len(text))
    rows = card.download(page.suffix_array).astype(np.int64)
    assert sorted(rows.tolist()) == list(range(len(text) + 1))
    low, high = card.download(page.prefix_table).reshape(-1, 2)[0]
    assert all(not text[row : row + page.prefix_length].any() for row in rows[low:high])


def run_main(monkeypatch, backend: Backend, card: EmulatedCard | None) -> None:
    """The command, as if the choice of the backend had given this."""

    @contextmanager
    def use_backend(_requested):
        yield backend, None if card is None else lambda: card

    monkeypatch.setattr(tune_gpu, "use_backend", use_backend)
    monkeypatch.setattr(tune_gpu, "driver_version", lambda: "13000")
    monkeypatch.setattr(tune_gpu, "seconds_by_events", Clock(FASTEST))
    monkeypatch.setattr(tune_gpu, "WORKLOADS", [SMALL._replace(reference_bases=9000, queries=50)])
    monkeypatch.setattr("sys.argv", ["tune", "--shrink", "10"])
    tune_gpu.main()


def test_the_command_keeps_what_it_measured(monkeypatch, caplog) -> None:
    with caplog.at_level(logging.INFO, "quire.index"):
        run_main(monkeypatch, Backend("gpu", "a card was found."), EmulatedCard())
    assert best_policy("emulated card", 12) == FASTEST
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "matches of 12, 5 queries of 30 bases, 0 Mb"
    assert lines[1].split(" (")[0].startswith("  seeds of 10, 8 threads a seed, blocks of 256")


def test_the_command_says_why_there_is_no_card(monkeypatch, cache) -> None:
    with pytest.raises(SystemExit, match=r"^tune: nothing to measure: there is no NVIDIA driver\.$"):
        run_main(monkeypatch, Backend("cpu", "there is no NVIDIA driver."), None)
    assert not list(cache.iterdir())
