"""Explanations of calls on real reads, for every kind of answer, with the caller's own results."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage
from quire.command.variants import why as command
from quire.rescore.job import Output, open_job
from quire.rescore.why import explain

from tests.support.calling import call_gvcf, call_variants
from tests.support.defaults import default_settings
from tests.support.gvcf import REAL, lines_of, sample_of
from tests.support.simulation import indexed_bam
from tests.support.vcf_commands import LIBRARY

SETTINGS = default_settings("rescore")
CONTIG, LENGTH = "chr22_8kb", 8000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the packed reference, and real reads of two samples."""
    root = tmp_path_factory.mktemp("world")
    shutil.copy(REAL / "genome.fa.gz", root)
    reference_stage.build(REAL / "genome.fa.gz", root / "reference", 1 << 20)
    for sample in "AB":
        shutil.copy(REAL / f"{sample}.bam", root)
        pysam.index(str(root / f"{sample}.bam"))
    return root


def why(root: Path, position: int, samples: str = "A", gvcf: bool = False, **settings: object) -> str:
    """Return the explanation of a position (1-based)."""
    rows = [{"sample": name, "ploidy": 2, "sex": "female", "bam": root / f"{name}.bam"} for name in samples]
    regions = settings.pop("ploidy_regions", None)
    output = Output.GVCF if gvcf else Output.VARIANTS
    job = open_job(output, root / "reference", rows, SETTINGS | settings, None, regions)  # type: ignore[arg-type]
    return "\n".join(explain(job, CONTIG, position - 1)) + "\n"


def test_every_call_is_said_as_it_is_written(world: Path, tmp_path: Path) -> None:
    """In both modes the explanation repeats the caller's record, QUAL and likelihoods."""
    rows = [{"sample": "A", "ploidy": 2, "bam": world / "A.bam"}]
    whole = [(CONTIG, 0, LENGTH)]
    call_variants(world / "reference", rows, whole, tmp_path / "a.vcf.gz", SETTINGS, tmp_path / "l.json")
    call_gvcf(world / "reference", rows, whole, tmp_path / "a.g.vcf.gz", SETTINGS, tmp_path / "l.json")
    lines = lines_of(tmp_path / "a.vcf.gz")
    assert len(lines) > 15
    for fields in lines:
        text = why(world, int(fields[1]))
        assert "Called:\n  " + "\t".join(fields) + "\n" in text
        values = sample_of(fields)
        first, second = fields[3], fields[4].split(",")[0]
        if "," not in fields[4] and values["GT"] == "0/1":
            assert f"{first}/{second} 0" in text
            depths = dict(zip((first, second), values["AD"].split(","), strict=True))
            assert f"support {first} {depths[first]}, {second} {depths[second]};" in text
        assert f"QUAL {fields[5]}; required: 30" in text
    variants = [fields for fields in lines_of(tmp_path / "a.g.vcf.gz") if fields[4] != "<NON_REF>"]
    for fields in variants[::4]:
        assert "Called:\n  " + "\t".join(fields) + "\n" in why(world, int(fields[1]), gvcf=True)


def test_a_called_substitution_step_by_step(world: Path) -> None:
    text = why(world, 5012, "AB")
    assert text.startswith("chr22_8kb:5012, reference C; ploidy: A 2, B 2\n")
    with pysam.AlignmentFile(str(world / "A.bam")) as stream:
        over = [read for read in stream.fetch(CONTIG, 5011, 5012) if not read.is_unmapped]
        bases = [read.query_sequence[{r: q for q, r in read.get_aligned_pairs()}[5011]] for read in over]
    assert f"  A: {len(over)} (used {len(over)})" in text
    assert f"C {bases.count('C')}" in text
    for step in ("active region ", "Assembly of ", "10-mers: ", "25-mers: ", "Haplotypes (", "Likelihoods: "):
        assert step in text
    assert "5012 C>T" in text
    assert "A: reads that clearly support C " in text
    assert "B: reads that clearly support C " in text


