"""Steps of a search on a card at all sampling distances, against counting suffixes."""

from contextlib import suppress
from functools import lru_cache

import numpy as np
import pytest
from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, words_of_distance
from quire.algorithms.fm_index.gpu import upload_page
from quire.device.compiler import read_source

from bench.gpu_search import SOURCE, search_packed
from tests.emulator.emulated_card import EmulatedCard, KernelFault
from tests.emulator.laboratory import needs_compiler
from tests.oracles import fm_index as oracle
from tests.support.index_builders import build_index

HEADER = "quire/algorithms/fm_index/fm_index.cuh"


@lru_cache
def texts(distance: int) -> dict[str, np.ndarray]:
    """Return texts whose rows end before, at and after a block border, and repetitive texts."""
    generator = np.random.default_rng(distance)
    lengths = {0, 1, distance - 2, distance - 1, distance, 2 * distance - 1, 2 * distance + 70}
    drawn = {f"random {length}": generator.integers(0, 4, length) for length in sorted(lengths)}
    drawn["one base"] = np.full(distance + 65, 3)
    drawn["copies"] = np.tile(generator.integers(0, 4, 11), distance // 8)
    return {name: codes.astype(np.uint8) for name, codes in drawn.items()}


@lru_cache
def index_of(distance: int, name: str) -> FmIndex:
    return build_index(texts(distance)[name], words_of_distance(distance), prefix_length=2)


@lru_cache
def sorted_suffixes(text: bytes) -> list[bytes]:
    return sorted(text[start:] for start in range(len(text) + 1))


def naive_interval(text: np.ndarray, pattern: np.ndarray) -> tuple[int, int]:
    """Return the interval like oracle.interval, but sort the suffixes once per text."""
    suffixes, wanted = sorted_suffixes(text.tobytes()), pattern.tobytes()
    low = sum(suffix < wanted for suffix in suffixes)
    return low, low + sum(suffix.startswith(wanted) for suffix in suffixes[low:])


def expected(text: np.ndarray, pattern: np.ndarray) -> tuple[int, int]:
    """Return the result of a backward search: the interval of the pattern, or the empty one that it stopped at."""
    rows = (0, len(text) + 1)
    for length in range(1, len(pattern) + 1):
        rows = naive_interval(text, pattern[len(pattern) - length :])
        if rows[0] == rows[1]:
            break
    return rows


def pieces_at_the_primary_row(text: np.ndarray) -> list[np.ndarray]:
    """Return the shortest patterns whose intervals begin at the row of the whole text, or end just before it."""
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
    """Return pieces of a text of 1 to 32 bases, some changed, its ends and single bases; and their intervals."""
    text, generator = texts(distance)[name], np.random.default_rng(len(name))
    patterns = [text[:1], text[:9], text[-9:], np.append(text[-5:], 0)] + [np.array([code]) for code in range(4)]
    for _ in range(20):
        start = generator.integers(0, len(text) + 1)
        piece = text[start : start + generator.integers(0, 33)].copy()
        changed = piece.copy()
        changed[: len(piece) // 3] = generator.integers(0, 4)
        patterns += [piece, changed]
    patterns += [np.append(0, piece)[:32] for piece in pieces_at_the_primary_row(text)]
    patterns = [np.asarray(pattern, np.uint8) for pattern in patterns if len(pattern)]
    return patterns, [expected(text, pattern) for pattern in patterns]


def searched(card, index: FmIndex, patterns: list[np.ndarray]) -> list[tuple[int, int]]:
    """Search patterns on a card, patterns of the same length together."""
    page, found = upload_page(card, index), {}
    for length in {len(pattern) for pattern in patterns}:
        numbers = [number for number, pattern in enumerate(patterns) if len(pattern) == length]
        packed = [sum(int(code) << 2 * i for i, code in enumerate(patterns[number])) for number in numbers]
        rows = card.download(search_packed(card, page, card.upload(np.array(packed, np.uint64)), length))
        found |= dict(zip(numbers, map(tuple, rows.tolist()), strict=True))
    return [found[number] for number in range(len(patterns))]


def test_the_naive_interval_is_the_oracle() -> None:
    text = texts(64)["copies"]
    for pattern, rows in zip(*patterns_of(64, "copies"), strict=True):
        if rows[0] < rows[1]:
            assert rows == naive_interval(text, pattern) == oracle.interval(text, pattern)


@pytest.mark.full
@pytest.mark.parametrize("distance", SAMPLING_DISTANCES)
def test_patterns(card, distance: int) -> None:
    for name in texts(distance):
        patterns, wanted = patterns_of(distance, name)
        assert searched(card, index_of(distance, name), patterns) == wanted, name


STEP_KERNEL = f"""
#include "{HEADER}"
extern "C" __global__ void take_steps(Page page, const i64* low, const i64* high, i64 count, Interval* stepped) {{
    i64 interval = thread_index();
    if (interval >= count) return;
    for (int symbol = 0; symbol < 4; symbol++)
        stepped[4 * interval + symbol] = backward_step(page, symbol, {{low[interval], high[interval]}});
}}
"""


@needs_compiler
@pytest.mark.parametrize("distance", SAMPLING_DISTANCES)
def test_a_step_in_a_page_of_any_block_size(schedule: str, distance: int) -> None:
    """The block size is the page's, not the kernel's; intervals begin and end at the borders of blocks."""
    name, generator = f"random {2 * distance + 70}", np.random.default_rng(3)
    text, index = texts(distance)[name], index_of(distance, name)
    card = EmulatedCard(schedule, texts={"step.cu": STEP_KERNEL})
    bounds = np.sort(generator.integers(0, len(text) + 2, (37, 2)), axis=1).astype(np.int64)
    edges = [0, 1, 63, 64, 65, distance - 1, distance, distance + 1, index.primary, index.primary + 1, len(text) + 1]
    bounds[:11, 0] = edges
    bounds[:11, 1] = np.maximum(edges, bounds[:11, 1])
    stepped, page = card.empty((37, 4, 2), np.int64), upload_page(card, index)
    low, high = card.upload(bounds[:, 0].copy()), card.upload(bounds[:, 1].copy())
    card.kernel("step.cu", "take_steps").for_each(37, page, low, high, 37, stepped, threads=64)
    suffixes = sorted_suffixes(text.tobytes())
    before = [text[len(text) - len(suffix) - 1] if len(suffix) < len(text) else 9 for suffix in suffixes]
    counts = np.array([np.append(0, np.cumsum(np.array(before) == code)) for code in range(4)])
    wanted = [[[index.C[code] + counts[code][row] for row in rows] for code in range(4)] for rows in bounds]
    assert card.download(stepped).tolist() == wanted


@needs_compiler
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("64 * group < high_offset", "64 * group < low_offset"),
        ("low_block != high_block", "false"),
        ("rows.high > primary", "rows.high >= primary"),
        ("64 - count, 0", "63 - count, 0"),
    ],
)
def test_a_wrong_kernel_is_noticed(right: str, wrong: str) -> None:
    """Mutations are detected: an omitted group, an unread second block, a counted sentinel, an extra row."""
    (text, headers), distance, name = read_source(SOURCE), 192, "random 383"
    whole = text.replace(f'#include "{HEADER}"', headers[HEADER])
    assert right in whole
    patterns, wanted = patterns_of(distance, name)
    card = EmulatedCard(texts={SOURCE: whole.replace(right, wrong)})
    with suppress(KernelFault):  # detected by the harness
        assert searched(card, index_of(distance, name), patterns) != wanted
