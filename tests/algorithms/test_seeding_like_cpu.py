"""Seeding on a card against the CPU, on an axis of 40 kb with realistic reads."""

import numpy as np
import pytest
from quire.algorithms.seeding import SeedingParameters
from quire.algorithms.seeding.gpu import find_hits
from quire.align.parameters import LATER_PASSES, LATER_PASSES_ALONE, SEEDING

from tests.support.card_builders import card_reads, download_all, pack
from tests.support.index_builders import build_index
from tests.support.seeding_cases import repetitive_axis, sample_reads

pytestmark = pytest.mark.full

pytest.importorskip("numba", reason="the CPU's seeding runs in Numba")

OVERLAP = 400


@pytest.fixture(scope="module")
def axis() -> np.ndarray:
    rng = np.random.default_rng(40)
    return np.concatenate([repetitive_axis(rng, copies=60, run=300), rng.integers(0, 4, 28_000), repetitive_axis(rng)])


@pytest.mark.parametrize(
    ("owned", "words_per_block", "sa_sampling"), [(1 << 30, 8, 1), (1 << 30, 16, 8), (15_000, 8, 4)]
)
@pytest.mark.parametrize("parameters", [SEEDING, LATER_PASSES_ALONE[1].seeding, LATER_PASSES[2].seeding])
def test_the_same_hits(
    card, axis, owned: int, words_per_block: int, sa_sampling: int, parameters: SeedingParameters
) -> None:
    from quire.algorithms.fm_index.gpu import upload_page
    from quire.algorithms.seeding import cpu
    from quire.reads import Reads

    rng = np.random.default_rng(parameters.stride)
    reads = card_reads(card, sample_reads(rng, axis, rng.choice([36, 100, 150, 151, 250], 250)))
    pages = []
    for start in range(0, len(axis), owned):
        length = min(owned, len(axis) - start)
        text = axis[start : start + length + OVERLAP]
        pages.append(build_index(text, words_per_block, 7, sa_sampling, length, start))
    card_pages, text = [upload_page(card, page) for page in pages], pack(axis)
    host = download_all(card, reads)
    cpu_reads = Reads(
        host.offsets, host.codes, host.word_offsets, host.packed, host.ambiguous.astype(bool), host.name_hash
    )
    offsets, hits = find_hits(card, card_pages, reads, card.upload(text), parameters)
    wanted_offsets, wanted_hits = cpu.find_hits(pages, cpu_reads, text, parameters)
    assert card.download(offsets).tolist() == wanted_offsets.tolist()
    assert card.download(hits).tolist() == wanted_hits.tolist()
