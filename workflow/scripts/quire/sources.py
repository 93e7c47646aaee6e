"""Which source files a rule's script depends on, and a digest of them.

Snakemake looks at a script's own time stamp only. The digest stands in the `params` of every rule, so that editing a
library module or a kernel re-runs the rules whose scripts import it, directly or through others, and no more. A kernel
belongs to the module that names its file, and to the kernel that includes it.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
PACKAGE = "quire"
# How kernels are named in modules and in `#include`s: by their path from workflow/scripts.
KERNEL = re.compile(rf"{PACKAGE}/[\w/]+\.cuh?")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def digest(script: str, *others: str) -> str:
    """Digest of everything that a script depends on.

    Args:
        script: name of a script in workflow/scripts, such as "map_unit.py".
        others: files that it reads besides, relative to workflow/.

    Returns:
        Hexadecimal SHA-256 over the names and contents of the script, of all library files behind its imports, and
        of the other files.
    """
    workflow = SCRIPTS.parent
    total = hashlib.sha256()
    for path in [*dependencies(SCRIPTS / script), *(workflow / other for other in others)]:
        total.update(path.relative_to(workflow).as_posix().encode() + b"\0")
        total.update(path.read_bytes() + b"\0")
    return total.hexdigest()


def dependencies(script: Path) -> list[Path]:
    """The script, the library modules it imports (at any depth, also inside functions) and their kernels."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.suffix == ".py":
            waiting += [module for name in imported_names(path) for module in _module_files(name)]
        waiting += [SCRIPTS / name for name in named_kernels(path)]
    return sorted(found)


@cache
def named_kernels(path: Path) -> frozenset[str]:
    """Kernel files, by their paths from workflow/scripts, that a module names in a text, or that a kernel includes."""
    if path.suffix != ".py":
        names = _INCLUDE.findall(path.read_text())
    else:
        constants = (node.value for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Constant))
        names = [text for text in constants if isinstance(text, str) and KERNEL.fullmatch(text)]
    return frozenset(names)


@cache
def imported_names(path: Path) -> frozenset[str]:
    """Dotted names that a source file imports; `from a import b` counts as a and as a.b."""
    return frozenset(_imports(ast.parse(path.read_bytes()), _package_of(path)))


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(SCRIPTS).parts) if path.is_relative_to(SCRIPTS) else ""


def _module_files(name: str) -> Iterator[Path]:
    """Files that importing a dotted name of the library executes: the packages on the way and the module itself."""
    parts = name.split(".")
    if parts[0] != PACKAGE:
        return
    for length in range(1, len(parts) + 1):
        place = SCRIPTS.joinpath(*parts[:length])
        for path in (place / "__init__.py", place.with_suffix(".py")):
            if path.is_file():
                yield path
