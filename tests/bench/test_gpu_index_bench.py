"""Run the measurements of indexing on tiny inputs, and check that they detect a wrong suffix array."""

import gzip
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from quire.device.backend import Backend
from quire.index import open_page
from quire.reference import Reference

from bench import build_index, cards, gpu_index
from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles.suffix_array import suffix_array

pytestmark = [needs_compiler, pytest.mark.full]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write tiny versions of the FASTA files of the measurement."""
    letters = np.frombuffer(b"ACGT", np.uint8)
    for name, length in ((gpu_index.CHROMOSOMES, 3000), (gpu_index.ECOLI, 150)):
        bases = letters[np.random.default_rng(length).integers(0, 4, length)].tobytes()
        (tmp_path / Path(name).name).write_bytes(gzip.compress(b">a\n" + bases + b"\n"))
    return tmp_path


@contextmanager
def emulated(_requested: str, _memory: str = "auto"):
    """Replace `use_backend`."""
    yield Backend("gpu", "it is emulated.", "emulated card"), EmulatedCard


def test_every_table_is_printed(data: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "use_backend", emulated)
    monkeypatch.setattr(gpu_index, "REPEATS", 1)
    monkeypatch.setattr(gpu_index, "PAGE_SIZE", 16384)
    options = f"--data {data} --work {data}/work --threads 1 --genome-bases 30000"
    monkeypatch.setattr("sys.argv", ["gpu_index", *options.split()])
    gpu_index.main()
    printed = capsys.readouterr().out
    sorts = re.findall(r"^\| (.+?) \| (\d+) \|.*\| yes \|$", printed, re.MULTILINE)
    assert dict(sorts) == {"chr20+21": "3000", "one base": "3000", "an exact copy": "5400", "E. coli x 20": "3000"}
    assert re.search(r"^\| rank_groups \| \d+ \| [\d.]+ \| [\d.]+% \| - \| - \|$", printed, re.MULTILINE)
    assert len(re.findall(r"^\| page 1 \| [\d.]+ \|$", printed, re.MULTILINE)) == 2
    assert not list((data / "work").iterdir())


def test_an_index_is_built_on_any_backend(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_index, "use_backend", emulated)
    fasta = data / Path(gpu_index.ECOLI).name
    monkeypatch.setattr("sys.argv", ["build_index", str(fasta), str(data / "index")])
    build_index.main()
    opened = open_page(data / "index" / "page_0", Reference.open(data / "index" / "reference"))
    assert (opened.C[4] - 1, opened.sa_sampling, len(opened.suffix_array)) == (150, 1, 151)


def test_a_wrong_suffix_array_is_seen() -> None:
    codes = np.array([0, 1, 0, 1, 3, 0, 1, 0, 1], np.uint8)
    right, card = suffix_array(codes), EmulatedCard()
    assert gpu_index.is_suffix_array(card, codes, card.upload(right))
    for first, second in ((0, 1), (3, 4), (8, 9)):
        wrong = right.copy()
        wrong[[first, second]] = wrong[[second, first]]
        assert not gpu_index.is_suffix_array(card, codes, card.upload(wrong))
    twice = right.copy()
    twice[4] = twice[5]
    for wrong in (twice, right[:-1], right[1:]):
        assert not gpu_index.is_suffix_array(card, codes, card.upload(wrong))
