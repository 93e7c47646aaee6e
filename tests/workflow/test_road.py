"""The whole workflow on real reads, through Snakemake: outputs, ledgers, and the jobs that run again after a change."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
import yaml

from tests.support.peer_counts import bcftools_differences, samtools_differences
from tests.workflow.runs import REPOSITORY, SMALL, SMALL_UNIT, Run, errors_of

PAIRS = 4949


def planned(output: str) -> set[str]:
    """Return the names of the rules that a dry run lists in its table of jobs."""
    table = re.search(r"^job +count\n[- ]+\n(.*?)\ntotal", output, re.MULTILINE | re.DOTALL)
    return {line.split()[0] for line in table.group(1).splitlines()} if table else set()


def finished_rules(output: str) -> set[str]:
    """Return the rules whose jobs finished, from Quire's lines or, for a module, Snakemake's."""
    ours = re.findall(r"^[\d:]{8}  (\w+)(?: \S+)? done in [\d.,]+ s", output, re.MULTILINE)
    return {*ours, *re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", output)}


def records(path: Path) -> list[str]:
    """Return all records of an alignment file as text."""
    with pysam.AlignmentFile(str(path), check_sq=False) as alignments:
        return [record.to_string() for record in alignments.fetch(until_eof=True)]


def calls(path: Path) -> list[str]:
    """Return all records of a VCF as text."""
    with pysam.VariantFile(str(path)) as variants:
        return [str(record) for record in variants]


def edited_copy(folder: Path, module: str, addition: str) -> Path:
    """Copy the installation, and append text to one module of the library."""
    for name in ("workflow", "profiles", "envs"):
        shutil.copytree(
            REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )
    shutil.copy2(REPOSITORY / "Snakefile", folder)
    with (folder / "workflow/scripts/quire" / module).open("a") as stream:
        stream.write(addition)
    return folder


def test_outputs_have_their_fixed_names(finished: Run) -> None:
    """Every output that issue 2 names exists, and no temporary file is left."""
    names = (
        "align/NA12878.bam",
        "align/NA12878.bam.bai",
        "rescore/all.vcf.gz",
        "rescore/all.vcf.gz.tbi",
        "rescore/variants.json",
        "align/NA12878.counts.json",
        "align/NA12878.coverage.bed.gz",
        "align/NA12878.low_coverage.bed.gz",
        "report/truth.json",
        "report/report.html",
        "report/summary.json",
        "report/multiqc/NA12878.flagstat",
        "report/multiqc/quire_checks_mqc.json",
        "ledger/NA12878.lane_1.json",
        "index/reference/manifest.json",
        "index/page_0/manifest.json",
    )
    for name in names:
        assert (finished.output / name).stat().st_size > 0, name
    assert any((finished.output / "logs").rglob("*.log"))
    assert any((finished.output / "benchmarks").rglob("*.tsv"))
    assert not [path for path in finished.output.rglob("*") if path.name.endswith(".tmp")]
    assert {path.name for path in finished.output.glob("align/units/*")} == {
        "NA12878.counts.json",
        "NA12878.evidence.npz",
        "NA12878.lane_1.insert_size.json",
        "NA12878.low_coverage.bed.gz",
        "NA12878.units.json",
    }


def test_no_read_is_lost(finished: Run) -> None:
    """Every read of the FASTQ files is in the BAM once, unmapped reads included, and the ledgers agree."""
    with pysam.AlignmentFile(str(finished.output / "align/NA12878.bam")) as bam:
        primary = [(r.query_name, r.is_read2) for r in bam.fetch(until_eof=True) if not r.flag & 0x900]
    assert len(primary) == len(set(primary)) == 2 * PAIRS
    ledger = json.loads((finished.output / "ledger/NA12878.lane_1.json").read_text())["counts"]
    assert ledger["reads"] == ledger["mapped"] + ledger["unmapped"] == 2 * PAIRS
    sample = json.loads((finished.output / "ledger/NA12878.json").read_text())["counts"]
    assert sample["records_in"] == sample["records_out"]


def test_counts_are_those_of_samtools_and_bcftools(finished: Run, tmp_path: Path) -> None:
    """Counts of real reads and calls by finishing and gathering equal those of samtools and bcftools."""
    bam, fasta = finished.output / "align/NA12878.bam", tmp_path / "genome.fa"
    fasta.write_bytes(gzip.decompress((SMALL / "genome.fa.gz").read_bytes()))
    pysam.faidx(str(fasta))
    figures = json.loads((finished.output / "align/NA12878.counts.json").read_text())
    assert samtools_differences(figures, bam, fasta) == []
    variants = json.loads((finished.output / "rescore/variants.json").read_text())
    assert bcftools_differences(variants, finished.output / "rescore/all.vcf.gz", tmp_path) == []


@pytest.mark.full
def test_another_target_maps_nothing_again(continued: Callable[[], Run], tmp_path: Path) -> None:
    """The depth over the target is counted from the finished alignments."""
    run = continued()
    bed = tmp_path / "target.bed"
    for end in (2000, 3000):
        with pysam.AlignmentFile(str(run.output / "align/NA12878.bam")) as stream:
            name = stream.references[0]
            bed.write_text(f"{name}\t1000\t{end}\n")
        run.config["rescore"] = {"intervals": str(bed)}
        run.write()
        result = run.snakemake()
        assert result.returncode == 0, result.stdout
        assert not {"map_unit", "finish_sample"} & finished_rules(result.stdout)
        assert "count_target" in finished_rules(result.stdout)
        target = json.loads((run.output / "align/NA12878.target.json").read_text())
        assert target["target"] == {
            "bed": str(bed),
            "positions": end - 1000,
            "intervals": 1,
            "contigs": {name: end - 1000},
        }
        summary = json.loads((run.output / "report/summary.json").read_text())
        assert summary["target"] == target["target"]
        assert summary["samples"][0]["coverage"]["positions"] == end - 1000


def test_the_backend_is_recorded_everywhere(finished: Run) -> None:
    """Log, headers of BAM and VCF, ledger and report record the backend of the kernels and the reason for it."""
    ledger = json.loads((finished.output / "ledger/NA12878.lane_1.json").read_text())
    chosen, unit = ledger["backend"], ledger["unit"]
    assert chosen["reason"].endswith(".")
    log = (finished.output / "logs/map_unit/NA12878.lane_1.log").read_text()
    assert f"backend {chosen['name']}" in log
    assert chosen["reason"] in log
    with pysam.AlignmentFile(str(finished.output / "align/NA12878.bam")) as bam:
        programs = {line["ID"]: line for line in bam.header.to_dict()["PG"]}
    program = programs["quire.NA12878.lane_1"]
    assert program["DS"] == f"backend {chosen['name']}: {chosen['reason']}"
    assert f" --backend {chosen['name']} " in program["CL"]
    with pysam.VariantFile(str(finished.output / "rescore/all.vcf.gz")) as variants:
        (calling,) = (record.value for record in variants.header.records if record.key == "quireBackend")
    assert re.fullmatch(r"cpu: a card would save little time, or none\.", calling)
    assert f"backend {calling}" in (finished.output / "logs/rescore_interval/0.log").read_text()
    summary = json.loads((finished.output / "report/summary.json").read_text())
    told = {(line["unit"], line["stage"]): line["backend"] for line in summary["ledger"] if "backend" in line}
    assert told[(unit, "align")] == chosen
    assert told[("NA12878", "rescore")] == dict(zip(("name", "reason"), calling.split(": "), strict=True))
    assert chosen["reason"] in (finished.output / "report/report.html").read_text()


@pytest.mark.full
def test_no_card_where_one_is_demanded(continued: Callable[[], Run]) -> None:
    """A demanded but missing card gives one sentence with a remedy and no BAM; existing results stay valid."""
    run = continued()
    run.config |= {"device": {"backend": "gpu"}}
    run.write()
    assert "Nothing to be done" in run.snakemake().stdout
    (run.output / "align/NA12878.bam").unlink()
    planned_run = run.snakemake("--dry-run", "--resources", "gpu=2")
    assert re.search(r"rule map_unit:.*?resources: [^\n]*\bgpu=1\b", planned_run.stdout, re.DOTALL)
    result = run.snakemake(CUDA_VISIBLE_DEVICES="-1")
    assert result.returncode != 0
    (error,) = errors_of(result.stdout)
    assert error.startswith("quire: error: device.backend is gpu, but ")
    assert "Remedy: " in error
    assert not list(run.output.glob("align/units/*.buckets"))


def test_variants_agree_with_the_truth(finished: Run) -> None:
    """The small set's calls agree with Genome in a Bottle by the report's own comparison."""
    summary = json.loads((finished.output / "report/summary.json").read_text())
    assert summary["truth"]["snv"]["recall"] >= 0.95
    assert summary["truth"]["snv"]["precision"] >= 0.9
    with pysam.VariantFile(str(finished.output / "rescore/all.vcf.gz")) as variants:
        assert list(variants.header.samples) == ["NA12878"]


def test_calling_sees_every_placed_record(finished: Run) -> None:
    """The caller's ledger counts as many reads as the BAM's index counts records."""
    ledger = json.loads((finished.output / "rescore/ledger.json").read_text())
    for sample, counts in ledger["samples"].items():
        with pysam.AlignmentFile(str(finished.output / f"align/{sample}.bam")) as alignments:
            placed = sum(contig.total for contig in alignments.get_index_statistics())
        assert counts["reads"] == placed > 0


@pytest.mark.full
def test_why_is_said_in_the_folder_of_a_run(finished: Run) -> None:
    """In the folder of a run, the configuration alone is enough, and the record is the VCF's."""
    wanted = str(calls(finished.output / "rescore/all.vcf.gz")[3])
    contig, position = wanted.split("\t")[:2]

    def why(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "quire", "why", "--at", f"{contig}:{position}", *arguments]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow/scripts")}
        return subprocess.run(command, cwd=finished.folder, env=environment, capture_output=True, text=True)

    # The same samples from a sheet of sarek, which stands for both sheets.
    header, row = "patient,sample,lane,fastq_1,fastq_2", f"p,NA12878,lane_1,{SMALL_UNIT['fq1']},{SMALL_UNIT['fq2']}"
    (finished.folder / "sarek.csv").write_text(f"{header}\n{row}\n")
    config = {key: value for key, value in finished.config.items() if key != "samples"} | {"units": "sarek.csv"}
    (finished.folder / "sarek.yaml").write_text(yaml.safe_dump(config))
    for file in ("config.yaml", "sarek.yaml"):
        result = why("--configfile", file)
        assert result.returncode == 0, result.stderr
        shown = result.stdout.splitlines()[-1].split("\t")
        assert result.stdout.splitlines()[-2] == "Called:"
        assert shown[1:6] == wanted.split("\t")[1:6]
        assert shown[9] == wanted.rstrip("\n").split("\t")[9]
    result = why()
    assert result.returncode == 1
    assert result.stderr.startswith("quire: error: config/config.yaml: the configuration does not exist")


