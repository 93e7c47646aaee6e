"""A large cohort: how far each sample is from the others, and the heat map, table and sums that show it.

The deviation of a figure is its robust z-score: the difference from the cohort's median over its median absolute
deviation (MAD), scaled to the standard deviation of a normal distribution (Iglewicz and Hoaglin 1993).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.files import atomic_path
from quire.report.criteria import BY_KEY, FAIL
from quire.report.drawing import heat_map
from quire.report.pictures import Picture

FAR = 4.0
"""Deviation of an outlier, as in gnomAD v3 (4 MAD; release notes of 2019)."""
NEAR = 2.0
_MAD_OF_NORMAL, _MEAN_DEVIATION_OF_NORMAL = 1.4826, 1.2533
_LEAST = 0.005
"""Least scale, over the median: smaller differences are no deviation, however alike the other samples are."""
_MOST_REASONS = 4
FIGURES = (  # title, block and key of summary.json
    ("Reads", "reads", "total"),
    ("Mapped, %", "reads", "mapped_percent"),
    ("Properly paired, %", "reads", "properly_paired_percent"),
    ("Duplicates, %", "reads", "duplicates_percent"),
    ("Adapters, %", "reads", "adapter_percent"),
    ("Mismatches per base", "reads", "mismatches_per_base"),
    ("Insert size", "insert_size", "median"),
    ("AT dropout, %", "gc_bias", "at_dropout"),
    ("GC dropout, %", "gc_bias", "gc_dropout"),
    ("Mean coverage", "coverage", "mean"),
    ("At 10 or more reads, %", "coverage", "breadth_10x_percent"),
    ("Fold 80 penalty", "coverage", "fold_80"),
    ("SNVs", "variants", "snvs"),
    ("Indels", "variants", "indels"),
    ("Ti/Tv", "variants", "ti_tv"),
    ("Het/hom", "variants", "het_hom"),
    ("Missing genotypes", "variants", "missing"),
    ("Unbalanced alleles, %", "allele_balance", "outside_percent"),
    ("Mixed haploid SNVs, %", "mixture", "mixed_percent"),
    ("Foreign reads, %", "contamination", "percent"),
    ("Mendelian errors, %", "pedigree", "errors_percent"),
)


class Deviations(NamedTuple):
    """Figures of all samples, and how far they are from the others.

    Attributes:
        values, scores: float64[FIGURES, samples]; NaN if a sample has no such figure.
        medians: float64[FIGURES].
        order: samples from the farthest to the nearest.
    """

    values: NDArray[np.float64]
    scores: NDArray[np.float64]
    medians: NDArray[np.float64]
    order: list[int]


def deviations(samples: Sequence[Mapping[str, Any]]) -> Deviations:
    """Compare the samples of summary.json with each other."""
    found = [[(sample[block] or {}).get(key) for sample in samples] for _, block, key in FIGURES]
    values = np.array(found, np.float64).reshape(len(FIGURES), len(samples))
    scores, medians = np.full_like(values, np.nan), np.full(len(FIGURES), np.nan)
    for figure, own in enumerate(values):
        known = ~np.isnan(own)
        if known.any():
            medians[figure] = median = np.median(own[known])
            away = np.abs(own[known] - median)
            spread = _MAD_OF_NORMAL * np.median(away) or _MEAN_DEVIATION_OF_NORMAL * away.mean()
            scores[figure, known] = (own[known] - median) / (max(spread, _LEAST * abs(median)) or 1.0)
    farthest = np.nan_to_num(np.abs(scores)).max(axis=0)
    return Deviations(values, scores, medians, np.argsort(-farthest, kind="stable").tolist())


def outliers(samples: Sequence[Mapping[str, Any]], found: Deviations) -> list[dict[str, Any]]:
    """Return the samples that are FAR from the others or fail a check, each with `score` and `why`, the farthest first.

    A check that most samples fail says nothing about one of them.
    """
    rows = []
    fails = Counter(one["criterion"] for sample in samples for one in sample["checks"] if one["verdict"] == FAIL)
    for number in found.order:
        scores = np.nan_to_num(found.scores[:, number])
        far = [figure for figure in np.argsort(-np.abs(scores)) if abs(scores[figure]) >= FAR]
        failed = [one for one in samples[number]["checks"] if one["verdict"] == FAIL]
        why = [
            f"{FIGURES[figure][0]}: {found.values[figure, number]:,.6g}, median {found.medians[figure]:,.6g}"
            for figure in far[:_MOST_REASONS]
        ]
        why += [f"{len(far) - _MOST_REASONS} more figures"] if len(far) > _MOST_REASONS else []
        why += [
            f"fails {BY_KEY[one['criterion']].title} ({one['shown']})"
            for one in failed
            if 2 * fails[one["criterion"]] <= len(samples)
        ]
        if why:
            rows.append({**samples[number], "score": float(np.abs(scores).max()), "why": "; ".join(why)})
    return rows


def draw_heat_map(samples: Sequence[Mapping[str, Any]], found: Deviations) -> Picture:
    """Draw the deviations of all samples, from the farthest on the left to the nearest."""
    used = [figure for figure in range(len(FIGURES)) if not np.isnan(found.values[figure]).all()]
    scores = found.scores[used][:, found.order]
    levels = np.sign(scores) * ((np.abs(scores) >= NEAR) + 1.0 * (np.abs(scores) >= FAR))
    names = [samples[number]["sample"] for number in found.order]
    text = f"{len(names):,} samples, {int((np.abs(levels) == 2).any(axis=0).sum()):,} of them far from the others"
    return Picture(
        "Deviation", text, heat_map(f"Deviation: {text}", [FIGURES[figure][0] for figure in used], names, levels)
    )


def write_samples(
    path: str | Path, samples: Sequence[Mapping[str, Any]], found: Deviations, metadata: Sequence[Mapping[str, str]]
) -> None:
    """Write a line for each sample: checks by verdict, figures with their deviations, and the sheet's own columns."""
    own = [name for name in (metadata[0] if metadata else ()) if name != "sample"]
    titles = [f"{block}.{key}" for _, block, key in FIGURES]
    verdicts = list(samples[0]["verdicts"]) if samples else []
    lines = [["sample", *verdicts, *(name for title in titles for name in (title, f"{title}.deviation")), *own]]
    for number, sample in enumerate(samples):
        pairs = zip(found.values[:, number], found.scores[:, number], strict=True)
        figures = ["" if np.isnan(value) else f"{value:.8g}\t{score:.2f}" for value, score in pairs]
        given = metadata[number] if metadata else {}
        counts = [str(sample["verdicts"][verdict]) for verdict in verdicts]
        lines.append([sample["sample"], *counts, *(text or "\t" for text in figures), *(given[name] for name in own)])
    with atomic_path(path) as temporary:
        temporary.write_text("".join("\t".join(line) + "\n" for line in lines), "utf-8")


def summed(ledger: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for all ledgers of a stage and a backend, with the sums of their counts."""

    def kind(line: Mapping[str, Any]) -> tuple[str, str]:
        return line["stage"], repr(line.get("backend"))

    entries = []
    for _, lines in groupby(sorted(ledger, key=kind), key=kind):
        group = list(lines)
        names = dict.fromkeys(name for line in group for name in line["counts"])
        counts = {name: sum(line["counts"].get(name) or 0 for line in group) for name in names}
        entries.append({**group[0], "unit": f"{len(group):,} together", "counts": counts})
    return entries
