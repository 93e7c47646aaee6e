"""Searching an FM-index on a card in all designs, at all sampling distances, against counting suffixes."""

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, oracle, words_of_distance
from quire.algorithms.fm_index.gpu import CardPage, intervals, search_packed, upload_page
from quire.algorithms.fm_index.tuning.designs import Design, designs
from quire.device.compiler import read_source

from tests.emulator.emulated_card import SCHEDULES, EmulatedCard, KernelFault
from tests.emulator.laboratory import needs_compiler
from tests.support.index_builders import build_index

K = 2  # of the prefix table
HEADER = "quire/algorithms/fm_index/fm_index.cuh"
SEARCH = "quire/algorithms/fm_index/search.cu"


def cases() -> list:
    """Every design at every distance; streaming changes nothing but speed, so that one of each pair will do here."""
    return [
        pytest.param(distance, design, id=f"{distance}-{design.kind}-{design.lanes}")
        for distance in SAMPLING_DISTANCES
        for design in designs(words_of_distance(distance))
        if not design.stream or design.kind == "memory"
    ]


@lru_cache
def texts(distance: int) -> dict[str, np.ndarray]:
    """Texts whose rows end before, at and behind the border of a block, and repetitive ones."""
    generator = np.random.default_rng(distance)
    lengths = {0, 1, distance - 2, distance - 1, distance, 2 * distance - 1, 2 * distance + 70}
    drawn = {f"random {length}": generator.integers(0, 4, length) for length in sorted(lengths)}
    drawn["one base"] = np.full(distance + 65, 3)
    drawn["copies"] = np.tile(generator.integers(0, 4, 11), distance // 8)
    return {name: codes.astype(np.uint8) for name, codes in drawn.items()}


@lru_cache
def index_of(distance: int, name: str) -> FmIndex:
    """With the prefix table as the CPU makes it: absent k-mers too have the place where they would stand."""
    text = texts(distance)[name]
    kmers = [np.array([kmer >> 2, kmer & 3], np.uint8) for kmer in range(4**K)]
    table = np.array([naive_interval(text, kmer) for kmer in kmers], np.uint32)
    return replace(build_index(text, words_of_distance(distance), prefix_length=K), prefix_table=table)


@lru_cache
def sorted_suffixes(text: bytes) -> list[bytes]:
    return sorted(text[start:] for start in range(len(text) + 1))


def naive_interval(text: np.ndarray, pattern: np.ndarray) -> tuple[int, int]:
    """Like oracle.interval, with the suffixes sorted once a text."""
    suffixes, wanted = sorted_suffixes(text.tobytes()), pattern.tobytes()
    low = sum(suffix < wanted for suffix in suffixes)
    return low, low + sum(suffix.startswith(wanted) for suffix in suffixes[low:])


def expected(text: np.ndarray, pattern: np.ndarray, k: int) -> tuple[int, int]:
    """What a backward search gives: the interval of the pattern, or the empty one that it stopped at."""
    if (pattern > 3).any():
        return 0, 0
    rows = (0, len(text) + 1)
    for length in range(k if len(pattern) >= k else 1, len(pattern) + 1):
        rows = naive_interval(text, pattern[len(pattern) - length :])
        if rows[0] == rows[1]:
            break
    return rows


def pieces_at_the_primary_row(text: np.ndarray) -> list[np.ndarray]:
    """Shortest patterns whose intervals begin at the row of the whole text, and end just before it."""
    suffixes = sorted_suffixes(text.tobytes())
    primary = suffixes.index(text.tobytes())
    before, pieces = suffixes[max(primary - 1, 0)], []
    for piece in (text.tobytes(), before):
        starts = [piece[:length] for length in range(len(piece) + 1)]
        apart = [start for start in starts if before.startswith(start) != text.tobytes().startswith(start)]
        pieces += [np.frombuffer(shortest, np.uint8) for shortest in apart[:1]]
    return pieces


@lru_cache
def patterns_of(distance: int, name: str) -> tuple[list[np.ndarray], list[tuple[int, int]]]:
    """Pieces of a text, some changed or with an N, its ends, single bases, the empty pattern; and their intervals."""
    text, generator = texts(distance)[name], np.random.default_rng(len(name))
    patterns = [text[:0], text[:1], text[:9], text[-9:], np.append(text[-5:], 0), np.append(4, text[:3])]
    patterns += [np.array([code]) for code in range(4)] + [np.array([4]), np.array([1, 255, 1])]
    for _ in range(20):
        start = generator.integers(0, len(text) + 1)
        piece = text[start : start + generator.integers(0, 18)].copy()
        changed = piece.copy()
        changed[: len(piece) // 3] = generator.integers(0, 5)
        patterns += [piece, changed]
    patterns += [np.append(0, piece) for piece in pieces_at_the_primary_row(text)]
    patterns = [np.asarray(pattern, np.uint8) for pattern in patterns]
    return patterns, [expected(text, pattern, K) for pattern in patterns]


def searched(card, index: FmIndex, patterns: list[np.ndarray], design: Design | None) -> list[tuple[int, int]]:
    offsets = np.cumsum([0] + [len(pattern) for pattern in patterns]).astype(np.int64)
    flat = np.concatenate([*patterns, np.empty(0)]).astype(np.uint8)
    page = upload_page(card, index, 0, index.length)
    found = intervals(card, page, card.upload(flat), card.upload(offsets), design)
    return [tuple(row) for row in card.download(found).tolist()]


def pack(queries: list[np.ndarray]) -> np.ndarray:
    return np.array([sum(int(code) << 2 * i for i, code in enumerate(query)) for query in queries], np.uint64)


def test_the_naive_interval_is_the_oracle() -> None:
    text = texts(64)["copies"]
    for pattern, rows in zip(*patterns_of(64, "copies"), strict=True):
        if rows[0] < rows[1]:
            assert rows == naive_interval(text, pattern) == oracle.interval(text, pattern)


@pytest.mark.parametrize(("distance", "design"), cases())
def test_patterns(card, distance: int, design: Design) -> None:
    for name in texts(distance):
        patterns, wanted = patterns_of(distance, name)
        assert searched(card, index_of(distance, name), patterns, design) == wanted, name


@pytest.mark.parametrize(("distance", "design"), cases())
def test_packed_queries(card, distance: int, design: Design) -> None:
    name, generator = f"random {2 * distance + 70}", np.random.default_rng(7)
    text, page = texts(distance)[name], upload_page(card, index_of(distance, name), 0, 1)
    for length, count in ((1, 5), (2, 16), (32, 41)):
        starts = generator.integers(0, len(text) - length + 1, count)
        queries = [text[start : start + length].copy() for start in starts]
        for query in queries[::4]:
            query[: length // 2] = generator.integers(0, 4, length // 2)
        found = card.download(search_packed(card, page, card.upload(pack(queries)), length, design))
        assert [tuple(row) for row in found.tolist()] == [expected(text, query, 1) for query in queries]


def test_nothing_to_search(card) -> None:
    index = index_of(64, "random 63")
    assert searched(card, index, [], None) == []
    with pytest.raises(ValueError, match="1 to 32 bases, not 33"):
        search_packed(card, upload_page(card, index, 0, 1), card.upload(np.zeros(1, np.uint64)), 33)


GROUP_KERNEL = f"""
#include "{HEADER}"
extern "C" __global__ void step_groups(Page page, const i64* low, const i64* high, i64 count, i64* stepped) {{
    i64 interval = thread_index() / LANES;
    bool active = interval < count;
    for (int symbol = 0; symbol < 4; symbol++) {{
        Interval rows = {{active ? low[interval] : 0, active ? high[interval] : 0}};
        Interval group = backward_step_group<LANES>(page, symbol, rows, active, threadIdx.x % LANES);
        if (!active) continue;
        Interval alone = backward_step(page, symbol, rows);
        i64* mine = stepped + 4 * (interval * 4 + symbol);
        if (threadIdx.x % LANES == LANES - 1) {{
            mine[0] = group.low; mine[1] = group.high; mine[2] = alone.low; mine[3] = alone.high;
        }}
    }}
}}
"""


@needs_compiler
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("distance", SAMPLING_DISTANCES)
def test_a_step_by_a_group_of_any_page(schedule: str, distance: int) -> None:
    """As other kernels take steps: the block size is the page's, four lanes even where a block has two units."""
    name, generator = f"random {2 * distance + 70}", np.random.default_rng(3)
    text, index = texts(distance)[name], index_of(distance, name)
    card = EmulatedCard(schedule, texts={"group.cu": GROUP_KERNEL})
    bounds = np.sort(generator.integers(0, len(text) + 2, (37, 2)), axis=1).astype(np.int64)
    edges = [0, 1, 63, 64, 65, distance - 1, distance, distance + 1, index.primary, index.primary + 1, len(text) + 1]
    bounds[:11, 0] = edges
    bounds[:11, 1] = np.maximum(edges, bounds[:11, 1])
    stepped = card.empty((37, 4, 4), np.int64)
    page: CardPage = upload_page(card, index, 0, 1)
    low, high = card.upload(bounds[:, 0].copy()), card.upload(bounds[:, 1].copy())
    card.kernel("group.cu", "step_groups", LANES=4).for_each(37 * 4, page, low, high, 37, stepped, threads=64)
    suffixes = sorted_suffixes(text.tobytes())
    before = [text[len(text) - len(suffix) - 1] if len(suffix) < len(text) else 9 for suffix in suffixes]
    counts = np.array([np.append(0, np.cumsum(np.array(before) == code)) for code in range(4)])
    wanted = [[[index.C[code] + counts[code][row] for row in rows] * 2 for code in range(4)] for rows in bounds]
    assert card.download(stepped).tolist() == wanted


FULL, MEMORY = Design("full", 4, False), Design("memory", 4, True)


@needs_compiler
@pytest.mark.parametrize(
    ("design", "right", "wrong"),
    [
        (FULL, "counter_of(units[0], symbol), 0, lanes)", "counter_of(units[0], symbol), 0, 32)"),
        (FULL, "both, distance, lanes)", "both, distance, 2)"),
        (FULL, "low_block != high_block", "false"),
        (FULL, "rows.high > primary", "rows.high >= primary"),
        (MEMORY, "    __syncwarp();\n}", "}"),
    ],
)
def test_a_wrong_kernel_is_noticed(design: Design, right: str, wrong: str) -> None:
    """A shuffle of a wrong width, a second block not read, a row that counts the sentinel, a barrier left out."""
    (text, headers), distance, name = read_source(SEARCH), 192, "random 383"
    whole = text.replace(f'#include "{HEADER}"', headers[HEADER])
    assert right in whole
    patterns, wanted = patterns_of(distance, name)
    card = EmulatedCard(texts={SEARCH: whole.replace(right, wrong)})
    design.kernel(card, "search_patterns", words_of_distance(distance))  # it compiles
    with suppress(KernelFault):  # noticed by the harness
        assert searched(card, index_of(distance, name), patterns, design) != wanted
