"""The last lines of a run, Snakemake's own report, and Quire as a module of another workflow."""

import gzip
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, SMALL, SMALL_UNIT, Run, errors_of
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full

RESULTS = r"alignments +out/align/NA12878\.bam\nvariants +out/rescore/all\.vcf\.gz\nreport +out/report/report\.html\n"


def test_a_run_ends_with_its_summary(continued: Callable[[], Run]) -> None:
    """A run ends with its results and warnings, but not before they exist or if only a part was requested."""
    run = continued()
    shutil.rmtree(run.output / "report")
    run.config["rescore"] = {"minimum_quality": 1e9}
    run.write()
    assert not re.search(RESULTS, run.snakemake("--dry-run").stdout)
    partial = run.snakemake("out/rescore/all.vcf.gz")
    assert partial.returncode == 0, partial.stdout
    assert "gather_variants" in finished_rules(partial.stdout)
    assert not re.search(RESULTS, partial.stdout)
    whole = run.snakemake()
    assert whole.returncode == 0, whole.stdout
    last = whole.stdout[re.search(RESULTS, whole.stdout).start() :]
    assert "reads in" in last
    assert "warning     NA12878: No variant was called." in last
    assert "Finished" not in last
    # A run that repeats a part of the summary does not print the older one.
    again = run.snakemake("--forcerun", "gather_variants", "--", "out/rescore/all.vcf.gz")
    assert "gather_variants" in finished_rules(again.stdout)
    assert not re.search(RESULTS, again.stdout)


def test_every_job_that_fails_has_the_last_word(continued: Callable[[], Run]) -> None:
    """Two units with truncated files give two sentences at the very end, each once."""
    run = continued()
    run.units = []
    for number in "12":
        for mate in "12":
            text = gzip.decompress((SMALL / f"NA12878_R{mate}.fastq.gz").read_bytes())
            content = gzip.compress(text.replace(b"@A00", f"@{number}.A00".encode()))
            (run.folder / f"bad_{number}_R{mate}.fq.gz").write_bytes(content[: 100_000 * int(number)])
        files = {"fq1": f"bad_{number}_R1.fq.gz", "fq2": f"bad_{number}_R2.fq.gz"}
        run.units.append({**SMALL_UNIT, "unit": f"lane_{number}", **files})
    run.write()
    result = run.snakemake("--keep-going")
    assert result.returncode != 0
    last = result.stdout.splitlines()[-2:]
    assert errors_of(result.stdout) == last
    for number, sentence in zip("12", last, strict=True):
        assert re.match(rf"quire: error: bad_{number}_R[12]\.fq\.gz: .*truncated", sentence)


def test_the_report_of_snakemake_holds_small_results(continued: Callable[[], Run]) -> None:
    """`snakemake --report` works with the packages of requirements.txt, and packs neither alignments nor variants."""
    run = continued()
    result = run.snakemake("--report", "run.html")
    assert result.returncode == 0, result.stdout
    added = set(re.findall(r"^Adding (\S+) \(", result.stdout, re.MULTILINE))
    assert added == {"NA12878.duplicates.tsv", "report.html", "summary.json"}
    # Snakemake's own programs and pictures take 3.2 MB of it.
    assert (run.folder / "run.html").stat().st_size < 5_000_000
    requirements = [(REPOSITORY / name).read_text().lower() for name in ("requirements.txt", "requirements-test.txt")]
    assert ["\npygments==" in text for text in requirements] == [True, False]


def test_what_else_snakemake_offers_is_as_documented(finished: Run) -> None:
    """`--archive` without conda and `--generate-unit-tests` outside the clone behave as config/README.md says."""
    documented = " ".join((REPOSITORY / "config/README.md").read_text().split())
    without = {"PATH": os.pathsep.join(p for p in os.environ["PATH"].split(":") if not (Path(p) / "conda").exists())}
    said = "Error running conda info. Is conda installed and accessible?"
    archived = finished.snakemake("--archive", "archive.tar.gz", **without)
    assert (archived.returncode, said in archived.stdout, said in documented) == (1, True, True)
    assert not (finished.folder / "archive.tar.gz").exists()
    generated = finished.snakemake("--generate-unit-tests", "unit_tests")
    assert generated.returncode == 1
    assert "Snakefile' is not in the subpath of" in generated.stdout
    assert "Snakemake wants the Snakefile below the working directory" in documented
    shutil.rmtree(finished.folder / "unit_tests", ignore_errors=True)


