"""Extension on the CPU and on a card against its oracle: all widths of bands, islands, ambiguous bases, gaps, ties."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.algorithms.extension import BAND_STEP, ExtensionJobs
from quire.algorithms.extension.gpu import SOURCE, band_of
from quire.device.compiler import read_source

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.support.examples import examples
from tests.support.extension_cases import Case, alignment, check, extend_case, random_case

BAND = "quire/algorithms/extension/band.cuh"


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_equals_the_oracle(card_or_cpu, seed: int) -> None:
    case = random_case(seed, 14, 60, [16, 32, 32, 48, 64])
    check(case, extend_case(card_or_cpu, case))


@pytest.mark.parametrize(
    ("longest", "width", "count"), [(150, 32, 10), (40, 96, 6), (25, 256, 3), (25, 272, 3), (20, 528, 2)]
)
def test_long_reads_and_wide_bands_equal_the_oracle(card_or_cpu, longest: int, width: int, count: int) -> None:
    for seed in range(3):
        case = random_case(seed, count, longest, [width])
        check(case, extend_case(card_or_cpu, case))


def one_job(axis: str, read: str, low: int, high: int, diagonal: int, island: tuple[int, int] | None = None) -> Case:
    codes = np.array(["ACGT".index(base) for base in axis])
    columns = [np.array([value]) for value in (diagonal, low, high, *(island or (0, len(axis))))]
    jobs = ExtensionJobs(np.zeros(1, np.int32), np.zeros(1, np.uint8), *columns)
    return Case(codes, np.empty((0, 2), np.int64), [["ACGTN".index(base) for base in read]], jobs)


LEFT, RIGHT = "ACGGTCATTGCAGTACCATG", "TTGACCGTAAGCTCAGGATC"


@pytest.mark.parametrize(
    ("axis", "read", "cigar"),
    [
        (LEFT + "CC" + RIGHT, LEFT + RIGHT, [("M", 20), ("D", 2), ("M", 20)]),
        (LEFT + RIGHT, LEFT + "CC" + RIGHT, [("M", 20), ("I", 2), ("M", 20)]),
        # A gap in a run of one letter is left-aligned.
        (LEFT + "AAAAAA" + RIGHT, LEFT + "AAAA" + RIGHT, [("M", 20), ("D", 2), ("M", 24)]),
        # A deletion wider than a lane's columns, and one that starts at a lane's border.
        (LEFT + "CCAATTGGCCA" + RIGHT, LEFT + RIGHT, [("M", 20), ("D", 11), ("M", 20)]),
        (LEFT + RIGHT, LEFT + "CCAATTCC" + RIGHT, [("M", 20), ("I", 8), ("M", 20)]),
        # An N before the last base is worth reaching the end, mismatches are clipped.
        (LEFT + RIGHT, LEFT + RIGHT[:-2] + "NC", [("M", 40)]),
        (LEFT + RIGHT + "GGGGGG", LEFT + RIGHT + "ACAC", [("M", 40)]),
    ],
)
def test_alignments_known_by_hand(card_or_cpu, axis: str, read: str, cigar: list) -> None:
    case = one_job(axis, read, -15, 16, 0)
    found = extend_case(card_or_cpu, case)
    check(case, found)
    assert alignment(found, 0)[-1] == cigar


def test_no_base_of_another_island_is_used(card_or_cpu) -> None:
    whole = one_job(LEFT + RIGHT, LEFT + RIGHT, -15, 16, 0)
    assert alignment(extend_case(card_or_cpu, whole), 0)[-1] == [("M", 40)]
    for island, cigar in (((0, 30), [("M", 30)]), ((10, 40), [("M", 30)]), ((12, 27), [("M", 15)]), ((20, 20), None)):
        case = one_job(LEFT + RIGHT, LEFT + RIGHT, -15, 16, 0, island)
        found = extend_case(card_or_cpu, case)
        check(case, found)
        result = alignment(found, 0)
        assert (result and result[-1]) == cigar


def test_nothing_to_align(card_or_cpu) -> None:
    empty = ExtensionJobs(np.empty(0, np.int32), np.empty(0, np.uint8), *(np.empty(0, np.int64) for _ in range(5)))
    found = extend_case(card_or_cpu, replace(random_case(0, 1, 40, [16]), jobs=empty))
    assert len(found.score) == len(found.cigar) == 0


def bytes_per_job(length: int, width: int) -> int:
    """Return the device memory for aligning a read of this length in a band of `width` diagonals."""
    steps = -(-width // BAND_STEP)
    band = band_of(length, BAND_STEP << (steps - 1).bit_length())
    return -(-band.bytes_per_warp // band.groups)


@pytest.mark.parametrize("budget", [1, 30_000])
def test_chunks_do_not_matter(card, budget: int) -> None:
    case = random_case(7, 60, 60, [16, 32, 48, 272])
    assert budget < 40 * bytes_per_job(60, 32)
    whole, chunked = extend_case(card, case), extend_case(card, case, budget=budget)
    assert [alignment(whole, job) for job in range(60)] == [alignment(chunked, job) for job in range(60)]


@needs_compiler
def test_a_card_of_little_memory_finds_the_same() -> None:
    case = random_case(9, 300, 150, [64])
    assert 300 * bytes_per_job(150, 64) > 1 << 20
    small, large = extend_case(EmulatedCard(memory=1 << 20), case), extend_case(EmulatedCard(), case)
    assert [alignment(small, job) for job in range(300)] == [alignment(large, job) for job in range(300)]


def test_the_order_and_company_of_jobs_do_not_matter(card_or_cpu) -> None:
    case = random_case(8, 100, 60, [16, 32])  # more jobs of a width than a vector has lanes
    whole = extend_case(card_or_cpu, case)
    chosen = np.random.default_rng(8).permutation(100)[:57]
    part = extend_case(card_or_cpu, replace(case, jobs=ExtensionJobs(*(column[chosen] for column in case.jobs))))
    assert [alignment(part, i) for i in range(57)] == [alignment(whole, int(job)) for job in chosen]


def test_a_job_takes_what_it_is_said_to_take() -> None:
    band = band_of(150, 32)
    assert (band.lanes, band.groups, band.steps) == (4, 8, 160)
    assert bytes_per_job(150, 32) < 3200
    assert bytes_per_job(1024, 4096) > 1024 * 4096 // 2


@needs_compiler
def test_a_wrong_choice_among_equal_cells_shows() -> None:
    text, headers = read_source(SOURCE)
    text = text.replace(f'#include "{BAND}"', headers[BAND].replace("#pragma once", ""))
    right = "rewarded > (best.value | TAGS)"
    assert text.count(right) == 1
    card = EmulatedCard(texts={SOURCE: text.replace(right, "rewarded > (best.value & ~TAGS)")})
    with pytest.raises(AssertionError):
        _check_some(card)


def _check_some(card) -> None:
    for seed in range(12):
        case = random_case(seed, 14, 60, [16, 32, 32, 48, 64])
        check(case, extend_case(card, case))
