"""Content of summary.json: every figure of the report under stable keys (docs/formats.md)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quire.report.contamination import Contamination
from quire.report.counts import AlignmentCounts, Depth, VariantCounts, median_of_histogram
from quire.report.criteria import FEMALE, LEAST_DEPTH_FOR_SEX, MALE, UNCLEAR
from quire.report.resources import RuleUse
from quire.report.truth import Comparison, TruthCounts, Variant

BREADTH_DEPTHS = (1, 10, 20)
LEAST_BALANCE_DEPTH = 10
LIBRARY_ADAPTERS = ("illumina", "nextera")
LISTED_VARIANTS = 100


def summarise_reads(alignments: AlignmentCounts) -> dict[str, Any]:
    """Return the `reads` of a sample, from primary records only so that each read counts once."""
    counts = alignments.counts
    total, mapped, paired = counts["primary"], counts["primary mapped"], counts["paired in sequencing"]
    return {
        "total": total,
        "mapped": mapped,
        "mapped_percent": percent(mapped, total),
        "unmapped": total - mapped,
        "paired": paired,
        "properly_paired": counts["properly paired"],
        "properly_paired_percent": percent(counts["properly paired"], paired),
        "duplicates": counts["primary duplicates"],
        "duplicates_percent": percent(counts["primary duplicates"], mapped),
        "supplementary": counts["supplementary"],
        "mismatches_per_base": round(alignments.mismatches_per_base, 6),
        "adapter_percent": percent(sum(sum(alignments.adapters[name]) for name in LIBRARY_ADAPTERS), total),
        "poly_g_percent": percent(sum(alignments.adapters["poly_g"]), total),
    }


def summarise_insert_sizes(histogram: np.ndarray, read_length: float) -> dict[str, int | float] | None:
    """Return the `insert_size` of a sample, over pairs with both mates on one contig; None without pairs.

    It has the quartiles, the median in read lengths, and the interquartile range over the median (`spread`).
    """
    if not histogram.any():
        return None
    cumulated = np.cumsum(histogram)
    lower, upper = (int(np.searchsorted(cumulated, share * cumulated[-1])) for share in (0.25, 0.75))
    median = median_of_histogram(histogram)
    return {
        "pairs": int(cumulated[-1]),
        "lower_quartile": lower,
        "median": median,
        "upper_quartile": upper,
        "read_lengths": round(median / max(1.0, read_length), 4),
        "spread": round((upper - lower) / max(1, median), 4),
    }


def summarise_depth(depth: Depth) -> dict[str, Any]:
    """Return the `coverage` of a sample over the target."""
    breadths = {f"breadth_{at}x_percent": round(100 * depth.breadth(at), 4) for at in BREADTH_DEPTHS}
    return {
        "positions": depth.positions,
        "mean": round(depth.mean, 4),
        "median": depth.median,
        **breadths,
        "fold_80": fold_80(depth),
    }


def fold_80(depth: Depth) -> float | None:
    """Return Picard's FOLD_80_BASE_PENALTY: mean depth over the depth that 80 % of positions reach, or None for 0."""
    reached = int(np.searchsorted(np.cumsum(depth.histogram), 0.2 * depth.positions))
    return round(depth.mean / reached, 4) if reached else None


def summarise_variants(variants: VariantCounts) -> dict[str, Any]:
    """Return the `variants` of a sample."""
    return {
        **variants.counts,
        "ti_tv": rounded(variants.transition_ratio),
        "het_hom": rounded(variants.heterozygous_ratio),
    }


def summarise_balance(variants: VariantCounts) -> dict[str, Any]:
    """Count heterozygous SNVs with at least 10 reads, and those with an alternate fraction outside 0.2 to 0.8."""
    sites, outside = 0, 0
    for reference, alternate, number in variants.allele_depths["heterozygous"]:
        reads = reference + alternate
        if reads >= LEAST_BALANCE_DEPTH:
            sites += number
            outside += number if not 0.2 * reads <= alternate <= 0.8 * reads else 0
    return {"sites": sites, "outside_percent": percent(outside, sites)}


def summarise_contamination(found: Contamination | None, source: str) -> dict[str, Any] | None:
    """Return the estimate and its 95 % interval in percent, with its source and number of sites."""
    if found is None:
        return None
    names = ("percent", "low_percent", "high_percent")
    shares = zip(names, (found.share, found.low, found.high), strict=True)
    return {"from": source, "sites": found.sites, **{name: round(100 * share, 2) for name, share in shares}}


def summarise_sex(ratios: Mapping[str, float | None], sheet: str, human: str | None, panel: bool) -> dict[str, Any]:
    """Return the sex inferred from the depth of X and Y and the sex in the sheet, or why it cannot be inferred."""
    depth, x_ratio, y_ratio = (ratios[key] for key in ("autosomal_depth", "x_ratio", "y_ratio"))
    told = {"x_ratio": x_ratio, "y_ratio": y_ratio, "seen": None, "sheet": sheet}
    if human is None:
        return told | {"reason": "the reference is not a known human assembly"}
    if depth is None or x_ratio is None or y_ratio is None:
        return told | {"reason": "the reference has no autosomes, or no X and Y"}
    if panel or depth < LEAST_DEPTH_FOR_SEX:
        return told | {"reason": "the target is only a part of the genome" if panel else "too few reads"}
    has_y = y_ratio > 0.25
    seen = MALE if x_ratio < 0.75 and has_y else FEMALE if x_ratio >= 0.75 and not has_y else UNCLEAR
    return told | {"seen": seen, "reason": ""}


def summarise_counts(counts: TruthCounts) -> dict[str, Any]:
    """Return the found, missed and false variants of one kind."""
    return {
        "truth": counts.truth_found + counts.missed,
        "found": counts.truth_found,
        "missed": counts.missed,
        "right_calls": counts.calls_right,
        "false_calls": counts.false_calls,
        "recall": rounded(counts.recall, 6),
        "precision": rounded(counts.precision, 6),
        "f1": rounded(counts.f1, 6),
    }


def summarise_truth(comparison: Comparison) -> dict[str, Any]:
    """Return the counts by kind and the first unmatched variants, as `contig:position reference>alternate`."""
    return {
        **{kind: summarise_counts(counts) for kind, counts in comparison.counts.items()},
        "missed": [_describe(*variant) for variant in comparison.missed[:LISTED_VARIANTS]],
        "false_calls": [_describe(*variant) for variant in comparison.false_calls[:LISTED_VARIANTS]],
    }


def summarise_rules(uses: Sequence[RuleUse]) -> list[dict[str, Any]]:
    """Return time and memory by rule."""
    return [
        {
            "rule": use.rule,
            "jobs": use.jobs,
            "seconds": round(use.seconds, 2),
            "longest_seconds": round(use.longest_seconds, 2),
            "cpu_seconds": rounded(use.cpu_seconds, 2),
            "peak_megabytes": rounded(use.peak_megabytes, 1),
        }
        for use in uses
    ]


def percent(part: int, whole: int) -> float | None:
    """Return a share in percent, or None if the whole is 0."""
    return round(100 * part / whole, 4) if whole else None


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Round a value; None stays None."""
    return None if value is None else round(value, digits)


def _describe(contig: str, variant: Variant) -> str:
    return f"{contig}:{variant.position + 1} {variant.reference}>{variant.alternate}"
