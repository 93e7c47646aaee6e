"""The configuration of a run: settings and sheets, checked once before any job starts.

Where it sits on the road: before the first stage. `workflow/rules/common.smk` calls `load` while Snakemake parses the
workflow, and every rule then gets the plain dict of its own block. The schemas hold the defaults and the descriptions
of all keys; this module turns their verdicts into one sentence each, and checks what a schema cannot see: that files
exist, that they are what they are said to be, and that no two rows claim the same thing.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pandas
import yaml

from quire.errors import InputError
from quire.io.bai import require_index_fits
from quire.io.ploidy import SEXES
from quire.io.sniff import require_fasta, require_fastq, require_variants
from quire.reference import Reference
from quire.reference.storage import MANIFEST
from quire.run.exact_tools import EXACT_TOOLS, check_exact_tools
from quire.run.inputs import require_file, require_writable
from quire.run.sheets import Row, first_repeat, read_sheet

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
STAGE_FOLDERS = ("align", "rescore", *EXACT_TOOLS, "report", "ledger", "logs", "benchmarks")
_SHEETS = ("samples", "units")


@dataclass(frozen=True)
class Configuration:
    """A run that can start.

    Attributes:
        settings: the configuration with all defaults filled in; `reference.index_directory` is the folder that is used,
            and `reference.fasta` is empty where nothing needs a reference.
        samples: one row a sample: sample (str), ploidy (int), sex (str, one of the values of SEXES); none in a run of
            the exact tools alone.
        units: one row a unit: sample, unit, fq1, fq2 ("" when single-end), platform, library (all str).
    """

    settings: dict[str, Any]
    samples: pandas.DataFrame
    units: pandas.DataFrame


def load(raw: Mapping[str, Any], schemas: Path) -> Configuration:
    """Validate a configuration and its sheets, schema first and meaning second.

    Args:
        raw: the configuration as Snakemake read it.
        schemas: the folder with config.schema.yaml, samples.schema.yaml and units.schema.yaml.

    Raises:
        InputError: the first thing found wrong, as one sentence.
    """
    settings = complete_settings(raw, read_schema(schemas / "config.schema.yaml"))
    check_reference(settings)
    samples, units = _read_sheets(raw, settings, schemas)
    check_samples(samples, units, settings)
    check_units(units, settings)
    check_regions_and_truth(settings, [row.values["sample"] for row in samples])
    check_exact_tools(settings)
    check_output(settings)
    return Configuration(settings, _samples_frame(samples), _units_frame(units))


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON schema written as YAML."""
    schema: dict[str, Any] = yaml.safe_load(path.read_text())
    return schema


