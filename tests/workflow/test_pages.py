"""Report pages of a sample and a cohort in a browser, in print and in axe-core, and the MultiQC folder in MultiQC."""

import json
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from quire.io.files import read_json, write_json_atomic
from quire.report.page import ReportInputs, ReportOutputs, write_report

from tests.support.page_tools import (
    AXE,
    CHROMIUM,
    MULTIQC,
    PDFTOTEXT,
    REPOSITORY,
    chromium,
    console,
    look,
    pages_of_print,
    words_of_print,
)
from tests.workflow.runs import Run

pytestmark = pytest.mark.full

SAMPLES = [f"sample_{number}" for number in range(4)]
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)")
WIDTHS = [420, 1400]


@pytest.fixture(scope="module")
def pages(finished: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the page of the finished run, and a page of its sample under four names."""
    cohort = page_of(SAMPLES, finished, tmp_path_factory.mktemp("cohort"))
    return {"sample": finished.output / "report/report.html", "cohort": cohort}


def page_of(names: list[str], finished: Run, folder: Path) -> Path:
    """Write the page of a run whose samples are the finished run's sample under these names."""
    align, ledger = finished.output / "align", finished.output / "ledger"
    content = read_json(finished.output / "rescore/variants.json")
    (one,) = content["samples"].values()
    pairs = len(names) * (len(names) - 1) // 2
    content["samples"] = dict.fromkeys(names, one)
    content["pairs"] = {name: [300] * pairs for name in content["pairs"]}
    write_json_atomic(folder / "variants.json", content)
    files = {"bam": align / "NA12878.bam", "counts": align / "NA12878.counts.json"}
    files["ledgers"] = [str(ledger / f"{name}.json") for name in ("NA12878.lane_1", "NA12878")]
    files["beds"] = [str(align / f"NA12878.{name}.bed.gz") for name in ("coverage", "low_coverage")]
    write_report(
        ReportOutputs(folder / "report.html", folder / "summary.json"),
        ReportInputs(
            samples=[{"sample": name, "ploidy": 2, **files} for name in names],
            vcf=finished.output / "rescore/all.vcf.gz",
            variants=folder / "variants.json",
            calling_ledger=finished.output / "rescore/ledger.json",
            benchmarks_directory=finished.output / "benchmarks",
            metadata={"samples": [{"sample": name, "patient": name} for name in names], "units": []},
        ),
    )
    return folder / "report.html"


@in_a_browser
@pytest.mark.parametrize("name", ["sample", "cohort"])
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (make page-tools)")
def test_anybody_can_use_the_page(name: str, pages: dict[str, Path], tmp_path: Path) -> None:
    """axe-core finds no fault on a dark telephone or a light desktop screen, and no element is too wide."""
    script = f"""{AXE.read_text()};
        document.querySelectorAll("details").forEach((one) => {{ one.open = true; }});
        told.violations = (await axe.run()).violations.map((one) => `${{one.id}}: ${{one.nodes[0].html}}`);"""
    for width, dark in zip(WIDTHS, (True, False), strict=True):
        told = look(pages[name], tmp_path, width, script, dark)
        assert (told["width"], told["dark"]) == (width, dark)
        assert told["violations"] == []
        assert told["beyond"] == []
        assert told["scroll"] == width


@in_a_browser
@pytest.mark.parametrize("name", ["sample", "cohort"])
def test_nothing_is_hidden_beside_a_table(name: str, pages: dict[str, Path], tmp_path: Path) -> None:
    """Verdicts (on a desktop also samples) and all labels are visible without scrolling."""
    script = """
        document.querySelectorAll("details").forEach((one) => { one.open = true; });
        const around = [...document.querySelectorAll(told.width < 500 ? ".checks" : "table")];
        told.hidden = around.map((one) => one.parentElement).filter((one) => one.scrollWidth > one.clientWidth + 1)
          .map((one) => one.ariaLabel);
        told.tables = around.length;
        told.cut = [...document.querySelectorAll("svg text")].filter((one) => {
          const [box, within] = [one.getBoundingClientRect(), one.closest("svg").getBoundingClientRect()];
          return box.right > within.right + 1 || box.left < within.left - 1;
        }).map((one) => one.textContent);"""
    for width in WIDTHS:
        told = look(pages[name], tmp_path, width, script)
        assert told["tables"] > 1
        assert (told["hidden"], told["cut"], told["refused"]) == ([], [], [])


@in_a_browser
def test_what_is_looked_for_is_found(tmp_path: Path) -> None:
    """The checks find a page's faults: too wide, images without alternative text, and grey text on white."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<body><img src="x.png"><p style="color:#bbb">pale</p><table style="width:900px"><td>x</table></body>'
    )
    axe = AXE.read_text() if AXE.exists() else "window.axe = {run: async () => ({violations: []})}"
    told = look(bad, tmp_path, 420, f"{axe}; told.violations = (await axe.run()).violations.map((one) => one.id);")
    assert told["scroll"] > 420
    assert any(one.startswith("TABLE") for one in told["beyond"])
    assert {"image-alt", "color-contrast"} <= set(told["violations"]) or not AXE.exists()


@in_a_browser
def test_a_table_sorts_and_filters(pages: dict[str, Path], tmp_path: Path) -> None:
    script = """
        const table = document.getElementById("cohort"), names = () =>
          [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[0].textContent.trim());
        const head = table.querySelector("tr:last-child > th[scope=col] button");
        told.before = names(); head.click(); told.up = names(); head.click(); told.down = names();
        const words = document.querySelector(".tools input");
        words.value = "sample_3"; words.dispatchEvent(new Event("input")); told.found = names();"""
    told = look(pages["cohort"], tmp_path, 1400, script)
    assert told["before"] == told["up"] == SAMPLES
    assert told["down"] == SAMPLES[::-1]
    assert told["found"] == ["sample_3"]
    assert told["refused"] == []


@in_a_browser
def test_every_table_downloads_as_tsv(pages: dict[str, Path], tmp_path: Path) -> None:
    script = """
        const blobs = [], names = [], real = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blobs.push(blob); return real.call(URL, blob); };
        HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
        document.querySelectorAll("button.tsv").forEach((one) => one.click());
        told.tables = document.querySelectorAll("main table").length;
        told.names = names; told.texts = await Promise.all(blobs.map((one) => one.text()));"""
    for name, samples in (("sample", ["NA12878"]), ("cohort", SAMPLES)):
        told = look(pages[name], tmp_path, 1400, script)
        assert told["refused"] == []
        assert len(told["texts"]) == len(told["names"]) == told["tables"] > 5
        assert told["names"][0] == "Samples.tsv"
        for text in told["texts"]:
            rows = [line.split("\t") for line in text.splitlines()]
            assert len({len(row) for row in rows}) == 1 < len(rows)
        head, *rows = (line.split("\t") for line in told["texts"][0].splitlines())
        assert head[:5] == ["Sample", "File", "Checks passed of judged", "Reads", "Mapped %"]
        assert [row[0] for row in rows] == samples
        assert {row[3] for row in rows} == {"9898"}


# What a page must not run, load or send, with the directive that stops it. `ran` would be the page's title.
INJECTED = {
    '<script>document.title = "ran"</script>': "script-src-elem",
    "<img src=x.png onerror=\"document.title = 'ran'\">": "img-src",
    "<svg onload=\"document.title = 'ran'\"></svg>": "script-src-attr",
    "<a id=link href=\"javascript:document.title = 'ran'\">link</a>": "script-src-elem",
    '<p id=styled style="color: rgb(1, 2, 3)">text</p>': "style-src-attr",
    "<style>h1 { color: rgb(1, 2, 3) }</style>": "style-src-elem",
    '<script src="other.js"></script>': "script-src-elem",
    '<base href="https://example.invalid/">': "base-uri",
    '<form id=form action="https://example.invalid/"></form>': "form-action",
    "<iframe src=\"data:text/html,<script>parent.document.title = 'ran'</script>\"></iframe>": "frame-src",
    "<object data=other.svg></object>": "object-src",
}


@in_a_browser
def test_a_page_runs_nothing_of_others(pages: dict[str, Path], tmp_path: Path) -> None:
    """The console of a page is empty; scripts, handlers, styles and files that got into a copy are blocked."""
    assert [line for page in pages.values() for line in console(tmp_path, page)] == []
    (tmp_path / "other.js").write_text("document.title = 'ran'")
    (tmp_path / "x.png").write_text("no picture")
    (tmp_path / "other.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    injected = tmp_path / "injected.html"
    injected.write_text(pages["cohort"].read_text().replace("<header>", f"{''.join(INJECTED)}<header>", 1))
    script = """
        document.getElementById("link").click();
        document.getElementById("form").submit();
        await new Promise((then) => setTimeout(then, 500));
        told.title = document.title;
        told.colours = ["#styled", "h1"].map((one) => getComputedStyle(document.querySelector(one)).color);
        document.querySelector("#cohort tr:last-child > th[scope=col] button").click();
        told.sorted = document.querySelectorAll("#cohort th[aria-sort]").length;"""
    told = look(injected, tmp_path, 1400, script)
    assert told["title"].startswith("Quire report")
    assert "rgb(1, 2, 3)" not in told["colours"]
    assert told["sorted"] == 1
    assert Counter(INJECTED.values()) - Counter(told["refused"]) == Counter()
    assert any("Content Security Policy" in line for line in console(tmp_path, injected))


@in_a_browser
@pytest.mark.parametrize("name", ["sample", "cohort"])
@pytest.mark.skipif(PDFTOTEXT is None, reason="pdftotext is not installed (apt-get install poppler-utils)")
def test_print_keeps_all_columns(name: str, pages: dict[str, Path], tmp_path: Path) -> None:
    """Every word of every table that is not collapsed is printed as often as it occurs in the page."""
    script = """
        const tables = [...document.querySelectorAll("table")].filter((one) => one.checkVisibility());
        told.cells = tables.flatMap((one) => [...one.querySelectorAll("th, td")].map((cell) => cell.innerText));"""
    cells = look(pages[name], tmp_path, 1400, script)["cells"]
    words = Counter(word for cell in cells for word in cell.split())
    printed = words_of_print(pages[name], tmp_path)
    assert sum(words.values()) > 300
    assert {word: count for word, count in words.items() if printed[word] < count} == {}


@in_a_browser
@pytest.mark.parametrize(("count", "most"), [(4, 4), (96, 8)])
def test_a_cohort_is_printed_on_few_pages(count: int, most: int, finished: Run, tmp_path: Path) -> None:
    """Sections of single samples, which are collapsed, are not printed."""
    page = page_of([f"sample_{number}" for number in range(count)], finished, tmp_path)
    assert 1 < pages_of_print(page, tmp_path) <= most


@in_a_browser
@pytest.mark.skipif(PDFTOTEXT is None, reason="pdftotext is not installed (apt-get install poppler-utils)")
def test_print_repeats_the_names_of_columns(tmp_path: Path) -> None:
    """Tables that a script sorts repeat their column names on every printed page."""
    style, script = ((REPOSITORY / "workflow/report" / name).read_text() for name in ("page.css", "page.js"))
    rows = "".join(f"<tr><th scope=row>sample</th><td>{number}</td></tr>" for number in range(150))
    head = "<thead><tr><th scope=col>Sample</th><th scope=col>Depth</th></tr></thead>"
    page = tmp_path / "table.html"
    page.write_text(
        f"<!doctype html><style>{style}</style><table class=sortable>{head}<tbody>{rows}</tbody></table>"
        f"<script>{script}</script>"
    )
    words = words_of_print(page, tmp_path)
    assert words["sample"] == 150
    assert words["Depth"] == pages_of_print(page, tmp_path) > 2


@in_a_browser
@pytest.mark.parametrize("width", WIDTHS)
def test_screenshots_show_the_page(width: int, pages: dict[str, Path], tmp_path: Path) -> None:
    """Screenshots have the requested size and more than one colour."""
    picture = tmp_path / f"{width}.png"
    chromium(tmp_path, pages["sample"], f"--window-size={width},900", f"--screenshot={picture}")
    content = picture.read_bytes()
    assert struct.unpack(">II", content[16:24])[0] == width
    assert len(content) > 30_000


@pytest.mark.skipif(not MULTIQC.exists(), reason="MultiQC is not installed (make page-tools)")
def test_multiqc_finds_its_files(finished: Run, tmp_path: Path) -> None:
    """Each file is found by its MultiQC module, with the figures of the summary and without warnings."""
    command = [str(MULTIQC), "--no-ansi", "--outdir", str(tmp_path), str(finished.output / "report")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert not [line for line in result.stderr.splitlines() if "error" in line.lower() or "warning" in line.lower()]
    content = json.loads((tmp_path / "multiqc_data/multiqc_data.json").read_text())
    sources = {(name, kind) for name, kinds in content["report_data_sources"].items() for kind in kinds}
    assert {
        ("Samtools", "stats"),
        ("Samtools", "flagstat"),
        ("Samtools", "idxstats"),
        ("Bcftools", "stats"),
        ("Picard", "DuplicationMetrics"),
        ("Picard", "GcBiasMetrics"),
        ("Mosdepth", "genome_results"),
    } <= sources
    (sample,) = json.loads((finished.output / "report/summary.json").read_text())["samples"]
    figures = {name: of_module["NA12878"] for name, of_module in content["report_general_stats_data"].items()}
    assert figures["samtools"]["reads_mapped"] == sample["reads"]["mapped"]
    assert figures["samtools"]["reads_properly_paired"] == sample["reads"]["properly_paired"]
    assert figures["bcftools"]["number_of_SNPs"] == sample["variants"]["snvs"]
    assert figures["custom_content"]["coverage"] == pytest.approx(sample["coverage"]["mean"], abs=1e-3)
    assert figures["custom_content"]["passed"] == sample["verdicts"]["pass"]
    assert figures["mosdepth"]["10_x_pc"] == pytest.approx(sample["coverage"]["breadth_10x_percent"], abs=0.01)
    duplicates = figures["picard"]["READ_PAIR_DUPLICATES"] * 2 + figures["picard"]["UNPAIRED_READ_DUPLICATES"]
    assert duplicates == sample["reads"]["duplicates"]
    assert "NA12878" in content["report_saved_raw_data"]["multiqc_quire_checks_table"]
