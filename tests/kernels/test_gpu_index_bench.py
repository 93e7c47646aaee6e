"""The measurement of indexing runs, on tiny inputs, and would see a wrong suffix array."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from quire.algorithms.suffix_array.oracle import suffix_array

from bench import gpu_index
from tests.kernels.emulated_card import COMPILER, EmulatedCard

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler to run kernels on the CPU")


def test_every_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    letters = np.frombuffer(b"ACGT", np.uint8)
    for name, length in ((gpu_index.CHROMOSOMES, 3000), (gpu_index.ECOLI, 150)):
        bases = letters[np.random.default_rng(length).integers(0, 4, length)].tobytes()
        (tmp_path / Path(name).name).write_bytes(gzip.compress(b">a\n" + bases + b"\n"))
    gpu_index.measure(EmulatedCard(), tmp_path, tmp_path, 30_000, processes=1, page_size=1 << 14, repeats=1)
    printed = capsys.readouterr().out
    sorts = re.findall(r"^\| (.+?) \| (\d+) \|.*\| yes \|$", printed, re.MULTILINE)
    assert dict(sorts) == {"chr20+21": "3000", "one base": "3000", "an exact copy": "5400", "E. coli x 20": "3000"}
    assert re.search(r"^\| rank_groups \| \d+ \| [\d.]+ \|$", printed, re.MULTILINE)
    assert len(re.findall(r"^\| page 1 \| [\d.]+ \|$", printed, re.MULTILINE)) == 2
    assert not list(tmp_path.glob("tmp*"))


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
