"""What was called, by sample, counted while the VCF is gathered: SNVs, indels, transitions, genotypes, QUAL.

A genotype's counts depend on its alleles alone, so they are looked up for each distinct genotype of a record and
not worked out for each sample.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

FORMAT_VERSION = 1
# QUAL spans orders of magnitude: five bins a decade from 1 to 100,000; what lies outside falls in the outer bins.
QUALITY_EDGES = np.logspace(0, 5, 26)
QUALITY_BINS = QUALITY_EDGES.size - 1
COUNT_NAMES = (
    *("snvs", "indels", "other", "transitions", "transversions"),
    *("heterozygous", "homozygous", "missing", "filtered"),
)
_PASSING = (b"PASS", b".")
# ALT of positions that stand in the file without a variant of their own (rescore.emit: all_sites).
_NO_VARIANT = (b".", b"*")
_TRANSITIONS = frozenset(("AG", "GA", "CT", "TC"))
_FIRST_SAMPLE = 9  # column
_CACHED = 1 << 16


class VariantCounter:
    """Counts the records of a VCF, one sample a column.

    Over the records that pass, each sample has as alternate alleles that it carries `snvs`, `indels`, `other` (several
    bases for as many, symbolic alleles), `transitions`, `transversions`, and as records `heterozygous`, `homozygous`
    (haploid calls too), `missing` (no or partial genotype); `filtered` are the records that do not pass.
    """

    def __init__(self, head: Sequence[str]) -> None:
        """Nothing counted yet.

        Args:
            head: lines of the header, line ends included or not.
        """
        columns = head[-1].rstrip("\n").split("\t")
        self.samples = columns[_FIRST_SAMPLE:]
        lines = (re.fullmatch(r"##(\w+)=([^<].*)", line.rstrip("\n")) for line in head)
        self.header = {line[1]: line[2] for line in lines if line}
        self._filtered = 0
        # For each sample, records by (what the genotype counts as, bin of QUAL).
        self._found: list[Counter[tuple[Counts, int]]] = [Counter() for _ in self.samples]

    def add(self, line: bytes) -> None:
        """Count a record, given as its line without the line end."""
        columns = line.split(b"\t")
        if columns[4] in _NO_VARIANT:
            return
        if columns[6] not in _PASSING:
            self._filtered += 1
            return
        quality = 0.0 if columns[5] == b"." else float(columns[5])
        quality_bin = int(np.searchsorted(QUALITY_EDGES, quality, side="right")) - 1
        quality_bin = min(max(quality_bin, 0), QUALITY_BINS - 1)
        known: dict[bytes, tuple[Counts, int]] = {}
        for found, column in zip(self._found, columns[_FIRST_SAMPLE:], strict=True):
            genotype = column.split(b":", 1)[0]
            if genotype not in known:
                known[genotype] = (_counts(columns[3], columns[4], genotype), quality_bin)
            found[known[genotype]] += 1

    def content(self) -> dict[str, Any]:
        """What variants.json holds (docs/formats.md)."""
        samples = {name: self._of_sample(found) for name, found in zip(self.samples, self._found, strict=True)}
        return {
            "format_version": FORMAT_VERSION,
            "header": self.header,
            "quality_edges": QUALITY_EDGES.tolist(),
            "samples": samples,
        }

    def _of_sample(self, found: Counter["tuple[Counts, int]"]) -> dict[str, Any]:
        counts = dict.fromkeys(COUNT_NAMES, 0)
        qualities = {"snvs": [0] * QUALITY_BINS, "others": [0] * QUALITY_BINS}
        for (classes, quality_bin), records in found.items():
            names = dict(classes)
            for name, number in classes:
                counts[name] += number * records
            if "heterozygous" in names or "homozygous" in names:
                row = "snvs" if names.get("snvs") and not names.get("indels") else "others"
                qualities[row][quality_bin] += records
        counts["filtered"] = self._filtered
        return {"counts": counts, "qualities": qualities}


Counts = tuple[tuple[str, int], ...]
"""What a genotype counts as, by name."""


@lru_cache(_CACHED)
def _counts(reference: bytes, alternates: bytes, genotype: bytes) -> Counts:
    return tuple(classify(reference.decode(), alternates.decode(), genotype.decode()).items())


def classify(reference: str, alternates: str, genotype: str) -> Counter[str]:
    """What one genotype carries, by the names of `COUNT_NAMES`.

    Args:
        reference: REF.
        alternates: ALT, alleles separated by commas.
        genotype: GT of any ploidy, phased or not.
    """
    counts: Counter[str] = Counter()
    indices = re.split(r"[/|]", genotype)
    if "." in indices:
        counts["missing"] = 1
        return counts
    alleles = [reference.upper(), *alternates.upper().split(",")]
    for index in sorted(set(indices) - {"0"}):
        counts.update(classify_allele(alleles[0], alleles[int(index)]))
    if set(indices) != {"0"}:
        counts["heterozygous" if len(set(indices)) > 1 else "homozygous"] = 1
    return counts


def classify_allele(reference: str, alternate: str) -> list[str]:
    """The names under which one alternate allele counts."""
    if not re.fullmatch("[ACGTN]+", alternate):
        return ["other"]
    if len(reference) != len(alternate):
        return ["indels"]
    changes = [before + after for before, after in zip(reference, alternate, strict=True) if before != after]
    if len(changes) != 1:
        return ["other"]
    return ["snvs", "transitions" if changes[0] in _TRANSITIONS else "transversions"]
