"""The complete report of a small run: page, summary and warnings; an error leaves no output."""

import base64
import copy
import hashlib
import html
import os
import re
from html.parser import HTMLParser

import pytest
from quire.errors import InputError, QuireError
from quire.io.files import write_json_atomic
from quire.reference.fasta import fasta_digest
from quire.report import page
from quire.report.cohort import deviations
from quire.report.criteria import BY_KEY, LOOK, NOT_JUDGED
from quire.report.known_variants import choose_sample, compare_with_truth
from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.report.relatedness import relate
from quire.report.terminal import load_summary, print_summary
from quire.report.warnings import find_warnings, gathered_warnings
from quire.version import VERSION

from tests.support.report_files import count_bam, count_vcf, write_bam, write_pairs_of_cohort, write_vcf

VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """Parser that checks the nesting of tags, and collects pictures, links and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.drawings: list[dict] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "svg":
            self.drawings.append(dict(attributes))
        self.links += [value for name, value in attributes if name in ("href", "src")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def written(run, tmp_path_factory):
    """Write the page and the summary of the small run, with ledgers and a benchmark."""
    folder = tmp_path_factory.mktemp("report")
    backend = {"name": "gpu", "reason": "a card was found.", "card": "Card <b>", "memory": None}
    ledger = {"stage": "align", "unit": "sample.lane", "counts": {"reads": 86, "mapped": 80, "unmapped": 6}}
    write_json_atomic(folder / "ledger.json", ledger | {"backend": backend})
    write_json_atomic(folder / "calling.json", {"stage": "rescore", "samples": {"sample": {"reads": 80, "used": 80}}})
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "map_unit.tsv").write_text("s\tmax_rss\tcpu_time\n3\t50\t4\n")
    compare_with_truth(
        folder / "truth.json",
        samples=["sample"],
        vcf=run.vcf,
        reference_directory=run.reference,
        truth={"vcf": str(run.vcf), "bed": ""},
    )
    contig = {"name": "<one>", "length": 1_000_000, "copies": [2.01, None, 3.02, 1.98], "segments": [[50, 75, 3]]}
    write_json_atomic(folder / "copies.json", {"sample": [contig]})
    rows = [{"kind": "INS", "size": size, "records": 17, "carried": [13]} for size in ("100 to 999", "")]
    write_json_atomic(folder / "structural.json", {"samples": ["sample"], "rows": rows})
    write_report(
        ReportOutputs(folder / "report.html", folder / "summary.json"),
        ReportInputs(
            samples=[
                {
                    "sample": "sample",
                    "ploidy": 2,
                    "bam": run.bam,
                    "counts": run.counts,
                    "ledgers": [folder / "ledger.json"],
                }
            ],
            vcf=run.vcf,
            variants=run.variants,
            comparison=folder / "truth.json",
            copies=folder / "copies.json",
            structural=folder / "structural.json",
            benchmarks_directory=folder / "benchmarks",
            calling_ledger=folder / "calling.json",
            identity={
                "command": "snakemake <b>",
                "configuration": {"output": "lab"},
                "reference": run.reference / "manifest.json",
            },
        ),
    )
    return folder


def test_page_is_whole_and_self_contained(written, run):
    text = (written / "report.html").read_text()
    page = Page(text)
    outside = [link for link in page.links if not link.startswith("#")]
    files = run.bam, run.vcf, written / "structural.vcf.gz"
    assert sorted(outside) == sorted(os.path.relpath(path, written) for path in files)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(re.findall(r'id="([^"]+)"', text))
    assert len(page.drawings) == 16
    assert all(drawing["role"] == "img" and drawing["aria-label"] for drawing in page.drawings)
    words = " ".join(page.words)
    assert "Copy number of <one>: segments of 10 kb or more: 1" in [own["aria-label"] for own in page.drawings]
    assert "Records sample insertion 100 to 999 17 13 insertion not known 17 13" in " ".join(words.split())
    assert f"version {VERSION} · backend gpu (align), cpu (rescore) · reference reference.fa" in words
    assert "snakemake <b>" in words
    assert '"output": "lab"' in words
    assert fasta_digest(run.folder / "reference.fa") in words
    for expected in ("93.02", "map_unit", "sample.lane", "120", "Comparison with the truth"):
        assert expected in words
    for expected in ("Card <b>", "a card was found.", "calling has none."):
        assert expected in words


def test_a_browser_may_use_the_own_style_and_script_alone(written):
    text = (written / "report.html").read_text()
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])
    allowed = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}[^>]*>(.*?)</{tag}>", text, re.DOTALL)
        allowed.append(f"{tag}-src 'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'")
    assert policy.split("; ") == allowed
    assert text.index("Content-Security-Policy") < min(text.index("<style>"), text.index("<script>"))


def test_summary_has_the_documented_figures(written):
    summary = load_summary(written / "summary.json")
    assert list(summary) == [
        *(
            "format_version",
            "run",
            "reference",
            "files",
            "target",
            "samples",
            "metadata",
            "relatedness",
            "distances",
            "structural",
            "consequences",
            "truth",
            "rules",
        ),
        *("ledger", "searches", "warnings"),
    ]
    (sample,) = summary["samples"]
    assert sample["reads"] == {
        **{"total": 86, "mapped": 80, "mapped_percent": 93.0233, "unmapped": 6, "paired": 86},
        **{"properly_paired": 80, "properly_paired_percent": 93.0233},
        **{"duplicates": 4, "duplicates_percent": 5.0, "supplementary": 0, "mismatches_per_base": 0.0},
        **{"adapter_percent": 0.0, "poly_g_percent": 0.0},
    }
    assert sample["insert_size"] == {
        **{"pairs": 40, "lower_quartile": 120, "median": 120, "upper_quartile": 120},
        **{"read_lengths": 2.4, "spread": 0.0},
    }
    assert sample["coverage"]["positions"] == summary["target"]["positions"] == 3970
    assert sample["coverage"]["mean"] == pytest.approx(76 * 50 / 3970, abs=1e-3)
    assert (sample["variants"]["snvs"], sample["variants"]["indels"], sample["variants"]["filtered"]) == (1, 1, 1)
    assert (sample["variants"]["ti_tv"], sample["variants"]["het_hom"]) == (0.0, 1.0)
    assert summary["truth"]["snv"]["recall"] == 0.5
    assert len(summary["truth"]["missed"]) == 1
    assert summary["rules"][0]["seconds"] == 3


def test_terminal_lines_name_the_results(written, capsys):
    print_summary(written / "summary.json")
    printed = capsys.readouterr().out
    for expected in ("sample.bam", "calls.vcf.gz", "report.html", "86 reads in, 80 mapped (93.02 %), 4 duplicates"):
        assert expected in printed
    assert "1 SNV and 1 indel called" in printed
    assert "recall 0.5000 (1 of 2), precision 1.0000 (0 false)" in printed
    assert "align on the gpu (Card <b>): a card was found." in printed
    assert "rescore on the cpu: calling has none." in printed


def test_same_pictures_in_every_run(written, run, tmp_path):
    write_report(
        ReportOutputs(tmp_path / "report.html", tmp_path / "summary.json"),
        ReportInputs(
            samples=[{"sample": "sample", "ploidy": 2, "bam": run.bam, "counts": run.counts, "ledgers": []}],
            vcf=run.vcf,
            variants=run.variants,
            copies=written / "copies.json",
        ),
    )
    first, again = (
        re.findall("<svg.*?</svg>", (folder / "report.html").read_text(), re.DOTALL) for folder in (written, tmp_path)
    )
    assert first == again
    assert len(first) == 16


def test_a_sample_without_reads_still_gets_its_page(run, tmp_path):
    bam = write_bam(tmp_path / "empty.bam", [])
    vcf = write_vcf(tmp_path / "none.vcf.gz", [], ["empty"])
    counts = count_bam(tmp_path / "counts", bam, run.reference)
    write_report(
        ReportOutputs(tmp_path / "report.html", tmp_path / "summary.json"),
        ReportInputs(
            samples=[{"sample": "empty", "ploidy": 1, "bam": bam, "counts": counts, "ledgers": []}],
            vcf=vcf,
            variants=count_vcf(tmp_path / "variants.json", vcf),
        ),
    )
    content, page = load_summary(tmp_path / "summary.json"), (tmp_path / "report.html").read_text()
    messages = [warning["message"] for warning in content["warnings"]]
    assert messages == ["The sample has no reads; unless it is a negative control, check its FASTQ files."]
    assert content["samples"][0]["gc_bias"] == {"at_dropout": None, "gc_dropout": None}
    assert content["samples"][0]["reads"]["mismatches_per_base"] is None
    assert "dropout AT" not in page
    assert "there are no reads" in page
    assert "\N{EN DASH} 0/0" in page
    assert "✓ 0/0" not in page


@pytest.mark.parametrize("mistake", ["sample", "ledger", "counts"])
def test_after_a_mistake_nothing_stands_under_a_final_name(run, tmp_path, mistake):
    sample = {
        "sample": "other" if mistake == "sample" else "sample",
        "ploidy": 2,
        "bam": run.bam,
        "counts": tmp_path / "absent.json" if mistake == "counts" else run.counts,
        "ledgers": [tmp_path / "absent.json"] if mistake == "ledger" else [],
    }
    with pytest.raises(QuireError, match=r"sample other|absent\.json"):
        write_report(
            ReportOutputs(tmp_path / "out" / "report.html", tmp_path / "out" / "summary.json"),
            ReportInputs(samples=[sample], vcf=run.vcf, variants=run.variants),
        )
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize("mistake", ["truth", "bed"])
def test_a_truth_of_another_reference_is_not_compared(run, tmp_path, mistake):
    bed = tmp_path / "regions.bed"
    bed.write_text("chrone\t1\t5\n" if mistake == "bed" else "one\t1\t500\n")
    contig = "chrone" if mistake == "truth" else "one"
    truth = write_vcf(tmp_path / "truth.vcf.gz", [(contig, 5, "A", ["C"], 50.0, (0, 1))], ["sample"])
    with pytest.raises(InputError, match="chrone"):
        compare_with_truth(
            tmp_path / "out" / "truth.json",
            samples=["sample"],
            vcf=run.vcf,
            reference_directory=run.reference,
            truth={"vcf": str(truth), "bed": str(bed)},
        )
    assert not list(tmp_path.glob("out/*"))


def test_the_sample_of_the_truth_is_found(run, tmp_path):
    truth = {"vcf": str(run.vcf), "bed": ""}
    assert choose_sample(["a", "sample"], truth) == "sample"
    assert choose_sample(["alone"], truth) == "alone"
    with pytest.raises(InputError, match=r"sample sample of the truth is not in the sheet \(a, b\)"):
        choose_sample(["a", "b"], truth)


def test_warnings_say_what_is_unusual(written):
    good = load_summary(written / "summary.json")
    for check in good["samples"][0]["checks"]:
        check["verdict"] = "pass"
    good["truth"]["snv"]["f1"] = 0.99
    assert find_warnings(good) == []
    changed = copy.deepcopy(good)
    changed["samples"][0]["checks"][0] |= {"verdict": "look", "shown": "80.00 %"}
    changed["samples"][0]["checks"][1] |= {"verdict": "fail", "shown": "50.00 % of paired"}
    assert [warning["message"] for warning in find_warnings(changed)] == [
        "Properly paired: 50.00 % of paired (usual: at least 80 % of paired); fragments may be damaged, or the "
        "library is of another kind.",
        "Mapped reads: 80.00 % (usual: at least 90 %); the sample may be contaminated or belong to another reference.",
    ]
    changed = copy.deepcopy(good)
    changed["samples"][0]["reads"]["total"] = 85
    assert "hold 86 reads and the alignments 85" in find_warnings(changed)[0]["message"]
    changed = copy.deepcopy(good)
    changed["truth"]["snv"]["f1"] = 0.2
    assert "F1 0.200" in find_warnings(changed)[0]["message"]


def test_warnings_of_a_cohort_are_a_line_a_check(written):
    """Many warnings are grouped by criterion without loss; the summary lists them one by one."""
    summary = load_summary(written / "summary.json")
    (one,) = summary["samples"]
    for check in one["checks"]:
        check["verdict"] = "pass"
    summary["samples"] = [copy.deepcopy(one) | {"sample": f"sample_{number}"} for number in range(24)]
    for number, sample in enumerate(summary["samples"]):
        if number < 13:
            sample["checks"][0] |= {"verdict": "look", "shown": f"{number}.00 %"}
        if number == 20:
            sample["checks"][1] |= {"verdict": "fail", "shown": "50.00 % of paired"}
            sample["variants"] |= {"snvs": 0, "indels": 0, "other": 0}
    summary |= {"ledger": [], "truth": None}
    summary["warnings"] = find_warnings(summary)
    assert len(summary["warnings"]) == 15
    title, *rest = gathered_warnings(summary)
    assert title["sample"] == "13 of 24 samples"
    assert title["message"].startswith("Mapped reads: sample_0 0.00 %, sample_1 1.00 %, ")
    assert " sample_5 5.00 % and 7 more (usual: at least 90 %); " in title["message"]
    assert [one["sample"] for one in rest] == ["sample_20", "sample_20"]
    assert rest[1]["message"] == "No variant was called."
    summary["warnings"] = summary["warnings"][:12]
    assert gathered_warnings(summary) == summary["warnings"]


def test_warnings_of_lists_and_of_a_target(written):
    """Lists of names in one line are kept apart; with intervals the advice is not to name them."""
    summary = load_summary(written / "summary.json")
    (one,) = summary["samples"]
    for check in one["checks"]:
        check["verdict"] = "pass"
    summary["samples"] = [copy.deepcopy(one) | {"sample": name} for name in "ABCDEFGHIJKLM"]
    for sample in summary["samples"]:
        for check in sample["checks"]:
            if check["criterion"] == "same_person":
                check |= {"verdict": "look", "shown": "X, Y" if sample["sample"] == "A" else "Z"}
            if check["criterion"] == "breadth":
                check |= {"verdict": "look", "shown": "7 %"}
    summary |= {"ledger": [], "truth": None}
    for bed, advice in (("", "name it in rescore.intervals"), ("panel.bed", "target.low_coverage.bed.gz lists")):
        summary["target"]["bed"] = bed
        summary["warnings"] = find_warnings(summary)
        assert advice in summary["warnings"][0]["message"]
        first, second = (line["message"] for line in gathered_warnings(summary))
        assert advice in first
        assert "A 7 %, B 7 %" in first
        assert "A: X, Y; B: Z; " in second


def test_lists_say_of_how_many_variants(written):
    content = load_summary(written / "summary.json")
    nothing: dict = {key: [] for key in ("pictures", "contigs", "copies", "low")}
    details = {sample["sample"]: nothing for sample in content["samples"]}
    content["truth"] |= {"missed": ["one", "two"], "false_calls": ["three"]}
    content["truth"]["snv"] |= {"missed": 1, "false_calls": 1300}
    content["truth"]["indel"] |= {"missed": 1, "false_calls": 0}
    text = page._render(content, relate([], {}), deviations(content["samples"]), details, ReportInputs())
    assert "<summary>Missed: 2</summary>" in text
    assert "<summary>False: the first 1 of 1,300</summary>" in text


def test_the_ledger_has_what_any_unit_counts(run, tmp_path):
    """The table has the counts of all units: those from BAM also count secondary alignments that are left out."""
    ledgers = [tmp_path / "fastq.json", tmp_path / "bam.json"]
    for path, more in zip(ledgers, ({}, {"secondary_left_out": 4321}), strict=True):
        backend = {"name": "cpu", "reason": "asked for.", "card": None, "memory": None}
        line = {"stage": "align", "unit": path.stem, "counts": {"reads": 86, **more}, "backend": backend}
        write_json_atomic(path, line)
    samples = [{"sample": "sample", "ploidy": 2, "bam": run.bam, "counts": run.counts, "ledgers": ledgers}]
    files = tmp_path / "report.html", tmp_path / "summary.json"
    write_report(ReportOutputs(*files), ReportInputs(samples=samples, vcf=run.vcf, variants=run.variants))
    text = files[0].read_text()
    assert '<th scope="col">reads</th><th scope="col">secondary left out</th></tr>' in text
    assert '<th scope="row">fastq</th><td>86</td><td>\N{EN DASH}</td></tr>' in text
    assert '<th scope="row">bam</th><td>86</td><td>4,321</td></tr>' in text


def test_what_is_usual_is_drawn_only_where_it_was_judged(monkeypatch):
    """Draw no usual range of Ti/Tv if the genome is not human."""
    blocks = {block: {} for _, _, block, _, _ in page.COMPARED}
    samples = [
        {"sample": name, **blocks, "checks": [{"criterion": name, "verdict": verdict} for name in BY_KEY]}
        for name, verdict in (("first", NOT_JUDGED), ("second", NOT_JUDGED))
    ]
    monkeypatch.setattr(page.pictures, "draw_comparison", lambda title, unit, values, usual: (title, usual))
    assert set(dict(page._compare(samples)).values()) == {(None, None)}
    next(check for check in samples[1]["checks"] if check["criterion"] == "ti_tv")["verdict"] = LOOK
    drawn = {title: usual for title, usual in page._compare(samples) if usual != (None, None)}
    assert drawn == {"Ti/Tv": (BY_KEY["ti_tv"].low, BY_KEY["ti_tv"].high)}


def test_only_a_summary_is_read(tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(QuireError, match="does not match its checksum"):
        load_summary(tmp_path / "summary.json")
    write_json_atomic(tmp_path / "summary.json", {"format_version": 99})
    with pytest.raises(InputError, match="format version 99"):
        load_summary(tmp_path / "summary.json")


def test_a_cohort_sorts_compares_and_stays_small(run, tmp_path):
    """The page of forty samples, two of them one person, has one sortable table, comparisons and the closest pairs."""
    names = [f"sample_{number}" for number in range(40)]
    write_pairs_of_cohort(tmp_path / "variants.json", run.variants, names)
    samples = [{"sample": name, "ploidy": 2, "bam": run.bam, "counts": run.counts, "ledgers": []} for name in names]
    write_report(
        ReportOutputs(tmp_path / "report.html", tmp_path / "summary.json"),
        ReportInputs(samples=samples, vcf=run.vcf, variants=tmp_path / "variants.json"),
    )
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert len(text.encode()) < 60_000 * len(names)
    assert len(page.drawings) == 15 * len(names) + 6
    assert '<table id="cohort" class="sortable">' in text
    assert len(re.findall("<tr data-marked><th scope=.row.>sample_", text)) == len(names)
    summary = load_summary(tmp_path / "summary.json")
    assert summary["relatedness"][0] | {"kinship": None} == {
        **{"first": "sample_0", "second": "sample_1", "sites": 4000, "concordance": 0.9975, "opposite_homozygous": 0},
        **{"kinship": None, "relation": "the same person"},
    }
    told = [sample["relatives"]["same_person"] for sample in summary["samples"][:3]]
    assert told == [["sample_1"], ["sample_0"], []]
    assert "the 45 closest of 780 pairs" in " ".join(page.words)
    # What is unusual takes ten lines at most; the rest can be unfolded.
    first_screen = text.split('id="look"')[1].split("</section>")[0].split("<details>")[0]
    assert "of 40 samples passed every check" in first_screen
    assert first_screen.count("<p>") + first_screen.count("<li>") <= 10
    assert any("Other samples of the same person: sample_1" in warning["message"] for warning in summary["warnings"])


def test_the_table_of_samples_has_a_cell_below_each_column(written):
    """Headings and groups are as wide as the rows, whose cells have the figures that the columns name."""
    table = (written / "report.html").read_text().split('<table id="cohort"')[1].split("</table>")[0]
    groups, head, row = table.split("<tr")[1:4]
    spans = sum(int(span or 1) for span in re.findall(r'<t[dh](?: colspan="(\d+)")?[ >]', groups))
    titles = re.findall(r'<th scope="col">(.*?)</th>', head)
    cells = re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row)
    assert spans == len(titles) == len(cells)
    by_title = {title.split(" <")[0]: cell for title, cell in zip(titles, cells, strict=True)}
    assert (by_title["Sample"], by_title["Reads"], by_title["Mapped"], by_title["Duplicates"]) == (
        *("sample", "86", "93.02", "5.00"),
    )
