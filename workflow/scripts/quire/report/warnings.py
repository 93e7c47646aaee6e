"""Warnings at the top of the report: figures that are unusual or show that something went wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.report.criteria import BY_KEY, CRITERIA, FAIL, LOOK

LOWEST_F1 = 0.8
MOST_LINES = 12  # warnings that are listed one by one; more are grouped
NAMED_SAMPLES = 6


def find_warnings(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warnings of a summary, each with `sample` (the sample or the search) and `message`."""
    warnings, by_sample = [], dict[str, list[Mapping[str, Any]]]()
    for ledger in summary["ledger"]:
        by_sample.setdefault(ledger["sample"], []).append(ledger)
    for sample in summary["samples"]:
        ledgers = by_sample.get(sample["sample"], [])
        messages = _ledger(sample, ledgers) + _checks(sample, bool(summary["target"]["bed"]))
        if not sample["reads"]["total"]:
            messages.insert(0, "The sample has no reads; unless it is a negative control, check its FASTQ files.")
        elif not any(sample["variants"][kind] for kind in ("snvs", "indels", "other")):
            messages.append("No variant was called.")
        warnings += [{"sample": sample["sample"], "message": message} for message in messages]
    warnings += warnings_of_searches(summary.get("searches", []))
    truth = summary["truth"]
    if truth and truth["snv"]["truth"] and truth["snv"]["f1"] < LOWEST_F1:
        message = (
            f"SNVs agree poorly with the truth (F1 {truth['snv']['f1']:.3f}); "
            "check that it is the truth of this sample and that its regions are covered."
        )
        warnings.append({"sample": truth["sample"], "message": message})
    return warnings


def gathered_warnings(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the warnings to display, grouped by criterion if there are more than MOST_LINES.

    A group names the first samples with their values; warnings that are in no group follow the groups, those of one
    message together.
    """
    warnings: list[dict[str, str]] = summary["warnings"]
    if len(warnings) <= MOST_LINES:
        return warnings
    samples, gathered = summary["samples"], list[dict[str, str]]()
    for criterion in CRITERIA:
        marked = [
            (sample["sample"], check)
            for sample in samples
            for check in sample["checks"]
            if check["criterion"] == criterion.key and check["verdict"] in (FAIL, LOOK)
        ]
        if len(marked) < 2:
            continue
        are_lists = any(", " in check["shown"] for _, check in marked)
        between, after_name = ("; ", ": ") if are_lists else (", ", " ")
        some = between.join(f"{name}{after_name}{check['shown']}" for name, check in marked[:NAMED_SAMPLES])
        more = f" and {len(marked) - NAMED_SAMPLES} more" if len(marked) > NAMED_SAMPLES else ""
        advice = criterion.advice_for(bool(summary["target"]["bed"]))
        message = f"{criterion.title}: {some}{more} (usual: {marked[0][1]['usual']}); {advice}."
        gathered.append({"sample": f"{len(marked)} of {len(samples)} samples", "message": message})
        names = {name for name, _ in marked}
        warnings = [
            one
            for one in warnings
            if not (one["sample"] in names and one["message"].startswith(f"{criterion.title}: "))
        ]
    alike: dict[str, list[str]] = {}
    for one in warnings:
        alike.setdefault(one["message"], []).append(one["sample"])
    for message, names_of_one in alike.items():
        more = f" and {len(names_of_one) - NAMED_SAMPLES} more" if len(names_of_one) > NAMED_SAMPLES else ""
        gathered.append({"sample": f"{', '.join(names_of_one[:NAMED_SAMPLES])}{more}", "message": message})
    return gathered


def warnings_of_searches(searches: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the warnings of the exact tools' searches, each under its tool and name."""
    return [
        {"sample": f"{search['tool']} {search['name']}", "message": warning}
        for search in searches
        for warning in search["warnings"]
    ]


def _checks(sample: Mapping[str, Any], target: bool) -> list[str]:
    """Return a message for each check that the sample did not pass, failed ones first."""
    messages = []
    for verdict in (FAIL, LOOK):
        for check in sample["checks"]:
            if check["verdict"] == verdict:
                criterion = BY_KEY[check["criterion"]]
                advice = criterion.advice_for(target)
                messages.append(f"{criterion.title}: {check['shown']} (usual: {check['usual']}); {advice}.")
    return messages


def _ledger(sample: Mapping[str, Any], ledgers: list[Mapping[str, Any]]) -> list[str]:
    """Return the warnings of the stages, and one if the number of reads changed between FASTQ and alignments."""
    messages = [warning for line in ledgers for warning in line.get("warnings", [])]
    reads_in = [line["counts"]["reads"] for line in ledgers if line["stage"] == "align" and "reads" in line["counts"]]
    total = sample["reads"]["total"]
    if reads_in and sum(reads_in) != total:
        messages.append(
            f"The FASTQ files hold {sum(reads_in):,} reads and the alignments {total:,}; please report this."
        )
    return messages
