"""The configuration's defaults, from the one place where they stand."""

from pathlib import Path
from typing import Any

from quire.rescore.parameters import CallingParameters
from quire.run.schema import read_schema

SCHEMA = Path(__file__).parents[2] / "workflow" / "schemas" / "config.schema.yaml"


def default_settings(block: str) -> dict[str, Any]:
    """The defaults of a block of the configuration by key."""
    keys = read_schema(SCHEMA)["properties"][block]["properties"]
    return {key: schema["default"] for key, schema in keys.items() if "default" in schema}


def calling_parameters(**changed: Any) -> CallingParameters:
    """The caller's parameters: the defaults, and what a test changes."""
    return CallingParameters.from_settings(default_settings("rescore") | changed)
