"""The source files that a rule's script or the compiled kernels of a module depend on.

Snakemake checks only a script's own time stamp. The digest of a script is therefore a `params` entry of its rule:
editing a library module or a kernel reruns exactly the rules whose scripts import it, directly or through other
modules. A CUDA kernel belongs to the module that names its file, and to the kernel that includes it. The digest of a
module's kernels decides whether compiled ones may be reused (`quire.simd.compiled`), since Numba checks one file alone.

Digests cover code without comments and docstrings (`quire.source_text`). Imports are found by regular expressions,
since parsing every module takes a process a second.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from quire.source_text import bare_source

SCRIPTS = Path(__file__).resolve().parents[1]
ROOT = SCRIPTS.parents[1]  # a clone, or the folder with the same files in an installation
PACKAGE = "quire"
# Modules and `#include`s name kernels by their path from workflow/scripts.
KERNEL = re.compile(rf"{PACKAGE}/[\w/]+\.cuh?")
_NAMED_KERNEL = re.compile(rf"""["']({KERNEL.pattern})["']""")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_IMPORT = re.compile(
    r"^(?P<indent>[ \t]*)(?:from[ \t]+(?P<base>\w[.\w]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(?P<modules>[^\n]*))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")


class Import(NamedTuple):
    """A dotted name that a source file imports, with a flag that tells imports at its top level."""

    name: str
    at_top: bool


class SourceState(NamedTuple):
    """Inode, modification time (ns) and size (bytes) of a source file."""

    inode: int
    written: int
    size: int


def digest(script: str, *others: str) -> str:
    """Return the digest (hexadecimal SHA-256) of everything that a script depends on.

    These are names and code of the script in workflow/scripts and of all library files that it imports, and names and
    contents of the other files (relative to workflow/).
    """
    workflow = SCRIPTS.parent
    return digest_of([*dependencies(SCRIPTS / script), *(workflow / other for other in others)], workflow)


def sources_of(modules: Iterable[str]) -> frozenset[Path]:
    """Return the sources that the kernels of modules are compiled from; names of no module are left out."""
    files = (path for module in modules if (path := _module_file(module)) is not None)
    return frozenset().union(*map(kernel_sources, files))


@cache
def kernel_sources(module: Path) -> frozenset[Path]:
    """Return the sources that the kernels of a module are compiled from.

    These are its own module, the modules that it imports at its top level, and so on, without the packages on the way.
    """
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [
                file
                for imported in imports(path)
                if imported.at_top and (file := _module_file(imported.name)) is not None
            ]
    return frozenset(found)


def digest_of(paths: Iterable[Path], root: Path) -> str:
    """Return the digest of files, by their names relative to a folder and their contents."""
    return hashlib.sha256(b"".join(_name_and_digest(path, root) for path in paths)).hexdigest()


@cache
def _name_and_digest(path: Path, root: Path) -> bytes:
    """Return the name of a file and the digest of its code, or of its bytes if it is no source file."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    is_source = path.suffix in (".py", ".cu", ".cuh")
    content = bare_source(path).encode() if is_source else path.read_bytes()
    return name.encode() + b"\0" + hashlib.sha256(content).digest()


def states() -> dict[Path, SourceState]:
    """Return the state of every source in workflow/scripts, to compare with later states (`state`)."""
    return {
        path: found
        for kind in ("*.py", "*.cu", "*.cuh")
        for path in SCRIPTS.rglob(kind)
        if (found := state(path)) is not None
    }


def state(path: Path) -> SourceState | None:
    """Return the properties of a file that change when it is written or replaced; None for a missing file.

    The time of status change (ctime) is left out, because hard links and permissions change it too.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return SourceState(found.st_ino, found.st_mtime_ns, found.st_size)


def dependencies(script: Path) -> list[Path]:
    """Return the script, the library modules it imports (at any depth, also inside functions) and their kernels."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _needed_files(path)
    return sorted(found)


@cache
def _needed_files(path: Path) -> frozenset[Path]:
    """Return the files of the library that a source file imports, names or includes."""
    imported = imports(path) if path.suffix == ".py" else ()
    modules = (module for one in imported for module in _executed_files(one.name))
    return frozenset(modules).union(SCRIPTS / name for name in named_kernels(path))


@cache
def named_kernels(path: Path) -> frozenset[str]:
    """Return the kernel files, as paths from workflow/scripts, that a module names in a string or a kernel includes."""
    return frozenset((_NAMED_KERNEL if path.suffix == ".py" else _INCLUDE).findall(path.read_text(encoding="utf-8")))


@cache
def imports(path: Path) -> frozenset[Import]:
    """Return the dotted names that a source file imports; `from a import b` yields a and a.b."""
    found: set[Import] = set()
    for match in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        base, at_top = match["base"], not match["indent"]
        text = _COMMENT.sub("", match["modules"] if base is None else match["names"]).strip().strip("()")
        names = (name.split()[0] for name in text.split(",") if name.strip())
        found |= {Import(name if base is None else f"{base}.{name}", at_top) for name in names}
        if base is not None:
            found.add(Import(base, at_top))
    return frozenset(found)


def _executed_files(name: str) -> Iterator[Path]:
    """Yield the files that importing a dotted name of the library executes: the packages on the way and the module."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        path = _module_file(".".join(parts[:length]))
        if path is not None:
            yield path


@cache
def _module_file(name: str) -> Path | None:
    """Return the file of a module or package of the library; None for any other name."""
    parts = name.split(".")
    place = SCRIPTS.joinpath(*parts)
    candidates = (place / "__init__.py", place.with_name(f"{place.name}.py"))
    return next((path for path in candidates if parts[0] == PACKAGE and path.is_file()), None)
