"""The rules that each key of the configuration runs again in a finished run, and the table of a dry run."""

import gzip
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from quire.run.schema import read_schema

from tests.finish.test_assembly import offsets
from tests.support.gvcf import lines_of
from tests.workflow.runs import REPOSITORY, SMALL, Run
from tests.workflow.test_annotation import GENES
from tests.workflow.test_road import finished_rules
from tests.workflow.test_targets import planned

pytestmark = pytest.mark.full

REPORT = {"write_report"}
VARIANTS = {"gather_variants", "compare_truth", *REPORT}
CALLED = {"rescore_interval", *VARIANTS}
ALL_MAPPED = {"map_unit", "finish_sample", "list_low_coverage", *CALLED}
# Another value of each key, and the rules that then run again. The searches of exact tools are left out: each entry is
# its own job (tests/workflow/test_exact_tools.py).
RERUNS: dict[str, tuple[Any, set[str]]] = {
    "reference.fasta": (
        "genome.fa",
        {"pack_reference", "check_truth", "split_intervals", *ALL_MAPPED} - {"rescore_interval"},
    ),
    "reference.assembly": ("GRCh38", {"name_assembly"}),
    "reference.index_directory": (
        "other",
        {"pack_reference", "check_truth", "split_intervals", *ALL_MAPPED} - {"rescore_interval"},
    ),
    "reference.page_size": (
        20000,
        {"pack_reference", "check_truth", "split_intervals", *ALL_MAPPED} - {"rescore_interval"},
    ),
    "index.sampling_distance": (192, {"index_page", *ALL_MAPPED}),
    "index.sa_sampling": (2, {"index_page", *ALL_MAPPED}),
    "container": ("other.sif", set()),  # used with --sdm apptainer alone
    "device.backend": ("cpu", set()),
    "device.memory": ("4GB", set()),
    "align.index_format": ("csi", {"index_alignments"}),
    "align.mark_duplicates": (False, ALL_MAPPED),
    "align.optical_distance": (100, {"compile_kernels", *ALL_MAPPED}),
    "align.clip_adapters": (True, {"compile_kernels", *ALL_MAPPED}),
    "align.clip_poly_g": (True, {"compile_kernels", *ALL_MAPPED}),
    "align.low_depth": (20, {"list_low_coverage", *REPORT}),
    "align.reads_per_batch": (500, set()),
    "rescore.intervals": ("regions.bed", {"count_target", "split_intervals", *VARIANTS}),
    "rescore.interval_size": (20000, {"split_intervals", *VARIANTS}),
    "rescore.minimum_quality": (40, CALLED),
    "rescore.minimum_mapping_quality": (10, CALLED),
    "rescore.maximum_reads_per_start": (20, CALLED),
    "rescore.minimum_support": (1, CALLED),
    "rescore.pool_support": (True, CALLED),
    "rescore.error_model": ("dragen", {"compile_kernels", "calibrate_repeats", *CALLED}),
    "rescore.ploidy_regions": ("ploidy.bed", {"split_intervals", *VARIANTS}),
    "rescore.alleles": ("sites.vcf", {"split_intervals", *VARIANTS}),
    "rescore.primers": ("primers.bed", {"split_intervals", *VARIANTS}),
    "rescore.beagle": (True, {"write_beagle"}),
    "rescore.long_indels": (False, CALLED),
    "rescore.gvcf": (
        True,
        {"compile_kernels", "check_gvcfs", "rescore_sample", "import_gvcf", "joint_genotype", *VARIANTS},
    ),
    "structural.enabled": (True, {"call_structural", "compile_kernels", "write_report"}),
    "callable.minimum_depth": (4, {"find_callable", "gather_callable"}),
    "annotate.gff3": ("genes.gff3", {"annotate_variants", *REPORT}),
    "report.pedigree": ("family.fam", CALLED),
    "report.known_sites": ("sites.vcf", {"count_known_sites", *REPORT}),
    "report.truth.vcf": ("", REPORT),
    "report.truth.bed": ("", {"check_truth", "compare_truth", *REPORT}),
    "report.truth.sample": ("NA12878", {"compare_truth", *REPORT}),
    "output": (
        "elsewhere",
        {"pack_reference", "check_truth", "compile_kernels", "split_intervals", *ALL_MAPPED} - {"rescore_interval"},
    ),
}
FILTERS = {
    *(f"rescore.filters.snv.minimum_{name}" for name in ("QUAL", "QD", "MQ", "MQRankSum", "ReadPosRankSum")),
    *(f"rescore.filters.{kind}.maximum_{name}" for kind, name in (("snv", "FS"), ("snv", "SOR"), ("indel", "FS"))),
    *(f"rescore.filters.indel.minimum_{name}" for name in ("QUAL", "QD", "ReadPosRankSum")),
}  # one parameter of one rule
# Not tried: they need other files (CRAM another FASTA, UMIs other reads), or are refused alone.
NEEDS_MORE = {
    *("align.format", "align.umi", "samples", "units", "rescore.more_gvcfs", "rescore.emit", "rescore.gq_bands"),
    "reference.mask",
    *(f"callable.{key}" for key in ("maximum_depth", "minimum_mapping_quality", "sample_fraction")),
    # tests/workflow/test_annotators.py
    *(f"annotate.{key}" for key in ("program", "database", "database_directory", "options")),
}


