"""Run the measurement of searching with tiny inputs on the emulated card, with NumPy only."""

import numpy as np
import pytest

from bench import gpu_search
from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

pytestmark = pytest.mark.full

SCRIPT = """
from bench import common, gpu_search
gpu_search.measure(EmulatedCard(), 1e-5, 50, clock, [64, 448])
print([name for name in common._run.figures if "G visits/s: measured" in name])
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert lines[0].startswith("distance 64: 0.000 GB, 19968 rows; 50 queries of 32, 0 without a hit")
    assert [line.split(" | ")[0] for line in lines if line.startswith(("| 64 ", "| 448 "))] == ["| 64", "| 448"]
    assert lines[-1] == str([f"distance {which}, G visits/s: measured" for which in ("448", "<= 192")])


@pytest.mark.parametrize("sampling_distance", [64, 192, 448, 960])
def test_the_random_index_is_one(card, sampling_distance: int) -> None:
    """Counters match the planes, queries occur, and intervals and visits equal those of a stepwise search."""
    page = gpu_search.random_page(card, 9000, sampling_distance)
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

    queries = gpu_search.sample_queries(card, page, 32, 50)
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
    assert card.download(gpu_search.search_packed(card, page, queries, 32)).tolist() == wanted
    assert gpu_search.visits(card, page, queries, 32) == visited
    launch, reads = gpu_search.reader_of_blocks(card, page, 2000)
    launch()  # it is only timed
    assert reads >= 2000
