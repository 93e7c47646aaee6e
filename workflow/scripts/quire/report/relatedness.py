"""Relatedness of each pair of samples, from their genotypes, by KING's robust kinship coefficient.

The estimator is the between-family one of Manichaikul et al. 2010 (Bioinformatics 26:2867). Kinship is 1/2 for the
same person or identical twins, 1/4 for parent and child or full siblings, and halves with each further degree. It is
about 0 for strangers, and negative if their populations differ. The bounds between degrees are the midpoints on a
logarithmic scale (table 1 of the paper). A pair is called unrelated or related only if its kinship is two standard
errors below or above the lowest of them: with few sites relatives are below it by chance, and strangers above.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST_HETEROZYGOUS = 30
"""Fewest heterozygous sites that each sample of a pair must have; the estimator divides by the smaller number."""
MOST_SAMPLES = 48
"""In a larger cohort, only related pairs are described one by one."""
BOUNDS = (2**-1.5, 2**-2.5, 2**-3.5, 2**-4.5)
RELATIONS = ("the same person", "first degree", "second degree", "third degree", "unrelated")
SAME_PERSON, FIRST_DEGREE, UNRELATED = 0, 1, 4
UNCLEAR = -1


class Relatedness(NamedTuple):
    """The relations of all pairs of samples.

    Attributes:
        names: of the samples.
        degrees: int8[samples, samples], index of RELATIONS, or UNCLEAR; UNCLEAR for a sample and itself.
        rows: a description of each pair, in the order (0, 1), (0, 2), ... (1, 2), ...; of a large cohort, of those
            that are related.
    """

    names: Sequence[str]
    degrees: NDArray[np.int8]
    rows: list[dict[str, Any]]

    def counts(self) -> dict[str, int]:
        """Return the number of pairs of each relation."""
        of_pairs = self.degrees[np.triu_indices(len(self.names), 1)]
        return {name: int((of_pairs == degree).sum()) for degree, name in enumerate(RELATIONS)}

    def of(self, number: int) -> dict[str, Any]:
        """Return the other samples of a sample's person (`same_person`), or why they are unknown (`reason`)."""
        degrees = self.degrees[number]
        same = [self.names[other] for other in np.flatnonzero(degrees == SAME_PERSON).tolist()]
        reason = "there is no other sample" if len(self.names) < 2 else "too few sites"
        return {"same_person": same, "reason": "" if (degrees != UNCLEAR).any() else reason}


def relate(samples: Sequence[str], pairs: Mapping[str, Sequence[int]]) -> Relatedness:
    """Return how the samples are related.

    `pairs` are counts named as in variants.json, each with one number per pair in the order of `Relatedness.rows`. In a
    row, `concordance` is the share of equal genotypes, or None without sites. `kinship` is None with few heterozygous
    sites, and `relation` also if the sites are too few to tell strangers from relatives.
    """
    if len(samples) < 2:
        return Relatedness(samples, np.full((len(samples), len(samples)), UNCLEAR, np.int8), [])
    first, second = np.triu_indices(len(samples), 1)
    count = {name: np.array(values, np.int64) for name, values in pairs.items()}
    values, errors = kinship(count)
    found = degree(values, errors)
    degrees = np.full((len(samples), len(samples)), UNCLEAR, np.int8)
    degrees[first, second] = degrees[second, first] = found
    every = len(samples) <= MOST_SAMPLES
    rows = []
    for pair in range(len(found)) if every else np.flatnonzero((found != UNCLEAR) & (found != UNRELATED)).tolist():
        sites = int(count["sites"][pair])
        rows.append(
            {
                "first": samples[first[pair]],
                "second": samples[second[pair]],
                "sites": sites,
                "concordance": round(int(count["same"][pair]) / sites, 4) if sites else None,
                "opposite_homozygous": int(count["opposite_homozygous"][pair]),
                "kinship": None if np.isnan(values[pair]) else round(float(values[pair]), 4),
                "relation": None if found[pair] == UNCLEAR else RELATIONS[found[pair]],
            }
        )
    return Relatedness(samples, degrees, rows)


def kinship(count: Mapping[str, NDArray[np.int64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the KING-robust kinship of pairs, NaN with too few heterozygous sites, and its standard error.

    The error is that of a sum over sites that are independent of each other.
    """
    first, second, both = (count[name] for name in ("heterozygous_first", "heterozygous_second", "both_heterozygous"))
    fewer = np.minimum(first, second)
    few = fewer < FEWEST_HETEROZYGOUS
    fewer = np.where(few, 1, fewer)
    opposite = count["opposite_homozygous"]
    values = (both - 2 * opposite) / (2 * fewer) + 0.5 - (first + second) / (4 * fewer)
    errors = np.sqrt(4 * opposite + (first + second - 2 * both) / 4) / (2 * fewer)
    return np.where(few, np.nan, values), errors


def degree(values: ArrayLike, errors: ArrayLike = 0.0) -> NDArray[np.int8]:
    """Return the index of RELATIONS that each kinship indicates; UNCLEAR if strangers and relatives are both likely."""
    values, errors = np.asarray(values), np.asarray(errors)
    unclear = np.isnan(values) | ((values - 2 * errors < BOUNDS[-1]) & (values + 2 * errors > BOUNDS[-1]))
    found = (values[..., None] <= np.array(BOUNDS)).sum(axis=-1)
    return np.where(unclear, UNCLEAR, found).astype(np.int8)
