"""A run whose names hold what shells, Snakemake, htslib and browsers read as more than text (docs/security.md)."""

import gzip
import os
import shutil
from html.parser import HTMLParser
from pathlib import Path
from string import ascii_letters

import pysam
import pytest

from tests.support.page_tools import CHROMIUM, look
from tests.workflow.runs import SMALL, Run
from tests.workflow.test_annotation import GENES

pytestmark = pytest.mark.full

SHELL = "'; touch pwned; \" $(touch pwned) `touch pwned` $HOME %s \\n é 😀 \u202e\u200f"
PAGE = "<script>document.title='pwned'</script>\"'><img src=x onerror=document.title='pwned'>"
GENE = PAGE.replace(";", "").replace("=", "")
SAMPLE, UNIT = (f"{name}{2 * ascii_letters}"[:80] for name in ("-rf.0.target.g.vcf.gz-", "--help"))
CONTIG = "-rf;$HOME&|~%s:1-5!A0,x"
# Columns of the sheets that Quire does not use.
OWN = {PAGE: PAGE, "=cmd|'/C calc'!A0": SHELL}
HEADER = {
    "HD": {"VN": "1.6", "SO": "unsorted"},
    "RG": [{"ID": PAGE, "SM": SHELL, "LB": "../../x", "PL": PAGE, "PU": PAGE, "DS": SHELL}],
    "CO": [PAGE],
}


def write_inputs(folder: Path) -> None:
    """Write the small set under these names: reads as FASTQ and BAM, reference, genes, truth, sites and regions."""
    bases = gzip.decompress((SMALL / "genome.fa.gz").read_bytes()).split(b"\n", 1)[1].decode()
    (folder / f"-reference {SHELL}.fa").write_text(f">{CONTIG} {PAGE}\n{bases}")
    for mate in "12":
        shutil.copy(SMALL / f"NA12878_R{mate}.fastq.gz", folder / f"-reads {SHELL} R{mate}.fq.gz")
    with (
        pysam.FastxFile(str(SMALL / "NA12878_R1.fastq.gz")) as reads,
        pysam.AlignmentFile(str(folder / f"-alignments {SHELL}.bam"), "wb", header=HEADER) as out,
        (folder / f"-few {SHELL}.fq").open("w") as few,
    ):
        for number, read in enumerate(reads):
            unmapped = pysam.AlignedSegment(out.header)
            unmapped.query_name, unmapped.flag, unmapped.query_sequence = read.name, 4, read.sequence
            unmapped.query_qualities = pysam.qualitystring_to_array(read.quality)
            unmapped.set_tag("RG", PAGE)
            out.write(unmapped)
            few.write(
                f"{str(read).replace('@', f'@=cmd|{number};$(touch`pwned`)<script>', 1)}\n" if number < 50 else ""
            )
    genes = GENES.replace("Name=ONE", f"Name={GENE}")
    (folder / f"-genes {SHELL}.gff3").write_text(genes.replace("chr22", CONTIG))
    truth = gzip.decompress((SMALL / "truth.vcf.gz").read_bytes()).decode()
    truth = truth.replace("HG001\n", f"{PAGE}\n", 1).replace("chr22", CONTIG).replace("#CHROM", f"##x={PAGE}\n#CHROM")
    write_vcf(folder / f"-truth {SHELL}.vcf.gz", truth)
    (folder / f"-sites {SHELL}.vcf").write_text(truth.replace("PASS\t.", f"PASS\tX={PAGE.replace(';', '')};AF=0.5"))
    (folder / f"-regions {SHELL}.bed").write_text(f"{CONTIG}\t500\t39500\t{PAGE}\n")


