"""Inputs of the same reads in different formats give the same records through Snakemake."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pysam
import pytest
from pysam import FastxFile

from tests.workflow.runs import SMALL, SMALL_UNIT, Run, errors_of
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full

MATES = [SMALL / "NA12878_R1.fastq.gz", SMALL / "NA12878_R2.fastq.gz"]


def reads(path: Path) -> list[str]:
    """Return the records of a FASTQ."""
    with FastxFile(str(path)) as stream:
        return [f"{read}\n" for read in stream]


def write_forms(folder: Path) -> list[dict[str, str]]:
    """Write the small set in other formats; return rows of the sheet of units, one sample each."""
    folder.mkdir()
    first, second = (reads(path) for path in MATES)
    for number, cut in enumerate((slice(0, 2000), slice(2000, None)), 1):
        (folder / f"part_{number}_R1.fq").write_text("".join(first[cut]))
        (folder / f"part_{number}_R2.fq").write_text("".join(second[cut]))
    with (folder / "turn.fq").open("w") as turn:
        for record in (record for pair in zip(first, second, strict=True) for record in pair):
            title, bases, plus, qualities = record.splitlines()
            turn.write("\n".join([title, bases, plus, "".join(chr(ord(c) + 31) for c in qualities)]) + "\n")
    with pysam.AlignmentFile(str(folder / "reads.bam"), "wb", header={"HD": {"VN": "1.6", "SO": "unsorted"}}) as out:
        for i in range(len(first)):
            for flag, record in ((0x4D, first[i]), (0x8D, second[i])):
                title, bases, _, qualities = record.splitlines()
                unmapped = pysam.AlignedSegment(out.header)
                unmapped.query_name, unmapped.flag, unmapped.query_sequence = title[1:].split()[0], flag, bases
                unmapped.query_qualities = pysam.qualitystring_to_array(qualities)
                out.write(unmapped)
    return [
        {"sample": "unmapped", "bam": "reads.bam"},
        {"sample": "mapped", "bam": "mapped.cram"},
        {"sample": "parts", "fq1": "part_1_R1.fq, part_2_R1.fq", "fq2": "part_1_R2.fq,part_2_R2.fq"},
        {"sample": "turn", "fq1": "turn.fq", "interleaved": "yes", "qualities": "phred64"},
    ]


def sheet(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows with all columns."""
    columns = ("sample", "unit", "fq1", "fq2", "bam", "interleaved", "qualities")
    return [{column: row.get(column, "lane_1" if column == "unit" else "") for column in columns} for row in rows]


