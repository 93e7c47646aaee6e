"""Short tandem repeats of reads and of the reference against their definitions, and gap qualities against GATK's."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.errors import InputError
from quire.rescore.dragen.gaps_cpu import gap_qualities, gap_tables
from quire.rescore.dragen.repeats_cpu import repeat_at, repeats_between, repeats_in_read
from quire.rescore.dragen.tables import DEFAULT, RepeatTables, parse_tables, read_tables, write_tables

from tests.oracles import dragen as oracle
from tests.support.examples import examples
from tests.support.simulation import codes

DATA = Path(__file__).parents[2] / "data" / "dragen"


def tables_of_gatk(name: str) -> RepeatTables:
    """Return tables that GATK wrote."""
    return parse_tables((DATA / name).read_text(), DATA / name)


def array(text: str) -> np.ndarray:
    return np.frombuffer(codes(text), np.uint8).copy()


@st.composite
def repetitive(draw, letters: str = "ACGT", least: int = 10) -> str:
    """Draw a text of repeats of many periods with other letters between them."""
    generator = random.Random(draw(st.integers(0, 2**32)))
    text = ""
    while len(text) < least + 10 or generator.random() < 0.6:
        unit = "".join(generator.choices(letters[: generator.randint(1, len(letters))], k=generator.randint(1, 9)))
        text += (unit * generator.randint(1, 6))[: generator.randint(1, 40)]
    return text[: max(least, generator.randint(least, len(text)))]


@settings(max_examples=examples(200), deadline=None)
@given(repetitive())
def test_repeats_of_a_read(text: str) -> None:
    periods, repeats = np.empty(len(text), np.uint8), np.empty(len(text), np.int32)
    repeats_in_read(array(text), periods, repeats)
    assert list(zip(periods.tolist(), repeats.tolist(), strict=True)) == oracle.repeats_in_read(text)


@settings(max_examples=examples(200), deadline=None)
@given(repetitive(), st.data())
def test_repeat_at_a_position(text: str, data) -> None:
    position = data.draw(st.integers(0, len(text) - 1))
    assert tuple(repeat_at(array(text), position)) == oracle.repeat_at(text, position)


@settings(max_examples=examples(200), deadline=None)
@given(repetitive("ACGTN"), st.data())
def test_repeats_of_a_stretch(text: str, data) -> None:
    first = data.draw(st.integers(0, len(text)))
    last = data.draw(st.integers(first, len(text)))
    assert [tuple(one) for one in repeats_between(array(text), first, last).tolist()] == oracle.repeats_between(
        text, first, last
    )


def test_gap_qualities_are_gatks() -> None:
    """Reads with the qualities that GATK passed to PairHMM, for tables with distinct values in nearly all cells."""
    tables = gap_tables(tables_of_gatk("synthetic.repeats.txt"))
    lines = [line.split() for line in (DATA / "read_gaps.txt").read_text().splitlines()]
    assert len({pair for _, *both in lines for pair in zip(*both, strict=True)}) > 40
    bases = [array(line[0]) for line in lines]
    offsets = np.cumsum([0, *map(len, bases)])
    sample = np.zeros(len(lines), np.int32)
    opening, continuation = gap_qualities(np.concatenate(bases), offsets, sample, tables[None])
    assert "".join(chr(33 + q) for q in opening) == "".join(line[1] for line in lines)
    assert "".join(chr(33 + q) for q in continuation) == "".join(line[2] for line in lines)


def test_each_sample_has_its_own_tables() -> None:
    bases = array("ACGTTTTTTTTTTACGT" * 2)
    tables = np.stack([gap_tables(tables_of_gatk("synthetic.repeats.txt")), gap_tables(DEFAULT)])
    opening, _ = gap_qualities(bases, np.array([0, 17, 34]), np.array([0, 1], np.int32), tables)
    assert opening[6] != opening[17 + 6]
    assert opening[17 + 6] == 24  # GATK's default for ten copies of one base


def test_tables_are_read_as_written(tmp_path: Path) -> None:
    for name in ("A.repeats.txt", "synthetic.repeats.txt"):
        tables = tables_of_gatk(name)
        write_tables(tables, "A", tmp_path / name)
        again = read_tables(tmp_path / name)
        for attribute in ("gap_open", "gap_continuation", "indel_prior", "estimated"):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(tables, attribute))
    write_tables(DEFAULT, "A", tmp_path / "default.txt")
    assert not read_tables(tmp_path / "default.txt").estimated
    assert read_tables(tmp_path / "default.txt").indel_prior[7, 19] == 4


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [((" 4.00   4.00\n", " 4.00\n"), "needs tables GOP"), (("45.00", "x"), "line 7 is not a row of numbers")],
)
def test_damaged_tables_are_one_sentence(tmp_path: Path, damage: tuple[str, str], sentence: str) -> None:
    write_tables(DEFAULT, "A", tmp_path / "tables.txt")
    damaged = (tmp_path / "tables.txt").read_text().replace(*damage)
    with pytest.raises(InputError, match=sentence):
        parse_tables(damaged, tmp_path / "tables.txt")
    (tmp_path / "tables.txt").write_text(damaged)
    with pytest.raises(InputError, match=r"tables\.txt: does not match its checksum"):
        read_tables(tmp_path / "tables.txt")


def test_tables_of_another_sample_are_refused(tmp_path: Path) -> None:
    write_tables(DEFAULT, "A", tmp_path / "A.repeats.txt")
    (tmp_path / "A.repeats.txt").rename(tmp_path / "B.repeats.txt")
    with pytest.raises(InputError, match=r"B\.repeats\.txt: does not match its checksum"):
        read_tables(tmp_path / "B.repeats.txt")
