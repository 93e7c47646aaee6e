"""Maximal exact matches on a card against the CPU's: 12 kb with repeats, other seed lengths and pages."""

from functools import partial

import numpy as np
import pytest
from quire.algorithms.fm_index.gpu import upload_page
from quire.algorithms.mems import Queries, WantedMatches, gpu
from quire.ragged import offsets_from_lengths

from bench.gpu_mems import matches_on_host
from tests.support.card_builders import Host
from tests.support.index_builders import cut_pages
from tests.support.mems_references import find_all, reference_text, repetitive_text

pytestmark = pytest.mark.full

pytest.importorskip("numba", reason="the CPU's matches are found in Numba")


@pytest.fixture(scope="module")
def islands() -> list[np.ndarray]:
    whole = repetitive_text(np.random.default_rng(1), 12_000)
    whole[[500, 501, 4000, 9000]] = 4
    return [whole[:5000], whole[5000:5600], whole[5600:]]


@pytest.mark.parametrize(("min_length", "unique", "owned"), [(14, False, [12_000]), (11, True, [7000, 5000])])
def test_the_same_matches(card, islands, min_length: int, unique: bool, owned: list[int]) -> None:
    from quire.algorithms.mems import cpu

    rng = np.random.default_rng(min_length)
    whole = np.concatenate(islands)
    drawn = [whole[start : start + 300].copy() for start in rng.integers(0, 11_700, 12)]
    for query in drawn:
        query[rng.integers(0, 300, 6)] = rng.integers(0, 5, 6)
    queries = Queries(np.concatenate(drawn), offsets_from_lengths([len(query) for query in drawn]))
    end = len(queries.codes)
    text, codes = reference_text(islands)
    pages = cut_pages(Host(), codes, owned, 40, words_per_block=8, sa_sampling=2, prefix_length=6)
    axis, packed = cpu.prepare_axis(pages, text), cpu.prepare_queries(queries)
    wanted = find_all(partial(cpu.find, axis, packed, WantedMatches(min_length, unique)), end, 1 << 20)
    on_card = [upload_page(card, page) for page in pages]
    laid = gpu.lay(card, gpu.upload_queries(card, queries))
    assert card.download(laid.words).tolist() == packed.words.tolist()
    assert card.download(laid.runs).tolist() == packed.runs.tolist()
    on_card = gpu.MemsCardAxis(on_card, gpu.upload_reference(card, text))
    found = matches_on_host(card, on_card, laid, WantedMatches(min_length, unique), 150)
    rows = [row for piece in found for row in zip(*(array.tolist() for array in piece), strict=True)]
    assert rows == wanted
    assert len(rows) > 50
