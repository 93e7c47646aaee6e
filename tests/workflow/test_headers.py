"""Headers of BAM and VCF: they record enough to repeat the run, and nothing that depends on the date."""

import gzip
import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pysam
import pytest
from quire.align.origin import command_line
from quire.align.read_ends import Clipping
from quire.align.unit_files import UnitInputs
from quire.command.alignments import map_parser
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles
from quire.version import VERSION

from tests.support.vcf_commands import command_of, records, run_again
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
    words = [sys.executable, "-m", *shlex.split(command)[:-1], str(again)]
    variables = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow/scripts")}
    result = subprocess.run(words, cwd=finished.folder, env=variables, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    with pysam.AlignmentFile(str(again)) as stream:
        assert sorted(_unmarked(record) for record in stream.fetch(until_eof=True)) == expected


def _unmarked(record: pysam.AlignedSegment) -> str:
    record.is_duplicate = False
    return record.to_string()


def test_every_option_stands_in_the_command() -> None:
    """`quire map` understands the command of a @PG line, which names all that decides the records."""
    two, three = [Path("a_1.fq"), Path("b 1.fq")], [Path("a_3.fq"), Path("b_3.fq")]
    index = Path("index/reference")
    for inputs, clipping, umis, expected in (
        (
            UnitInputs(index, [], ReadFiles(two, two, (), False, "phred64", three), Path("g.fa")),
            Clipping(True, False),
            False,
            {"reads": ["a_1.fq,b 1.fq"] * 2, "qualities": "phred64", "umi": "file", "fq_umi": "a_3.fq,b_3.fq"},
        ),
        (
            UnitInputs(index, [], ReadFiles(two[:1], interleaved=True), Path("g.fa")),
            Clipping(False, True),
            True,
            {"reads": ["a_1.fq"], "interleaved": "yes", "umi": "name"},
        ),
        (
            UnitInputs(index, [], ReadFiles(bam=[Path("x.cram")]), Path("g.fa"), Path("g.fa.alt")),
            Clipping(False, False),
            False,
            {"reads": ["x.cram"], "umi": "none", "interleaved": ""},
        ),
    ):
        text = command_line(inputs, ReadGroup("x", "y", "z", "ONT"), clipping, umis, "cpu")
        given = vars(map_parser().parse_args(shlex.split(text)[2:]))
        expected |= {"clip_adapters": clipping.adapters, "clip_poly_g": clipping.poly_g, "backend": "cpu"}
        expected |= {"sample": "x", "unit": "y", "library": "z", "platform": "ONT", "unsorted": True}
        expected |= {"index_directory": Path("index"), "reference": "g.fa", "output": Path("x.y.bam")}
        assert {key: given[key] for key in expected} == expected


def test_header_of_the_variants(finished: Run) -> None:
    with pysam.BGZFile(str(finished.output / "rescore/all.vcf.gz"), "rb") as stream:
        header = [line.decode() for line in stream if line.startswith(b"##")]
    assert f"##reference=file://{SMALL / 'genome.fa.gz'}" in header
    (command,) = (line for line in header if line.startswith("##QuireCommandLine="))
    start = f'##QuireCommandLine=<ID=call,Version="{VERSION}",CommandLine="quire call out/align/NA12878.bam '
    assert command.startswith(f"{start}--reference {SMALL / 'genome.fa.gz'} ")
    assert " --minimum-quality 30 " in command
    assert " --long-indels " in command
    assert f"##contig=<ID=chr22,length=40001,md5={checksum_of_contig()}>" in header
    with pysam.VariantFile(str(finished.output / "rescore/all.vcf.gz")) as variants:
        assert variants.header.contigs["chr22"].length == 40001


def test_the_command_of_the_variants_can_be_run_again(finished: Run) -> None:
    """Run in the same folder, the header's command gives the same records."""
    vcf = finished.output / "rescore/all.vcf.gz"
    again = finished.folder.parent / "again.vcf.gz"
    run_again(command_of(vcf), again, finished.folder)
    assert records(again) == records(vcf) != []
