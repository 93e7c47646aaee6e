"""The configuration file as text: checks that it exists and is YAML (or JSON), with the line of a mistake.

Snakemake reads a file named by `--configfile` before the workflow, with a traceback for a missing file. Quire's
profiles are read earlier still, and call `refuse_unreadable` for it. YAML silently takes the last of duplicate keys, so
they are refused.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from quire.errors import InputError

DEFAULT = Path("config/config.yaml")
_FILES = ("--configfile", "--configfiles")


def use_writable_cache() -> None:
    """Name `.quire-cache` of the working directory as the cache folder if the user's own cannot be written.

    Snakemake, which keeps files there too, would end with a traceback.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")).absolute() / "snakemake/snakemake"
    existing = next(path for path in (cache, *cache.parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        own = Path(".quire-cache").absolute()
        if not os.access(own if own.exists() else own.parent, os.W_OK | os.X_OK):
            sys.exit(
                f"quire: error: caches can be written neither in {cache} nor in the working directory; start in a "
                "folder of your own, or name one with the variable XDG_CACHE_HOME."
            )
        os.environ["XDG_CACHE_HOME"] = str(own)


def read_config_file(path: Path) -> dict[str, Any]:
    """Return the content of a YAML or JSON file of keys; raise InputError with the line for any other file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        where = "check the path" if path.is_absolute() else f"relative to {os.getcwd()}"
        raise InputError(
            f"{path}: the configuration does not exist ({where}); name yours with --configfile, or copy "
            "Quire's folder config/ here (quire init) and edit it."
        ) from None
    except OSError as error:
        raise InputError(f"{path}: the configuration cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: the configuration is not text; save it as YAML (UTF-8).") from None
    content = _parsed(path, text)
    if not isinstance(content, dict):
        raise InputError(f"{path}: the configuration holds no keys; begin it with `reference:` as in the template.")
    return content


def refuse_unreadable(arguments: Sequence[str]) -> None:
    """End the process with one sentence if the arguments of Snakemake name a wrong configuration file or key."""
    names, option = list[str](), ""
    try:
        for argument in arguments:
            key, given, value = argument.partition("=")
            if argument.startswith("-"):
                option = "" if given else key
                names += [value] if given and key in _FILES else []
            elif option in _FILES:
                names.append(argument)
            elif option in ("--config", "-C") and not given:
                raise InputError(f"{option}: {argument} is not KEY=VALUE; give targets first, or last after --.")
        for name in names:
            read_config_file(Path(name))
    except InputError as error:
        sys.exit(f"quire: error: {error}")


def _parsed(path: Path, text: str) -> Any:
    content = None
    with suppress(ValueError):
        content = json.loads(text)
        text = text.replace("\t", " ")  # JSON may be indented by tabs, YAML may not
    try:
        # The tree is checked as written: merge keys (<<) and aliases are resolved only when objects are constructed.
        _refuse_twins(yaml.compose(text, yaml.SafeLoader))
        return yaml.safe_load(text) if content is None else content
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
    """A key that occurs twice in a block."""


def _refuse_twins(root: yaml.Node | None) -> None:
    """Raise an error for a block with a duplicate key, naming the first such key of the file."""
    waiting, visited, twins = [root], set[int](), []
    while waiting:
        node = waiting.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        seen: dict[tuple[str, str], int] = {}
        for key, value in node.value:
            waiting += [key, value]
            if not isinstance(key, yaml.ScalarNode):
                continue
            name = (key.tag, key.value)
            if name in seen:
                twins.append((key, seen[name]))
            seen.setdefault(name, key.start_mark.line + 1)
    if twins:
        key, line = min(twins, key=lambda twin: twin[0].start_mark.index)
        said = f"the key {key.value} is already in line {line}; remove one of the two."
        raise _Twice(problem=said, problem_mark=key.start_mark)