def complete_settings(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the schema's defaults filled in and `reference.index_directory` resolved.

    Raises:
        InputError: an unknown key, a missing key or a value that the schema does not allow.
    """
    settings: dict[str, Any] = _with_defaults(raw, schema)
    needs_no_reference = _needs_no_reference(settings, raw)
    if needs_no_reference:
        settings["reference"] = _with_defaults({"fasta": "-"}, schema["properties"]["reference"])
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(settings), key=lambda error: list(error.path))
    if errors:
        raise InputError(f"configuration: {_sentence(errors[0])}; config/README.md explains every key.")
    reference = settings["reference"]
    if needs_no_reference:
        reference["fasta"] = ""
    reference["index_directory"] = reference["index_directory"] or os.path.join(settings["output"], "index")
    return settings


def _needs_no_reference(settings: Mapping[str, Any], raw: Mapping[str, Any]) -> bool:
    """Whether a configuration without a reference names nothing but alignments of two sequences."""
    with_reference = ("reference", "complete", "mems", *_SHEETS)
    return bool(settings.get("pairwise")) and not any(raw.get(key) for key in with_reference)


def _read_sheets(raw: Mapping[str, Any], settings: dict[str, Any], schemas: Path) -> tuple[list[Row], list[Row]]:
    """The rows of both sheets; none in a run of the exact tools alone, and then `settings` names no sheet either.

    Such a run gives both sheets as empty, or gives neither and does not have those that are read by default.
    """
    if any(settings[tool] for tool in EXACT_TOOLS):
        given = [settings[key] for key in _SHEETS if key in raw]
        absent = not given and not any(os.path.exists(settings[key]) for key in _SHEETS)
        if absent or not settings["reference"]["fasta"] or given == ["", ""]:
            settings.update(dict.fromkeys(_SHEETS, ""))
            return [], []
    for key in _SHEETS:
        if not settings[key]:
            raise InputError(
                f"configuration: {key} is empty; name the sheet, or for a run of the exact tools alone leave samples "
                f"and units both empty and name a search in {', '.join(EXACT_TOOLS)}."
            )
    samples, units = (read_sheet(settings[key], read_schema(schemas / f"{key}.schema.yaml")) for key in _SHEETS)
    return samples, units


def _with_defaults(value: Any, schema: Mapping[str, Any], around: Mapping[str, Any] | None = None) -> Any:
    """Copy `value`, adding the defaults of missing keys; an empty block counts as a block with no keys.

    Args:
        value: of a key, or a block of keys.
        schema: of it.
        around: values of the keys beside it, and of the blocks that it lies in.
    """
    if schema.get("type") == "array" and isinstance(value, list):
        return [_with_defaults(one, schema["items"]) for one in value]
    if schema.get("type") != "object":
        return _as_number(value, schema.get("type", ""))
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        return value
    filled, parts = dict(value), schema["properties"]
    plain = {key: part["default"] for key, part in parts.items() if "default" in part and "default_with" not in part}
    around = {**(around or {}), **plain, **filled}
    for key, part in parts.items():
        if key in filled:
            filled[key] = _with_defaults(filled[key], part, around)
        elif "default" in part:
            filled[key] = _with_defaults(_default(part, around), part, around)
    return filled


def _default(part: Mapping[str, Any], around: Mapping[str, Any]) -> Any:
    """The default of a key: that of `default_with`, where another key has the value named there."""
    for other, by_value in part.get("default_with", {}).items():
        value = around.get(other)
        if isinstance(value, str) and value in by_value:
            return by_value[value]
    return part["default"]


def _as_number(value: Any, types: str | list[str]) -> Any:
    """`value` as a number where the schema wants one and it reads like one; anything else as it is, to be judged.

    Snakemake hands on the values in a block that is given with `--config rescore='{interval_size: 7000}'` as text. And
    JSON schema takes 5e+6 for an integer, where Python does not.
    """
    if {"integer", "number"}.isdisjoint([types] if isinstance(types, str) else types):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sentence(error: jsonschema.ValidationError) -> str:
    """Say what is wrong with a value, and where, in words."""
    place = _place(error.absolute_path)
    if error.validator == "additionalProperties":
        unknown = sorted(set(error.instance) - set(error.schema["properties"]), key=str)[0]
        known = ", ".join(error.schema["properties"])
        return f"the key {_place([*error.absolute_path, unknown])} is unknown (known here: {known})"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"the key {_place([*error.absolute_path, missing])} is missing"
    if error.validator == "enum":
        return f"{place} is {error.instance!r} and must be one of {', '.join(map(str, error.validator_value))}"
    if error.validator in ("type", "pattern") and "examples" in error.schema:
        return f"{place} is {error.instance!r} and must look like {' or '.join(error.schema['examples'])}"
    if error.validator == "type":
        types = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        return f"{place} is {error.instance!r} and must be of type {' or '.join(types)}"
    if error.validator in ("minimum", "maximum"):
        bound = "at least" if error.validator == "minimum" else "at most"
        return f"{place} is {error.instance!r} and must be {bound} {error.validator_value}"
    if error.validator == "minLength":
        return f"{place} is empty"
    if "errorMessage" in error.schema:
        return f"{place} is {error.instance!r} and {error.schema['errorMessage']}"
    return f"{place}: {error.message}"


def _place(path: Iterable[str | int]) -> str:
    """A key by its dotted name; the entries of a list count from 1, as in `mems[2].min_length`."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def check_reference(settings: Mapping[str, Any]) -> None:
    """Check that the reference exists, looks like a FASTA, and suits the alignment format."""
    fasta = settings["reference"]["fasta"]
    if not fasta:
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
            "stands" if same else f"and {first.values['sample']} differ only in upper and lower case; the first stands"
        )
        raise InputError(f"{second.place}: sample {second.values['sample']} {detail} in line {first.line} already.")
    for row in units:
        if row.values["sample"] not in names:
            raise InputError(
                f"{row.place}: sample {row.values['sample']} is not in {settings['samples']}; "
                "add it there or correct the name."
            )
    with_units = {row.values["sample"] for row in units}
    for row in samples:
        if row.values["sample"] not in with_units:
            raise InputError(
                f"{row.place}: sample {row.values['sample']} has no unit in {settings['units']}; "
                "add its FASTQ files there or remove the sample."
            )


