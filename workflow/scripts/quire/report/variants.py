"""What was called, by sample: SNVs, indels, transitions and transversions, heterozygous and homozygous genotypes.

The VCF passes through `bcftools query`; records with the same alleles and genotype are counted together, so that
Python looks at distinct (alleles, genotype) combinations and not at records.
"""

import csv
import os
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas
import pysam.bcftools
from pysam.utils import SamtoolsError

from quire.device.backend import VCF_KEY
from quire.errors import QuireError
from quire.report.known_variants import PASSING, open_indexed

RECORDS_AT_A_TIME = 500_000
# QUAL spans orders of magnitude: five bins a decade from 1 to 100,000; what lies outside falls in the outer bins.
QUALITY_EDGES = np.logspace(0, 5, 26)
QUALITY_BINS = QUALITY_EDGES.size - 1

COUNT_NAMES = (
    *("snvs", "indels", "other", "transitions", "transversions"),
    *("heterozygous", "homozygous", "missing", "filtered"),
)

# Positions that stand in the file without a variant of their own (rescore.emit: all_sites).
NO_VARIANT = 'N_ALT=0 || (N_ALT=1 && ALT="*")'

_TRANSITIONS = frozenset(("AG", "GA", "CT", "TC"))
_COLUMNS = ["quality", "filter", "reference", "alternates", "genotype"]


@dataclass
class VariantCounts:
    """What one sample carries, over the records that pass the filters.

    Attributes:
        counts: `snvs`, `indels`, `other` (several bases for as many, symbolic alleles), `transitions`,
            `transversions` as alleles; `heterozygous`, `homozygous` (haploid calls too), `missing` (no or partial
            genotype), `filtered` (records that do not pass) as records.
        qualities: int64[2, QUALITY_BINS] carried records by QUAL, between `QUALITY_EDGES`; rows are SNVs and
            others.
    """

    counts: Counter[str] = field(default_factory=Counter)
    qualities: np.ndarray = field(default_factory=lambda: np.zeros((2, QUALITY_BINS), dtype=np.int64))

    @property
    def transition_ratio(self) -> float | None:
        """Transitions over transversions, or None without transversions."""
        return self.counts["transitions"] / self.counts["transversions"] if self.counts["transversions"] else None

    @property
    def heterozygous_ratio(self) -> float | None:
        """Heterozygous over homozygous genotypes, or None without homozygous ones."""
        return self.counts["heterozygous"] / self.counts["homozygous"] if self.counts["homozygous"] else None


def samples_of(vcf: str | Path) -> list[str]:
    """The samples of an indexed VCF."""
    with open_indexed(vcf) as variants:
        return list(variants.header.samples)


def read_calling_backend(vcf: str | Path) -> dict[str, str] | None:
    """`name` and `reason` of the backend that called the variants, or None where the header does not say."""
    with open_indexed(vcf) as variants:
        lines = [record.value for record in variants.header.records if record.key == VCF_KEY and record.value]
    if not lines:
        return None
    name, _, reason = lines[0].partition(": ")
    return {"name": name, "reason": reason}


def count_variants(vcf: str | Path, sample: str) -> VariantCounts:
    """Count what a sample carries.

    Args:
        vcf: the VCF of all samples.
        sample: one of them.

    Raises:
        QuireError: bcftools cannot read the file.
    """
    found = VariantCounts()
    with tempfile.TemporaryDirectory(prefix="quire-") as folder:
        table = os.path.join(folder, "genotypes.tsv")
        line_format = "%QUAL\t%FILTER\t%REF\t%ALT[\t%GT]\n"
        options = ("-s", sample, "-e", NO_VARIANT, "-f", line_format, "-o", table, str(vcf))
        try:
            pysam.bcftools.query(*options, catch_stdout=False)
        except SamtoolsError as error:
            raise QuireError(f"{vcf}: bcftools cannot read it ({error}); make it again.") from None
        if os.path.getsize(table):
            for records in pandas.read_csv(
                table,
                sep="\t",
                header=None,
                names=_COLUMNS,
                dtype=str,
                keep_default_na=False,
                quoting=csv.QUOTE_NONE,
                chunksize=RECORDS_AT_A_TIME,
            ):
                _add(found, records)
    return found


def _add(found: VariantCounts, records: pandas.DataFrame) -> None:
    """Count a table of records into `found`."""
    passing = records["filter"].isin(PASSING)
    found.counts["filtered"] += int((~passing).sum())
    records = records[passing]
    quality = pandas.to_numeric(records["quality"], errors="coerce").fillna(0.0).to_numpy()
    quality_bin = np.clip(np.searchsorted(QUALITY_EDGES, quality, side="right") - 1, 0, QUALITY_BINS - 1)
    groups = records.groupby(["reference", "alternates", "genotype"], sort=False).indices
    for (reference, alternates, genotype), rows in groups.items():
        combination = classify(reference, alternates, genotype)
        for name, number in combination.items():
            found.counts[name] += number * len(rows)
        if combination["heterozygous"] or combination["homozygous"]:
            row = 0 if combination["snvs"] and not combination["indels"] else 1
            found.qualities[row] += np.bincount(quality_bin[rows], minlength=QUALITY_BINS)


def classify(reference: str, alternates: str, genotype: str) -> Counter[str]:
    """What one genotype carries, by the names of `VariantCounts.counts`.

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
