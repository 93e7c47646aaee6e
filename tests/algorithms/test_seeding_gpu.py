"""Seeding on the CPU and on a card against a scan of the axis. Blocks of 8 words: test_seeding_like_cpu.py."""

import weakref

import numpy as np
import pytest
from quire.algorithms.fm_index.gpu import upload_page
from quire.algorithms.seeding import DEEPEST, SeedingParameters
from quire.algorithms.seeding.gpu import MOST_HITS, MOST_PAGES, PLANNED_HITS, bytes_per_read, find_hits

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles import seeding as oracle
from tests.support.card_builders import Host, card_reads, pack, reverse_complement, twin
from tests.support.examples import some
from tests.support.index_builders import build_index, cut_pages
from tests.support.seeding_cases import count_cases, expected, repetitive_axis, sample_reads

OVERLAP = DEEPEST
RAREST = {"rarest", "many rows of a rarest", "rarest beside hits", "too frequent beside hits"}
CASES = {"first depth", "deeper", "frequent", "ambiguous", *RAREST}


def check(card, pages, axis, sequences, parameters: SeedingParameters) -> list[list[int]]:
    """Compare with the oracle; return the hits of each read."""
    reads, text = card_reads(card, sequences), pack(axis)
    offsets, hits = twin(card, "quire.algorithms.seeding", "find_hits")(pages, reads, card.upload(text), parameters)
    offsets, hits = card.download(offsets), card.download(hits)
    assert offsets.dtype == np.int64
    assert hits.dtype == np.uint64
    assert len(hits) == offsets[-1]
    found = [hits[offsets[read] : offsets[read + 1]].tolist() for read in range(len(sequences))]
    assert found == expected(axis, sequences, parameters)
    return found


def one_page(card, axis, **parameters):
    return cut_pages(card, axis, [len(axis)], 0, **parameters)


@pytest.mark.parametrize(
    ("parameters", "index"),
    [
        (SeedingParameters(20, 3), {"words_per_block": 4, "prefix_length": 5, "sa_sampling": 1}),
        (SeedingParameters(5, 12, 16), {"words_per_block": 32, "prefix_length": 6, "sa_sampling": 4}),
        (SeedingParameters(20, 1), {"words_per_block": 4, "prefix_length": 4, "sa_sampling": 4}),
        (SeedingParameters(10, 12, 16), {"words_per_block": 32, "prefix_length": 8, "sa_sampling": 1}),
    ],
)
def test_one_page(card_or_cpu, parameters, index) -> None:
    rng = np.random.default_rng(parameters.stride + parameters.maximum_hits)
    axis = repetitive_axis(rng)
    sequences = [*sample_reads(rng, axis, rng.integers(15, 160, 30)), [0] * 90, [3] * 90, [0] * 70 + [4] + [0] * 25]
    sequences.append(axis[-370:-270].tolist())  # the run of one letter, and its unique continuation
    assert set(+count_cases(axis, sequences, parameters)) == CASES
    check(card_or_cpu, one_page(card_or_cpu, axis, **index), axis, sequences, parameters)


class InTurn:
    """Pages that are not known to be on the card together."""

    def __init__(self, pages: list) -> None:
        self.pages = pages

    def __len__(self) -> int:
        return len(self.pages)

    def __iter__(self):
        return iter(self.pages)