def write_vcf(path: Path, text: str) -> None:
    """Write a VCF as bgzip with an index."""
    with pysam.BGZFile(str(path), "wb", None) as stream:
        stream.write(text.encode())
    pysam.tabix_index(str(path), preset="vcf", force=True)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run everything with hostile names in all places that allow them."""
    folder = tmp_path_factory.mktemp("names") / f"{{x}} {SHELL}"
    folder.mkdir()
    write_inputs(folder)
    reads = {"fq1": f"-reads {SHELL} R1.fq.gz", "fq2": f"-reads {SHELL} R2.fq.gz", "bam": ""}
    alignments = {"fq1": "", "fq2": "", "bam": f"-alignments {SHELL}.bam"}
    sequence = f"-reference {SHELL}.fa:{CONTIG}"
    run = Run(
        folder,
        config={
            "reference": {
                "fasta": f"-reference {SHELL}.fa",
                "assembly": "{x} $(touch pwned) & '\" %s",
                "index_directory": f"-index {SHELL}",
            },
            "output": f"-out {SHELL}",
            "align": {"format": "cram"},
            "rescore": {"gvcf": True, "intervals": f"-regions {SHELL}.bed"},
            "annotate": {"gff3": f"-genes {SHELL}.gff3"},
            "complete": [{"name": "--help", "reads": f"-few {SHELL}.fq"}],
            "mems": [{"name": "-rf", "queries": f"-few {SHELL}.fq"}],
            "pairwise": [{"name": "-", "query": f"{sequence}:1-500", "target": f"{sequence}:100-900"}],
            "report": {
                "known_sites": f"-sites {SHELL}.vcf",
                "truth": {"vcf": f"-truth {SHELL}.vcf.gz", "bed": f"-regions {SHELL}.bed", "sample": SAMPLE},
            },
        },
        samples=[{"sample": name, "ploidy": "2", **OWN} for name in (SAMPLE, "all")],
        units=[
            {"sample": sample, "unit": unit, "platform": "ILLUMINA", "library": "-x", **files, **OWN}
            for sample, unit, files in ((SAMPLE, UNIT, reads), ("all", "-", alignments))
        ],
    )
    before = {*folder.iterdir()}
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert "Traceback" not in result.stdout
    made = {path.name for path in {*folder.iterdir()} - before}
    assert made == {run.config["output"], run.config["reference"]["index_directory"], ".snakemake"}
    assert os.listdir(folder.parent) == [folder.name]
    return run


def test_nothing_is_run_or_written_elsewhere(hostile: Run) -> None:
    """No name became a command, and the output folder holds the files of its names alone."""
    assert not [path for path in hostile.folder.parent.rglob("*") if path.name.startswith("pwned")]
    for sample in (SAMPLE, "all"):
        assert (hostile.output / f"align/{sample}.cram").exists()
        assert (hostile.output / f"rescore/{sample}.g.vcf.gz").exists()
    assert {path.name for path in (hostile.output / "mems").iterdir()} == {"-rf.mems", "-rf.json"}
    assert {path.suffix for path in hostile.output.rglob("*") if path.is_file()} <= {
        *(".bam", ".bed", ".cram", ".crai", ".done", ".gz", ".html", ".json", ".log", ".mems", ".paf", ".tbi", ".tsv"),
        *(".txt", ".flagstat", ".idxstats", ".npz", ".records", ""),
    }


def test_headers_have_no_line_of_a_name(hostile: Run) -> None:
    """Read groups are the sheet's, and contig, reference and assembly stand whole in BAM and VCF."""
    with pysam.AlignmentFile(str(hostile.output / "align/all.cram")) as stream:
        header = stream.header.to_dict()
    (contig,), (group,) = header["SQ"], header["RG"]
    assert set(header) == {"HD", "SQ", "RG", "PG"}
    assert (contig["SN"], contig["AS"]) == (CONTIG, hostile.config["reference"]["assembly"])
    assert contig["UR"] == f"{hostile.folder}/-reference {SHELL}.fa"
    assert (group["ID"], group["SM"], group["LB"], group["PL"]) == ("all.-", "all", "-x", "ILLUMINA")
    for name in ("rescore/all.vcf.gz", "annotate/all.csq.vcf.gz"):
        with pysam.VariantFile(str(hostile.output / name)) as variants:
            assert list(variants.header.samples) == [SAMPLE, "all"]
            assert list(variants.header.contigs) == [CONTIG]
            assert len([*variants.fetch(CONTIG)]) > 50


class Text(HTMLParser):
    """Parser that collects the text of a page, and its tags with their attributes."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags += [(tag, name) for name, _ in attributes] or [(tag, "")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_report_shows_names_as_text(hostile: Run) -> None:
    page = Text(hostile.output / "report/report.html")
    assert [tag for tag, _ in page.tags if tag in ("script", "style", "img", "iframe")] == ["style", "script"]
    assert not [name for _, name in page.tags if name.startswith("on") or name == "style"]
    for name in (PAGE, SHELL, *OWN, hostile.config["reference"]["fasta"], GENE):
        assert [text for text in page.words if name in text], name


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)")
def test_a_browser_runs_no_name(hostile: Run, tmp_path: Path) -> None:
    told = look(hostile.output / "report/report.html", tmp_path, 1400, "told.title = document.title;")
    assert told["title"].startswith(f"Quire report: {SAMPLE[:60]}")
    assert told["refused"] == []


def test_snakemakes_report_shows_names_as_text(hostile: Run) -> None:
    """Snakemake's own report names the samples and embeds the page; no name is a tag of it."""
    result = hostile.snakemake("--report", "run.html")
    assert result.returncode == 0, result.stdout
    page = hostile.folder / "run.html"
    text = page.read_text()
    assert ("<img src=x" in text, "<script>document" in text) == (False, False)
    page.unlink()
