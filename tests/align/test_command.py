"""Options of `python -m quire.align` that exclude each other or the files are rejected before mapping."""

import shlex
from pathlib import Path

import pytest
from quire.align.command import inputs_of, parser
from quire.errors import InputError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--fq1 a_1.fq b_1.fq --fq2 a_2.fq", "--fq1 names 2 files and --fq2 1;"),
        ("--fq1 a_1.fq --fq2 a_2.fq b_2.fq", "--fq1 names 1 files and --fq2 2;"),
        ("--fq1 a_1.fq b_1.fq --fq2 a_2.fq b_2.fq --fq-umi a_3.fq", "--fq1 names 2 files and --fq-umi 1;"),
        ("--fq1 a_1.fq --fq2 a_2.fq --interleaved", "--interleaved --fq1 holds the mates too"),
        ("--bam a.bam --fq2 a_2.fq", "--fq2 does not apply to --bam"),
        ("--bam a.bam --fq-umi a_3.fq", "--fq-umi does not apply to --bam"),
        ("--bam a.bam --interleaved", "--interleaved does not apply to --bam"),
        ("--bam a.bam --qualities phred64", "--qualities does not apply to --bam"),
    ],
)
def test_options_that_do_not_fit_each_other(words: str, message: str, tmp_path: Path) -> None:
    """Otherwise a lane with a forgotten file of mates would be mapped as single reads."""
    given = parser().parse_args([*shlex.split(words), "--index", str(tmp_path), "--out", "x.bam"])
    with pytest.raises(InputError) as caught:
        inputs_of(given)
    assert message in str(caught.value)


@pytest.mark.parametrize("out", ["x.bam", "folder/x.buckets", "folder/x.buckets/"])
def test_outputs(out: str) -> None:
    """Shells append a slash when they complete the name of a folder."""
    assert parser().parse_args(["--index", "index", "--fq1", "a.fq", "--out", out]).out == Path(out)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--threads", value) for value in ("0", "-1", "two", "1.5", "²")),
        *(("--batch", value) for value in ("0", "-5")),
        *(("--out", value) for value in ("x.sam", "x.cram", "x", ".bam", "x.bam.gz")),
        *(("--assembly", value) for value in ("a\tb", "a\n")),
        *((f"--{part}", value) for part in ("sample", "unit", "library", "platform") for value in ("a\tb", "a\n", "")),
    ],
)
def test_values_that_cannot_be_used(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A tab in a header field would make the BAM unreadable."""
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(["--index", "index", "--fq1", "a.fq", "--out", "x.bam", f"{option}={value}"])
    assert caught.value.code == 2
    assert f"error: argument {option}:" in capsys.readouterr().err