@pytest.mark.parametrize("together", some(1, [False, True]))
@pytest.mark.parametrize(
    ("cuts", "parameters", "index"),
    [
        ([0.5], SeedingParameters(20, 3), {"words_per_block": 4, "prefix_length": 6}),
        (
            [0.1, 0.3, 0.3001, 0.83, 0.9],
            SeedingParameters(10, 12, 16),
            {"words_per_block": 32, "prefix_length": 4, "sa_sampling": 4},
        ),
        ([0.2, 0.8, 0.999], SeedingParameters(20, 2), {"words_per_block": 4, "prefix_length": 5}),
    ],
)
def test_pages_cut_anywhere(card_or_cpu, together, cuts, parameters, index) -> None:
    rng = np.random.default_rng(len(cuts))
    axis = repetitive_axis(rng)
    borders = [0, *(int(cut * len(axis)) for cut in cuts), len(axis)]
    pages = cut_pages(card_or_cpu, axis, np.diff(borders).tolist(), OVERLAP, **index)
    sequences = [*sample_reads(rng, axis, rng.integers(15, 160, 25)), [0] * 90, [3] * 90, axis[-370:-270].tolist()]
    for border in borders[1:-1]:
        sequences += [axis[max(border - 30, 0) :][:80].tolist(), axis[max(border - 64, 0) :][:64].tolist()]
    assert set(+count_cases(axis, sequences, parameters)) == CASES
    check(
        card_or_cpu, pages if together or isinstance(card_or_cpu, Host) else InTurn(pages), axis, sequences, parameters
    )


