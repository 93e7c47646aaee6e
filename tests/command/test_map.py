"""Arguments of `quire map` that exclude each other, or do not fit the files, are rejected before mapping."""

import contextlib
import shlex
from pathlib import Path

import pytest
from quire.command.alignments import map_reads
from quire.run.schema import default_settings

from tests.workflow.runs import SMALL

READS = SMALL / "NA12878_R1.fastq.gz"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a_1.fq,b_1.fq a_2.fq", "fq1 names 2 files and fq2 1;"),
        ("a_1.fq a_2.fq,b_2.fq", "fq1 names 1 files and fq2 2;"),
        ("a_1.fq,b_1.fq a_2.fq,b_2.fq --fq-umi a_3.fq --umi file", "fq1 names 2 files and fq_umi 1;"),
        ("a_1.fq a_2.fq --fq-umi a_3.fq", "fq_umi is given, and align.umi is not file"),
        ("a_1.fq a_2.fq --interleaved", "an interleaved fq1 holds the mates too"),
        ("a_1.fq a_2.fq a_3.fq", "a_3.fq: is a third file of reads"),
        ("a.bam a_2.fq", "a_2.fq: a BAM or CRAM holds the mates too"),
        ("a.bam --fq-umi a_3.fq --umi file", "fq_umi is given, which does not apply to bam"),
        ("a.bam --interleaved", "interleaved is given, which does not apply to bam"),
        ("a.bam --qualities phred64", "qualities is given, which does not apply to bam"),
        ("a_1.fq", "a_1.fq does not exist"),
        (f"{READS} {READS}", "is the same file as fq1 of x.unit"),
        (f"{READS} --output x.cram --unsorted", "x.cram: --unsorted writes a BAM"),
        (f"{READS} --output x.y.bam --umi name", "UMI"),
    ],
)
def test_arguments_that_do_not_fit_each_other(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a lane with a forgotten file of mates would be mapped as single reads."""
    monkeypatch.chdir(tmp_path)
    reference = str(SMALL / "genome.fa.gz")
    with pytest.raises(SystemExit) as caught:
        map_reads(["--output", "x.bam", *shlex.split(words), "--reference", reference])
    assert str(caught.value).startswith("quire: error: ")
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--threads", value) for value in ("0", "-1", "two", "1.5", "²")),
        *(("--reads-per-batch", value) for value in ("0", "-5", "many")),
        *(("--output", value) for value in ("x.sam", "x", "x.bam.gz", ".")),
        *(("--assembly", value) for value in ("a\tb", "a\n")),
        *((f"--{part}", value) for part in ("sample", "unit", "library", "platform") for value in ("a\tb", "a/b")),
    ],
)
def test_values_that_cannot_be_used(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A tab in a header field would make the BAM unreadable."""
    with pytest.raises(SystemExit) as caught:
        map_reads(["a.fq", "--reference", "g.fa", "--output", "x.bam", f"{option}={value}"])
    assert caught.value.code == 2
    assert f"error: argument {option}:" in capsys.readouterr().err


OTHER_VALUES = {
    "index_format": ["--index-format=csi"],
    "mark_duplicates": ["--no-mark-duplicates"],
    "optical_distance": ["--optical-distance=100"],
    "clip_adapters": ["--clip-adapters"],
    "umi": ["--umi=name"],
    "clip_poly_g": ["--clip-poly-g"],
    "low_depth": ["--low-depth=3"],
    "reads_per_batch": ["--reads-per-batch=7"],
}


@pytest.mark.parametrize("key", sorted({*default_settings("align")} - {"format"}))
def test_every_key_reaches_the_library(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command takes new keys from the schema at once, but passes values on itself."""
    (tmp_path / "reads.fq").write_text("@read:ACGT\nACGTACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIIIIIII\n")
    calls: list[str] = []

    def recorded(*arguments: object, **named: object) -> None:
        calls.append(repr((arguments, named)).replace(str(tmp_path), ""))

    for function in ("quire.align.unit.map_unit", "quire.finish.sample.finish_sample"):
        monkeypatch.setattr(function, recorded)
    monkeypatch.setattr("quire.kernels.compile_stage", lambda *_, **__: None)
    monkeypatch.setattr("quire.command.alignments.print_counts", lambda _: None)
    monkeypatch.setattr(
        "quire.command.parser.CommandParser.index", lambda *_: contextlib.nullcontext((Path("reference"), []))
    )
    monkeypatch.setattr("quire.command.alignments.scratch_directory", lambda *_: contextlib.nullcontext(tmp_path))
    common = [str(tmp_path / "reads.fq"), f"--output={tmp_path / 'x.bam'}", f"--reference={SMALL / 'genome.fa.gz'}"]
    answers = []
    for words in ([], [], OTHER_VALUES[key]):
        map_reads([*common, "--threads=1", *words])
        answers.append([*calls])
        calls.clear()
    usual, again, other = answers
    assert len(usual) == len(other) == 2
    assert again == usual
    assert other != usual
