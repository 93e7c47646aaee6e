"""The configuration of a run: settings and sheets, checked once before any job starts.

Where it sits on the road: before the first stage. `workflow/rules/common.smk` calls `load` while Snakemake parses the
workflow, and every rule then gets the plain dict of its own block. The schemas hold the defaults and the descriptions
of all keys; this module turns their verdicts into one sentence each, and checks what a schema cannot see: that files
exist, that they are what they are said to be, and that no two rows claim the same thing.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pandas
import yaml

from quire.errors import InputError
from quire.peek import require_fasta, require_fastq, require_variants
from quire.reference import Reference
from quire.reference.storage import MANIFEST
from quire.sheets import Row, first_repeat, read_sheet

STAGE_FOLDERS = ("align", "rescore", "report", "ledger", "logs", "benchmarks")


@dataclass(frozen=True)
class Configuration:
    """A run that can start.

    Attributes:
        settings: the configuration with all defaults filled in; `reference.index` holds the folder that is used.
        samples: one row a sample: sample (str), ploidy (int).
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
    samples = read_sheet(settings["samples"], read_schema(schemas / "samples.schema.yaml"))
    units = read_sheet(settings["units"], read_schema(schemas / "units.schema.yaml"))
    check_samples(samples, units, settings)
    check_units(units, settings)
    check_regions_and_truth(settings, [row.values["sample"] for row in samples])
    check_output(settings)
    return Configuration(settings, _samples_frame(samples), _units_frame(units))


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON schema written as YAML."""
    return yaml.safe_load(path.read_text())


def complete_settings(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the schema's defaults filled in and `reference.index` resolved.

    Raises:
        InputError: an unknown key, a missing key or a value that the schema does not allow.
    """
    settings = _with_defaults(raw, schema)
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(settings), key=lambda error: list(error.path))
    if errors:
        raise InputError(f"configuration: {_sentence(errors[0])}; config/README.md explains every key.")
    settings["reference"]["index"] = settings["reference"]["index"] or os.path.join(settings["output"], "index")
    return settings


def _with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """Copy `value`, adding the defaults of missing keys; an empty block counts as a block with no keys."""
    if schema.get("type") != "object":
        return value
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        return value
    filled = dict(value)
    for key, part in schema["properties"].items():
        if key in filled:
            filled[key] = _with_defaults(filled[key], part)
        elif "default" in part:
            filled[key] = _with_defaults(part["default"], part)
    return filled


def _sentence(error: jsonschema.ValidationError) -> str:
    """Say what is wrong with a value, and where, in words."""
    place = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        unknown = sorted(set(error.instance) - set(error.schema["properties"]), key=str)[0]
        known = ", ".join(error.schema["properties"])
        return f"the key {f'{place}.' if place else ''}{unknown} is unknown (known here: {known})"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"the key {f'{place}.' if place else ''}{missing} is missing"
    if error.validator == "enum":
        return f"{place} is {error.instance!r} and must be one of {', '.join(map(str, error.validator_value))}"
    if error.validator in ("type", "pattern") and "examples" in error.schema:
        return f"{place} is {error.instance!r} and must look like {' or '.join(error.schema['examples'])}"
    if error.validator == "type":
        return f"{place} is {error.instance!r} and must be of type {error.validator_value}"
    if error.validator in ("minimum", "maximum"):
        bound = "at least" if error.validator == "minimum" else "at most"
        return f"{place} is {error.instance!r} and must be {bound} {error.validator_value}"
    if error.validator == "minLength":
        return f"{place} is empty"
    return f"{place}: {error.message}"


def check_reference(settings: Mapping[str, Any]) -> None:
    """Check that the reference exists, looks like a FASTA, and suits the alignment format."""
    fasta = settings["reference"]["fasta"]
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
    """Check that the files of `rescore.intervals` and `report.truth` exist and that a truth is named whole."""
    truth = settings["report"]["truth"]
    for key in ("bed", "sample"):
        if truth[key] and not truth["vcf"]:
            raise InputError(f"configuration: report.truth.{key} is given without report.truth.vcf; name the VCF too.")
    if truth["sample"] and truth["sample"] not in samples:
        raise InputError(f"configuration: report.truth.sample {truth['sample']} is not in {settings['samples']}.")
    named = {
        "rescore.intervals": settings["rescore"]["intervals"],
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
    output, index = Path(settings["output"]), Path(settings["reference"]["index"])
    for stage in STAGE_FOLDERS:
        if index.resolve().is_relative_to((output / stage).resolve()) or index.resolve() == output.resolve():
            raise InputError(f"configuration: reference.index is {index}, a folder of other outputs; choose another.")
    require_writable(output, "output")
    # A finished index may stand in a folder that only its owner writes; missing pages are then the job's own error.
    if not (index / "reference" / "manifest.json").exists():
        require_writable(index, "reference.index")


def check_index(settings: Mapping[str, Any]) -> None:
    """Check that a packed reference that exists is whole and is one of this FASTA: it would be overwritten otherwise.

    Not part of `load`, since a FASTA of another time stamp is read for it: once a run is enough, not in every job.
    """
    directory = Path(settings["reference"]["index"]) / "reference"
    if (directory / MANIFEST).exists():
        Reference.open(directory, settings["reference"]["fasta"], verify=False)


def require_file(path: str, what: str) -> None:
    """Raise InputError unless `path` is a readable ordinary file that is not empty."""
    if not os.path.exists(path):
        hint = f"relative to {os.getcwd()}" if not os.path.isabs(path) else "check the path"
        raise InputError(f"{what}: {path} does not exist ({hint}).")
    if not os.path.isfile(path):
        raise InputError(f"{what}: {path} is not an ordinary file; folders, pipes and devices cannot be used.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{what}: {path} cannot be read; check its permissions.")
    if os.path.getsize(path) == 0:
        raise InputError(f"{what}: {path} is empty.")


def require_writable(folder: Path, what: str) -> None:
    """Raise InputError unless `folder` can be created and written."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"configuration: {what} is {folder}, but {existing} is not a folder; choose another.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"configuration: {what} is {folder}, but {existing} cannot be written; choose another.")


def _identity(path: str) -> tuple[int, int]:
    """Device and inode: the same for every name, link or symbolic link of one file."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _samples_frame(rows: Iterable[Row]) -> pandas.DataFrame:
    return pandas.DataFrame([{**row.values, "ploidy": int(row.values["ploidy"])} for row in rows])


def _units_frame(rows: Iterable[Row]) -> pandas.DataFrame:
    return pandas.DataFrame([{**row.values, "library": row.values["library"] or row.values["sample"]} for row in rows])
