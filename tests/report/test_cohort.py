"""The report of a large cohort: outliers first, a heat map, a table beside the page; and pedigrees."""

import re
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quire.io.files import read_json, write_json_atomic
from quire.io.pedigree import Person, trios_of
from quire.report.cohort import FIGURES, deviations
from quire.report.drawing import heat_map
from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.report.pedigree import compare_pedigree
from quire.report.relatedness import relate
from quire.report.terminal import load_summary
from quire.rescore.cohort_counts import PairCounter

from tests.support.report_files import Run, write_pairs_of_cohort


def sample_of(**figures: float | None) -> dict[str, Any]:
    """Return a sample of summary.json with these figures, by title with `_` for a blank."""
    sample: dict[str, Any] = {block: {} for _, block, _ in FIGURES}
    for title, block, key in FIGURES:
        sample[block][key] = figures.get(title.replace(" ", "_").replace("/", ""))
    return sample


def test_deviations_are_robust_scores() -> None:
    depths = [30.0, 31.0, 29.0, 33.0, 90.0, None, 28.0]
    samples = [sample_of(Mean_coverage=depth, Indels=5.0, HetHom=None if n else 1.5) for n, depth in enumerate(depths)]
    found = deviations(samples)
    at = {title: number for number, (title, _, _) in enumerate(FIGURES)}
    known = [depth for depth in depths if depth is not None]
    median = statistics.median(known)
    scale = 1.4826 * statistics.median(abs(depth - median) for depth in known)
    expected = [np.nan if depth is None else (depth - median) / scale for depth in depths]
    assert found.scores[at["Mean coverage"]] == pytest.approx(expected, nan_ok=True)
    assert not found.scores[at["Indels"]].any()
    assert np.isnan(found.scores[at["Reads"]]).all()
    assert found.order[0] == 4
    most = [30.0] * 9 + [30.01, 36.0]  # the MAD is 0, and the differences of 0.03 % are none
    scores = deviations([sample_of(Mean_coverage=depth) for depth in most]).scores[at["Mean coverage"]]
    assert 0 < scores[9] < 0.1 < 4 < scores[10]
    assert deviations([]).order == []