MODULE = f"""
configfile: "config.yaml"

module quire:
    snakefile: "{REPOSITORY}/Snakefile"
    config: config["quire"]

use rule * from quire as quire_*

rule all:
    default_target: True
    input:
        rules.quire_all.input
    output:
        "files.txt"
    shell:
        "ls {{input}} > {{output}}"

onsuccess:
    quire.onsuccess()

onerror:
    quire.onerror()
"""


@pytest.fixture
def module(finished: Run, tmp_path: Path) -> Run:
    """Return a workflow with Quire as a module whose rules get a prefix, using the index of `finished`."""
    fasta = {"fasta": str(SMALL / "genome.fa.gz"), "index_directory": str(finished.output / "index")}
    run = Run(tmp_path / "run", config={"reference": fasta})
    (run.folder / "Snakefile").write_text(MODULE)
    run.config = {"quire": run.config}
    run.write()
    command = run.command
    run.command = lambda *arguments: [
        part for part in command(*arguments) if part not in ("--configfile", str(run.folder / "config.yaml"))
    ]
    run.repository = run.folder
    return run


def test_a_module_of_another_workflow(module: Run) -> None:
    """A module's run gives no warning, prefixes every rule, and prints the same last lines."""
    planned = module.snakemake("--dry-run")
    assert planned.returncode == 0, planned.stdout
    assert planned.stdout.startswith("Assuming unrestricted shared filesystem usage.\n")
    result = module.snakemake()
    assert result.returncode == 0, result.stdout
    assert "warning" not in result.stdout.lower()
    assert finished_rules(result.stdout) == {
        "all",
        *("quire_compile_kernels", "quire_map_unit", "quire_finish_sample", "quire_split_intervals"),
        *("quire_list_low_coverage", "quire_rescore_interval", "quire_gather_variants", "quire_write_report"),
    }
    assert re.search(RESULTS, result.stdout)
    assert "out/align/NA12878.bam\n" in (module.folder / "files.txt").read_text()
    assert "Nothing to be done" in module.snakemake().stdout


def test_a_module_that_fails(module: Run) -> None:
    """The handler of the module prints the sentence."""
    (module.folder / "bad.fq").write_text("@read\nACGT\n+\nII\n")
    module.units = [{**SMALL_UNIT, "fq1": "bad.fq", "fq2": ""}]
    module.write()
    result = module.snakemake("quire_all")
    assert result.returncode != 0
    assert result.stdout.splitlines()[-1:] == errors_of(result.stdout)
    assert "bad.fq" in errors_of(result.stdout)[0]


def test_a_module_with_another_folder(module: Run) -> None:
    """`prefix:` is refused with a sentence that names the key to use."""
    (module.folder / "Snakefile").write_text(
        MODULE.replace('config["quire"]\n', 'config["quire"]\n    prefix: "sub"\n')
    )
    result = module.snakemake("--dry-run")
    assert result.returncode != 0
    assert "leave it out, and set the place of the results with Quire's key output" in errors_of(result.stdout)[-1]
    assert result.stdout.splitlines()[-1:] == errors_of(result.stdout)


def test_single_keys_on_the_command_line(module: Run, finished: Run) -> None:
    """`--config` replaces single keys, in a module's block and in a run of Quire alone; other keys stay."""
    for run, given in ((module, "quire={output: elsewhere}"), (finished, "output=elsewhere")):
        planned = run.snakemake("--dry-run", "--config", given)
        assert planned.returncode == 0, planned.stdout
        assert "elsewhere/align/NA12878.bam" in planned.stdout
        assert "out/align/NA12878.bam" not in planned.stdout
    refused = module.snakemake("--dry-run", "--config", "quire={align: {formt: cram}}")
    assert "the key align.formt is unknown" in errors_of(refused.stdout)[0]
    again = module.snakemake("--dry-run", "--config", "quire={align: {format: cram}}")
    assert "genome.fa.gz is plain gzip, which CRAM cannot use" in errors_of(again.stdout)[0]
