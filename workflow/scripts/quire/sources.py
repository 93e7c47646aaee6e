"""Which source files a rule's script depends on, and a digest of them.

Snakemake looks at a script's own time stamp only. The digest stands in the `params` of every rule, so that editing a
library module or a kernel re-runs the rules whose scripts import it, directly or through others, and no more.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
PACKAGE = "quire"
# Files beside a module that it reads at run time: kernels and what they include.
COMPANION_SUFFIXES = (".cu", ".cuh")


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
    """The script, the library modules it imports (at any depth, also inside functions) and their companion files."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        waiting += [module for name in imported_names(path) for module in _module_files(name)]
    folders = {path.parent for path in found if path != script and path.parent != SCRIPTS / PACKAGE}
    companions = {path for folder in folders for path in folder.iterdir() if path.suffix in COMPANION_SUFFIXES}
    return sorted(found | companions)


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
