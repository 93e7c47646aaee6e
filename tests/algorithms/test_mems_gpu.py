"""Maximal exact matches on the CPU and on a card against every base compared with every base."""

from functools import lru_cache, partial
from importlib import import_module
from itertools import chain, pairwise

import numpy as np
import pytest
from quire.algorithms.fm_index.gpu import upload_page
from quire.algorithms.mems import Cursor, Queries, WantedMatches, gpu
from quire.device.card import OutOfDeviceMemory
from quire.ragged import offsets_from_lengths
from quire.reference.construction import PAGE_OVERLAP
from quire.sequence.packing import unpack

from bench.gpu_mems import matches_on_host
from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles import mems as oracle
from tests.support.card_builders import Host, reverse_complement
from tests.support.examples import some
from tests.support.index_builders import cut_pages
from tests.support.mems_references import draw_queries, draw_sequence, find_all, reference_text


def queries_of(*sequences) -> Queries:
    """Make queries of these codes."""
    codes = np.concatenate([np.empty(0, np.uint8), *(np.asarray(item, np.uint8) for item in sequences)])
    return Queries(codes, offsets_from_lengths([len(item) for item in sequences]))


def upload_all(card, islands, owned_lengths, overlap, **parameters):
    """Upload an axis."""
    text, codes = reference_text(islands)
    pages = cut_pages(card, codes, owned_lengths or [len(codes)], overlap, **parameters)
    if isinstance(card, Host):
        return import_module("quire.algorithms.mems.cpu").prepare_axis(pages, text)
    return gpu.MemsCardAxis(pages, gpu.upload_reference(card, text))


def setter_of_seeds(patch: pytest.MonkeyPatch):
    """Return a function that sets the length of seeds."""
    return lambda length: patch.setattr(gpu, "seed_length", lambda min_length: min(length, min_length))


@pytest.fixture
def seeds_of(monkeypatch):
    """Return a function that sets the length of seeds."""
    return setter_of_seeds(monkeypatch)


def searcher(card, axis, queries, min_length, unique):
    """Return `find` with all but its last three arguments bound, giving arrays of the host."""
    if isinstance(card, Host):
        cpu = import_module("quire.algorithms.mems.cpu")
        return partial(cpu.find, axis, cpu.prepare_queries(queries), WantedMatches(min_length, unique))
    laid = gpu.lay(card, gpu.upload_queries(card, queries))

    def find(begin, end, limit):
        matches, cursor = gpu.find(card, axis, laid, WantedMatches(min_length, unique), begin, end, limit)
        return type(matches)(*map(card.download, matches)), cursor

    return find


def expected(islands, queries, min_length, unique) -> list[tuple[int, int, int]]:
    """Return the oracle's matches."""
    key = b"|".join([island.tobytes() for island in islands])
    return _expected(key, queries.codes.tobytes(), tuple(queries.offsets.tolist()), min_length, unique)


@lru_cache(None)
def _expected(islands: bytes, codes: bytes, offsets: tuple[int, ...], min_length: int, unique: bool):
    """Cache the oracle's answer, which every schedule requests."""
    parts = [np.frombuffer(island, np.uint8) for island in islands.split(b"|")]
    queries = Queries(np.frombuffer(codes, np.uint8), np.array(offsets, np.int64))
    matches = oracle.maximal_matches(parts, queries, min_length)
    return oracle.unique_in_reference(matches, parts, queries) if unique else matches


def check(card, islands, queries, min_length, unique=False, limit=10_000, owned=None, pieces=(), **index):
    """Compare with the oracle; return the number of matches."""
    index = {"prefix_length": 4, **index}
    axis = upload_all(card, islands, owned, min_length + 3, **index)
    find = searcher(card, axis, queries, min_length, unique)
    found = find_all(find, int(queries.offsets[-1]), limit, pieces)
    assert found == expected(islands, queries, min_length, unique)
    return len(found)


# kind, min_length, bases of a seed, bases that each page owns (None: one page), limit, index
CASES = [
    ("four", 1, 1, None, 700, {}),
    ("ambiguous", 2, 2, [11, 19], 30, {}),
    ("two", 3, 2, None, 40, {"sa_sampling": 3}),
    ("two", 5, 2, [30, 1, 29], 60, {"words_per_block": 8}),
    ("one", 6, 6, [25, 35], 45, {}),
    ("repeats", 8, 5, [50, 70], 1000, {"words_per_block": 16}),
    ("repeats", 12, 4, None, 1000, {"words_per_block": 32, "sa_sampling": 3}),
    ("repeats", 20, 20, [119, 1], 1000, {}),
]


