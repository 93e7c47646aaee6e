"""Relatedness of each pair of samples, from their genotypes, by KING's robust kinship coefficient.

The estimator is the between-family one of Manichaikul et al. 2010 (Bioinformatics 26:2867). Kinship is 1/2 for the
same person or identical twins, 1/4 for parent and child or full siblings, and halves with each further degree. It is
about 0 for strangers, and negative if their populations differ. The bounds between degrees are the midpoints on a
logarithmic scale (table 1 of the paper). A pair is called unrelated or related only if its kinship is two standard
errors below or above the lowest of them: with few sites relatives are below it by chance, and strangers above.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import Any

FEWEST_HETEROZYGOUS = 30
"""Fewest heterozygous sites that each sample of a pair must have; the estimator divides by the smaller number."""
SAME_PERSON = 2**-1.5
DEGREES = (
    (SAME_PERSON, "the same person"),
    (2**-2.5, "first degree"),
    (2**-3.5, "second degree"),
    (2**-4.5, "third degree"),
)
UNRELATED = "unrelated"


def relate(samples: Sequence[str], pairs: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """Describe how each pair of samples is related.

    `pairs` are counts named as in variants.json, each with one number per pair in the order (0, 1), (0, 2), ... (1, 2),
    ... `concordance` is the share of equal genotypes, or None without sites. `kinship` is None with few heterozygous
    sites, and `relation` also if the sites are too few to tell strangers from relatives.
    """
    rows = []
    for number, (first, second) in enumerate(combinations(samples, 2)):
        count = {name: values[number] for name, values in pairs.items()}
        value = kinship(count)
        rows.append(
            {
                "first": first,
                "second": second,
                "sites": count["sites"],
                "concordance": round(count["same"] / count["sites"], 4) if count["sites"] else None,
                "opposite_homozygous": count["opposite_homozygous"],
                "kinship": None if value is None else round(value, 4),
                "relation": None if value is None else relation(value, standard_error(count)),
            }
        )
    return rows


def kinship(count: Mapping[str, int]) -> float | None:
    """Return the KING-robust kinship of a pair, or None with too few heterozygous sites."""
    first, second = count["heterozygous_first"], count["heterozygous_second"]
    fewer = min(first, second)
    if fewer < FEWEST_HETEROZYGOUS:
        return None
    shared = (count["both_heterozygous"] - 2 * count["opposite_homozygous"]) / (2 * fewer)
    return shared + 0.5 - (first + second) / (4 * fewer)


def standard_error(count: Mapping[str, int]) -> float:
    """Return the standard error of a pair's kinship, a sum over sites that are independent of each other."""
    first, second = count["heterozygous_first"], count["heterozygous_second"]
    one_heterozygous = first + second - 2 * count["both_heterozygous"]
    return sqrt(4 * count["opposite_homozygous"] + one_heterozygous / 4) / (2 * min(first, second))


def relation(value: float, error: float = 0.0) -> str | None:
    """Return the relation that a kinship coefficient indicates; None if strangers and relatives are both likely."""
    unclear = value - 2 * error < DEGREES[-1][0] < value + 2 * error
    return None if unclear else next((name for bound, name in DEGREES if value > bound), UNRELATED)
