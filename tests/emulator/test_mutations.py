"""Check that kernels with mistakes fail: copies with barriers removed, wrong masks, or indices off by one."""

from collections.abc import Callable
from functools import cache
from unittest import mock

import pytest
from quire.algorithms.pairwise import Mode, gpu, shapes
from quire.algorithms.scoring import BWA_MEM
from quire.device.compiler import read_source

from tests.algorithms import (
    test_extension_gpu,
    test_mems_gpu,
    test_pairwise_gpu,
    test_seeding_gpu,
    test_suffix_array_gpu,
)
from tests.align import (
    test_alignments_gpu,
    test_candidates_gpu,
    test_pairing_gpu,
    test_reported_gpu,
    test_rescue_gpu,
)
from tests.emulator.emulated_card import SCHEDULES, EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.index import test_index_construction_gpu
from tests.reads import test_reads_gpu

pytestmark = [needs_compiler, pytest.mark.full]
ALGORITHMS = "quire/algorithms/"


def patched(test, card, *given) -> None:
    """Run a test that takes a patch after the card."""
    with pytest.MonkeyPatch.context() as patch:
        test(card, patch, *given)


def with_seeds(test, card, *given) -> None:
    """Run a test that takes a setter of the length of seeds."""
    with pytest.MonkeyPatch.context() as patch:
        test(card, test_mems_gpu.setter_of_seeds(patch), *given)


def narrow(test, card, *given) -> None:
    """Run a test of pairwise alignment with narrow shapes."""
    with mock.patch.multiple(gpu, **test_pairwise_gpu.NARROW):
        test(card, *given)


def equal_ends(card) -> None:
    with mock.patch.multiple(gpu, **test_pairwise_gpu.NARROW), pytest.MonkeyPatch.context() as patch:
        test_pairwise_gpu.test_ends_of_equal_score(card, shapes.SCORE_SHAPES[0], patch)


SCENARIOS: dict[str, Callable] = {
    "oriented": lambda card: test_reads_gpu.test_both_strands(card, 150),
    "rescue": lambda card: test_rescue_gpu.test_bounds_of_proper_distances(card, 0),
    "repeats": lambda card: patched(test_rescue_gpu.test_a_mate_in_a_tandem_repeat_has_two_places, card, 16, 50),
    "equals": lambda card: patched(
        test_rescue_gpu.test_of_equals_that_of_the_template_length_nearest_the_mean, card, 2048
    ),
    "suffixes": lambda card: test_suffix_array_gpu.test_hard_texts(card, "many copies"),
    "selection": lambda card: test_suffix_array_gpu.test_a_selection_of_more_tiles_than_one_step_scans(
        card, 1e-5, False
    ),
    "narrow bands": test_extension_gpu._check_some,
    "wide bands": lambda card: test_extension_gpu.test_long_reads_and_wide_bands_equal_the_oracle(card, 150, 300, 6),
    "seeds": test_seeding_gpu.test_many_small_pages,
    "blocks": test_index_construction_gpu.test_counters_run_on_from_tile_to_tile,
    "chains": lambda card: test_candidates_gpu.test_a_chain_of_hits_is_cut_by_its_width(card, 1),
    "templates": lambda card: test_alignments_gpu.test_unique_template_lengths(card, 600),
    "reported": lambda card: test_reported_gpu.test_taken_rows_are_those_chosen(card, 700),
    "pairs": test_pairing_gpu.test_pairs_nearly_as_good_as_the_second_cost_quality,
    "matches": lambda card: with_seeds(test_mems_gpu.test_matches_of_the_oracle, card, *test_mems_gpu.CASES[3], False),
    "unique matches": lambda card: with_seeds(
        test_mems_gpu.test_seeds_of_any_length_give_the_same, card, [150, 200, 150], True
    ),
    "other places": lambda card: with_seeds(test_mems_gpu.test_the_one_other_place_among_many_hits, card),
    "no places": lambda card: with_seeds(test_mems_gpu.test_places_that_are_none, card),
    "long matches": lambda card: with_seeds(test_mems_gpu.test_matches_longer_than_one_thread_compares, card, None),
    "runs": lambda card: test_mems_gpu.test_queries_are_packed_and_turned(card, 100),
    "tiles": lambda card: narrow(test_pairwise_gpu.test_strips_and_tiles, card, BWA_MEM, Mode.GLOBAL),
    "ties": lambda card: narrow(test_pairwise_gpu.test_strips_and_tiles, card, test_pairwise_gpu.TIES, Mode.GLOBAL),
    "joined": lambda card: narrow(test_pairwise_gpu.test_parts_of_paths, card),
    "zeros": test_pairwise_gpu.test_a_zero_ends_a_path,
    "planned": test_pairwise_gpu.test_guesses,
    "equal ends": equal_ends,
}