def test_many_small_pages(card_or_cpu) -> None:
    """There are more pages than are searched together, and the next page owns most rows, also those of rarest seeds."""
    rng = np.random.default_rng(11)
    axis = repetitive_axis(rng, copies=4, run=200)
    owned = [40] * (len(axis) // 40)
    pages = cut_pages(card_or_cpu, axis, [*owned, len(axis) - sum(owned)], 2 * OVERLAP, prefix_length=4)
    assert len(pages) > MOST_PAGES
    sequences, parameters = [[0] * 90, *sample_reads(rng, axis, [100] * 6)], SeedingParameters(20, 60)
    assert count_cases(axis, sequences, parameters)["rarest"]
    check(card_or_cpu, pages, axis, sequences, parameters)


def test_pages_of_different_blocks(card_or_cpu) -> None:
    rng = np.random.default_rng(12)
    axis = repetitive_axis(rng, copies=4, run=80)
    pages = [
        cut_pages(card_or_cpu, axis, [700, len(axis) - 700], OVERLAP, words_per_block=words)[number]
        for number, words in enumerate((4, 32))
    ]
    check(card_or_cpu, pages, axis, sample_reads(rng, axis, [100] * 8), SeedingParameters(20, 3))


@pytest.mark.parametrize("stride", [20, 5])
@pytest.mark.parametrize("cuts", [1, 2])
def test_reads_of_all_lengths(card_or_cpu, stride: int, cuts: int) -> None:
    rng = np.random.default_rng(stride)
    axis = repetitive_axis(rng, copies=14, run=100)
    lengths = [0, 1, 19, 20, 21, 39, 40, 41, 63, 64, 65, 300, 0, 20 + 62 * 5, 1281, 1700]
    parameters = SeedingParameters(stride, 12)
    first = len(axis) // cuts
    pages = cut_pages(card_or_cpu, axis, [first, len(axis) - first][:cuts], OVERLAP)
    found = check(card_or_cpu, pages, axis, sample_reads(rng, axis, lengths), parameters)
    assert [] in found
    if stride == 5:  # so many that they are sorted in place
        assert max(map(len, found)) > 256


def test_ambiguous_bases_shorten_seeds(card_or_cpu) -> None:
    rng = np.random.default_rng(7)
    axis = rng.integers(0, 4, 400)
    sequences = []
    for place in [0, 1, 18, 19, 20, 21, 39, 40, 41, 75, 76, 77, 79]:
        read = axis[100:180].tolist()
        read[place] = 4
        sequences.append(read)
    check(card_or_cpu, one_page(card_or_cpu, axis), axis, [*sequences, [4] * 80], SeedingParameters(20, 32))


def test_an_axis_shorter_than_a_seed(card_or_cpu) -> None:
    axis = np.array([0, 1, 2, 3, 0, 1, 2])
    check(
        card_or_cpu,
        one_page(card_or_cpu, axis),
        axis,
        [[0, 1, 2, 3, 0, 1, 2, 3] * 5, [0] * 30],
        SeedingParameters(20, 32),
    )


def test_no_reads(card_or_cpu) -> None:
    axis = np.random.default_rng(1).integers(0, 4, 100)
    assert check(card_or_cpu, one_page(card_or_cpu, axis), axis, [], SeedingParameters(20, 32)) == []
    assert check(card_or_cpu, one_page(card_or_cpu, axis), axis, [[0, 1, 2], []], SeedingParameters(20, 32)) == [[], []]


class Cycled:
    """Pages that are uploaded in turn, and overwritten when the next one is requested."""

    def __init__(self, card, axis, owned: int) -> None:
        self.card, self.axis, self.owned = card, axis, owned
        self.visits = 0

    def __len__(self) -> int:
        return -(-len(self.axis) // self.owned)

    def __iter__(self):
        for start in range(0, len(self.axis), self.owned):
            owned = min(self.owned, len(self.axis) - start)
            index = build_index(self.axis[start : start + owned + OVERLAP], owned_length=owned, start=start)
            page = upload_page(self.card, index)
            self.visits += 1
            yield page
            for array in (page.blocks, page.prefix_table, page.suffix_array):
                array[:] = 0


@pytest.mark.parametrize("owned", [400, 10000])
def test_pages_that_come_and_go_are_visited_twice_at_most(card, owned: int) -> None:
    rng = np.random.default_rng(9)
    axis = repetitive_axis(rng, copies=5, run=80)
    pages = Cycled(card, axis, owned)
    check(card, pages, axis, sample_reads(rng, axis, [100] * 10), SeedingParameters(20, 4))
    assert pages.visits == (1 if len(pages) == 1 else 2 * len(pages))


@pytest.mark.parametrize("maximum_hits", [0, MOST_HITS + 1])
def test_a_cap_beyond_shared_memory_is_refused(card, maximum_hits: int) -> None:
    with pytest.raises(ValueError, match="maximum_hits"):
        find_hits(card, [], card_reads(card, [[0] * 30]), None, SeedingParameters(20, maximum_hits))


class CountingCard(EmulatedCard):
    """A card that records the peak of the bytes of its arrays."""

    taken = most = 0

    def _count(self, array):
        self.taken += array.nbytes
        self.most = max(self.most, self.taken)
        weakref.finalize(array, self._release, array.nbytes)
        return array

    def _release(self, size: int) -> None:
        self.taken -= size

    def empty(self, shape, dtype):
        return self._count(super().empty(shape, dtype))

    def zeros(self, shape, dtype):
        return self._count(super().zeros(shape, dtype))


@needs_compiler
@pytest.mark.parametrize("together", some(1, [False, True]))
@pytest.mark.parametrize(("length", "stride", "cuts"), [(150, 20, 1), (150, 20, 2), (100, 5, 3)])
def test_memory_is_what_was_planned(length: int, stride: int, cuts: int, together: bool) -> None:
    card = CountingCard()
    part = np.random.default_rng(length).integers(0, 4, 300)
    axis = np.concatenate([part, reverse_complement(part)] * PLANNED_HITS)
    parameters = SeedingParameters(stride, 32)
    pages = cut_pages(card, axis, [len(axis) // cuts] * cuts, OVERLAP)
    reads = card_reads(card, [part[:length].tolist()] * 100)
    text = card.upload(pack(axis))
    before = card.most = card.taken
    find_hits(card, pages if together else InTurn(pages), reads, text, parameters)
    planned = len(reads) * bytes_per_read(parameters, length, cuts, together)
    assert 0.8 * planned < card.most - before <= planned


def test_seed_ends_reach_the_end_of_the_read_and_stay_within_the_limit():
    for length in range(20, 1025):
        ends = oracle.seed_ends(length, SeedingParameters(10, 1))
        assert ends[0] == 20
        assert ends[-1] == length
        assert len(ends) <= 64
