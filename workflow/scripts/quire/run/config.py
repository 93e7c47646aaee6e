"""The configuration of a run: settings and sheets, checked once before any job starts.

`workflow/rules/common.smk` calls `load` while Snakemake parses the workflow, before the first stage. Every rule then
gets the plain dict of its own block. The schemas hold the defaults and the descriptions of all keys
(`quire.run.schema`). This module checks what a schema cannot: that files exist and have the declared kind, and that no
two rows claim the same thing.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from quire.errors import InputError
from quire.io import samtools
from quire.io.bai import require_index_fits
from quire.io.bed import require_names
from quire.io.first_reads import (
    examine,
    first_names,
    first_records,
    require_as_declared,
    require_mates,
    require_umis_in_names,
    require_umis_of_reads,
)
from quire.io.pedigree import read_pedigree
from quire.io.ploidy import SEXES
from quire.io.sniff import require_alignments, require_fasta, require_fastq, require_features, require_variants
from quire.reference import Reference
from quire.reference.construction import require_same_mask
from quire.reference.storage import MANIFEST
from quire.run.contig_names import check_contig_names, known_contigs
from quire.run.copies import Remote
from quire.run.exact_tools import EXACT_TOOLS, check_exact_tools
from quire.run.inputs import listed_files, require_file, require_temporary_space, require_text, require_writable
from quire.run.remote import absent, with_copies
from quire.run.schema import complete_settings, read_schema
from quire.run.sheets import Row, first_repeat, read_sheets, says_yes
from quire.sam import FLAG_SECOND_OF_PAIR, FLAG_SECONDARY, FLAG_SUPPLEMENTARY

STAGE_FOLDERS = ("inputs", "align", "rescore", "annotate", *EXACT_TOOLS, "report", "ledger", "logs", "benchmarks")
_FIRST_RECORDS = 1000  # records of a BAM or CRAM file whose names are checked
_OTHERS = FLAG_SECOND_OF_PAIR | FLAG_SECONDARY | FLAG_SUPPLEMENTARY


@dataclass(frozen=True)
class Configuration:
    """Checked settings and sheets of a run.

    Attributes:
        settings: the configuration with all defaults filled in; `reference.index_directory` is the folder in use, and
            `reference.fasta` is empty if nothing needs a reference.
        samples: one row per sample: sample (str), ploidy (int), sex (str, one of the values of SEXES); no rows in a run
            of exact tools only.
        units: one row per unit: sample, unit, platform, library, qualities (all str), fq1, fq2, fq_umi and bam (lists
            of paths; either fq1 or bam is not empty, and fq2 holds mates in separate files), and interleaved (bool).
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
    """Validate a configuration, as Snakemake read it, and its sheets; raise InputError for the first problem."""
    settings = complete_settings(raw, read_schema(schemas / "config.schema.yaml"))
    samples, units = read_sheets(raw, settings, schemas)
    return checked(settings, samples, units, with_copies(settings, units))


def checked(
    settings: dict[str, Any], samples: list[Row], units: list[Row], remote: Mapping[str, Remote]
) -> Configuration:
    """Check settings and the rows of both sheets for meaning; raise InputError as `load` does."""
    check_reference(settings, remote)
    check_samples(samples, units, settings)
    check_units(units, settings, remote)
    check_regions_and_truth(settings, [row.values["sample"] for row in samples])
    check_pedigree(settings, {row.values["sample"]: SEXES[row.values["sex"].lower()] for row in samples})
    check_exact_tools(settings)
    check_output(settings)
    metadata = {"samples": _metadata(samples, "sample"), "units": _metadata(units, "sample", "unit")}
    rows = [
        {**row.values, "ploidy": int(row.values["ploidy"]), "sex": SEXES[row.values["sex"].lower()]} for row in samples
    ]
    frame = pandas.DataFrame(rows, columns=None if rows else ["sample", "ploidy", "sex"])
    return Configuration(settings, frame, _units_frame(units), metadata, remote)


