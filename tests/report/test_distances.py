"""Distances between haploid samples: the table, summary.json and the page."""

from pathlib import Path

from quire.io.files import read_json, write_json_atomic
from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.report.terminal import load_summary

from tests.support.report_files import Run

NAMES = ("a", "b", "c", "without_calls", "diploid", "of_a_gvcf", "diploid_of_a_gvcf")


def report(run: Run, folder: Path, pairs: dict[tuple[str, str], tuple[int, int]]) -> ReportOutputs:
    """Write the report of NAMES, given the sites and the differences of some pairs."""
    content = read_json(run.variants)
    (one,) = content["samples"].values()
    every = [(first, second) for number, first in enumerate(NAMES) for second in NAMES[number + 1 :]]
    content["samples"] = dict.fromkeys(NAMES, one)
    content["pairs"] = {name: [0] * len(every) for name in content["pairs"]}
    counts = [pairs.get(pair, (0, 0)) for pair in every]
    content["haploid_pairs"] = dict(zip(("sites", "different"), map(list, zip(*counts, strict=True)), strict=True))
    write_json_atomic(folder / "variants.json", content)
    samples = [
        {"sample": name, "ploidy": 2 if name == "diploid" else 1, "bam": run.bam, "counts": run.counts, "ledgers": []}
        for name in NAMES[:5]
    ]
    outputs = ReportOutputs(folder / "report.html", folder / "summary.json", distances=folder / "distances.tsv")
    write_report(outputs, ReportInputs(samples=samples, vcf=run.vcf, variants=folder / "variants.json"))
    return outputs


def test_distances_of_haploid_samples(run: Run, tmp_path: Path) -> None:
    pairs = {
        **{("a", "b"): (900, 12), ("a", "c"): (880, 3), ("b", "c"): (870, 0)},
        **{("a", "without_calls"): (449, 1), ("b", "without_calls"): (0, 0)},  # fewer than half of 900
        **{("a", "of_a_gvcf"): (800, 40), ("b", "of_a_gvcf"): (790, 41), ("c", "of_a_gvcf"): (780, 42)},
    }
    outputs = report(run, tmp_path, pairs)
    assert outputs.distances.read_text().splitlines() == [
        "\ta\tb\tc\twithout_calls\tof_a_gvcf",
        "a\t0\t12\t3\tNA\t40",
        "b\t12\t0\t0\tNA\t41",
        "c\t3\t0\t0\tNA\t42",
        "without_calls\tNA\tNA\tNA\t0\tNA",
        "of_a_gvcf\t40\t41\t42\tNA\t0",
    ]
    summary = load_summary(outputs.summary)
    assert summary["distances"][0] == {"first": "b", "second": "c", "sites": 870, "different": 0}
    assert summary["distances"][1] == {"first": "a", "second": "c", "sites": 880, "different": 3}
    assert [pair["different"] for pair in summary["distances"]] == [0, 3, 12, 40, 41, 42, *[None] * 4]
    related = {frozenset((pair["first"], pair["second"])) for pair in summary["relatedness"]}
    assert len(related) == 21 - 10
    assert not any(pair <= {"a", "b", "c", "without_calls", "of_a_gvcf"} for pair in related)
    text = Path(outputs.page).read_text()
    assert '<th scope="row">b</th><td>c</td><td>0</td><td>870</td>' in text
    assert "the 10 closest pairs" in text
