"""Readers of pedigrees in PLINK's format .fam: family, person, father, mother, sex (1 male, 2 female), phenotype."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quire.errors import InputError
from quire.io.ploidy import FEMALE, MALE, SEXES, UNKNOWN

NOBODY = "0"
_FEWEST_COLUMNS = 5  # the phenotype means nothing to Quire


class Person(NamedTuple):
    """A line of a pedigree; `father` and `mother` are empty if unknown, `sex` is a value of SEXES."""

    name: str
    father: str
    mother: str
    sex: str


class Trio(NamedTuple):
    """Names of a child and its parents."""

    child: str
    father: str
    mother: str


def read_pedigree(path: str | Path, samples: Mapping[str, str] | None = None) -> list[Person]:
    """Read a .fam file, whose columns are separated by blanks or tabs.

    Args:
        path: the file.
        samples: sex of each sample of the sheet, a value of SEXES, to be compared with the file; None compares nothing.

    Raises:
        InputError: a line is no line of a .fam, a person has two lines, is its own parent or a parent of the other sex,
            or has another sex than in the sheet; or no person is in the sheet.
    """
    people: dict[str, Person] = {}
    with open(path, encoding="utf-8", errors="replace") as stream:
        lines = stream.readlines()
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) < _FEWEST_COLUMNS:
            raise InputError(
                f"{path}, line {number}: has {len(fields)} columns; write family, sample, father, mother and sex, with "
                "0 for what is unknown."
            )
        name, father, mother = (field if field != NOBODY else "" for field in fields[1:4])
        if name in people:
            raise InputError(f"{path}, line {number}: {name} has a line already; remove one.")
        if name in (father, mother) or (father and father == mother):
            raise InputError(f"{path}, line {number}: {name} and its parents are not three people; correct the line.")
        people[name] = Person(name, father, mother, SEXES.get(fields[4], UNKNOWN))
    for person in people.values():
        for role, parent, sex in (("father", person.father, MALE), ("mother", person.mother, FEMALE)):
            if parent in people and people[parent].sex not in (sex, UNKNOWN):
                raise InputError(f"{path}: {parent} is the {role} of {person.name} and not {sex}; correct one line.")
    if samples is not None:
        _compare(path, people, samples)
    return list(people.values())


def _compare(path: str | Path, people: Mapping[str, Person], samples: Mapping[str, str]) -> None:
    for name, sex in samples.items():
        if name in people and {sex, people[name].sex} == {MALE, FEMALE}:
            raise InputError(f"{path}: {name} is {people[name].sex}, and {sex} in the sheet of samples; correct one.")
    if not people.keys() & samples.keys():
        raise InputError(f"{path}: names none of the samples; its second column must have their names.")


def trios_of(people: Sequence[Person], samples: Sequence[str]) -> list[Trio]:
    """Return the people whose parents are both known, where all three are samples."""
    known = set(samples)
    trios = [Trio(one.name, one.father, one.mother) for one in people]
    return [trio for trio in trios if known.issuperset(trio)]