@pytest.fixture(scope="module")
def forms(finished: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Map the small set in all formats, with the index of the finished run."""
    folder = tmp_path_factory.mktemp("inputs") / "run"
    rows = write_forms(folder)
    (folder / "genome.fa").write_bytes(gzip.decompress((SMALL / "genome.fa.gz").read_bytes()))
    bam, options = str(finished.output / "align/NA12878.bam"), "cram,store_nm=1,store_md=1"
    pysam.view(
        "-O", options, "-T", str(folder / "genome.fa"), "-o", str(folder / "mapped.cram"), bam, catch_stdout=False
    )
    run = Run(
        folder,
        config={"reference": {"fasta": str(SMALL / "genome.fa.gz"), "index_directory": str(finished.output / "index")}},
        samples=[{"sample": row["sample"], "ploidy": "2"} for row in rows],
        units=sheet(rows),
    )
    result = run.snakemake(*(f"out/align/{row['sample']}.bam" for row in rows))
    assert result.returncode == 0, result.stdout
    return run


def records(path: Path) -> Iterator[str]:
    """Yield the records without their read group, which names the sample."""
    with pysam.AlignmentFile(str(path)) as stream:
        for record in stream.fetch(until_eof=True):
            record.set_tag("RG", None)
            yield record.to_string()


@pytest.mark.parametrize("sample", ["parts", "turn", "unmapped"])
def test_records_do_not_depend_on_the_form_of_the_input(sample: str, forms: Run, finished: Run) -> None:
    expected = list(records(finished.output / "align/NA12878.bam"))
    assert list(records(forms.output / f"align/{sample}.bam")) == expected


def test_alignments_are_mapped_anew(forms: Run, finished: Run) -> None:
    """Reads of a sorted CRAM are paired; read groups are the sheet's; the ledger counts omitted records."""
    expected = sorted(records(finished.output / "align/NA12878.bam"))
    assert sorted(records(forms.output / "align/mapped.bam")) == expected
    with pysam.AlignmentFile(str(forms.output / "align/mapped.bam")) as stream:
        assert [group["ID"] for group in stream.header.to_dict()["RG"]] == ["mapped.lane_1"]
        assert {record.get_tag("RG") for record in stream} == {"mapped.lane_1"}
    counts = json.loads((forms.output / "ledger/mapped.lane_1.json").read_text())["counts"]
    supplementary = sum(int(line.split("\t")[1]) & 0x800 != 0 for line in expected)
    assert counts["supplementary_left_out"] == supplementary > 0
    assert counts["secondary_left_out"] == 0
    assert counts["reads"] + supplementary == len(expected)
    assert not [path for path in (forms.output / "align/units").iterdir() if path.name.startswith(".")]


def test_reads_that_are_not_what_the_sheet_says(forms: Run, tmp_path: Path) -> None:
    """Interleaved mates given as single reads, and Phred+64 given as Phred+33, are refused before any job."""
    shutil.copy(forms.folder / "turn.fq", tmp_path / "turn.fq")
    unit = {**SMALL_UNIT, "fq1": "turn.fq", "fq2": "", "interleaved": "", "qualities": ""}
    for said, expected in (
        ({}, "are the two mates of"),
        ({"interleaved": "yes"}, "which suggests Phred+64; set phred64 in the column qualities"),
        ({"qualities": "phred64"}, "say yes in the column interleaved of the sheet of units"),
    ):
        run = Run(tmp_path, units=[unit | said])
        result = run.snakemake("-n")
        assert result.returncode != 0
        (error,) = errors_of(result.stdout)
        assert "units.tsv, NA12878.lane_1, column fq1: turn.fq: " in error
        assert expected in error
    run = Run(tmp_path, config={"complete": [{"name": "x", "reads": "turn.fq"}], "samples": "", "units": ""})
    (error,) = errors_of(run.snakemake("-n").stdout)
    assert "complete x, reads: turn.fq has Phred+64 qualities; convert it with `seqtk" in error


def test_columns_of_ones_own_are_in_the_report_and_run_nothing_else(continued: Callable[[], Run]) -> None:
    run = continued()
    run.samples = [{"sample": "NA12878", "ploidy": "2", "tissue": "blood & <b>"}]
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {"write_report"}, result.stdout
    summary = json.loads((run.output / "report/summary.json").read_text())
    row = {"sample": "NA12878", "tissue": "blood & <b>"}
    assert summary["metadata"] == {"samples": [row], "units": []}
    assert "<td>blood &amp; &lt;b&gt;</td>" in (run.output / "report/report.html").read_text()


def test_ends_are_clipped_and_not_trimmed(finished: Run, tmp_path: Path) -> None:
    """With both keys set, fewer bases are aligned, the ledger counts the clipped ones, and the reads are the same."""
    unit = {key: value for key, value in SMALL_UNIT.items() if key not in ("fq1", "fq2")}
    run = Run(tmp_path, config={"reference": {"fasta": str(SMALL / "genome.fa.gz")}})
    run.config["reference"]["index_directory"] = str(finished.output / "index")
    run.config["align"] = {"clip_adapters": True, "clip_poly_g": True}
    first, second = (reads(path)[:600] for path in MATES)
    for mate, records_of_mate in ((1, first), (2, second)):
        with (tmp_path / f"{mate}.fq").open("w") as stream:
            for number, record in enumerate(records_of_mate):
                title, bases, _, qualities = record.splitlines()
                insert = 40 + number % 100
                # The two mates of a short insert: both ends of it, made from the start of the first mate.
                whole = first[number].splitlines()[1][:insert]
                whole = whole if mate == 1 else whole.translate(str.maketrans("ACGTN", "TGCAN"))[::-1]
                read = (whole + "AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC" + "G" * 150)[: len(bases)]
                stream.write(f"{title}\n{read}\n+\n{qualities}\n")
    run.units = [{**unit, "fq1": "1.fq", "fq2": "2.fq"}]
    run.write()
    result = run.snakemake("out/align/NA12878.bam")
    assert result.returncode == 0, result.stdout
    counts = json.loads((run.output / "ledger/NA12878.lane_1.json").read_text())["counts"]
    assert counts["reads"] == counts["mapped"] + counts["unmapped"] == 1200
    assert counts["adapter_clipped_reads"] > 1000
    assert counts["poly_g_clipped_reads"] > 100
    with pysam.AlignmentFile(str(run.output / "align/NA12878.bam")) as stream:
        primary = [record for record in stream if not record.flag & 0x900]
    expected = sorted(read.splitlines()[1] for mate in "12" for read in reads(tmp_path / f"{mate}.fq"))
    assert sorted(record.get_forward_sequence() for record in primary) == expected
    clips = [{record.cigartuples[0][0], record.cigartuples[-1][0]} for record in primary if not record.is_unmapped]
    assert sum(pysam.CSOFT_CLIP in both_ends for both_ends in clips) > 1000


def test_duplicates_by_umi(finished: Run, tmp_path: Path) -> None:
    """RX is the UMI from the read name or from a file; marks equal those of `samtools markdup --barcode-tag RX`."""
    run = Run(tmp_path, config={"reference": {"fasta": str(SMALL / "genome.fa.gz")}, "align": {"umi": "name"}})
    run.config["reference"] |= {"index_directory": str(finished.output / "index"), "assembly": "GRCh38 of a test"}
    names = {}
    for mate, path in enumerate(MATES, 1):
        with (tmp_path / f"{mate}.fq").open("w") as stream:
            # Every pair occurs twice, so that there are duplicates; half of these have the same UMI.
            for number, record in enumerate(read for read in reads(path)[:1500] for _ in range(2)):
                title, bases, _, qualities = record.splitlines()
                umi = "AC+GT" if number % 2 == 0 or number % 4 == 1 else "TT+GT"
                name = f"{title[1:].split()[0][:-1]}{number}:{umi}"
                names[name] = umi.replace("+", "-")
                stream.write(f"@{name}\n{bases}\n+\n{qualities}\n")
    run.units = [{**SMALL_UNIT, "fq1": "1.fq", "fq2": "2.fq"}]
    run.write()
    result = run.snakemake("out/align/NA12878.bam")
    assert result.returncode == 0, result.stdout
    ours = run.output / "align/NA12878.bam"
    with pysam.AlignmentFile(str(ours)) as stream:
        found = [(record.query_name, record.get_tag("RX"), record.is_duplicate) for record in stream]
        assert [contig["AS"] for contig in stream.header.to_dict()["SQ"]] == ["GRCh38 of a test"]
    assert all(names[name] == umi for name, umi, _ in found)
    peer = tmp_path / "peer.bam"
    pysam.samtools.markdup("-c", "--barcode-tag", "RX", str(ours), str(peer), catch_stdout=False)
    with pysam.AlignmentFile(str(peer)) as stream:
        assert [duplicate for _, _, duplicate in found] == [record.is_duplicate for record in stream]
    assert 1300 < sum(duplicate for _, _, duplicate in found) < 1800

    # The same UMIs in a separate file; the names then have none.
    with (tmp_path / "umi.fq").open("w") as stream:
        for title in (tmp_path / "1.fq").read_text().splitlines()[::4]:
            umi = title.rpartition(":")[2].replace("+", "")
            stream.write(f"{title} 3:N:0\n{umi}\n+\n{'#' * len(umi)}\n")
    run.config["align"] = {"umi": "file"}
    run.units = [{**run.units[0], "fq_umi": "umi.fq"}]
    run.write()
    result = run.snakemake("out/align/NA12878.bam")
    assert result.returncode == 0, result.stdout
    with pysam.AlignmentFile(str(ours)) as stream:
        of_file = [(record.query_name, record.get_tag("RX"), record.is_duplicate) for record in stream]
    assert of_file == [(name, umi.replace("-", ""), duplicate) for name, umi, duplicate in found]


def test_a_control_without_reads(finished: Run, tmp_path: Path) -> None:
    """A negative control without reads goes through the whole workflow, and is in the VCF and in the report."""
    for mate in "12":
        (tmp_path / f"none_R{mate}.fq.gz").write_bytes(gzip.compress(b""))
    columns = ("sample", "unit", "fq1", "fq2", "may_be_empty")
    control = ("NTC", "lane_1", "none_R1.fq.gz", "none_R2.fq.gz", "yes")
    run = Run(
        tmp_path,
        config={
            "reference": {"fasta": str(SMALL / "genome.fa.gz"), "index_directory": str(finished.output / "index")},
            "rescore": {"gvcf": True},
        },
        samples=[{"sample": name, "ploidy": "2"} for name in ("NA12878", "NTC")],
        units=[
            {column: SMALL_UNIT.get(column, "") for column in columns},
            dict(zip(columns, control, strict=True)),
        ],
    )
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert "NTC         0 reads in, 0 mapped" in result.stdout
    with pysam.VariantFile(str(run.output / "rescore/all.vcf.gz")) as variants:
        calls = [
            (record.samples["NA12878"].allele_indices, record.samples["NTC"].allele_indices) for record in variants
        ]
    assert len(calls) > 30
    assert {control for _, control in calls} == {(None, None)}
    summary = json.loads((run.output / "report/summary.json").read_text())
    assert [sample["reads"]["total"] for sample in summary["samples"]] == [9898, 0]
