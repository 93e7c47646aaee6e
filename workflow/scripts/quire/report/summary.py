"""summary.json: every figure of the report under stable keys (docs/formats.md)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quire.report.counts import AlignmentCounts, Depth, VariantCounts, median_of_histogram
from quire.report.resources import RuleUse
from quire.report.truth import Comparison, TruthCounts, Variant

BREADTH_DEPTHS = (1, 10, 20)
LISTED_VARIANTS = 100


def summarise_reads(alignments: AlignmentCounts) -> dict[str, Any]:
    """The `reads` of a sample: primary records only, so that a read counts once."""
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
    }


def summarise_insert_sizes(histogram: np.ndarray) -> dict[str, int] | None:
    """Quartiles of the insert size over all pairs with both mates on one contig, or None without pairs."""
    if not histogram.any():
        return None
    cumulated = np.cumsum(histogram)
    lower, upper = (int(np.searchsorted(cumulated, share * cumulated[-1])) for share in (0.25, 0.75))
    return {
        "pairs": int(cumulated[-1]),
        "lower_quartile": lower,
        "median": median_of_histogram(histogram),
        "upper_quartile": upper,
    }


def summarise_depth(depth: Depth) -> dict[str, Any]:
    """The `coverage` of a sample over the target."""
    breadths = {f"breadth_{at}x_percent": round(100 * depth.breadth(at), 4) for at in BREADTH_DEPTHS}
    return {"positions": depth.positions, "mean": round(depth.mean, 4), "median": depth.median, **breadths}


def summarise_variants(variants: VariantCounts) -> dict[str, Any]:
    """The `variants` of a sample."""
    return {
        **variants.counts,
        "ti_tv": rounded(variants.transition_ratio),
        "het_hom": rounded(variants.heterozygous_ratio),
    }


def summarise_counts(counts: TruthCounts) -> dict[str, Any]:
    """Found, missed and false variants of one kind."""
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
    """Counts by kind and the first variants that did not match, as `contig:position reference>alternate`."""
    return {
        **{kind: summarise_counts(counts) for kind, counts in comparison.counts.items()},
        "missed": [_describe(*variant) for variant in comparison.missed[:LISTED_VARIANTS]],
        "false_calls": [_describe(*variant) for variant in comparison.false_calls[:LISTED_VARIANTS]],
    }


def summarise_rules(uses: Sequence[RuleUse]) -> list[dict[str, Any]]:
    """Time and memory by rule."""
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
    """A share in percent, or None of nothing."""
    return round(100 * part / whole, 4) if whole else None


def rounded(value: float | None, digits: int = 4) -> float | None:
    """`value` rounded, or None."""
    return None if value is None else round(value, digits)


def _describe(contig: str, variant: Variant) -> str:
    return f"{contig}:{variant.position + 1} {variant.reference}>{variant.alternate}"