def test_cells_of_a_heat_map_have_their_levels() -> None:
    generator = np.random.default_rng(4)
    levels = generator.choice([-2.0, -1.0, 0.0, 1.0, 2.0, np.nan], size=(5, 40))
    svg = heat_map("x", ["a<b"] * 5, [f"s&{n}" for n in range(40)], levels)
    drawn = np.zeros(levels.shape)
    kinds = {"a": -2, "a h": -1, "b h": 1, "b": 2, "c": 9}
    for kind, path in re.findall(r'<path class="([abc][ h]*)" d="([^"]*)"', svg):
        for left, top, right in re.findall(r"M([\d.]+) (\d+)H([\d.]+)v15", path):
            drawn[int(top) // 16, round((float(left) - 150) / 25) : round((float(right) - 150) / 25)] = kinds[kind]
    assert (drawn == np.where(np.isnan(levels), 9, levels)).all()
    assert svg.count("<title>s&amp;") == 40
    assert "a&lt;b" in svg


def test_a_large_cohort_has_no_row_for_each_sample(run: Run, tmp_path: Path) -> None:
    """One of sixty samples has few reads and two are one person: these are named, the others are in a table."""
    names = [f"sample_{number}" for number in range(60)]
    write_pairs_of_cohort(tmp_path / "variants.json", run.variants, names)
    counted = read_json(run.counts)
    counted["flagstat"]["passed"]["primary duplicates"] = 40
    write_json_atomic(tmp_path / "odd.json", counted)
    samples = [
        {"sample": name, "ploidy": 2, "bam": run.bam, "ledgers": []}
        | {"counts": tmp_path / "odd.json" if name == "sample_17" else run.counts}
        for name in names
    ]
    metadata = {"samples": [{"sample": name, "batch": f"b{n % 3}"} for n, name in enumerate(names)], "units": []}
    for processes in (1, 2):
        outputs = [tmp_path / f"{processes}.{name}" for name in ("html", "summary.json", "multiqc", "tsv")]
        inputs = ReportInputs(samples=samples, vcf=run.vcf, variants=tmp_path / "variants.json", metadata=metadata)
        write_report(ReportOutputs(*outputs), inputs, processes)
    text = (tmp_path / "2.html").read_text()
    assert 'id="cohort"' not in text
    (row,) = re.findall(r'<tr><th scope="row">(sample_\d+)</th><td><a.*?<td class="words">(.*?)</td>', text)
    assert row[0] == "sample_17"
    assert row[1].startswith("Duplicates, %: 50, median 5")
    assert text.count('class="aside"') == 24
    assert re.findall("<summary>(sample_[0-9]+)</summary>", text)[:2] == ["sample_17", "sample_0"]
    assert "1 of the same person, 0 first degree" in text
    assert text.count("</td><td>sample_1</td>") == 0
    summary = load_summary(tmp_path / "2.summary.json")
    assert [(pair["first"], pair["second"]) for pair in summary["relatedness"]] == [("sample_0", "sample_1")]
    assert summary["samples"] == load_summary(tmp_path / "1.summary.json")["samples"]
    head, *lines = [line.split("\t") for line in (tmp_path / "2.tsv").read_text().splitlines()]
    assert {len(line) for line in lines} == {len(head)}
    table = [dict(zip(head, line, strict=True)) for line in lines]
    assert [line["sample"] for line in table] == names
    assert (table[17]["reads.duplicates_percent"], table[17]["batch"]) == ("50", "b2")
    assert float(table[17]["reads.duplicates_percent.deviation"]) > 4
    assert len(list((tmp_path / "2.multiqc").iterdir())) == 7 * 60 + 2


def family(sites: int) -> dict[str, np.ndarray]:
    """Draw the genotypes (0 to 2) of parents, two children and a stranger."""
    generator = np.random.default_rng(2)
    father, mother, stranger = generator.random((3, 2, sites)) < generator.uniform(0.1, 0.9, sites)

    def child() -> np.ndarray:
        chosen = generator.integers(2, size=(2, sites))
        return father[chosen[0], np.arange(sites)].astype(int) + mother[chosen[1], np.arange(sites)]

    found = {"son": child(), "girl": child()}
    return {name: one.sum(axis=0) for name, one in (("dad", father), ("mum", mother), ("x", stranger))} | found


@pytest.mark.parametrize(
    ("swapped", "contradicted"),
    [((), set()), (("dad", "x"), {"dad", "son", "girl", "x"}), (("son", "girl"), set())],
)
def test_a_swap_contradicts_the_pedigree(swapped: tuple[str, ...], contradicted: set[str]) -> None:
    people = [
        Person("son", "dad", "mum", "male"),
        Person("girl", "dad", "mum", "female"),
        Person("dad", "", "", "male"),
    ]
    people += [Person("mum", "", "", "female"), Person("x", "", "", "male"), Person("far", "son", "", "male")]
    genotypes = family(3000)
    names = list(genotypes)
    if swapped:
        first, second = swapped
        genotypes |= {first: genotypes[second], second: genotypes[first]}
    trios = trios_of(people, names)
    counter = PairCounter(len(names), [tuple(names.index(name) for name in trio) for trio in trios])
    for site in (1 + np.stack(list(genotypes.values()))).T.tolist():
        counter.add(site)
    rows = [
        {**trio._asdict(), "sites": sites, "errors": errors}
        for trio, (sites, errors) in zip(trios, counter.trios(), strict=True)
    ]
    blocks = compare_pedigree(people, rows, relate(names, counter.counts()))
    assert {name for name, block in blocks.items() if block["contradictions"]} == contradicted
    for child in ("son", "girl"):
        assert (blocks[child]["errors_percent"] > 5) == bool(contradicted)
        assert blocks[child]["errors_percent"] == 0 or contradicted
        assert blocks[child]["judged"] == (4 if contradicted else 3)
    if contradicted:
        assert "dad is unrelated, by the pedigree parent" in blocks["son"]["contradictions"]
        assert "x is first degree, by the pedigree no such relative" in blocks["girl"]["contradictions"]