MUTATIONS = [
    # Barriers removed.
    ("selection", "suffix_array/selection.cu", "        __syncthreads();\n    }", "    }"),
    ("blocks", "fm_index/construction/construction.cu", "    __syncthreads();\n    Counts before", "    Counts before"),
    (
        "repeats",
        "quire/align/rescue/rescue.cu",
        "        __syncwarp();\n        if (round < pieces) look",
        "        if (round < pieces) look",
    ),
    # Wrong masks and widths.
    (
        "rescue",
        "quire/align/rescue/rescue.cu",
        "__shfl_xor_sync(WHOLE_WARP, most.votes, distance)",
        "__shfl_xor_sync(0xFFFFu, most.votes, distance)",
    ),
    ("suffixes", "suffix_array/suffix_array.cu", "__ballot_sync(~0u, row < rows && head)", "__ballot_sync(~1u, head)"),
    ("seeds", "seeding/search.cu", "__shfl_up_sync(FULL_WARP, end, step)", "__shfl_up_sync(FULL_WARP, end, step, 16)"),
    (
        "blocks",
        "fm_index/construction/construction.cu",
        "__ballot_sync(~0u, code & 1)",
        "__ballot_sync(~0u >> 1, code & 1)",
    ),
    # A lost position of a k-mer, equals in another order.
    ("repeats", "quire/align/rescue/rescue.cu", "(u16)(old & 0xFFFF)", "NO_PLACE"),
    ("equals", "quire/align/rescue/rescue.cu", "other.diagonal < diagonal", "other.diagonal > diagonal"),
    ("equals", "quire/align/rescue/rescue.cu", "abs(diagonal - target)", "abs(diagonal - target - 1)"),
    # Off by one.
    (
        "chains",
        "quire/align/candidates/candidates.cu",
        "diagonal - low > WIDEST_BUNDLE",
        "diagonal - low >= WIDEST_BUNDLE",
    ),
    ("templates", "quire/align/alignments/alignments.cu", "length <= LONGEST_INSERT", "length < LONGEST_INSERT"),
    (
        "pairs",
        "quire/align/pairing/pairing.cu",
        "else if (other - score <= NEAR_BEST) count++;",
        "else if (other - score < NEAR_BEST) count++;",
    ),
    ("reported", "quire/align/reported/reported.cu", "i < (read + 1) * MOST", "i < read + MOST"),
    ("oriented", "quire/reads/reads.cu", "i < last; i++", "i <= last; i++"),
    ("oriented", "quire/reads/reads.cu", "if (word >= words) return;\n    u64", "if (word > words) return;\n    u64"),
    (
        "seeds",
        "seeding/search.cu",
        "encode_hit(strand, diagonal, ordinal)",
        "encode_hit(strand, diagonal + 1, ordinal)",
    ),
    ("wide bands", "extension/extension.cu", "(EVERY_LANE, leaving, 1)", "(EVERY_LANE, leaving, 2)"),
    # Maximal exact matches.
    ("matches", "mems/listing.cu", "((1u << lane) - 1)", "((2u << lane) - 1)"),
    ("matches", "mems/listing.cu", "(i64)(kept[hit] >> 32)", "0"),
    ("unique matches", "mems/listing.cu", "last < hits ? last : hits - 1", "first"),
    ("unique matches", "mems/listing.cu", "    __syncthreads();\n    i64 low = bounds[0]", "    i64 low = bounds[0]"),
    ("other places", "mems/elsewhere.cu", "away += 32", "away += 33"),
    ("no places", "mems/elsewhere.cu", "other + right <= run.y", "other + right <= run.y + 1"),
    ("no places", "mems/elsewhere.cu", "other - left >= run.x", "other - left >= run.x - 1"),
    ("unique matches", "mems/search.cu", "(bases >> (62 - 2 * (depth & 31)))", "(bases >> (60 - 2 * (depth & 31)))"),
    ("long matches", "mems/queries.cu", "32 * where + equal : 1024", "32 * where + equal : 1025"),
    ("long matches", "mems/queries.cu", "length < most ? length : most", "length"),
    ("runs", "mems/queries.cu", "borders[word + 1] << 31", "borders[word + 1] << 30"),
    ("runs", "mems/queries.cu", "(word ? known[word - 1] >> 31 : 0)", "0"),
    ("tiles", "pairwise/pairwise.cu", "kept.next_row <= step - WARP + 1", "kept.next_row <= step"),
    ("tiles", "pairwise/pairwise.cu", "right_tag = tag_of(strip + 1)", "right_tag = tag_of(strip)"),
    ("tiles", "pairwise/pairwise.cu", "first_row + i >= 0, above", "first_row + i > 0, above"),
    ("tiles", "pairwise/pairwise.cu", "leftmost ? deletion_of(edges[i])", "leftmost ? best_of(edges[i])"),
    ("tiles", "pairwise/pairwise.cu", "row == last_row ? last : next", "next"),
    ("joined", "pairwise/trace.cu", "lane <= run ? (u64)parts", "lane < run ? (u64)parts"),
    ("joined", "pairwise/trace.cu", "] = from[i];", "] = from[0];"),
    ("joined", "pairwise/trace.cu", "1 + (lowest - path.row) / keep", "(lowest - path.row) / keep"),
    ("ties", "pairwise/trace.cu", "< extend - open", "<= extend - open"),
    ("tiles", "pairwise/trace.cu", "(u32)(score - lane * extend)", "(u32)score"),
    ("zeros", "pairwise/trace.cu", "!(local && here == 0)", "true"),
    ("planned", "pairwise/trace.cu", "<= wide && place <= column", "<= wide"),
    ("planned", "pairwise/trace.cu", "sources.peaks[down - lane]", "sources.peaks[down]"),
    ("planned", "pairwise/trace.cu", "if (lane >= distance) own", "own"),
    ("planned", "pairwise/trace.cu", "tag_of(left / plan.swept)", "tag_of(left / plan.width)"),
    ("equal ends", "pairwise/trace.cu", "(0x7FFFFFFF - strip)", "strip"),
    ("equal ends", "pairwise/pairwise.cu", "int i = OFFERED - 1; i >= 0; i--", "int i = 0; i < OFFERED; i++"),
    ("equal ends", "pairwise/pairwise.cu", "+ (15 - k)", "+ k"),
    ("narrow bands", "extension/extension.cu", "block.insertion[0], 1)", "block.insertion[0], 2)"),
]


