# What every stage shares: the checked configuration, the folders, and the few functions that rules call.
import json
import sys
from pathlib import Path

WORKFLOW = Path(str(workflow.current_basedir)).parent
sys.path.insert(0, str(WORKFLOW / "scripts"))

from quire import config as configuration
from quire import sources
from quire.errors import QuireError

# from quire.rescore import intervals

try:
    RUN = configuration.load(config, WORKFLOW / "schemas")
except QuireError as error:
    # Not a WorkflowError: that would wrap the sentence in the place in this file where it was raised.
    sys.exit(f"quire: error: {error}")

SETTINGS = RUN.settings
SAMPLES = RUN.samples["sample"].tolist()
UNITS = RUN.units.set_index(["sample", "unit"], drop=False)

OUTPUT = Path(SETTINGS["output"])
INDEX = Path(SETTINGS["reference"]["index"])
ALIGN = OUTPUT / "align"
RESCORE = OUTPUT / "rescore"
REPORT = OUTPUT / "report"
LEDGER = OUTPUT / "ledger"
LOGS = OUTPUT / "logs"
BENCHMARKS = OUTPUT / "benchmarks"

FORMAT = SETTINGS["align"]["format"]
FORMAT_INDEX = "cram.crai" if FORMAT == "cram" else f"bam.{SETTINGS['align']['index']}"


wildcard_constraints:
    sample="[A-Za-z0-9_-]+",
    unit="[A-Za-z0-9_-]+",
    page="[0-9]+",
    piece="[0-9]+",


def reference_manifest(wildcards):
    """Path of the manifest of the packed reference, once the checkpoint has written it."""
    return checkpoints.reference.get().output.manifest


def page_manifests(wildcards):
    """Manifests of all pages of the index: their number follows from the packed reference."""
    pages = json.loads(Path(reference_manifest(wildcards)).read_text())["pages"]
    return expand(INDEX / "page_{page}/manifest.json", page=range(len(pages)))


def reads_of_unit(wildcards):
    """The one or two FASTQ files of a unit."""
    unit = UNITS.loc[(wildcards.sample, wildcards.unit)]
    return [path for path in (unit.fq1, unit.fq2) if path]


def units_of_sample(pattern):
    """An input function: the files of all units of the sample of a job, in the order of the sheet."""
    return lambda wildcards: expand(
        pattern,
        sample=wildcards.sample,
        unit=RUN.units.loc[RUN.units["sample"] == wildcards.sample, "unit"],
        allow_missing=True,
    )


def all_units(pattern):
    """The files of all units of all samples, in the order of the sheet."""
    return expand(pattern, zip, sample=RUN.units["sample"], unit=RUN.units["unit"])


def axis_memory(bytes_per_base):
    """A resource function: megabytes for a job whose memory grows with the reference."""

    def megabytes(wildcards, input):
        manifest = json.loads(Path(input.reference).read_text())
        return 1000 + int(bytes_per_base * manifest["axis_length"] / 1e6)

    return megabytes


def page_memory(wildcards, input):
    """Megabytes for indexing a page: its text, its suffix array and the sorting of both."""
    page = json.loads(Path(input.reference).read_text())["pages"][int(wildcards.page)]
    return 1000 + int(12 * (page["end"] - page["start"]) / 1e6)


def rescored_pieces(wildcards):
    """Parts of the VCF, one for each piece of the reference that is called by a job of its own."""
    manifest = json.loads(Path(reference_manifest(wildcards)).read_text())
    pieces = intervals.split(manifest, SETTINGS["rescore"]["intervals"] or None, SETTINGS["rescore"]["interval_size"])
    return expand(RESCORE / "pieces/{piece}.vcf.gz", piece=range(len(pieces)))
