"""The file of the configuration, as text: that it is there and is YAML (or JSON), with the line where it is not.

Snakemake reads a file that `--configfile` names before it reads the workflow, and has its own words for a mistake in
it. The file that is read by default, and all files of `python -m quire.run`, are checked here first; and every file for
keys that stand in it twice, of which YAML silently takes the last.
"""

import json
import os
from pathlib import Path
from typing import Any

import yaml

from quire.errors import InputError

DEFAULT = Path("config/config.yaml")


def read_config_file(path: Path) -> dict[str, Any]:
    """Read a file of the configuration.

    Raises:
        InputError: it is not there, is no text, no YAML, has no keys, or has one twice; with the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{path}: the configuration does not exist ({_beside(path)}); name yours with --configfile, or copy "
            "Quire's folder config/ here and edit it."
        ) from None
    except OSError as error:
        raise InputError(f"{path}: the configuration cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the configuration is not text; save it as YAML (UTF-8).") from None
    content = _parsed(path, text)
    if not isinstance(content, dict):
        raise InputError(f"{path}: the configuration holds no keys; it begins with `reference:` as the template does.")
    return content


def _beside(path: Path) -> str:
    return "check the path" if path.is_absolute() else f"relative to {os.getcwd()}"


def _parsed(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line}: {_problem(error, text.splitlines(), mark)}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: is not YAML ({' '.join(str(error).split())}); save it as plain text.") from None


def _problem(error: yaml.MarkedYAMLError, lines: list[str], mark: yaml.Mark | None) -> str:
    if isinstance(error, _Twice):
        return str(error.problem)
    wrong = lines[mark.line] if mark and mark.line < len(lines) else ""
    if "\t" in wrong[: len(wrong) - len(wrong.lstrip())]:
        return "is not YAML: the line begins with a tab; indent it with spaces."
    begun = f" {error.context} from line {error.context_mark.line + 1}" if error.context and error.context_mark else ""
    return f"is not YAML ({error.problem}{begun}); correct this line or the one before."


class _Twice(yaml.MarkedYAMLError):  # type: ignore[misc]
    """A key that stands in a block twice."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                said = f"the key {key.value} stands in line {seen[key.value]} already; remove one of the two."
                raise _Twice(problem=said, problem_mark=key.start_mark)
            if isinstance(key, yaml.ScalarNode):
                seen[key.value] = key.start_mark.line + 1
        return dict(super().construct_mapping(node, deep))
