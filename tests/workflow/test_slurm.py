"""The demo through profiles/slurm on a live Slurm of one node (tests/workflow/slurm_demo.sh)."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, SMALL, SMALL_UNIT, Run, errors_of
from tests.workflow.test_road import calls, finished_rules, records

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
MOST_SUBMISSIONS = 9
absent = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]


def on_a_cluster(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that starts a cluster."""
    test = pytest.mark.skipif(os.geteuid() != 0, reason="a Slurm cluster can be started by root only")(test)
    reason = f"Slurm is not installed: {', '.join(absent)} (slurm-wlm, munge)"
    return pytest.mark.full(pytest.mark.skipif(bool(absent), reason=reason)(test))


def slurm(run: Run, *arguments: str) -> tuple[int, str, int]:
    """Run a workflow on a cluster of this machine; return the status, the output and the number of submitted jobs."""
    command = [str(REPOSITORY / "tests/workflow/slurm_demo.sh"), str(run.folder / "config.yaml"), str(run.folder)]
    result = subprocess.run(
        [*command, *arguments],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHON": sys.executable, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        check=False,
    )
    found = re.search(r"jobs submitted: (\d+)", result.stdout)
    assert found, result.stdout
    return result.returncode, result.stdout, int(found[1])


@on_a_cluster
def test_small_set_on_a_cluster(finished: Run, tmp_path: Path) -> None:
    """Every job goes through Slurm, in few submissions, and the results are those of a workstation.

    The mapping job requests the cluster's only card, and receives its number.
    """
    run = Run(tmp_path / "run", config=finished.config)
    status, said, submitted = slurm(run, "--set-resources", "map_unit:gpu=1")
    assert status == 0, said
    assert 5 <= submitted <= MOST_SUBMISSIONS
    assert "CUDA_VISIBLE_DEVICES is 0" in (run.output / "logs/map_unit/NA12878.lane_1.log").read_text()
    assert "CUDA_VISIBLE_DEVICES" not in (run.output / "logs/index_page/0.log").read_text()
    assert records(run.output / "align/NA12878.bam") == records(finished.output / "align/NA12878.bam")
    assert calls(run.output / "rescore/all.vcf.gz") == calls(finished.output / "rescore/all.vcf.gz")


def cohort(folder: Path, finished: Run, samples: int, pairs: int, **config: object) -> Run:
    """Return a run in gVCF mode over the reference of `finished`, with the first pairs of reads in each sample."""
    mates = [
        gzip.decompress(Path(SMALL_UNIT[name]).read_bytes()).splitlines(True)[: 4 * pairs] for name in ("fq1", "fq2")
    ]
    reference = finished.config["reference"] | {"index_directory": str(finished.output / "index")}
    names = [f"S{number}" for number in range(samples)]
    units = []
    for name in names:
        files = {f"fq{mate}": f"{name}_{mate}.fastq.gz" for mate in (1, 2)}
        for path, lines in zip(files.values(), mates, strict=True):
            folder.mkdir(parents=True, exist_ok=True)
            content = b"".join(lines).replace(b"@A00", f"@{name}.A00".encode())
            (folder / path).write_bytes(gzip.compress(content))
        units.append({**SMALL_UNIT, "sample": name, **files})
    rows = [{"sample": name, "ploidy": "2"} for name in names]
    return Run(folder, {"reference": reference, "rescore": {"gvcf": True}, **config}, rows, units)


@on_a_cluster
def test_a_sample_that_fails_leaves_the_others_done(finished: Run, tmp_path: Path) -> None:
    """A sample with a truncated file is named at the end. The others are done, and without it the run is ended."""
    run = cohort(tmp_path / "run", finished, samples=3, pairs=500)
    bad = run.folder / "S1_2.fastq.gz"
    bad.write_bytes(bad.read_bytes()[:20_000])
    status, said, submitted = slurm(run, "--keep-going")
    assert status == 1
    assert submitted == 3 + 3 + 1 + 2  # kernels of three stages; samples, the bad one twice; calls of two
    truncated, last = errors_of(said)[-2:]
    assert "S1_2.fastq.gz" in truncated
    assert "truncated" in truncated
    assert last.startswith("quire: error: failed: S1 (1 of 3 samples);")
    assert not (run.output / "rescore/S1.g.vcf.gz").exists()
    del run.samples[1], run.units[1]
    run.write()
    rest = run.snakemake()
    assert rest.returncode == 0, rest.stdout
    assert finished_rules(rest.stdout) <= {"check_gvcfs", "joint_genotype", "gather_variants", "write_report"}
    assert "write_report" in finished_rules(rest.stdout)


