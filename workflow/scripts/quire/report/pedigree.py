"""Checks of a pedigree by genotypes: Mendelian errors of children, and relatives whose kinship contradicts it."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from quire.io.pedigree import Person
from quire.report.relatedness import FIRST_DEGREE, RELATIONS, UNCLEAR, Relatedness

FEWEST_SITES = 100
"""Fewest sites of a trio for a share of Mendelian errors."""


def compare_pedigree(
    people: Sequence[Person], trios: Sequence[Mapping[str, Any]], relatedness: Relatedness
) -> dict[str, dict[str, Any]]:
    """Return the block `pedigree` of each sample of the pedigree, by name.

    It has `father` and `mother`, and of a child with both parents `sites` and `errors_percent` (`PairCounter.trios`);
    `judged` and `contradictions`, the number of first-degree relatives, by the pedigree or by kinship, and those of
    them for which the two differ. A relative without enough sites is not judged.
    """
    numbers = {name: number for number, name in enumerate(relatedness.names)}
    mine = [person for person in people if person.name in numbers]
    blocks: dict[str, dict[str, Any]] = {
        one.name: {"father": one.father, "mother": one.mother, "sites": None, "errors_percent": None}
        | {"judged": 0, "contradictions": []}
        for one in mine
    }
    for trio in trios:
        if trio["sites"] >= FEWEST_SITES:
            share = round(100 * trio["errors"] / trio["sites"], 4)
            blocks[trio["child"]] |= {"sites": trio["sites"], "errors_percent": share}
    expected: dict[frozenset[str], str] = {}
    children: dict[tuple[str, str], list[str]] = {}
    for one in mine:
        expected |= {frozenset((one.name, parent)): "parent" for parent in (one.father, one.mother) if parent in blocks}
        if one.father and one.mother:
            children.setdefault((one.father, one.mother), []).append(one.name)
    for siblings in children.values():
        expected |= {frozenset(pair): "sibling" for pair in combinations(siblings, 2)}
    order = np.array([numbers[one.name] for one in mine], np.int64)
    among = np.triu(relatedness.degrees[np.ix_(order, order)], 1)
    close = np.triu((among != UNCLEAR) & (among <= FIRST_DEGREE), 1)
    pairs = {frozenset((mine[i].name, mine[j].name)) for i, j in np.argwhere(close).tolist()}
    for pair in sorted(pairs | expected.keys(), key=sorted):
        first, second = sorted(pair)
        degree = int(relatedness.degrees[numbers[first], numbers[second]])
        if degree == UNCLEAR:
            continue
        for name, other in ((first, second), (second, first)):
            blocks[name]["judged"] += 1
            if degree != FIRST_DEGREE or pair not in expected:
                words = f"{other} is {RELATIONS[degree]}, by the pedigree {expected.get(pair, 'no such relative')}"
                blocks[name]["contradictions"].append(words)
    return blocks