def check_before_jobs(run: Configuration) -> None:
    """Check, once per run and before any job, what requires reading files."""
    require_temporary_space()
    if absent(run.remote, fasta := run.settings["reference"]["fasta"]):
        directory = Path(run.settings["reference"]["index_directory"])
        if (directory / "reference" / MANIFEST).exists():
            raise InputError(
                f"reference.fasta: {directory} holds an index, but no copy of {run.remote[fasta].address}, from which "
                "it would have been made; choose another index_directory, or remove that folder."
            )
    else:
        check_index(run.settings)
        check_contigs(run.settings)
        check_contig_names(run.settings)
    check_first_reads(run)


def check_reference(settings: Mapping[str, Any], remote: Mapping[str, Remote]) -> None:
    """Check that the reference exists, looks like a FASTA, and suits the alignment format."""
    fasta = settings["reference"]["fasta"]
    if not fasta or absent(remote, fasta):
        return
    require_file(fasta, "reference.fasta")
    require_fasta(fasta, "reference.fasta", random_access=settings["align"]["format"] == "cram")


def check_samples(samples: list[Row], units: list[Row], settings: Mapping[str, Any]) -> None:
    """Check that samples are named once, and that both sheets name the same samples."""
    names = [row.values["sample"] for row in samples]
    if repeated := first_repeat(samples, lambda row: row.values["sample"].casefold()):
        first, second = repeated
        same = first.values["sample"] == second.values["sample"]
        detail = (
            "is already" if same else f"and {first.values['sample']} differ only in upper and lower case; the first is"
        )
        raise InputError(
            f"{second.place}: sample {second.values['sample']} {detail} in line {first.line}; rename or remove one."
        )
    for row in units:
        if row.values["sample"] not in names:
            raise InputError(
                f"{row.place}: sample {row.values['sample']} is not in {settings['samples']}; "
                "add it there or correct the name."
            )
    with_units = {row.values["sample"] for row in units}
    taken = {f"{row.values['sample']}.{part}" for row in units for part in (row.values["unit"], "target")}
    for row in samples:
        if row.values["sample"] in taken:
            raise InputError(
                f"{row.place}: files of sample {row.values['sample']} would have the names of files of another sample "
                "(SAMPLE.UNIT or SAMPLE.target); rename it."
            )
        if row.values["sample"] not in with_units:
            raise InputError(
                f"{row.place}: sample {row.values['sample']} has no unit in {settings['units']}; "
                "add its FASTQ files there or remove the sample."
            )