@pytest.mark.full
def test_second_call_does_nothing(continued: Callable[[], Run]) -> None:
    """The same command again has nothing to do and says so."""
    result = continued().snakemake()
    assert result.returncode == 0
    assert "Nothing to be done" in result.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("report/page.py", {"write_report"}),
        ("report/known_variants.py", {"check_truth", "compare_truth", "write_report"}),
        ("rescore/assembly/__init__.py", {"rescore_interval", "gather_variants", "compare_truth", "write_report"}),
        # The unit's BAM is temporary: finishing a sample again maps it again.
        (
            "finish/sample.py",
            {
                *("map_unit", "finish_sample", "list_low_coverage", "rescore_interval", "gather_variants"),
                *("compare_truth", "write_report"),
            },
        ),
    ],
)
def test_edited_module_runs_again_what_depends_on_it(
    edited: str, expected: set[str], continued: Callable[[], Run], tmp_path: Path
) -> None:
    """Editing a library module re-runs exactly the rules whose scripts import it and the rules after them."""
    run = continued()
    run.repository = edited_copy(tmp_path / "edited", "report/summary.py", "")
    assert "Nothing to be done" in run.snakemake("-n").stdout
    run.repository = edited_copy(tmp_path / "edited", edited, "\nedited = True\n")
    assert planned(run.snakemake("-n").stdout) - {"all"} == expected


