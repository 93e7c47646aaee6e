"""Headers of BAM and VCF: they record enough to repeat the run, and nothing that depends on the date."""

import gzip
import hashlib
import os
import shlex
import subprocess
import sys

import pysam
import pytest
from quire.align.command import clipping_of, command_line, inputs_of, parser, read_group_of
from quire.version import VERSION

from tests.workflow.runs import REPOSITORY, SMALL, Run

pytestmark = pytest.mark.full


def checksum_of_contig() -> str:
    """Return the MD5 of the only contig of the small set, as in SAM's M5."""
    lines = gzip.decompress((SMALL / "genome.fa.gz").read_bytes()).split(b"\n")[1:]
    return hashlib.md5(b"".join(lines).upper()).hexdigest()


def test_header_of_the_alignments(finished: Run) -> None:
    with pysam.AlignmentFile(str(finished.output / "align/NA12878.bam")) as stream:
        header = stream.header.to_dict()
    (contig,), (group,), programs = header["SQ"], header["RG"], header["PG"]
    assert contig["M5"] == checksum_of_contig()
    assert contig["UR"] == f"file://{SMALL / 'genome.fa.gz'}"
    assert group["PU"] == "HCLHLDSXX.2"
    assert [program["ID"] for program in programs] == ["quire.NA12878.lane_1", "finish.quire.NA12878.lane_1"]
    assert programs[1]["PP"] == programs[0]["ID"]
    assert {program["VN"] for program in programs} == {VERSION}


def test_the_command_of_the_alignments_can_be_run_again(finished: Run) -> None:
    """Run in the same folder, the header's command gives the same records, apart from sorting and marking."""
    with pysam.AlignmentFile(str(finished.output / "align/NA12878.bam")) as stream:
        command = stream.header.to_dict()["PG"][0]["CL"]
        expected = sorted(_unmarked(record) for record in stream.fetch(until_eof=True))
    again = finished.folder.parent / "again.bam"
    words = [sys.executable, *shlex.split(command)[1:-1], str(again)]
    variables = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow/scripts")}
    result = subprocess.run(words, cwd=finished.folder, env=variables, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    with pysam.AlignmentFile(str(again)) as stream:
        assert sorted(_unmarked(record) for record in stream.fetch(until_eof=True)) == expected


def _unmarked(record: pysam.AlignedSegment) -> str:
    record.is_duplicate = False
    return record.to_string()


def test_every_option_stands_in_the_command() -> None:
    """The options of a command line are those in the @PG line of its unit."""
    for words in (
        "--fq1 a_1.fq b_1.fq --fq2 a_2.fq b_2.fq --fq-umi a_3.fq b_3.fq --qualities phred64 --clip-adapters --umis",
        "--fq1 'a b.fq' --interleaved --clip-poly-g --sample x --unit y --library z --platform ONT",
        "--bam x.cram y.bam --fasta genome.fa --alternate genome.fa.alt --assembly GRCh38",
    ):
        given = parser().parse_args(shlex.split(f"--index index --out x.bam --backend cpu {words}"))
        text = command_line(inputs_of(given), read_group_of(given), clipping_of(given), given.umis, "cpu")
        again = parser().parse_args(shlex.split(text)[3:])
        assert {**vars(again), "out": given.out} == vars(given)


def test_header_of_the_variants(finished: Run) -> None:
    with pysam.BGZFile(str(finished.output / "rescore/all.vcf.gz"), "rb") as stream:
        header = [line.decode() for line in stream if line.startswith(b"##")]
    assert f"##reference=file://{SMALL / 'genome.fa.gz'}" in header
    (command,) = (line for line in header if line.startswith("##QuireCommandLine="))
    start = f'##QuireCommandLine=<ID=rescore,Version="{VERSION}",CommandLine="rescore '
    assert command.startswith(f"{start}minimum_quality=30 ")
    assert "long_indels=true" in command
    assert f"##contig=<ID=chr22,length=40001,md5={checksum_of_contig()}>" in header
    with pysam.VariantFile(str(finished.output / "rescore/all.vcf.gz")) as variants:
        assert variants.header.contigs["chr22"].length == 40001