def check_units(units: list[Row], settings: Mapping[str, Any], remote: Mapping[str, Remote]) -> None:
    """Check that units are named once, and that each of their files exists, has the right kind and is used once."""
    if repeated := first_repeat(units, lambda row: (row.values["sample"], row.values["unit"].casefold())):
        first, second = repeated
        name = f"{second.values['sample']}.{second.values['unit']}"
        case = "" if first.values["unit"] == second.values["unit"] else ", apart from upper and lower case"
        raise InputError(
            f"{second.place}: unit {name} is already in line {first.line}{case}; give each unit its own name."
        )
    if not units:
        return
    fasta = settings["reference"]["fasta"]
    seen: dict[tuple[int, int], str] = {} if absent(remote, fasta) else {_identity(fasta): "reference.fasta"}
    for row in units:
        unit = f"{row.values['sample']}.{row.values['unit']}"
        columns = ("fq1", "fq2", "fq_umi", "bam")
        fq1, fq2, fq_umi, bam = (listed_files(row.values[column]) for column in columns)
        if bool(fq1) == bool(bam):
            both = ("both {fq1} and {bam}" if bam else "neither {fq1} nor {bam}").format(**row.names)
            raise InputError(f"{row.place}: {both} name files of {unit}; give its reads in one of the two columns.")
        if bam and (
            given := next((key for key in ("fq2", "fq_umi", "interleaved", "qualities") if row.values[key]), None)
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
        for column, paths, require in (
            ("fq1", fq1, require_fastq),
            ("fq2", fq2, require_fastq),
            ("fq_umi", fq_umi, require_fastq),
            ("bam", bam, require_alignments),
        ):
            for path in paths:
                where = f"{row.place}, column {row.names[column]}"
                if absent(remote, path):
                    continue
                require_file(path, where)
                require(path, where)
                here = f"{row.names[column]} of {unit}"
                if _identity(path) in seen:
                    other = seen[_identity(path)]
                    raise InputError(f"{row.place}: {path} is given as {here} but is the same file as {other}.")
                seen[_identity(path)] = here


def check_first_reads(run: Configuration) -> None:
    """Check that the first reads of every file match their declaration, and are those of one unit of a sample."""
    umis_in_names = run.settings["align"]["umi"] == "name"
    seen = dict[Any, str]()
    units_of = run.units["sample"].value_counts()
    for unit in run.units.to_dict("records"):
        if absent(run.remote, *unit["fq1"], *unit["fq2"], *unit["fq_umi"], *unit["bam"]):
            continue
        what = f"{run.settings['units']}, {unit['sample']}.{unit['unit']}, column"
        for column in ("fq1", "fq2", "bam"):
            for path in unit[column]:
                if column == "bam":  # takes half a second
                    own = _first_of_alignments(path) if max(units_of[unit["sample"]], len(unit["bam"])) > 1 else []
                else:
                    declared = unit["interleaved"], unit["qualities"], bool(unit["fq2"]), f"{what} {column}"
                    require_as_declared(path, *declared)
                    own = [(name.decode("latin-1"), bases.decode("latin-1")) for name, _, bases in first_records(path)]
                place = f"{path} of {unit['sample']}.{unit['unit']}"
                records = unit["sample"], tuple(own)
                if own and (other := seen.setdefault(records, place)) != place:
                    raise InputError(
                        f"{what} {column}: {place} begins with the same reads as {other}, by their names and bases; "
                        "give each read once, or all but one copy would be duplicates."
                    )
        for first, second in zip(unit["fq1"], unit["fq2"], strict=False):
            require_mates(first, second, f"{what} fq1")
        for path in unit["fq1"] if umis_in_names else ():
            require_umis_in_names(path, first_names(path)[:: 1 + unit["interleaved"]], f"{what} fq1")
        for path in unit["bam"] if umis_in_names else ():
            names = [row[0] for row in samtools.first_rows(Path(path), _FIRST_RECORDS)]
            require_umis_in_names(path, names, f"{what} bam")
        for reads, path in zip(unit["fq1"], unit["fq_umi"], strict=False):
            require_umis_of_reads(path, reads, unit["interleaved"], f"{what} fq_umi")
    for search in run.settings["complete"]:
        if examine(search["reads"]).phred64:
            raise InputError(
                f"complete {search['name']}, reads: {search['reads']} has Phred+64 qualities; "
                "convert it with `seqtk seq -Q64 -V` and give that."
            )


def _first_of_alignments(path: str) -> list[tuple[str, str]]:
    """Return names and bases of the first reads as `first_records` does, without second mates; empty if unreadable."""
    rows = [row for row in samtools.first_rows(Path(path), 40, "0x203") if not int(row[1]) & _OTHERS]
    return [(row[0], row[9]) for row in rows[:10] if row[9].strip("N*")]


def check_regions_and_truth(settings: Mapping[str, Any], samples: list[str]) -> None:
    """Check that the files of `rescore` and `report.truth` exist and that the truth set is specified completely."""
    truth = settings["report"]["truth"]
    if truth["vcf"] and not samples:
        raise InputError(
            "configuration: report.truth.vcf is given without samples; name their sheets in samples and units."
        )
    for key in ("bed", "sample"):
        if truth[key] and not truth["vcf"]:
            raise InputError(f"configuration: report.truth.{key} is given without report.truth.vcf; name the VCF too.")
    if truth["sample"] and truth["sample"] not in samples:
        raise InputError(f"configuration: report.truth.sample {truth['sample']} is not in {settings['samples']}.")
    least, most = (settings["callable"][f"{key}_depth"] for key in ("minimum", "maximum"))
    if most and not 1 <= least <= most:
        raise InputError(
            f"configuration: callable.maximum_depth is {most} and callable.minimum_depth {least}; set a minimum "
            "depth from 1 to the maximum."
        )
    if settings["rescore"]["emit"] != "variants" and not settings["rescore"]["gvcf"]:
        raise InputError(
            "configuration: rescore.emit: all_sites needs to know every site of every sample; set rescore.gvcf: true."
        )
    bands = [int(bound) for bound in settings["rescore"]["gq_bands"].split(",") if bound]
    if bands and (bands != sorted(set(bands)) or not settings["rescore"]["gvcf"]):
        raise InputError("configuration: rescore.gq_bands needs ascending numbers, and rescore.gvcf: true.")
    if settings["rescore"]["pool_support"] and settings["rescore"]["gvcf"]:
        raise InputError("configuration: rescore.pool_support is for samples called together; set rescore.gvcf: false.")
    for path in settings["rescore"]["more_gvcfs"]:
        if not settings["rescore"]["gvcf"]:
            raise InputError("configuration: rescore.more_gvcfs is given without rescore.gvcf; set rescore.gvcf: true.")
        require_file(path, "rescore.more_gvcfs")
    named = {
        "reference.mask": settings["reference"]["mask"],
        "rescore.intervals": settings["rescore"]["intervals"],
        "rescore.ploidy_regions": settings["rescore"]["ploidy_regions"],
        "rescore.alleles": settings["rescore"]["alleles"],
        "annotate.gff3": settings["annotate"]["gff3"],
        "report.known_sites": settings["report"]["known_sites"],
        "report.truth.vcf": truth["vcf"],
        "report.truth.bed": truth["bed"],
    }
    for key, path in named.items():
        if path:
            require_file(path, key)
    for key in ("rescore.alleles", "report.known_sites", "report.truth.vcf"):
        if named[key]:
            require_variants(named[key], key)
    if named["annotate.gff3"]:
        require_features(named["annotate.gff3"], "annotate.gff3")
    annotate = settings["annotate"]
    if file := {"snpeff": "snpEffectPredictor.bin", "vep": "info.txt"}.get(annotate["program"]):
        try:
            shlex.split(annotate["options"])
        except ValueError as error:
            raise InputError(f"annotate.options: cannot be split into words ({error}); close the quotes.") from None
        require_file(os.path.join(annotate["database_directory"], annotate["database"], file), "annotate.database")


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
    # A finished index may lie in a folder that only its owner can write; missing pages are then an error of the job.
    if not os.path.exists(index / "reference" / MANIFEST):
        require_writable(index, "reference.index_directory")


def check_index(settings: Mapping[str, Any]) -> None:
    """Check that an existing packed reference is intact, of this FASTA and masked alike; it would be overwritten."""
    directory = Path(settings["reference"]["index_directory"]) / "reference"
    if settings["reference"]["fasta"] and (directory / MANIFEST).exists():
        packed = Reference.open(directory, settings["reference"]["fasta"], verify=False)
        require_same_mask(directory, packed.manifest, settings["reference"]["mask"])


def check_contigs(settings: Mapping[str, Any]) -> None:
    """Check that all steps can handle the contigs' names and lengths, if known before the reference is packed."""
    if not settings["samples"]:
        return
    contigs = known_contigs(settings)
    require_names(contigs)
    align = settings["align"]
    require_index_fits(align["format"], align["index_format"], list(contigs), list(contigs.values()))


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
    columns = ["sample", "unit", "fq1", "fq2", "fq_umi", "bam", "interleaved", "qualities", "platform", "library"]
    made = [
        {
            **row.values,
            **{column: listed_files(row.values[column]) for column in ("fq1", "fq2", "fq_umi", "bam")},
            "interleaved": says_yes(row.values["interleaved"]),
            "qualities": row.values["qualities"].lower(),
            "library": row.values["library"] or row.values["sample"],
        }
        for row in rows
    ]
    return pandas.DataFrame(made, columns=columns)