@pytest.mark.parametrize(("scenario", "source", "sound", "broken"), MUTATIONS)
def test_a_mistake_turns_its_test_red(scenario: str, source: str, sound: str, broken: str) -> None:
    """The scenario fails under at least one schedule, while the unchanged kernel passes under all."""
    source = source if source.startswith("quire") else ALGORITHMS + source
    text, headers = read_source(source)
    for name, header in headers.items():  # a mistake may be in a header, which then takes the place of its inclusion
        if sound in header:
            text = text.replace(f'#include "{name}"', header.replace("#pragma once\n", ""))
    assert text.count(sound) == 1
    check_unchanged(scenario)
    assert any(is_red(scenario, schedule, {source: text.replace(sound, broken)}) for schedule in SCHEDULES)


@cache
def check_unchanged(scenario: str) -> None:
    """Check that a scenario passes with unchanged kernels under all schedules, once for all its mistakes."""
    for schedule in SCHEDULES:
        SCENARIOS[scenario](EmulatedCard(schedule))


def is_red(scenario: str, schedule: str, texts: dict[str, str]) -> bool:
    """Return True if a scenario fails with changed kernels."""
    try:
        SCENARIOS[scenario](EmulatedCard(schedule, texts=texts))
    except AssertionError:  # from the scenario's comparison, or the harness's KernelFault
        return True
    return False
