"""The configuration of a run: settings and sheets, checked once before any job starts.

`workflow/rules/common.smk` calls `load` while Snakemake parses the workflow, before the first stage. Every rule then
gets the plain dict of its own block. The schemas hold the defaults and the descriptions of all keys
(`quire.run.schema`). This module checks what a schema cannot: that files exist and have the declared kind, and that no
two rows claim the same thing.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from quire.errors import InputError, Mistakes
from quire.io.pedigree import read_pedigree
from quire.io.ploidy import SEXES
from quire.io.sniff import (
    holds_nothing,
    require_alignments,
    require_fasta,
    require_fastq,
    require_features,
    require_variants,
)
from quire.reference.storage import MANIFEST
from quire.run.copies import Remote
from quire.run.exact_tools import EXACT_TOOLS, check_exact_tools
from quire.run.inputs import listed_files, require_file, require_text, require_writable
from quire.run.remote import absent, with_copies
from quire.run.schema import complete_settings, read_schema, require_fitting_gvcf
from quire.run.sheets import Row, read_sheets, repeats, says_yes

STAGE_FOLDERS = ("inputs", "align", "rescore", "annotate", *EXACT_TOOLS, "report", "ledger", "logs", "benchmarks")


# Columns of units that name files, and what they must hold.
_KINDS: dict[str, Callable[[str, str], None]] = {
    "fq1": require_fastq,
    "fq2": require_fastq,
    "fq_umi": require_fastq,
    "bam": require_alignments,
}


@dataclass(frozen=True)
class Configuration:
    """Checked settings and sheets of a run.

    Attributes:
        settings: the configuration with all defaults filled in; `reference.index_directory` is the folder in use, and
            `reference.fasta` is empty if nothing needs a reference.
        samples: one row per sample: sample (str), ploidy (int), sex (str, one of the values of SEXES); no rows in a run
            of exact tools only.
        units: one row per unit: sample, unit, platform, library, qualities (all str), fq1, fq2, fq_umi and bam (lists
            of paths; either fq1 or bam is not empty, and fq2 holds mates in separate files), interleaved and
            may_be_empty (bool).
        metadata: the columns of the sheets that mean nothing to Quire, by sheet (samples, units): one dictionary per
            row, which begins with the row's sample (and unit); empty if a sheet has no such columns.
        remote: the remote inputs by the paths of their copies, which stand in their place above.
    """

    settings: dict[str, Any]
    samples: pandas.DataFrame
    units: pandas.DataFrame
    metadata: dict[str, list[dict[str, str]]]
    remote: Mapping[str, Remote]


def load(raw: Mapping[str, Any], schemas: Path) -> Configuration:
    """Validate a configuration, as Snakemake read it, and its sheets; raise InputError for all mistakes of a pass.

    The passes are the keys, the sheets, and the meaning of both: each needs the one before.
    """
    settings = complete_settings(raw, read_schema(schemas / "config.schema.yaml"))
    samples, units = read_sheets(raw, settings, schemas)
    return checked(settings, samples, units, with_copies(settings, units))


def checked(
    settings: dict[str, Any], samples: list[Row], units: list[Row], remote: Mapping[str, Remote]
) -> Configuration:
    """Check settings and the rows of both sheets for meaning; raise InputError as `load` does."""
    with Mistakes() as mistakes:
        mistakes.check(check_reference, settings, remote)
        mistakes.check(check_samples, samples, units, settings)
        mistakes.check(check_units, units, settings, remote)
        mistakes.check(check_regions_and_truth, settings, [row.values["sample"] for row in samples])
        sexes = {row.values["sample"]: SEXES[row.values["sex"].lower()] for row in samples}
        mistakes.check(check_pedigree, settings, sexes)
        mistakes.check(check_exact_tools, settings)
        mistakes.check(check_output, settings)
    metadata = {"samples": _metadata(samples, "sample"), "units": _metadata(units, "sample", "unit")}
    rows = [
        {**row.values, "ploidy": int(row.values["ploidy"]), "sex": SEXES[row.values["sex"].lower()]} for row in samples
    ]
    frame = pandas.DataFrame(rows, columns=None if rows else ["sample", "ploidy", "sex"])
    return Configuration(settings, frame, _units_frame(units), metadata, remote)


def advice_lines(run: Configuration) -> list[str]:
    """Return one line for each setting that is valid and seldom meant, in the format of the summary of a run."""
    rescore, haploid = run.settings["rescore"], int((run.samples["ploidy"] == 1).sum())
    if haploid < 2 or rescore["gvcf"] or rescore["pool_support"]:
        return []
    return [
        f"{'advice':<12}the {haploid} haploid samples are called at once; rescore.gvcf: true calls each alone, "
        "which is faster, loses fewer variants of samples that differ much, and shows mixed samples"
    ]


def check_reference(settings: Mapping[str, Any], remote: Mapping[str, Remote]) -> None:
    """Check that the reference exists, looks like a FASTA, and suits the alignment format."""
    fasta = settings["reference"]["fasta"]
    if not fasta or absent(remote, fasta):
        return
    require_file(fasta, "reference.fasta")
    require_fasta(fasta, "reference.fasta", random_access=settings["align"]["format"] == "cram")


def check_samples(samples: list[Row], units: list[Row], settings: Mapping[str, Any]) -> None:
    """Check that samples are named once, and that both sheets name the same samples."""
    names = {row.values["sample"] for row in samples}
    with_units = {row.values["sample"] for row in units}
    taken = {f"{row.values['sample']}.{part}" for row in units for part in (row.values["unit"], "target")}
    with Mistakes() as mistakes:
        for first, second in repeats(samples, lambda row: row.values["sample"].casefold()):
            same = first.values["sample"] == second.values["sample"]
            detail = (
                "is already"
                if same
                else f"and {first.values['sample']} differ only in upper and lower case; the first is"
            )
            mistakes.add(
                f"{second.place}: sample {second.values['sample']} {detail} in line {first.line}; rename or remove one."
            )
        unknown = [row for row in units if row.values["sample"] not in names]
        for row in unknown:
            mistakes.add(
                f"{row.place}: sample {row.values['sample']} is not in {settings['samples']}; "
                "add it there or correct the name."
            )
        for row in samples:
            if row.values["sample"] in taken:
                mistakes.add(
                    f"{row.place}: files of sample {row.values['sample']} would have the names of files of another "
                    "sample (SAMPLE.UNIT or SAMPLE.target); rename it."
                )
            # One of the unknown names may be meant for this sample.
            if row.values["sample"] not in with_units and not unknown:
                mistakes.add(
                    f"{row.place}: sample {row.values['sample']} has no unit in {settings['units']}; "
                    "add its FASTQ files there or remove the sample."
                )


def check_units(units: list[Row], settings: Mapping[str, Any], remote: Mapping[str, Remote]) -> None:
    """Check that units are named once, and that each of their files exists, has the right kind and is used once."""
    with Mistakes() as mistakes:
        repeated = set[int]()
        for first, second in repeats(units, lambda row: (row.values["sample"], row.values["unit"].casefold())):
            name = f"{second.values['sample']}.{second.values['unit']}"
            case = "" if first.values["unit"] == second.values["unit"] else ", apart from upper and lower case"
            mistakes.add(
                f"{second.place}: unit {name} is already in line {first.line}{case}; give each unit its own name."
            )
            repeated.add(second.line)
        fasta = settings["reference"]["fasta"]
        seen = {_identity(fasta): "reference.fasta"} if os.path.exists(fasta) else {}
        for row in units:
            if row.line not in repeated:  # such a row may be a copy of the first, with its files
                mistakes.check(_check_unit, row, settings, remote, seen)


def _check_unit(
    row: Row, settings: Mapping[str, Any], remote: Mapping[str, Remote], seen: dict[tuple[int, int], str]
) -> None:
    """Check the columns of a unit, and then each of its files."""
    _check_columns(row, settings)
    with Mistakes() as mistakes:
        for column, require in _KINDS.items():
            for path in listed_files(row.values[column]):
                if not absent(remote, path):
                    mistakes.check(_check_file, row, column, path, require, seen)


def _check_columns(row: Row, settings: Mapping[str, Any]) -> None:
    """Check that the columns of a unit that name files fit together."""
    unit = f"{row.values['sample']}.{row.values['unit']}"
    fq1, fq2, fq_umi, bam = (listed_files(row.values[column]) for column in _KINDS)
    if bool(fq1) == bool(bam):
        both = ("both {fq1} and {bam}" if bam else "neither {fq1} nor {bam}").format(**row.names)
        raise InputError(f"{row.place}: {both} name files of {unit}; give its reads in one of the two columns.")
    if bam and (
        given := next(
            (key for key in ("fq2", "fq_umi", "interleaved", "qualities", "may_be_empty") if row.values[key]), None
        )
    ):
        raise InputError(f"{row.place}: {given} is given, which does not apply to bam; leave it empty.")
    if fq2 and says_yes(row.values["interleaved"]):
        raise InputError(f"{row.place}: fq2 is given, but an interleaved fq1 holds the mates too; leave fq2 empty.")
    if fq2 and len(fq1) != len(fq2):
        raise InputError(
            f"{row.place}: fq1 names {len(fq1)} files and fq2 {len(fq2)}; each file of first mates needs a file "
            "of second mates, in the same order."
        )
    if bool(fq_umi) != (settings["align"]["umi"] == "file"):
        said = (
            f"{unit} has no file in fq_umi, and align.umi is file; name its FASTQ of UMIs"
            if settings["align"]["umi"] == "file"
            else "fq_umi is given, and align.umi is not file; set align.umi: file in the configuration"
        )
        raise InputError(f"{row.place}: {said}.")
    if fq_umi and len(fq1) != len(fq_umi):
        raise InputError(
            f"{row.place}: fq1 names {len(fq1)} files and fq_umi {len(fq_umi)}; each file of reads needs a file "
            "of UMIs, in the same order."
        )


def _check_file(
    row: Row, column: str, path: str, require: Callable[[str, str], None], seen: dict[tuple[int, int], str]
) -> None:
    """Check a file of a unit, and that it is not among those `seen` before, to which it is added."""
    where = f"{row.place}, column {row.names[column]}"
    require_file(path, where)
    if column == "bam" or not (says_yes(row.values["may_be_empty"]) and holds_nothing(path)):
        require(path, where)
    here = f"{row.names[column]} of {row.values['sample']}.{row.values['unit']}"
    if other := seen.get(_identity(path)):
        raise InputError(f"{row.place}: {path} is given as {here} but is the same file as {other}.")
    seen[_identity(path)] = here


def check_regions_and_truth(settings: Mapping[str, Any], samples: list[str]) -> None:
    """Check that keys fit together, that the files of `rescore` and `report` exist, and that the truth is complete."""
    rescore, truth, annotate = settings["rescore"], settings["report"]["truth"], settings["annotate"]
    with Mistakes() as mistakes:
        if truth["vcf"] and not samples:
            mistakes.add(
                "configuration: report.truth.vcf is given without samples; name their sheets in samples and units."
            )
        for key in ("bed", "sample"):
            if truth[key] and not truth["vcf"]:
                mistakes.add(f"configuration: report.truth.{key} is given without report.truth.vcf; name the VCF too.")
        if truth["sample"] and truth["sample"] not in samples:
            mistakes.add(f"configuration: report.truth.sample {truth['sample']} is not in {settings['samples']}.")
        least, most = (settings["callable"][f"{key}_depth"] for key in ("minimum", "maximum"))
        if most and not 1 <= least <= most:
            mistakes.add(
                f"configuration: callable.maximum_depth is {most} and callable.minimum_depth {least}; set a minimum "
                "depth from 1 to the maximum."
            )
        if settings["align"]["optical_distance"] and not settings["align"]["mark_duplicates"]:
            mistakes.add(
                "configuration: align.optical_distance is given without align.mark_duplicates; set it to true."
            )
        mistakes.check(require_fitting_gvcf, rescore, lambda key: f"rescore.{key}", "rescore.gvcf: true")
        for path in rescore["more_gvcfs"]:
            mistakes.check(require_file, path, "rescore.more_gvcfs")
        for key, path, require in (
            ("reference.mask", settings["reference"]["mask"], None),
            ("rescore.intervals", rescore["intervals"], None),
            ("rescore.ploidy_regions", rescore["ploidy_regions"], None),
            ("rescore.alleles", rescore["alleles"], require_variants),
            ("rescore.primers", rescore["primers"], None),
            ("annotate.gff3", annotate["gff3"], require_features),
            ("report.known_sites", settings["report"]["known_sites"], require_variants),
            ("report.truth.vcf", truth["vcf"], require_variants),
            ("report.truth.bed", truth["bed"], None),
        ):
            if path:
                mistakes.check(_check_named, path, key, require)
        mistakes.check(_check_annotator, annotate)


def _check_annotator(annotate: Mapping[str, Any]) -> None:
    """Check the options and the database of the program that annotates, if there is one."""
    if file := {"snpeff": "snpEffectPredictor.bin", "vep": "info.txt"}.get(annotate["program"]):
        try:
            shlex.split(annotate["options"])
        except ValueError as error:
            raise InputError(f"annotate.options: cannot be split into words ({error}); close the quotes.") from None
        require_file(os.path.join(annotate["database_directory"], annotate["database"], file), "annotate.database")


def _check_named(path: str, key: str, require: Callable[[str, str], None] | None) -> None:
    """Check that the file of a key exists and has the kind that `require` requires."""
    require_file(path, key)
    if require:
        require(path, key)


def check_pedigree(settings: Mapping[str, Any], samples: Mapping[str, str]) -> None:
    """Check that the pedigree can be read, names samples, and has their sexes (a value of SEXES by name)."""
    path = settings["report"]["pedigree"]
    if path and not samples:
        raise InputError("configuration: report.pedigree is given without samples; name their sheets.")
    if path:
        require_file(path, "report.pedigree")
        read_pedigree(path, samples)


def check_output(settings: Mapping[str, Any]) -> None:
    """Check that output and index folders can be written, and that the index lies in no stage's own folder."""
    require_text(os.getcwd(), "the path of the working directory")
    output, index = Path(settings["output"]), Path(settings["reference"]["index_directory"])
    for stage in STAGE_FOLDERS:
        if index.resolve().is_relative_to((output / stage).resolve()) or index.resolve() == output.resolve():
            raise InputError(
                f"configuration: reference.index_directory is {index}, a folder of other outputs; choose another."
            )
    require_writable(output, "output")
    # A finished index may lie in a folder that only its owner can write. `check_before_jobs` looks at its pages.
    if not os.path.exists(index / "reference" / MANIFEST):
        require_writable(index, "reference.index_directory")


def _identity(path: str) -> tuple[int, int]:
    """Return device and inode, which are the same for every name, link or symbolic link of a file."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _metadata(rows: list[Row], *names: str) -> list[dict[str, str]]:
    """Return the columns of a sheet that the schema does not name, after those that name the row."""
    if not any(row.metadata for row in rows):
        return []
    return [{**{name: row.values[name] for name in names}, **row.metadata} for row in rows]


def _units_frame(rows: list[Row]) -> pandas.DataFrame:
    columns = ["sample", "unit", "fq1", "fq2", "fq_umi", "bam", "interleaved", "may_be_empty", "qualities"]
    columns += ["platform", "library"]
    made = [
        {
            **row.values,
            **{column: listed_files(row.values[column]) for column in ("fq1", "fq2", "fq_umi", "bam")},
            **{column: says_yes(row.values[column]) for column in ("interleaved", "may_be_empty")},
            "qualities": row.values["qualities"].lower(),
            "library": row.values["library"] or row.values["sample"],
        }
        for row in rows
    ]
    return pandas.DataFrame(made, columns=columns)