@pytest.mark.full
def test_other_pages_index_and_map_again(finished: Run, continued: Callable[[], Run]) -> None:
    """Another page size after a finished run repeats everything, with the same answers."""
    run = continued()
    run.config["reference"] = {**run.config["reference"], "page_size": 20000}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert {"pack_reference", "index_page", "map_unit", "rescore_interval", "write_report"} <= finished_rules(
        result.stdout
    )
    assert records(run.output / "align/NA12878.bam") == records(finished.output / "align/NA12878.bam")
    assert "Nothing to be done" in run.snakemake().stdout


@pytest.mark.full
def test_another_plan_calls_again(finished: Run, continued: Callable[[], Run]) -> None:
    """Smaller pieces after a finished run repeat only calling and gathering."""
    run = continued()
    run.config["rescore"] = {"interval_size": 15000}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {
        "split_intervals",
        "rescore_interval",
        "gather_variants",
        "compare_truth",
        "write_report",
    }
    assert len(list(run.output.glob("rescore/pieces/*.ledger.json"))) >= 3
    assert calls(run.output / "rescore/all.vcf.gz") == calls(finished.output / "rescore/all.vcf.gz")
    assert "Nothing to be done" in run.snakemake().stdout


@pytest.mark.full
def test_one_answer_for_other_pages_batches_and_pieces(finished: Run, tmp_path: Path) -> None:
    """Pages of 10 kb, batches of 500 pairs and pieces of 7 kb give the records and calls of the default run."""
    settings = {
        "reference": {"fasta": str(SMALL / "genome.fa.gz"), "page_size": 10000},
        "align": {"reads_per_batch": 500},
        "index": {"sampling_distance": 192, "sa_sampling": 4},
        "rescore": {"interval_size": 7000},
    }
    run = Run(tmp_path / "run", config=settings)
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert len(list(run.output.glob("index/page_*"))) > 3
    assert records(run.output / "align/NA12878.bam") == records(finished.output / "align/NA12878.bam")
    assert calls(run.output / "rescore/all.vcf.gz") == calls(finished.output / "rescore/all.vcf.gz")


