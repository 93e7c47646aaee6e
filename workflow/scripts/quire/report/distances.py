"""Number of SNVs that differ between two haploid samples, such as isolates of a bacterium, as snp-dists counts them.

Only SNVs of the joint VCF that pass the filters count, and for a pair only those at which both have a genotype. A
sample with few reads has few genotypes and would seem to be near all others, so its distances are unknown.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.files import atomic_path

LEAST_SHARE = 0.5
"""Least sites of a pair with a known distance, as a share of the most sites of any pair."""


class Distances(NamedTuple):
    """Distances between the haploid samples.

    Attributes:
        names: of the haploid samples.
        sites: int64[samples, samples], SNVs at which both have a genotype; 0 for a sample and itself.
        different: int64[samples, samples], those of them at which the two have different bases.
    """

    names: list[str]
    sites: NDArray[np.int64]
    different: NDArray[np.int64]

    def known(self) -> NDArray[np.bool_]:
        """Return True for the pairs with enough sites, bool[samples, samples]."""
        least = max(1.0, LEAST_SHARE * int(self.sites.max(initial=0)))
        return self.sites >= least

    def rows(self) -> list[dict[str, Any]]:
        """Describe each pair, the closest first; pairs with too few sites last."""
        first, second = np.triu_indices(len(self.names), 1)
        sites, different, known = (matrix[first, second] for matrix in (self.sites, self.different, self.known()))
        return [
            {
                "first": self.names[first[pair]],
                "second": self.names[second[pair]],
                "sites": int(sites[pair]),
                "different": int(different[pair]) if known[pair] else None,
            }
            for pair in np.lexsort((different, ~known)).tolist()
        ]


def measure(samples: Sequence[str], ploidies: Mapping[str, int], pairs: Mapping[str, Sequence[int]]) -> Distances:
    """Return the distances between haploid samples.

    Args:
        samples: of the VCF.
        ploidies: of the samples of the sheet; without a haploid one there are no distances. Samples of further gVCFs
            are haploid if they have haploid genotypes.
        pairs: `haploid_pairs` of variants.json; may be empty.
    """
    sites, different = np.zeros((2, len(samples), len(samples)), np.int64)
    if pairs:
        first, second = np.triu_indices(len(samples), 1)
        sites[first, second] = sites[second, first] = pairs["sites"]
        different[first, second] = different[second, first] = pairs["different"]
    has_genotypes = dict(zip(samples, (sites.max(axis=1, initial=0) > 0).tolist(), strict=True))
    haploid = [ploidies[name] == 1 if name in ploidies else has_genotypes[name] for name in samples]
    kept = np.flatnonzero(haploid if 1 in ploidies.values() else [])
    inside = np.ix_(kept, kept)
    return Distances([samples[number] for number in kept.tolist()], sites[inside], different[inside])


def write_distances(path: str | Path, distances: Distances) -> None:
    """Write the distances as a square table; a pair with too few sites has NA."""
    known = distances.known() | np.eye(len(distances.names), dtype=np.bool_)
    cells = np.where(known, distances.different.astype(np.str_), "NA").tolist()
    lines = [["", *distances.names], *([name, *row] for name, row in zip(distances.names, cells, strict=True))]
    with atomic_path(path) as temporary:
        temporary.write_text("".join("\t".join(line) + "\n" for line in lines), "utf-8")
