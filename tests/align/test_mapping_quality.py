"""The integer mapping quality against bwa mem's floating-point formula, over the whole domain."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from quire.align.pairing.mapping_quality_cpu import count_cost, lowered, raw_quality, single_quality
from quire.align.parameters import MOST_QUALITY as MOST

from tests.oracles.align import bwa_quality


@njit
def largest_difference(near, crowded):
    """Return the largest difference between the integer quality and bwa's over spans, scores and second scores."""
    largest, second_at = 0, np.zeros(4, np.int64)
    for span in range(11, 1200, 7):
        factor = 1.0 if span < 50 else math.log(50.0) / math.log(float(span))
        for score in range(1, min(span, 1024) + 1, 1 if span < 200 else 13):
            identity = 1.0 - (span - score) / 5.0 / span
            weight = (factor * identity * identity) ** 2
            for second in range(max(0, score - 130), score + 2):
                wanted = 0
                if max(second, 19) < score:
                    wanted = int(6.02 * (score - max(second, 19)) * weight + 0.499)
                    if near > 0:
                        wanted -= int(4.343 * math.log(near + 1.0) + 0.499)
                    wanted = min(60, max(0, wanted) * (8 - crowded) // 8)
                got = single_quality(
                    np.int64(score), np.int64(second), np.int32(near), np.int32(span), np.int64(span), np.int64(crowded)
                )
                if abs(got - wanted) > largest:
                    largest = abs(got - wanted)
                    second_at[:] = (span, score, second, got)
    return largest, second_at


def test_is_bwas_quality_within_one_over_the_whole_domain():
    for near in (0, 1, 30):
        for crowded in (0, 1):
            largest, where = largest_difference(near, crowded)
            assert largest <= 1, (near, crowded, where)


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 1024), st.integers(0, 1024), st.integers(0, 2000), st.integers(0, 80), st.integers(0, 1))
def test_is_bwas_quality_when_read_and_axis_differ(score, second, near, gap, crowded):
    wanted = bwa_quality(score, second, min(near, 1024), score, score + gap, crowded)
    assert abs(int(single_quality(score, second, near, score, score + gap, crowded)) - wanted) <= 1
    assert abs(int(single_quality(score, second, near, score + gap, score, crowded)) - wanted) <= 1


def test_falls_with_the_second_score_and_with_the_number_of_near_places():
    for score in (30, 90, 150, 1000):
        qualities = [int(single_quality(score, second, 0, score, score, 0)) for second in range(score + 1)]
        assert qualities == sorted(qualities, reverse=True)
        assert qualities[-1] == 0
        fewer = [int(single_quality(score, score - 10, near, score, score, 0)) for near in range(100)]
        assert fewer == sorted(fewer, reverse=True)
    assert int(single_quality(150, 0, 0, 150, 150, 0)) == MOST


def test_of_as_many_places_as_a_look_keeps_a_part_is_taken_before_the_cap():
    for reads, wanted in enumerate([[0, 0, 24, 60, 60], [0, 0, 21, 52, 60], [0, 0, 18, 45, 60]]):
        assert [int(lowered(np.int64(quality), np.int64(reads))) for quality in (-3, 0, 24, 60, 80)] == wanted


def test_tables_are_bwas():
    assert [int(count_cost(n)) for n in range(1, 1025)] == [
        int(4.343 * math.log(n + 1) + 0.499) for n in range(1, 1025)
    ]
    assert int(count_cost(5000)) == int(count_cost(1024))
    for difference in range(-50, 400):
        assert max(0, min(int(raw_quality(difference)), MOST)) == max(
            0, min(math.floor(6.02 * difference + 0.499), MOST)
        )
