"""What a person should see before anything else: figures that say that something went wrong or is unusual."""

from collections.abc import Mapping, Sequence
from typing import Any

from quire.report.criteria import BY_KEY, FAIL, LOOK

LOWEST_F1 = 0.8


def find_warnings(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what is unusual in a summary, as objects of `sample` (empty for the whole run) and `message`."""
    warnings = []
    for sample in summary["samples"]:
        ledgers = [ledger for ledger in summary["ledger"] if ledger["sample"] == sample["sample"]]
        messages = _reads(sample) + _ledger(sample, ledgers) + _checks(sample) + _variants(sample)
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
    return []


def _checks(sample: Mapping[str, Any]) -> list[str]:
    """The checks that a sample did not pass, those that it failed first."""
    messages = []
    for verdict in (FAIL, LOOK):
        for check in sample["checks"]:
            if check["verdict"] == verdict:
                criterion = BY_KEY[check["criterion"]]
                messages.append(f"{criterion.title}: {check['shown']} (usual: {check['usual']}); {criterion.advice}.")
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
