"""Application of the configuration's schema: it fills in defaults and turns each violation into one sentence."""

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from quire.errors import InputError, Mistakes
from quire.run.inputs import require_text

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
# Keys of the block `rescore` that decide a call; the others decide the pieces, the records and the filters.
CALLER_KEYS = (
    "intervals",
    "minimum_mapping_quality",
    "maximum_reads_per_start",
    "minimum_support",
    "error_model",
    "long_indels",
)
JOINT_KEYS = ("minimum_quality", "pool_support", *CALLER_KEYS, "filters")
"""Those that decide the calls of samples that are called together."""
SHEETS = ("samples", "units")  # the keys that name the sheets
ALIKE = 0.66  # least similarity at which a name counts as a misspelling of another, from 0 to 1
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


@cache
def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON schema written as YAML."""
    schema: dict[str, Any] = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return schema


def default_settings(block: str) -> dict[str, Any]:
    """Return the defaults of a block of the configuration, such as `rescore`."""
    settings: dict[str, Any] = _with_defaults({}, read_schema(SCHEMAS / "config.schema.yaml")["properties"][block])
    return settings


def require_fitting_gvcf(rescore: Mapping[str, Any], spelled: Callable[[str], str], switch: str) -> None:
    """Raise InputError for keys of the block `rescore` that do not fit its key `gvcf`, and for bands that do not rise.

    `spelled` returns a key as the user writes it, and `switch` is how a user switches gVCFs on.
    """
    usual = default_settings("rescore")
    if rescore["gvcf"]:
        keys, fault = ["pool_support"], f"does not go with {switch}; leave one of the two out."
    else:
        keys, fault = ["emit", "gq_bands", "more_gvcfs"], f"needs {switch}; give both or neither."
    with Mistakes() as mistakes:
        for key in keys:
            if rescore[key] != usual[key]:
                mistakes.add(f"{spelled(key)}: {fault}")
        bands = [int(bound) for bound in rescore["gq_bands"].split(",") if bound]
        if bands != sorted(set(bands)):
            mistakes.add(f"{spelled('gq_bands')}: is {rescore['gq_bands']}; give ascending numbers.")


def complete_settings(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with the schema's defaults, which it must fit (InputError), and the index's folder."""
    settings: dict[str, Any] = _with_defaults(raw, schema)
    # Alignments of two sequences need no reference.
    with_reference = ("reference", "complete", "mems", *SHEETS)
    needs_no_reference = bool(settings.get("pairwise")) and not any(raw.get(key) for key in with_reference)
    if needs_no_reference:
        settings["reference"] = _with_defaults({"fasta": "-"}, schema["properties"]["reference"])
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(settings), key=lambda error: list(error.path))
    with Mistakes() as mistakes:
        for error in errors:
            for sentence in _sentences(error):
                mistakes.add(f"configuration: {sentence}; config/README.md explains every key.")
    with Mistakes() as mistakes:
        for place, text in texts(settings, ""):
            mistakes.check(require_text, text, f"configuration: {place}")
    reference = settings["reference"]
    if needs_no_reference:
        reference["fasta"] = ""
    reference["index_directory"] = reference["index_directory"] or os.path.join(settings["output"], "index")
    return settings


def as_spelled(value: Any, part: Mapping[str, Any]) -> Any:
    """Return a word in the spelling of the schema's `enum` or `examples`, whatever its case."""
    words = {str(word).lower(): word for word in (*part.get("enum", ()), *part.get("examples", ()))}
    return words.get(value.lower(), value) if isinstance(value, str) else value


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which this one may be a misspelling, or None."""
    by_letters = {one.lower(): one for one in known}
    return next((by_letters[alike] for alike in difflib.get_close_matches(name.lower(), by_letters, 1, ALIKE)), None)


def texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield all texts of the configuration, each with its dotted name."""
    if isinstance(value, str):
        yield place, value
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from texts(part, f"{place}[{key + 1}]" if isinstance(value, list) else f"{place}.{key}".lstrip("."))


def _with_defaults(value: Any, schema: Mapping[str, Any], around: Mapping[str, Any] | None = None) -> Any:
    """Copy a value, or a block of keys, and add the defaults of missing keys; an empty block has no keys."""
    # `around` holds the values of the keys on the same level and of the enclosing blocks.
    if schema.get("type") == "array" and isinstance(value, list):
        return [_with_defaults(one, schema["items"]) for one in value]
    if schema.get("type") != "object":
        return as_spelled(_as_typed(value, schema.get("type", "")), schema)
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        return value
    parts = schema["properties"]
    # A key without a value counts as a missing key, unless `null` has a meaning. An unknown key is refused later.
    may_be_null = {key for key in value if key not in parts or "null" in parts[key].get("type", ())}
    filled = {key: one for key, one in value.items() if one is not None or key in may_be_null}
    plain = {key: part["default"] for key, part in parts.items() if "default" in part and "default_with" not in part}
    around = {**(around or {}), **plain, **filled}
    for key, part in parts.items():
        if key in filled:
            filled[key] = _with_defaults(filled[key], part, around)
        elif "default" in part:
            filled[key] = _with_defaults(_default(part, around), part, around)
    # In the schema's order: Snakemake takes values in another order for changed ones.
    return {key: filled[key] for key in (*parts, *filled) if key in filled}


def _default(part: Mapping[str, Any], around: Mapping[str, Any]) -> Any:
    """Return the default of a key, or that of `default_with` if another key has the value named there."""
    for other, by_value in part.get("default_with", {}).items():
        value = str(around.get(other)).lower()
        if value in by_value:
            return by_value[value]
    return part["default"]


def _as_typed(value: Any, types: str | list[str]) -> Any:
    """Convert `value` to the number or boolean that the schema requires if possible; else return it unchanged."""
    # Snakemake passes the values of a block given as `--config rescore='{interval_size: 7000}'` as text. JSON schema
    # accepts 5e+6 as an integer, but Python does not.
    if types == "boolean" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    if {"integer", "number"}.isdisjoint([types] if isinstance(types, str) else types):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sentences(error: jsonschema.ValidationError) -> list[str]:
    """Return sentence parts that say what is wrong with a value, or with each key of a block, and where."""
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        return [
            f"the key {_place([*error.absolute_path, unknown])} is unknown (known here: {', '.join(known)})"
            + (f"; its nearest is {meant}" if (meant := nearest(str(unknown), known)) else "")
            for unknown in sorted(set(error.instance) - set(known), key=str)
        ]
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return [f"the key {_place([*error.absolute_path, key])} is missing" for key in missing]
    return [_sentence(error)]


def _sentence(error: jsonschema.ValidationError) -> str:
    """Return a sentence part that says what is wrong with a value, and where."""
    place = _place(error.absolute_path)
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
    """Return the dotted name of a key; entries of a list count from 1, as in `mems[2].min_length`."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def value_of(text: str, part: Mapping[str, Any]) -> Any:
    """Return the value of a key from text; raise InputError with the end of a sentence that begins with the key."""
    value = _as_typed(text, part["type"]) if "type" in part else text
    error = next(jsonschema.Draft202012Validator(part).iter_errors(value), None)
    if error is not None:
        raise InputError(_sentence(error).strip())
    return value