@pytest.mark.full
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize(("kind", "min_length", "seed", "owned", "limit", "index"), CASES)
def test_matches_of_the_oracle(card_or_cpu, seeds_of, kind, min_length, seed, owned, limit, index, unique) -> None:
    seeds_of(seed)
    rng = np.random.default_rng(min_length)
    total = sum(owned) if owned else 120 if min_length > 6 else 50
    first = total // 3
    islands = [draw_sequence(rng, kind, size) for size in (first, total - first)]
    queries = draw_queries(rng, islands, 4, total, kind)
    pieces = [int(queries.offsets[-1]) // 2]
    assert check(card_or_cpu, islands, queries, min_length, unique, limit, owned, pieces, **index) or unique


def repeats(rng) -> list[np.ndarray]:
    """Return two islands with copies of a unit, a run of one letter and some ambiguous bases."""
    unit = rng.integers(0, 4, 60)
    copies = [unit.copy() for _ in range(5)]
    for copy in copies:
        copy[rng.integers(0, 60, 2)] = rng.integers(0, 4, 2)
    whole = np.concatenate([rng.integers(0, 4, 90), *copies, np.zeros(70, np.int64), rng.integers(0, 4, 40)])
    whole[[30, 200, 201]] = 4
    return [whole[:170].astype(np.uint8), whole[170:].astype(np.uint8)]


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("owned", [None, [150, 200, 150]])
def test_seeds_of_any_length_give_the_same(card_or_cpu, seeds_of, owned, unique) -> None:
    rng = np.random.default_rng(3)
    islands = repeats(rng)
    whole = np.concatenate(islands)
    changed = whole[60:400].copy()
    changed[::29] = 4
    queries = queries_of(changed, [], [4], whole[171:420], [0] * 90, rng.integers(0, 4, 9))
    for length in (9, 13, 17):
        seeds_of(length)
        assert check(card_or_cpu, islands, queries, 17, unique, owned=owned) > 5


@pytest.mark.parametrize("owned", [None, [1000, 880]])
def test_matches_longer_than_one_thread_compares(card_or_cpu, seeds_of, owned) -> None:
    """The reference is its own query with one base changed, at ends of queries, of runs, and inside."""
    rng = np.random.default_rng(4)
    islands = [rng.integers(0, 4, 1800).astype(np.uint8), rng.integers(0, 4, 80).astype(np.uint8)]
    whole = np.concatenate(islands)
    cap = 60 + gpu.DEFINES["LOOK_AHEAD"]  # bases that a thread compares from a seed on
    lengths = [cap - 1, cap, cap + 1, cap + 31, cap + 32, cap + 33, cap + 1023, cap + 1024, cap + 1025]
    queries = [np.append(whole[7 : 7 + length], 3 - whole[7 + length]) for length in lengths]
    starts = np.cumsum([0, *map(len, queries)]).tolist()
    wanted = [(start, 7, length) for start, length in zip(starts, lengths, strict=False)]
    wanted += [(starts[-1], 0, 1800), (starts[-1] + 1800, 1800, 80), (starts[-1] + 1880, 1700, 100)]
    given = queries_of(*queries, whole, whole[1700:1800])
    axis = upload_all(card_or_cpu, islands, owned, 70, prefix_length=4)
    seeds_of(20)
    for unique in (False, True):
        find = searcher(card_or_cpu, axis, given, 60, unique)
        assert find_all(find, int(given.offsets[-1]), 10_000) == wanted  # no repeat of 60 bases occurs by chance


@pytest.mark.parametrize(("limit", "seed"), [(1, 4), (9, 3), (300, 4)])
def test_a_reference_of_one_letter(card_or_cpu, seeds_of, limit: int, seed: int) -> None:
    """One base of the query has as many matches as the reference has bases, so pieces end within a base's matches."""
    islands, queries = [np.zeros(20, np.uint8)], queries_of([0] * 7, [0] * 4, [1] * 9, [0] * 3)
    seeds_of(seed)
    assert check(card_or_cpu, islands, queries, 4, limit=limit) == 17 + 3 + 17
    assert check(card_or_cpu, islands, queries, 4, unique=True, limit=limit) == 0


def test_places_that_are_none(card_or_cpu, seeds_of) -> None:
    """Matches never continue across a border of islands or an ambiguous base."""
    rng = np.random.default_rng(14)
    words = [rng.integers(0, 4, 16).astype(np.uint8) for _ in range(15)]
    islands = [np.concatenate(words)]
    for cut, word in enumerate(words, start=1):
        islands[-1] = np.concatenate([islands[-1], rng.integers(0, 4, 9), word[:cut]]).astype(np.uint8)
        islands.append(np.concatenate([word[cut:], rng.integers(0, 4, 9)]).astype(np.uint8))
    # After two changed bases, matches begin between two seeds.
    later = [np.append(3 - word[:2], word) for word in words]
    queries = queries_of(*words, *(word[1:] for word in words), *later)
    for seed in (8, 6):
        seeds_of(seed)
        for unique in (False, True):
            assert check(card_or_cpu, islands, queries, 8, unique, owned=[300, sum(map(len, islands)) - 300]) >= 29


@pytest.mark.full
def test_the_one_other_place_among_many_hits(card_or_cpu, seeds_of) -> None:
    """Seventy words that share a seed are on both pages, in different orders and rows."""
    rng = np.random.default_rng(15)
    seed = rng.integers(0, 4, 8)
    words = [np.concatenate([seed, rng.integers(0, 4, 12)]) for _ in range(70)]
    order = rng.permutation(len(words))
    islands = [np.concatenate([words[i] for i in numbers]).astype(np.uint8) for numbers in (range(70), order)]
    queries = queries_of(*words)
    seeds_of(8)
    assert check(card_or_cpu, islands, queries, 20, owned=[1400, 1400]) == 140
    assert check(card_or_cpu, islands, queries, 20, unique=True, owned=[1400, 1400]) == 0
    assert check(card_or_cpu, islands, queries, 20, unique=True) == 0


@pytest.mark.parametrize("min_length", [1, 20])
def test_nothing_to_find(card_or_cpu, min_length: int) -> None:
    known, unknown = [np.zeros(30, np.uint8)], [np.full(30, 4, np.uint8)]
    for islands in (known, unknown):
        for queries in (queries_of(), queries_of([], []), queries_of([4, 4], [4]), queries_of([1] * 40)):
            assert check(card_or_cpu, islands, queries, min_length) == 0
    assert check(card_or_cpu, known, queries_of([0] * 19), 20) == 0


def test_seeds_are_possible_at_every_length() -> None:
    """A hit belongs to the page of its first base, which must contain the whole hit."""
    for min_length in (1, 2, 10, 11, 14, 20, 50, 100, 1000, 1 << 30):
        assert 1 <= gpu.seed_length(min_length) <= min(min_length, PAGE_OVERLAP)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 64, 100])