@pytest.mark.full
@pytest.mark.parametrize("error_model", ["gatk", "dragen"])
def test_submissions_grow_by_two_for_each_sample_and_one_for_each_piece(
    error_model: str, finished: Run, tmp_path: Path
) -> None:
    """The others are few."""
    counted = []
    for samples, size in ((2, 40_000), (2, 10_000), (9, 10_000)):
        settings = {"rescore": {"gvcf": True, "interval_size": size, "error_model": error_model}}
        run = cohort(tmp_path / f"{samples}_{size}", finished, samples, pairs=100, **settings)
        assert run.snakemake("out/rescore/pieces.json").returncode == 0
        pieces = len(json.loads((run.output / "rescore/pieces.json").read_text())["pieces"])
        planned = run.snakemake("--workflow-profile", str(REPOSITORY / "profiles/slurm"), "--dry-run").stdout
        submitted = re.findall(
            r"^\[.*\] Group job|^rule (?!all|check_gvcfs)\w+:|^Job \d+: Compiling", planned, re.MULTILINE
        )
        counted.append((len(submitted) - 2 * samples, pieces))
    constants = {submitted - pieces for submitted, pieces in counted}
    assert len({pieces for _, pieces in counted}) == 2
    assert constants == {5}  # kernels of three stages, gathering and the report


# A stand-in for sbatch: it records its arguments and fails.
SBATCH = """#!/bin/sh
echo "$@" >>"$REQUESTS"
echo sbatch: error: invalid partition specified >&2
exit 1
"""
# Snakemake's plugin hangs if one of these is missing. The account `none` means that the cluster has none.
PROGRAMS_OF_SLURM = {"sbatch": SBATCH, "sacct": "#!/bin/sh\necho none\n"} | dict.fromkeys(
    ("sinfo", "squeue", "sacctmgr", "sshare", "scontrol", "scancel"), "#!/bin/sh\n"
)


@pytest.mark.full
@pytest.mark.parametrize(("backend", "expected"), [("gpu", ["--gpus=1"]), ("auto", [])])
def test_a_group_of_pages_asks_for_one_card(backend: str, expected: list[str], tmp_path: Path) -> None:
    """Two pages in one submission share a card; with `auto` no card is requested."""
    reference = {"fasta": str(SMALL / "genome.fa.gz"), "page_size": 25_000}
    run = Run(tmp_path / "run", config={"reference": reference, "device": {"backend": backend}})
    manifest = "out/index/reference/manifest.json"
    assert run.snakemake(manifest).returncode == 0
    assert len(json.loads((run.folder / manifest).read_text())["pages"]) == 2
    pages = [f"out/index/page_{number}/manifest.json" for number in range(2)]
    _, (request,) = refused(run, tmp_path, "--retries", "0", *pages)
    assert "index_page" in request
    assert [word for word in request.split() if word.startswith(("--gpus", "--gres"))] == expected


@pytest.mark.full
def test_a_job_that_is_refused_says_why(tmp_path: Path) -> None:
    """A refused job reports the reason, and does not repeat the sentence in the log of an earlier run."""
    run = Run(tmp_path / "run")
    log = run.output / "logs/pack_reference.log"
    log.parent.mkdir(parents=True)
    log.write_text("12:00:00.000 quire quire: error: memory ran out in rule pack_reference; give it more.\n")
    said, requests = refused(run, tmp_path, "out/index/reference/manifest.json")
    assert len(requests) == 2  # `retries` of the profile
    assert "sbatch: error: invalid partition specified" in said
    assert "sbatch call" not in said
    assert "quire: error: a job of rule pack_reference failed before it began its log" in said
    assert "memory ran out" not in said


@pytest.mark.full
@pytest.mark.parametrize("place", ["folder", "output"])
def test_no_shell_runs_what_a_name_holds(place: str, tmp_path: Path) -> None:
    """Names that `sbatch --wrap` would run are refused before a job is submitted; a further run is not locked."""
    name = "it's $(touch pwned)"
    folder, output = (name, "out") if place == "folder" else ("run", name)
    run = Run(tmp_path / folder, config={"output": output})
    manifest = f"{output}/index/reference/manifest.json"
    said, requests = refused(run, tmp_path, manifest)
    assert not [*tmp_path.rglob("pwned")]
    assert requests == []
    (error,) = errors_of(said)
    assert error.startswith(f"quire: error: {run.folder if place == 'folder' else name} holds one of $ ` \\ % or both")
    assert run.snakemake(manifest).returncode == 0
    assert not [*tmp_path.rglob("pwned")]


def refused(run: Run, folder: Path, *arguments: str) -> tuple[str, list[str]]:
    """Return the output of a run whose jobs Slurm refuses, and its requests to Slurm."""
    programs = folder / "programs"
    programs.mkdir()
    for name, script in PROGRAMS_OF_SLURM.items():
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    profile = ("--workflow-profile", str(REPOSITORY / "profiles/slurm"))
    at_once = ("--slurm-init-seconds-before-status-checks", "1")  # a run ends no sooner
    path, requests = f"{programs}:{os.environ['PATH']}", folder / "requests"
    result = run.snakemake(*profile, *at_once, *arguments, PATH=path, REQUESTS=str(requests))
    assert result.returncode != 0
    return result.stdout, requests.read_text().splitlines() if requests.exists() else []