def check_units(units: list[Row], settings: Mapping[str, Any]) -> None:
    """Check that units are named once, that every FASTQ exists, looks like one, and is used once."""
    if repeated := first_repeat(units, lambda row: (row.values["sample"], row.values["unit"])):
        first, second = repeated
        name = f"{second.values['sample']}.{second.values['unit']}"
        raise InputError(
            f"{second.place}: unit {name} stands in line {first.line} already; give each unit its own name."
        )
    if not units:
        return
    seen: dict[tuple[int, int], str] = {_identity(settings["reference"]["fasta"]): "reference.fasta"}
    for row in units:
        for column in ("fq1", "fq2"):
            path = row.values[column]
            if not path:
                continue
            require_file(path, f"{row.place}, column {column}")
            require_fastq(path, f"{row.place}, column {column}")
            here = f"{column} of {row.values['sample']}.{row.values['unit']}"
            if (other := seen.setdefault(_identity(path), here)) != here:
                raise InputError(f"{row.place}: {path} is given as {here} and is the same file as {other}.")


def check_regions_and_truth(settings: Mapping[str, Any], samples: list[str]) -> None:
    """Check that the files of `rescore` and `report.truth` exist and that a truth is named whole."""
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
    if settings["rescore"]["emit"] != "variants" and not settings["rescore"]["gvcf"]:
        raise InputError(
            "configuration: rescore.emit: all_sites needs to know every site of every sample; set rescore.gvcf: true."
        )
    for path in settings["rescore"]["more_gvcfs"]:
        if not settings["rescore"]["gvcf"]:
            raise InputError("configuration: rescore.more_gvcfs is given without rescore.gvcf; set rescore.gvcf: true.")
        require_file(path, "rescore.more_gvcfs")
    named = {
        "rescore.intervals": settings["rescore"]["intervals"],
        "rescore.ploidy_regions": settings["rescore"]["ploidy_regions"],
        "report.truth.vcf": truth["vcf"],
        "report.truth.bed": truth["bed"],
    }
    for key, path in named.items():
        if path:
            require_file(path, key)
    if truth["vcf"]:
        require_variants(truth["vcf"], "report.truth.vcf")


def check_output(settings: Mapping[str, Any]) -> None:
    """Check that the output and the index can be written, and that the index is no stage's own folder."""
    output, index = Path(settings["output"]), Path(settings["reference"]["index_directory"])
    for stage in STAGE_FOLDERS:
        if index.resolve().is_relative_to((output / stage).resolve()) or index.resolve() == output.resolve():
            raise InputError(
                f"configuration: reference.index_directory is {index}, a folder of other outputs; choose another."
            )
    require_writable(output, "output")
    # A finished index may stand in a folder that only its owner writes; missing pages are then the job's own error.
    if not (index / "reference" / "manifest.json").exists():
        require_writable(index, "reference.index_directory")


def check_index(settings: Mapping[str, Any]) -> None:
    """Check that a packed reference that exists is whole and is one of this FASTA: it would be overwritten otherwise.

    Not part of `load`, since a FASTA of another time stamp is read for it: once a run is enough, not in every job.
    """
    directory = Path(settings["reference"]["index_directory"]) / "reference"
    if settings["reference"]["fasta"] and (directory / MANIFEST).exists():
        Reference.open(directory, settings["reference"]["fasta"], verify=False)


def check_alignment_index(settings: Mapping[str, Any]) -> None:
    """Check that the alignments' index can hold all contigs, if their lengths are known before a job runs.

    They are of a packed reference, or of a FASTA with its index (.fai) beside it; else packing the reference checks.
    """
    if not settings["samples"]:
        return
    directory = Path(settings["reference"]["index_directory"]) / "reference"
    if (directory / MANIFEST).exists():
        reference = Reference.open(directory, verify=False)
        contigs = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    else:
        contigs = contigs_of_index(settings["reference"]["fasta"])
    align = settings["align"]
    require_index_fits(align["format"], align["index_format"], list(contigs), list(contigs.values()))


def contigs_of_index(fasta: str) -> dict[str, int]:
    """Names and lengths of the contigs by the index (.fai) of a FASTA; none where it is missing, older, or none."""
    index = Path(f"{fasta}.fai")
    try:
        if index.stat().st_mtime_ns < Path(fasta).stat().st_mtime_ns:
            return {}
        rows = [line.split("\t") for line in index.read_text().splitlines()]
        return {row[0]: int(row[1]) for row in rows}
    except (OSError, ValueError, IndexError):
        return {}


def _identity(path: str) -> tuple[int, int]:
    """Device and inode: the same for every name, link or symbolic link of one file."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _samples_frame(rows: list[Row]) -> pandas.DataFrame:
    return pandas.DataFrame(
        [{**row.values, "ploidy": int(row.values["ploidy"]), "sex": SEXES[row.values["sex"].lower()]} for row in rows],
        columns=None if rows else ["sample", "ploidy", "sex"],
    )


def _units_frame(rows: list[Row]) -> pandas.DataFrame:
    return pandas.DataFrame(
        [{**row.values, "library": row.values["library"] or row.values["sample"]} for row in rows],
        columns=None if rows else ["sample", "unit", "fq1", "fq2", "platform", "library"],
    )
