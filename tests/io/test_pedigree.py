"""Pedigrees in PLINK's .fam: what is read, and one sentence for each mistake."""

from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io.pedigree import Person, Trio, read_pedigree, trios_of

FAMILY = "f son dad mum 1 -9\nf dad 0 0 1 0\nf mum 0 0 2 0\n\nf girl\tdad\tabroad 0 2\n"
SEXES = {"son": "male", "mum": "unknown", "dad": "male", "girl": "unknown"}


def test_people_and_trios(tmp_path: Path) -> None:
    (tmp_path / "x.fam").write_text(FAMILY)
    people = read_pedigree(tmp_path / "x.fam", SEXES)
    assert people == [
        Person("son", "dad", "mum", "male"),
        Person("dad", "", "", "male"),
        Person("mum", "", "", "female"),
        Person("girl", "dad", "abroad", "unknown"),
    ]
    assert trios_of(people, list(SEXES)) == [Trio("son", "dad", "mum")]
    assert trios_of(people, ["son", "dad"]) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("f dad 0 0 1 0", "f dad 0 0", "x.fam, line 2: has 4 columns; write family, sample, father, mother and sex"),
        ("f mum", "f dad", "x.fam, line 3: dad has a line already; remove one"),
        ("dad mum 1", "dad dad 1", "x.fam, line 1: son and its parents are not three people"),
        ("dad mum 1", "son mum 1", "x.fam, line 1: son and its parents are not three people"),
        ("dad mum 1", "mum dad 1", "x.fam: mum is the father of son and not male; correct one line"),
        ("dad mum 1", "dad mum 2", "x.fam: son is female, and male in the sheet of samples; correct one"),
        (FAMILY, "f other 0 0 1 0\n", "x.fam: names none of the samples; its second column must have their names"),
        (FAMILY, "", "x.fam: names none of the samples"),
    ],
)
def test_each_mistake_is_one_sentence(old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in FAMILY
    (tmp_path / "x.fam").write_text(FAMILY.replace(old, new))
    with pytest.raises(InputError) as refused:
        read_pedigree(tmp_path / "x.fam", SEXES)
    assert words in str(refused.value)
