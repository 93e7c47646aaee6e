"""Optical duplicates in the table, counts and ledger of a finished sample, compared with Picard."""

import json
import random
from pathlib import Path

import pytest
from quire.finish.sample import UnsortedUnit

from tests.finish.test_finish import finish, unit_file
from tests.support.builders import paired_lines
from tests.support.peer_counts import picard, picard_metrics

CONTIGS = {"chr1": 400_000, "chr2": 3000}


def spots_of_pairs(generator: random.Random, unit: str, fragments: int) -> list[str]:
    """Return pairs of few fragments, which form tight and distant groups on the flow cell."""
    lines: list[str] = []
    for _ in range(fragments):
        first = generator.randrange(1, 390_000)
        for group in range(generator.randrange(1, 4)):
            tile, x, y = 1101 + generator.randrange(2), 9000 * group + 1000, generator.randrange(1000, 20_000)
            for copy in range(generator.choice((1, 1, 2, 4))):
                name = f"M:1:FC:{unit}:{tile}:{x + 10 * copy + generator.randrange(9)}:{y + generator.randrange(90)}"
                lines += paired_lines(name, "chr1", (first, first + 200), 50, f"S.{unit}", generator.choice("5FI"))
    return lines


@pytest.fixture
def units(tmp_path: Path) -> list[UnsortedUnit]:
    """Write two lanes of one library, and one of another library."""
    generator = random.Random(8)
    lanes = {"1": "libA", "2": "libA", "3": "libB"}
    return [
        unit_file(tmp_path, lane, lib, spots_of_pairs(generator, lane, 150), CONTIGS) for lane, lib in lanes.items()
    ]


@pytest.mark.full
@pytest.mark.skipif(picard() is None, reason="Picard is not installed")
def test_like_picard(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    """Optical duplicate pairs, and the library size, which excludes them, equal Picard's."""
    output = finish(tmp_path, units, contigs=CONTIGS, optical_distance=100)
    rows = picard_metrics(
        tmp_path,
        "MarkDuplicates",
        lambda metrics: [f"M={metrics}"],
        f"I={output}",
        f"O={tmp_path / 'picard.bam'}",
        "OPTICAL_DUPLICATE_PIXEL_DISTANCE=100",
    )
    libraries = {
        row["library"]: row for row in json.loads((tmp_path / "out" / "S.counts.json").read_text())["libraries"]
    }
    table = [line.split("\t") for line in (tmp_path / "out" / "S.duplicates.tsv").read_text().splitlines()]
    assert table[0][-1] == "optical_duplicates"
    assert {row["LIBRARY"] for row in rows} == set(libraries) == {"libA", "libB"}
    for row in rows:
        mine = libraries[row["LIBRARY"]]
        assert mine["read_pair_duplicates"] == int(row["READ_PAIR_DUPLICATES"])
        assert mine["read_pair_optical_duplicates"] == int(row["READ_PAIR_OPTICAL_DUPLICATES"]) > 100
        assert mine["estimated_library_size"] == int(row["ESTIMATED_LIBRARY_SIZE"])
        (counted,) = [int(line[-1]) for line in table[1:] if line[0] == row["LIBRARY"]]
        assert counted == 2 * mine["read_pair_optical_duplicates"]


def test_the_alignments_do_not_depend_on_it(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    plain = finish(tmp_path, units, contigs=CONTIGS).read_bytes()
    assert (
        (tmp_path / "out" / "S.duplicates.tsv").read_text().startswith("library\treads\tmapped\tduplicates\tpercent\n")
    )
    libraries = json.loads((tmp_path / "out" / "S.counts.json").read_text())["libraries"]
    assert [row["read_pair_optical_duplicates"] for row in libraries] == [None, None]
    assert finish(tmp_path, units, contigs=CONTIGS, optical_distance=2500).read_bytes() == plain
    assert json.loads((tmp_path / "out" / "S.json").read_text())["warnings"] == []


def test_names_that_say_nothing_are_told(tmp_path: Path) -> None:
    lines = [line for i in range(3) for line in paired_lines(f"SRR1.{i}", "chr1", (100, 300), 50, "S.a", "I")]
    finish(tmp_path, [unit_file(tmp_path, "a", "lib", lines, CONTIGS)], contigs=CONTIGS, optical_distance=100)
    (warning,) = json.loads((tmp_path / "out" / "S.json").read_text())["warnings"]
    assert warning.startswith("library lib: 4 duplicates have names without tile and coordinates and are not counted")