def keys_of(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of the keys of a schema that have a value."""
    for key, part in schema["properties"].items():
        if "properties" in part:
            yield from keys_of(part, f"{prefix}{key}.")
        elif "properties" not in part.get("items", {}):
            yield f"{prefix}{key}"


def with_key(config: dict[str, Any], dotted: str, value: object) -> dict[str, Any]:
    """Return a copy of a configuration with another value of a key."""
    block, _, rest = dotted.partition(".")
    return config | {block: with_key(config.get(block) or {}, rest, value) if rest else value}


def dry_runs(run: Run, configs: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return what dry runs print, two at a time, in forks of this process, which imports Snakemake once."""
    import snakemake.cli  # here: no other test needs it in this process

    started: list[int] = []
    for number, (name, config) in enumerate(configs.items()):
        (run.folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
        arguments = ["--dry-run", "--nolock", *run.command()[3:-2], "--cores", "2"]
        arguments[arguments.index(str(run.folder / "config.yaml"))] = str(run.folder / f"{name}.yaml")
        if number > 1:
            os.waitpid(started[number - 2], 0)
        if (child := os.fork()) == 0:
            with (run.folder / f"{name}.out").open("w") as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
            sys.argv, sys.stdout, sys.stderr = ["snakemake", *arguments], os.fdopen(1, "w"), os.fdopen(2, "w")
            os.chdir(run.folder)
            try:
                snakemake.cli.main(arguments)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        started.append(child)
    for child in started[-2:]:
        os.waitpid(child, 0)
    return {name: (run.folder / f"{name}.out").read_text() for name in configs}


def test_every_key_runs_again_what_depends_on_it(continued: Callable[[], Run]) -> None:
    """The table names all keys of the schema, and a dry run plans what it says."""
    assert set(RERUNS) | FILTERS | NEEDS_MORE == set(
        keys_of(read_schema(REPOSITORY / "workflow/schemas/config.schema.yaml"))
    )
    run = continued()
    shutil.copy(SMALL / "regions.bed", run.folder)
    (run.folder / "genome.fa").write_bytes(gzip.decompress((SMALL / "genome.fa.gz").read_bytes()))
    (run.folder / "ploidy.bed").write_text("chr22\t0\t20000\t1\n")
    (run.folder / "primers.bed").write_text("chr22\t0\t20\tone\t1\t+\n")
    (run.folder / "genes.gff3").write_text(GENES)
    truth = gzip.decompress((SMALL / "truth.vcf.gz").read_bytes()).decode()
    (run.folder / "family.fam").write_text("f NA12878 0 0 0 0\n")
    (run.folder / "sites.vcf").write_text(truth.replace("PASS\t.", "PASS\tAF=0.5"))
    configs = {key: with_key(run.config, key, value) for key, (value, _) in RERUNS.items()}
    configs["filters"] = run.config
    for key in FILTERS:
        configs["filters"] = with_key(configs["filters"], key, 1)
    configs["report.truth.vcf"] = run.config | {"report": {}}
    configs["two keys"] = with_key(with_key(run.config, "reference.assembly", "GRCh38"), "rescore.minimum_quality", 40)
    found = {
        key: set(planned(said)) - {"all"} if "Job stats:" in said else set() if "Nothing to be done" in said else said
        for key, said in dry_runs(run, configs).items()
    }
    assert found == {key: rules for key, (_, rules) in RERUNS.items()} | {
        "filters": CALLED,
        "two keys": {"name_assembly", *CALLED},
    }


def test_no_input_is_ancient() -> None:
    """Snakemake looks at no job below one that must run, and then forgets those behind an input that is ancient.

    In three of four orders of its sets, a run with another page size packed and indexed, and ended with status 0. The
    FASTA may be ancient, since no job makes it.
    """
    rules = [path.read_text() for path in (REPOSITORY / "workflow/rules").glob("*.smk")]
    assert not [text for text in rules if re.search(r"\bancient\((?!FASTA\))", text)]


def test_a_dry_run_says_what_changed_and_what_is_done_again(continued: Callable[[], Run]) -> None:
    """A limit of QUAL repeats only joint genotyping in gVCF mode, whose gVCFs do not depend on it."""
    run = continued()
    run.config["rescore"] = {"gvcf": True}
    run.write()
    result = run.snakemake("call")
    assert result.returncode == 0, result.stdout
    gvcf = run.output / "rescore/NA12878.g.vcf.gz"
    before, calls = gvcf.read_bytes(), lines_of(run.output / "rescore/all.vcf.gz")
    run.config["rescore"] = {"gvcf": True, "minimum_quality": 300}
    run.write()
    said = run.snakemake("call", "--dry-run").stdout.split("This was a dry-run")[1].splitlines()
    assert [line.split("    ")[0] for line in said[2:9]] == [
        "Changed since the last run:",
        "  rescore.minimum_quality: 30 → 300",
        "Done again (with the seconds of the last time):",
        "  joint_genotype",
        "  gather_variants",
        "Nothing is indexed, mapped, sorted or called.",
        said[8],
    ]
    assert said[5].endswith("  settings changed")
    assert re.fullmatch(r"It takes about \d+ s on 2 cores\.", said[8])
    result = run.snakemake("call")
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {"joint_genotype", "gather_variants"}
    assert 0 < len(lines_of(run.output / "rescore/all.vcf.gz")) < len(calls)
    assert run.snakemake("call", "--forcerun", "rescore_sample").returncode == 0
    assert gvcf.read_bytes() == before


def test_another_low_depth_only_counts_again(continued: Callable[[], Run]) -> None:
    """The files equal those of a run from scratch, to the byte."""
    run = continued()
    run.config["align"] = {"low_depth": 20}
    run.write()
    said = run.snakemake("--dry-run").stdout
    assert "Nothing is indexed, mapped, sorted, called or genotyped." in said
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {"list_low_coverage", "write_report"}
    names = ["counts.json", "low_coverage.bed.gz"]
    later = [(run.output / f"align/NA12878.{name}").read_bytes() for name in names]
    result = run.snakemake("align", "--forceall")
    assert result.returncode == 0, result.stdout
    assert [(run.output / f"align/NA12878.{name}").read_bytes() for name in names] == later
    assert later[1] == (run.output / "align/units/NA12878.low_coverage.bed.gz").read_bytes()


def test_another_assembly_and_another_index_only_rewrite(continued: Callable[[], Run]) -> None:
    """The alignments equal those of a run from scratch, to the byte, and the indexes lead to the same records."""
    run = continued()
    bam, index = (run.output / f"align/NA12878.bam{ending}" for ending in ("", ".bai"))
    calls, older = (run.output / "rescore/all.vcf.gz").read_bytes(), bam.read_bytes()
    for key, value, rules in (
        ("reference.assembly", "GRCh38", {"name_assembly"}),
        ("align.index_format", "csi", {"index_alignments"}),
        ("reference.assembly", "{x} $(y)", {"name_assembly"}),
    ):
        run.config = with_key(run.config, key, value)
        run.write()
        said = run.snakemake("--dry-run").stdout
        assert set(planned(said)) - {"all"} == rules
        assert "Nothing is indexed, mapped, sorted, called or genotyped." in said
        result = run.snakemake()
        assert result.returncode == 0, result.stdout
        assert finished_rules(result.stdout) == rules
        assert "Nothing to be done" in run.snakemake("--dry-run").stdout
    later = bam.read_bytes()
    assert b"AS:{x} $(y)" in gzip.decompress(later)
    assert (run.output / "rescore/all.vcf.gz").read_bytes() == calls
    content = [offsets(bam)]
    (run.output / "align/NA12878.bam.csi").unlink()
    content.append(offsets(bam))  # of the older index, which was written again with the header
    result = run.snakemake("align", "--forceall")
    assert result.returncode == 0, result.stdout
    assert bam.read_bytes() == later != older
    assert offsets(bam) == content[0]
    run.config = with_key(run.config, "align.index_format", "bai")
    run.write()
    assert run.snakemake("align").returncode == 0
    (run.output / "align/NA12878.bam.csi").unlink()
    assert (index.exists(), offsets(bam)) == (True, content[1])


def test_another_installation_repeats_nothing(continued: Callable[[], Run], tmp_path: Path) -> None:
    """Scripts with other times and the same content change no result."""
    installation = tmp_path / "quire"
    for part in ("workflow", "profiles", "envs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / part, installation / part, copy_function=shutil.copyfile, ignore=ignored)
    shutil.copyfile(REPOSITORY / "Snakefile", installation / "Snakefile")
    result = replace(continued(), repository=installation).snakemake("--dry-run")
    assert "Nothing to be done" in result.stdout, result.stdout


def test_another_time_of_the_reference_repeats_nothing(tmp_path: Path) -> None:
    """Also without Snakemake's records, as for another user of a shared index."""
    run = Run(tmp_path, config={"reference": {"fasta": "genome.fa.gz"}})
    shutil.copyfile(SMALL / "genome.fa.gz", tmp_path / "genome.fa.gz")
    assert run.snakemake("reference_index").returncode == 0
    shutil.rmtree(tmp_path / ".snakemake")
    os.utime(tmp_path / "genome.fa.gz")
    result = run.snakemake("reference_index", "--dry-run")
    assert "Nothing to be done" in result.stdout, result.stdout