def test_queries_are_packed_and_turned(card, length: int) -> None:
    rng = np.random.default_rng(length)
    for offsets in ([0, length], [0, 0, length // 2, length // 2, length], [0, length // 3, length, length]):
        codes = rng.integers(0, 5, length).astype(np.uint8)
        codes[rng.random(length) < 0.6] = 2
        given = gpu.upload_queries(card, Queries(codes, np.array(offsets, np.int64)))
        pieces = [codes[begin:end] for begin, end in pairwise(offsets)]
        reverse = [reverse_complement(piece.tolist()) for piece in pieces]
        turned = gpu.turn(card, given)
        assert card.download(turned.codes).tolist() == list(chain(*reverse))
        for queries, sequences in ((given, [piece.tolist() for piece in pieces]), (turned, reverse)):
            laid = gpu.lay(card, queries)
            flat = np.array(list(chain(*sequences)), np.uint8)
            assert laid.length == length
            assert unpack(card.download(laid.words), 0, length).tolist() == np.where(flat > 3, 0, flat).tolist()
            begins, ends = set(), set()
            for begin, sequence in zip(offsets[:-1], sequences, strict=True):
                for i, code in enumerate(sequence):
                    if code <= 3:
                        begins |= {begin + i} if i == 0 or sequence[i - 1] > 3 else set()
                        ends |= {begin + i + 1} if i + 1 == len(sequence) or sequence[i + 1] > 3 else set()
            assert card.download(laid.runs).tolist() == [
                list(run) for run in zip(sorted(begins), sorted(ends), strict=True)
            ]


class Cycled:
    """Pages that are uploaded in turn, and overwritten when the next one is requested."""

    def __init__(self, card, indexes) -> None:
        self.card, self.indexes = card, indexes

    def __len__(self) -> int:
        return len(self.indexes)

    def __iter__(self):
        for index in self.indexes:
            page = upload_page(self.card, index)
            yield page
            for array in (page.blocks, page.prefix_table, page.suffix_array):
                array[:] = 0


@pytest.mark.parametrize("unique", [False, True])
def test_pages_that_come_and_go(card, unique: bool) -> None:
    rng = np.random.default_rng(9)
    islands = repeats(rng)
    text, codes = reference_text(islands)
    pages = Cycled(card, cut_pages(Host(), codes, [200, len(codes) - 200], 15, prefix_length=4))
    queries = queries_of(np.concatenate(islands)[40:330])
    axis = gpu.MemsCardAxis(pages, gpu.upload_reference(card, text))
    find = searcher(card, axis, queries, 12, unique)
    assert find_all(find, int(queries.offsets[-1]), 10_000) == expected(islands, queries, 12, unique)


def test_windows_of_few_seeds(card, seeds_of, monkeypatch) -> None:
    """Matches of a window are sorted by one word, which is made short here."""
    rng = np.random.default_rng(10)
    islands = repeats(rng)
    queries = queries_of(np.concatenate(islands)[20:300], [0] * 40)
    monkeypatch.setattr(gpu, "KEY_BITS", 14)
    seeds_of(10)
    assert check(card, islands, queries, 14, unique=True) == 3
    monkeypatch.setattr(gpu, "SEEDS_PER_WINDOW", 3)
    monkeypatch.setattr(gpu, "MOST_STEP", 2)
    assert check(card, islands, queries, 14) > 30


def test_pieces_on_the_host(card) -> None:
    """A piece stays valid until the next piece but one is requested."""
    rng = np.random.default_rng(11)
    islands = repeats(rng)
    queries = queries_of(np.concatenate(islands)[20:300], [0] * 40)
    axis = upload_all(card, islands, None, 0, prefix_length=4)
    laid = gpu.lay(card, gpu.upload_queries(card, queries))
    found, last = [], None
    for matches in matches_on_host(card, axis, laid, WantedMatches(14, False), 30):
        assert 0 < len(matches.start) <= 30
        for piece in [last, matches] if last else [matches]:
            rows = list(zip(*(array.tolist() for array in piece), strict=True))
            found = found[: -len(rows)] + rows if piece is last else found + rows
        last = matches
    assert found == expected(islands, queries, 14, False)


@needs_compiler
@pytest.mark.parametrize("cuts", some(1, [2, 1]))
def test_memory_is_what_was_planned(cuts: int) -> None:
    """Nearly every seed has a hit and every hit is a match, so a limit needs all the memory planned for it."""
    rng = np.random.default_rng(12)
    islands = [rng.integers(0, 4, 6000).astype(np.uint8)]
    whole = islands[0]
    queries = queries_of(*(whole[start : start + 12] for start in range(0, 5980, 2)))
    for limit in (1024, 2048):
        card = EmulatedCard()
        axis = upload_all(card, islands, [6000 // cuts] * cuts, 12, prefix_length=5)
        laid = gpu.lay(card, gpu.upload_queries(card, queries))
        before = card.arrays.taken
        card.arrays.most_taken = before
        pieces = list(matches_on_host(card, axis, laid, WantedMatches(12, True), limit))
        taken = card.arrays.most_taken - before - 16 * len(laid.runs)  # without the runs' seeds, part of the queries
        planned = limit * gpu.bytes_per_match(cuts)
        assert sum(len(piece.start) for piece in pieces) > 2900
        assert 0.5 * planned < taken <= planned + 20 * 512


@needs_compiler
def test_a_card_that_is_full_says_so() -> None:
    """Any allocation may fail; with a smaller limit the answer is the same."""
    rng = np.random.default_rng(13)
    islands = repeats(rng)
    queries = queries_of(np.concatenate(islands)[20:200])
    card = EmulatedCard()
    axis = upload_all(card, islands, None, 0, prefix_length=4)
    laid = gpu.lay(card, gpu.upload_queries(card, queries))
    wanted = expected(islands, queries, 14, True)
    failed = 0
    for number in range(1, 100):
        card.fail_allocation(number)
        try:
            gpu.find(card, axis, laid, WantedMatches(14, True), Cursor(0, 0), laid.length, 1000)
        except OutOfDeviceMemory:
            failed += 1
            continue
        break
    assert 15 < failed == number - 1
    card.fail_allocation(0)
    found = list(matches_on_host(card, axis, laid, WantedMatches(14, True), 7))
    assert [row for piece in found for row in zip(*(array.tolist() for array in piece), strict=True)] == wanted