@pytest.mark.full
def test_lanes_samples_single_ends_and_cram(finished: Run, tmp_path: Path) -> None:
    """A run works with two samples, two lanes of one (one of them single-end), CRAM, regions, and a shared index."""
    folder = tmp_path / "run"
    folder.mkdir()
    with pysam.FastxFile(str(SMALL / "NA12878_R1.fastq.gz")) as reads:
        (folder / "single.fq").write_text("".join(f"{read}\n".replace("@", "@second.", 1) for read in reads))
    (folder / "other_R1.fq.gz").symlink_to(SMALL / "NA12878_R1.fastq.gz")
    for mate in "12":
        shutil.copy(SMALL / f"NA12878_R{mate}.fastq.gz", folder / f"b_R{mate}.fq.gz")
    with pysam.FastxFile(str(SMALL / "genome.fa.gz")) as contigs:
        (folder / "genome.fa").write_text("".join(f">{contig.name}\r\n{contig.sequence}\r\n" for contig in contigs))
    (folder / "family.fam").write_text("f NA12878 b 0 0 0\nf b 0 0 1 0\n")
    (folder / "targets.bed").write_text("chr22\t1000\t9000\nchr22\t20000\t21000\n")
    single = {**SMALL_UNIT, "unit": "lane_2", "fq1": "single.fq", "fq2": "", "library": "lib_2"}
    other = {**SMALL_UNIT, "sample": "b", "unit": "1", "fq1": "b_R1.fq.gz", "fq2": "b_R2.fq.gz", "library": ""}
    run = Run(
        folder,
        config={
            "reference": {"fasta": "genome.fa", "index_directory": "../shared_index"},
            "align": {"format": "cram", "optical_distance": 100},
            "rescore": {"intervals": "targets.bed"},
            "report": {"pedigree": "family.fam"},
        },
        samples=[{"sample": "NA12878", "ploidy": "2"}, {"sample": "b", "ploidy": "1"}],
        units=[dict(SMALL_UNIT), single, other],
    )
    assert run.snakemake("reference_index").returncode == 0
    assert (tmp_path / "shared_index/page_0/manifest.json").exists()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    for sample in ("NA12878", "b"):
        assert (run.output / f"align/{sample}.cram.crai").exists()
        header, *rows = (run.output / f"align/{sample}.duplicates.tsv").read_text().splitlines()
        assert header.endswith("\tpercent\toptical_duplicates")
        assert rows
    with pysam.AlignmentFile(
        str(run.output / "align/NA12878.cram"), reference_filename=str(folder / "genome.fa")
    ) as cram:
        groups = {group["ID"]: group for group in cram.header.to_dict()["RG"]}
        assert sorted(groups) == ["NA12878.lane_1", "NA12878.lane_2"]
        assert groups["NA12878.lane_2"]["LB"] == "lib_2"
        primary = sum(not record.flag & 0x900 for record in cram.fetch(until_eof=True))
        assert primary == 3 * PAIRS
    with pysam.VariantFile(str(run.output / "rescore/all.vcf.gz")) as variants:
        assert list(variants.header.samples) == ["NA12878", "b"]
        found = list(variants)
        assert found
        assert all(999 < record.pos <= 9000 or 20000 < record.pos <= 21000 for record in found)
        assert {len(record.samples["b"]["GT"]) for record in found} == {1}
    assert sorted(path.stem for path in (run.output / "ledger").iterdir()) == [
        "NA12878",
        "NA12878.lane_1",
        "NA12878.lane_2",
        "b",
        "b.1",
    ]
    pedigree = json.loads((run.output / "report/summary.json").read_text())["samples"][0]["pedigree"]
    assert (pedigree["father"], pedigree["judged"]) == ("b", 0)
    table = (run.output / "report/samples.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in table] == ["sample", "NA12878", "b"]
    assert (run.output / "report/distances.tsv").read_text() == "\tb\nb\t0\n"
    # As BAM the alignments are only converted, and calling keeps to the CRAM.
    run.config["align"] = {**run.config["align"], "format": "bam"}
    run.write()
    said = run.snakemake("--dry-run").stdout
    assert re.search(r"convert_alignments +2 x  2 samples", said)
    assert "Nothing is indexed, mapped, sorted, called or genotyped." in said
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {"convert_alignments", "write_report"}
    for sample in ("NA12878", "b"):
        bam, cram = (run.output / f"align/{sample}.{kind}" for kind in ("bam", "cram"))
        assert records(bam) == records(cram)
        cram.unlink()  # only another calling needs it
    # As finished in that format, tags included: the same reads as those of the other run, in another read group.
    converted = [line.replace("RG:Z:b.1", "RG:Z:NA12878.lane_1") for line in records(run.output / "align/b.bam")]
    assert converted == records(finished.output / "align/NA12878.bam")
    assert "Nothing to be done" in run.snakemake("--dry-run").stdout
    assert {"map_unit", "finish_as_before"} <= planned(
        run.snakemake("--dry-run", "--forcerun", "rescore_interval").stdout
    )