def test_positions_without_a_call(world: Path, tmp_path: Path) -> None:
    quiet = why(world, 3000)
    assert "Not called: too few reads differ from the reference to make the position active" in quiet
    assert "in no active region; the nearest is " in quiet
    assert "Not called: no haplotype has a variant that starts here." in why(world, 5013)
    assert "; see the one that covers it from 4000 on." in why(world, 4003)
    assert "is below rescore.minimum_quality 1000." in why(world, 5012, minimum_quality=1000)
    bed = tmp_path / "p.bed"
    bed.write_text(f"{CONTIG}\t5000\t6000\t0\tfemale\n")
    absent = why(world, 5012, ploidy_regions=bed)
    assert "ploidy: A 0" in absent
    assert "  A: 13, left out since the ploidy is 0\n" in absent
    assert "Not called: no sample has this chromosome, by rescore.ploidy_regions." in absent
    indexed_bam(tmp_path / "none.bam", {CONTIG: LENGTH}, [])
    (tmp_path / "reference").symlink_to(world / "reference")
    nothing = why(tmp_path, 5012, ["none"])  # type: ignore[arg-type]
    assert "  none: none\n" in nothing
    assert "Not called: no read over the position is used." in nothing
    block = why(world, 3000, gvcf=True)
    assert "  written instead: chr22_8kb\t3000\t.\t" in block


def test_the_command(world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    command(["--at", f"{CONTIG}:5,012", "--reference", "genome.fa.gz", "--index-directory", ".", "--bam", "A.bam"])
    assert capsys.readouterr().out == why(world, 5012)
    command(
        [
            "--at",
            f"{CONTIG}:5012",
            "--reference",
            "genome.fa.gz",
            "--index-directory",
            ".",
            "--bam",
            "A.bam",
            "B.bam",
            "--gvcf",
        ]
    )
    assert capsys.readouterr().out == why(world, 5012, gvcf=True) + "\n" + why(world, 5012, "B", gvcf=True)


def test_positions_outside_the_intervals(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run does not write what it would call outside its target, and the command says so."""
    (tmp_path / "results/align").mkdir(parents=True)
    for name in ("A.bam", "A.bam.bai"):
        shutil.copy(world / name, tmp_path / "results/align")
    (tmp_path / "target.bed").write_text(f"{CONTIG}\t5011\t5012\n")
    (tmp_path / "samples.tsv").write_text("sample\nA\n")
    (tmp_path / "units.tsv").write_text("sample\tunit\tfq1\nA\tL1\ta.fastq\n")
    (tmp_path / "my.yaml").write_text(
        f"reference: {{fasta: {world}/genome.fa.gz, index_directory: {world}}}\n"
        "samples: samples.tsv\nunits: units.tsv\nrescore: {intervals: target.bed}\n"
    )
    monkeypatch.chdir(tmp_path)
    called = {}
    for position in (5012, 5013):
        command(["--at", f"{CONTIG}:{position}", "--configfile", "my.yaml"])
        called[position] = capsys.readouterr().out
    assert called[5012] == why(world, 5012)
    assert called[5013] == why(world, 5013) + (
        "Not in the VCF of the run, whatever stands above: target.bed (rescore.intervals) does not have this "
        "position.\n"
    )


def test_a_reader_that_has_enough(world: Path) -> None:
    """`quire why | head -1` ends without a message."""
    given = ["--reference", "genome.fa.gz", "--index-directory", ".", "--bam", "A.bam", "--at", f"{CONTIG}:5012"]
    process = subprocess.Popen(
        [sys.executable, "-m", "quire", "why", *given],
        cwd=world,
        env=os.environ | {"PYTHONPATH": str(LIBRARY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--at", f"{CONTIG}:8001"], "position 8001 is not on contig chr22_8kb; give one of its 8000 bases"),
        (["--at", f"{CONTIG}:0"], "position 0 is not on contig chr22_8kb"),
        (["--at", "22:100"], "the reference has no contig '22'; its first are chr22_8kb"),
        (["--at", "5012"], "'5012' is not a position; give contig:position"),
        (["--at", f"{CONTIG}:5012", "--bam", "no.bam"], "no.bam does not exist"),
    ],
)
def test_mistakes(world: Path, arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    with pytest.raises(SystemExit) as caught:
        command(["--reference", "genome.fa.gz", "--index-directory", ".", "--bam", "A.bam", *arguments])
    assert str(caught.value).startswith("quire: error: ")
    assert sentence in str(caught.value)


def test_mistakes_without_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, sentence in (
        ([], "config/config.yaml: the configuration does not exist"),
        (["--bam", "A.bam"], "--reference and --bam are needed together"),
    ):
        with pytest.raises(SystemExit) as caught:
            command(["--at", "c:1", *arguments])
        assert sentence in str(caught.value)
