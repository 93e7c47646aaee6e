"""The wheel, installed into an empty environment that cannot be written, and used from an empty folder."""

import gzip
import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest
from quire.version import VERSION

from tests.workflow.runs import REPOSITORY

pytestmark = pytest.mark.full
DATA, RESULTS = "tests/data/demo", "results/demo"
REFERENCE, BAM = f"{DATA}/hg19.chr20.masked.fa.gz", f"{RESULTS}/align/NA12878.bam"
REGION = ("--reference", REFERENCE, "--index-directory", "index", "--intervals", f"{DATA}/region.bed")
Quire = Callable[..., str]


@pytest.fixture
def quire(seal: Callable[[Path], None], tmp_path: Path) -> Quire:
    """Install the wheel, with the packages of this environment, and return a function that runs its command."""
    for module in ("hatchling", "pip"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (requirements-test.txt)")
    environment, folder = tmp_path / "environment", tmp_path / "folder"
    folder.mkdir()

    def python(*arguments: str) -> None:
        subprocess.run([sys.executable, "-m", *arguments], cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)

    python("hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    python("venv", "--without-pip", str(environment))
    (wheel,) = tmp_path.glob("quire-*.whl")
    python("pip", "--python", str(environment / "bin/python"), "install", "--quiet", "--no-deps", str(wheel))
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    seal(environment)

    def run(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [str(environment / "bin/quire"), *arguments],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    return run


def records(path: Path) -> list[str]:
    """Return the records of a BAM."""
    with pysam.AlignmentFile(str(path)) as alignments:
        return [record.to_string() for record in alignments.fetch(until_eof=True)]


def lines(path: Path) -> list[str]:
    """Return the lines of a VCF that do not name the path of the reference or of a file."""
    named = "##reference", "##QuireBackend", "##QuireCommandLine"
    return [line for line in gzip.open(path, "rt") if not line.startswith(named)]


def test_the_demo_and_each_subcommand(quire: Quire, tmp_path: Path) -> None:
    """All work with an installation that is read-only, and stages alone give the answers of the run."""
    folder = tmp_path / "folder"
    assert quire("--version") == f"quire {VERSION}\n"
    quire("init", "--demo")
    assert "exists in this folder" in quire("init", status=1)
    assert "valid (samples: 1, units: 1)" in quire("check", "--configfile", "config/demo.yaml")
    assert "(0 false)" in quire("run", "--configfile", "config/demo.yaml")
    assert "Nothing to be done" in quire("report", "--configfile", "config/demo.yaml")
    assert "Nothing to be done" in quire("run", "--configfile", "config/demo.yaml", "align")
    assert "chr20:10001298, reference" in quire("why", "--at", "chr20:10001298", "--configfile", "config/demo.yaml")

    assert "(pages: 1)" in quire("index", *REGION[:4])
    reads = [f"{DATA}/NA12878_R{mate}.fastq.gz" for mate in (1, 2)]
    group = ("--sample", "NA12878", "--unit", "C0D8DACXX")
    assert "mapped 51,554" in quire("map", *reads, *REGION[:4], *group, "--output", "own/a.bam")
    assert records(folder / "own/a.bam") == records(folder / BAM)
    quire("call", "own/a.bam", *REGION, "--output", "own/a.vcf.gz")
    assert lines(folder / "own/a.vcf.gz") == lines(folder / RESULTS / "rescore/all.vcf.gz")
    quire("call", BAM, *REGION, "--gvcf", "--output", "own/a.g.vcf.gz")
    quire("joint", "own/a.g.vcf.gz", *REGION, "--output", "own/joint.vcf.gz")
    called, joint = (
        [line.split("\t")[:5] for line in lines(folder / f"own/{name}.vcf.gz") if line[0] != "#"]
        for name in ("a", "joint")
    )
    assert joint == called != []
    made = {path.name for path in (folder / "own").iterdir()}
    vcfs = {f"{name}.vcf.gz{index}" for name in ("a", "a.g", "joint") for index in ("", ".tbi")}
    assert made == {"a.bam", "a.bam.bai", "a.counts.json", "a.duplicates.tsv"} | vcfs

    (folder / "read.fq").write_bytes(b"".join(gzip.open(folder / reads[0]).readlines()[:4]))
    assert "reads 1" in quire("complete", *REGION[:4], "--reads", "read.fq", "--output", "read.bam")
    assert "matches" in quire("mems", *REGION[:4], "--queries", "read.fq", "--output", "read.mems")
    place = f"{REFERENCE}:chr20:10000001-10000400"
    assert "identity 1.0" in quire("pairwise", "--query", place, "--target", place, "--output", "pair.paf")
    assert "complete -o default" in quire("completion", "bash")

    assert "is neither a BAM nor a CRAM file" in quire("call", reads[0], *REGION, "--output", "x.vcf.gz", status=1)
    assert "must end in .vcf.gz" in quire("call", BAM, *REGION, "--output", "x.vcf", status=2)
    assert not list(folder.glob("x.*"))


def test_an_interrupted_run(tmp_path: Path) -> None:
    """Ctrl-C, which reaches all processes, ends in one sentence and status 130; the same command does the rest."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow/scripts")}
    quire = [sys.executable, "-m", "quire"]
    subprocess.run([*quire, "init", "--demo"], cwd=tmp_path, env=environment, check=True)
    command = [*quire, "run", "align", "--configfile", "config/demo.yaml"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    ) as run:
        assert run.stdout is not None
        printed = ""
        while "map_unit NA12878" not in printed:
            printed += run.stdout.readline()
        os.killpg(run.pid, signal.SIGINT)
        printed += run.stdout.read()
    assert run.returncode == 130, printed
    assert "Traceback" not in printed, "the job was still loading"
    last = printed.splitlines()[-1]
    assert last == (
        "quire: error: the run was stopped; the results of finished jobs are kept, and the same command does the rest."
    )
    again = subprocess.run([*command, "-n"], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert "map_unit" in again.stdout + again.stderr
    assert "checkpoint pack_reference" not in again.stdout + again.stderr
