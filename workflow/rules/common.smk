# Shared by all stages: the checked configuration and the folders.
import hashlib
import json
import math
import os
import re
import shlex
import sys
import time
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, takewhile
from pathlib import Path
from types import SimpleNamespace

# A module from a URL must name workflow/Snakefile, which takes the whole repository from there.
if not os.path.isdir(str(workflow.current_basedir)):
    sys.exit('quire: error: Quire as a module needs path="workflow/Snakefile" in github(...), or a clone.')
WORKFLOW = Path(str(workflow.current_basedir)).parent
sys.path.insert(0, str(WORKFLOW / "scripts"))

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.settings.enums import RerunTrigger
from snakemake.settings.types import DeploymentMethod

from quire import sources
from quire.start import RUN as RUN_VARIABLE
from quire.start import begin_imports

begin_imports()  # never ended: the graph of jobs stays too

from quire.device.backend import may_have_card
from quire.errors import InputError, QuireError
from quire.io.files import read_json, write_json_atomic
from quire.kernel_list import options_of
from quire.reference.construction import FORMAT_VERSION as REFERENCE_VERSION
from quire.reference.storage import read_manifest
from quire.report.terminal import print_lines, print_searches, print_summary
from quire.rescore.intervals import cut_into_units
from quire.run import config as configuration
from quire.run.before_jobs import check_before_jobs
from quire.run.changed_inputs import keep_states, refuse_older
from quire.run.config_file import DEFAULT, read_config_file
from quire.run.exact_tools import EXACT_TOOLS, fasta_and_region
from quire.run.inputs import require_words, require_working_directory
from quire.run.interrupts import block_ctrl_c_in_jobs, cancel_timers
from quire.run.job import STOPPED, failed_samples, failure_sentences
from quire.run.remote import require_on_server
from quire.run.schema import CALLER_KEYS, JOINT_KEYS, texts
from quire.run.sheets import leftover_lines
from quire.run.plan import lines_of_plan, named_settings, refuse_unrecorded
from quire.run.short_log import shorten, watch
from quire.run.slurm import require_slurm, watch_slurm


@contextmanager
def ends_in_a_sentence():
    """End the run with the sentence of an error alone; a WorkflowError would add the place in this file."""
    try:
        yield
    except QuireError as error:
        sys.exit(f"quire: error: {error}")


# A workflow that uses Quire as a module keeps its own output on the terminal.
if workflow.is_main_process and not workflow.modifier.skip_configfile:
    # These options run no job; their answers are messages like those that are left out.
    runs_no_job = not {"--unlock", "--lint", "--report"}.isdisjoint(sys.argv)
    block_ctrl_c_in_jobs()
    shorten(logger, lambda: workflow.dryrun or runs_no_job, NOTHING_TO_BE_DONE_MSG, lambda: plan_of_dry_run())
    # A filter, since Snakemake calls no handler of a workflow before this message, and drops what a formatter raises.
    logger.addFilter(lambda record: record.msg != NOTHING_TO_BE_DONE_MSG or refuse_unrecorded_results() or True)


with ends_in_a_sentence():
    if workflow.modifier.path_modifier.prefix:
        raise InputError(
            "prefix: of the module that takes Quire would move the files of reads and not everything else; leave it "
            "out, and set the place of the results with Quire's key output."
        )
    if workflow.is_main_process and not workflow.modifier.skip_configfile:
        for path in workflow.config_settings.configfiles or [DEFAULT]:
            read_config_file(Path(path))


# A file given with --configfile stands alone: merged with the template it would inherit keys from there. The workflow
# catalog lints a clone without one, and the template names files that do not exist.
if not workflow.config_settings.configfiles:

    configfile: "config/demo.yaml" if "--lint" in sys.argv else "config/config.yaml"


with ends_in_a_sentence():
    RUN = configuration.load(config, WORKFLOW / "schemas")
    INPUT_STATES = Path(RUN.settings["output"]) / ".checks/inputs.json"
    if workflow.is_main_process:
        require_working_directory()
        check_before_jobs(RUN)
        # Here and not when a run starts: Snakemake starts none if it finds nothing to do.
        if {"--unlock", "--forceall", "-F", "--touch", "-t"}.isdisjoint(sys.argv):
            given = texts([RUN.settings, RUN.units.to_dict("records")], "")
            refuse_older(INPUT_STATES, [text for _, text in given])

SETTINGS = RUN.settings
IMAGE = SETTINGS["container"]
if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    if "://" not in IMAGE and not os.path.exists(IMAGE):
        sys.exit(
            f"quire: error: container: {IMAGE} does not exist; build it as docs/containers.md says, or name another."
        )
