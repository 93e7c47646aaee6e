"""How samples are related, from the genotypes of each two: KING's robust kinship (Manichaikul et al. 2010,
Bioinformatics 26:2867, the estimator between families), and what it says.

The kinship of a person with himself, or of identical twins, is 1/2, of parents and children and of full siblings 1/4,
and half as much with each further degree; of strangers it is about 0, and below where their populations differ. The
bounds between the degrees lie half-way in the logarithm (table 1 there).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

FEWEST_HETEROZYGOUS = 30
"""Heterozygous sites that each of two samples must have, of which the smaller number divides."""
SAME_PERSON = 2**-1.5
DEGREES = (
    (SAME_PERSON, "the same person"),
    (2**-2.5, "first degree"),
    (2**-3.5, "second degree"),
    (2**-4.5, "third degree"),
)
UNRELATED = "unrelated"


def relate(samples: Sequence[str], pairs: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """For each two samples `first`, `second`, `sites`, `concordance` (share of equal genotypes), `kinship`, `relation`.

    Args:
        samples: in the order of the VCF.
        pairs: counts by the names of variants.json, in the order (0, 1), (0, 2), ... (1, 2), ...

    Concordance, kinship and relation are None where there are no or too few sites.
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
                "relation": None if value is None else relation(value),
            }
        )
    return rows


def kinship(count: Mapping[str, int]) -> float | None:
    """KING-robust kinship of a pair, or None with too few heterozygous sites."""
    first, second = count["heterozygous_first"], count["heterozygous_second"]
    fewer = min(first, second)
    if fewer < FEWEST_HETEROZYGOUS:
        return None
    shared = (count["both_heterozygous"] - 2 * count["opposite_homozygous"]) / (2 * fewer)
    return shared + 0.5 - (first + second) / (4 * fewer)


def relation(value: float) -> str:
    """What a kinship says."""
    return next((name for bound, name in DEGREES if value > bound), UNRELATED)
