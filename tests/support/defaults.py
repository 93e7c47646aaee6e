"""The configuration's defaults, read from their only definition."""

from pathlib import Path
from typing import Any

from quire.rescore.parameters import CallingParameters
from quire.run.schema import read_schema

SCHEMA = Path(__file__).parents[2] / "workflow" / "schemas" / "config.schema.yaml"


def default_settings(block: str) -> dict[str, Any]:
    """Return the defaults of a configuration block by key."""
    keys = read_schema(SCHEMA)["properties"][block]["properties"]
    return {key: schema["default"] for key, schema in keys.items() if "default" in schema}


def calling_parameters(**changed: Any) -> CallingParameters:
    """Return the caller's default parameters with a test's changes."""
    return CallingParameters.from_settings(default_settings("rescore") | changed)