# The command as typed, and a name for the run. Jobs run in a Snakemake of their own, also on a cluster, and inherit
# both.
os.environ.setdefault(RUN_VARIABLE, f"{time.time_ns()} of process {os.getpid()}")
COMMAND = os.environ.setdefault("QUIRE_COMMAND", shlex.join(sys.argv).encode(errors="replace").decode())
SAMPLES = RUN.samples["sample"].tolist()
# Rows of the sheet by sample and unit, and the libraries of a sample's units, in its order. Functions of jobs ask for
# them many times, and pandas takes 0.2 ms or more for an answer.
UNITS = {(row["sample"], row["unit"]): row for row in RUN.units.to_dict("records")}
LIBRARIES = {sample: {} for sample in SAMPLES}
for row in UNITS.values():
    LIBRARIES[row["sample"]][row["unit"]] = row["library"]

# The searches of each exact tool, by name.
SEARCHES = {tool: {search["name"]: search for search in SETTINGS[tool]} for tool in EXACT_TOOLS}

FASTA = SETTINGS["reference"]["fasta"] or []  # alignments of two sequences alone need none
# The list of alternate contigs beside the FASTA, if there is one.
ALTERNATE = [f"{FASTA}.alt"] if FASTA and Path(f"{FASTA}.alt").exists() else []
OUTPUT = Path(SETTINGS["output"])
INDEX = Path(SETTINGS["reference"]["index_directory"])
REFERENCE = INDEX / "reference/manifest.json"
# The FASTA of an index was compared with it by its content (check_before_jobs), so a new time alone changes nothing.
if FASTA and REFERENCE.exists() and FASTA not in RUN.remote:
    FASTA = ancient(FASTA)
ALIGN = OUTPUT / "align"
RESCORE = OUTPUT / "rescore"
PIECES = RESCORE / "pieces.json"
ANNOTATE = OUTPUT / "annotate"
REPORT = OUTPUT / "report"
SUMMARY = str(REPORT / "summary.json")
LEDGER = OUTPUT / "ledger"
LOGS = OUTPUT / "logs"
BENCHMARKS = OUTPUT / "benchmarks"

# What the run is told, kept when it starts, so that a dry run can say what changed.
NAMED_SETTINGS = named_settings(SETTINGS, RUN.samples.to_dict("records"), RUN.units.to_dict("records"))
KEPT_SETTINGS = OUTPUT / ".checks/settings.json"

TRUTH = SETTINGS["report"]["truth"]
# A namespace and not a dict: a change of a namespace does not trigger reruns in Snakemake. These keys change no
# answer, and runs with and without a card may share an index.
DEVICE = SimpleNamespace(**SETTINGS["device"], reads_per_batch=SETTINGS["align"]["reads_per_batch"])
# Cards that a job asks a cluster for, or counts against `--resources gpu=N` (docs/gpu.md). `auto` asks for none, since
# clusters without cards would refuse it; it uses a card of the machine that it runs on.
CARDS = 1 if DEVICE.backend == "gpu" else 0
MAYBE_CARDS = 0 if DEVICE.backend == "cpu" else 1  # with `auto` a job may find one
FORMAT = SETTINGS["align"]["format"]
# The ending of the index, which tells the format of the alignments too: bam.bai, bam.csi or cram.crai.
INDEX_ENDING = "cram.crai" if FORMAT == "cram" else f"bam.{SETTINGS['align']['index_format']}"
ASSEMBLY_NAMED = OUTPUT / ".checks/assembly/{sample}.done"
ALL_ALIGNMENTS = 1000  # most jobs that read or write alignments at a time, while name_assembly changes headers
ALIGNMENTS = {"alignments": 1}  # resource of these jobs
# True: each sample is called to its own gVCF, and these are genotyped together. False: all samples are called at once.
GVCF = SETTINGS["rescore"]["gvcf"]
# The gVCFs that are genotyped together, by a name for files about them.
GVCFS = {sample: str(RESCORE / f"{sample}.g.vcf.gz") for sample in SAMPLES}
for path in SETTINGS["rescore"]["more_gvcfs"]:
    GVCFS[f"{Path(path).name.removesuffix('.g.vcf.gz')[:100]}.{hashlib.sha256(path.encode()).hexdigest()[:8]}"] = path
STRUCTURAL = SETTINGS["structural"]["enabled"]
CALLABLE = SETTINGS["callable"]
CLIPPING = {end: SETTINGS["align"][f"clip_{end}"] for end in ("adapters", "poly_g")}
DRAGEN = SETTINGS["rescore"]["error_model"] == "dragen"
REPEATS = str(RESCORE / "{sample}.repeats.txt")  # tables of repeats, which only DRAGEN's error models need
# Results of each search of an exact tool, in the folder of its tool.
RESULTS_OF_SEARCHES = {
    "complete": ["bam", "counts.tsv", "json"],
    "mems": ["mems", "json"],
    "pairwise": ["paf", "bam", "dots.json", "json"],
}


wildcard_constraints:
    # The names themselves: with dots in names, a pattern would also take SAMPLE.UNIT for a sample.
    sample="|".join(map(re.escape, SAMPLES)) or "(?!)",
    unit="[A-Za-z0-9_-]+",
    page="[0-9]+",
    piece="[0-9]+",
