"""What a person should see before anything else: figures that say that something went wrong or is unusual."""

from collections.abc import Mapping, Sequence
from typing import Any

LOWEST_MAPPED_PERCENT = 90.0
LOWEST_PROPER_PERCENT = 80.0
HIGHEST_DUPLICATES_PERCENT = 30.0
LOWEST_MEAN_COVERAGE = 10.0
LOWEST_BREADTH_PERCENT = 50.0
LOWEST_F1 = 0.8


def find_warnings(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what is unusual in a summary, as objects of `sample` (empty for the whole run) and `message`."""
    warnings = []
    for sample in summary["samples"]:
        ledgers = [ledger for ledger in summary["ledger"] if ledger["sample"] == sample["sample"]]
        messages = _reads(sample) + _ledger(sample, ledgers) + _coverage(sample) + _variants(sample)
        warnings += [{"sample": sample["sample"], "message": message} for message in messages]
    warnings += warnings_of_searches(summary.get("searches", []))
    if summary["truth"]:
        warnings += [{"sample": summary["truth"]["sample"], "message": message} for message in _truth(summary["truth"])]
    return warnings


def warnings_of_searches(searches: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What searches of the exact tools warned of, each under its tool and name."""
    return [
        {"sample": f"{search['tool']} {search['name']}", "message": warning}
        for search in searches
        for warning in search["warnings"]
    ]


def _reads(sample: Mapping[str, Any]) -> list[str]:
    reads = sample["reads"]
    if not reads["total"]:
        return ["The sample has no reads; check its FASTQ files."]
    messages = []
    if reads["mapped_percent"] < LOWEST_MAPPED_PERCENT:
        messages.append(
            f"Only {reads['mapped_percent']:.1f} % of the reads are mapped (usual: above "
            f"{LOWEST_MAPPED_PERCENT:.0f} %); the sample may be contaminated or belong to another reference."
        )
    if reads["properly_paired_percent"] is not None and reads["properly_paired_percent"] < LOWEST_PROPER_PERCENT:
        messages.append(
            f"Only {reads['properly_paired_percent']:.1f} % of the paired reads are properly paired "
            f"(usual: above {LOWEST_PROPER_PERCENT:.0f} %)."
        )
    if reads["duplicates_percent"] is not None and reads["duplicates_percent"] > HIGHEST_DUPLICATES_PERCENT:
        messages.append(
            f"{reads['duplicates_percent']:.1f} % of the mapped reads are duplicates "
            f"(usual: below {HIGHEST_DUPLICATES_PERCENT:.0f} %); the library may have had too little DNA."
        )
    return messages


def _ledger(sample: Mapping[str, Any], ledgers: list[Mapping[str, Any]]) -> list[str]:
    """What the stages warned of, and reads that the mapper counted and the final file does not hold."""
    messages = [warning for line in ledgers for warning in line.get("warnings", [])]
    reads_in = [line["counts"]["reads"] for line in ledgers if line["stage"] == "align" and "reads" in line["counts"]]
    total = sample["reads"]["total"]
    if reads_in and sum(reads_in) != total:
        messages.append(
            f"The FASTQ files hold {sum(reads_in):,} reads and the alignments {total:,}; please report this."
        )
    return messages


def _coverage(sample: Mapping[str, Any]) -> list[str]:
    coverage = sample["coverage"]
    if not sample["reads"]["total"]:
        return []
    if coverage["breadth_1x_percent"] < LOWEST_BREADTH_PERCENT:
        return [
            f"Only {coverage['breadth_1x_percent']:.1f} % of the target is covered by any read; if only part of the "
            "reference was sequenced, name it in rescore.intervals."
        ]
    if coverage["mean"] < LOWEST_MEAN_COVERAGE:
        return [
            f"The mean coverage is {coverage['mean']:.1f}; genotypes need about {LOWEST_MEAN_COVERAGE:.0f} and more."
        ]
    return []


def _variants(sample: Mapping[str, Any]) -> list[str]:
    variants = sample["variants"]
    if variants["snvs"] + variants["indels"] + variants["other"] == 0:
        return ["No variant was called."]
    return []


def _truth(truth: Mapping[str, Any]) -> list[str]:
    snv = truth["snv"]
    if snv["truth"] and snv["f1"] < LOWEST_F1:
        return [
            f"SNVs agree poorly with the truth (F1 {snv['f1']:.3f}); "
            "is it the truth of this sample, and are its regions covered?"
        ]
    return []
