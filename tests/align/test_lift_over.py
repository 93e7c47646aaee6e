"""Lift-over and grouping on arrays against the oracle, read by read and base by base."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from quire.align.lift_over.cpu import lift_over
from quire.reference.alternate import Lifts, read_alternate

from tests.oracles import lift_over as oracle
from tests.support.lift_cases import ALTERNATE, LENGTHS, NAMES, READ_LENGTH, Case, random_case, random_list, reported_of
from tests.support.ragged import unpack_bytes


@dataclass
class Listed:
    """The fields of a reference that lifting over reads."""

    alternate: np.ndarray
    lifts: Lifts
    contig_names: list[str]


def read_list(path, text: str) -> Listed:
    path.write_text(text)
    return Listed(*read_alternate(path, NAMES, np.array([*LENGTHS.values()])), NAMES)


def in_words(row: oracle.LiftedRow) -> tuple:
    texts = [f"{NAMES[to.contig]},{to.start},{to.end},{'+-'[to.reverse]};" for to in row.lifted]
    hit = row.hit
    return hit.contig, hit.start, hit.reverse, row.quality, row.original_quality, row.added, "".join(texts)


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_the_oracles(tmp_path, seed: int) -> None:
    generator = random.Random(seed)
    alignments, text = random_list(generator)
    listed = read_list(tmp_path / "genome.fa.alt", text)
    cases = [random_case(generator, alignments) for _ in range(300)]
    wanted = [[in_words(row) for row in oracle.lift_over(*case, READ_LENGTH, ALTERNATE, alignments)] for case in cases]
    reported, offsets = reported_of(cases, seed % 2)
    found, lifted = lift_over(reported, offsets, listed)
    assert len(found.all_rows) == len(found.rank) == 0
    texts = unpack_bytes(lifted.texts, lifted.text_offsets)
    per_case = 1 + seed % 2
    for number, rows in enumerate(wanted):
        first = found.first[per_case * number]
        span = range(first, first + found.rows[per_case * number])
        got = [
            (
                found.contig[row], found.position[row], bool(found.strand[row]), found.quality[row],
                lifted.original_quality[row], bool(lifted.added[row]), texts[row].decode(),
            )
            for row in span
        ]  # fmt: skip
        # Rows that are added for one row are sorted by place, equal ones in any order.
        assert got[0] == rows[0]
        assert sorted(got) == sorted(rows)
        assert [row[:-1] for row in got if not row[5]] == [row[:-1] for row in rows if not row[5]]
        assert all((found.suboptimal_score[row] == -1) == lifted.added[row] for row in span)
    if per_case == 2:
        assert not found.rows[1::2].any()


def test_every_rule_shows(tmp_path) -> None:
    """The cases exercise every rule; otherwise the test above could not fail."""
    seen = dict.fromkeys(("lifted twice", "added", "raised", "lowered", "none left", "hangs over"), 0)
    for seed in range(20):
        generator = random.Random(seed)
        alignments, _ = random_list(generator)
        for _ in range(300):
            case = random_case(generator, alignments)
            before = dict(case.reported)
            for row in oracle.lift_over(*case, READ_LENGTH, ALTERNATE, alignments):
                seen["added"] += row.added
                seen["lifted twice"] += len(row.lifted) > 1
                seen["raised"] += row.quality > before.get(row.hit, 60)
                seen["lowered"] += 0 < row.quality < before.get(row.hit, 0)
                seen["none left"] += row.quality == 0 < before.get(row.hit, 0)
                seen["hangs over"] += any(place.end < place.start for place in row.lifted)
    assert min(seen.values()) >= 20, seen


def test_a_batch_without_reads(tmp_path) -> None:
    _, text = random_list(random.Random(1))
    reported, offsets = reported_of([], 0)
    found, lifted = lift_over(reported, offsets, read_list(tmp_path / "list", text))
    assert len(found.quality) == len(lifted.added) == 0
    assert lifted.text_offsets.tolist() == [0]


def test_a_worked_example(tmp_path) -> None:
    """bwa-postalt's own example: a hit on the chromosome overlaps the place of a better one, and both are certain."""
    columns = "\t*\t0\t0\t*\t*\n"
    listed = read_list(tmp_path / "list", f"1_alt\t16\tchr1\t101\t0\t100S800M{columns}decoy*1\t4\t*\t0\t0\t*{columns}")
    on_primary = oracle.PlacedHit(0, 200, 300, True, 90, 0, 100, 0)  # bases 600 to 700 of the reversed 1_alt
    better = oracle.PlacedHit(2, 600, 700, False, 100, 0, 100, 2)
    elsewhere = oracle.PlacedHit(1, 500, 600, False, 85, 0, 100, 1)
    case = Case([(on_primary, 37), (better, 3)], [elsewhere])
    found, lifted = lift_over(*reported_of([case], 0), listed)
    assert found.rows.tolist() == [2]
    assert found.quality.tolist() == [37, 60]  # 6 * (100 - 85), at most 60; the other keeps the smaller quality
    assert lifted.original_quality.tolist() == [-1, 3]
    assert unpack_bytes(lifted.texts, lifted.text_offsets) == [b"", b"chr1,199,299,-;"]
