"""Folder of compiled kernels, and stamps of the stages whose kernels are all compiled.

This module does not import Numba, because importing it and loading kernels takes seconds. A run that finds a stage's
stamp need not compile its kernels.
"""

import atexit
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Collection
from functools import cache
from importlib import metadata
from pathlib import Path

from quire.cache import cache_root, make_trusted
from quire.errors import QuireError
from quire.kernel_list import Entry
from quire.sources import SCRIPTS, digest_of, sources_of

log = logging.getLogger("quire.compiled")
FOLDER = "NUMBA_CACHE_DIR"  # the variable of the user's choice
SHIPPED = SCRIPTS.parent / "kernels"  # compiled kernels of the installation, by level of processors
PROCESSOR = Path("/proc/cpuinfo")
# Properties of processors that change Numba's code: the names on x86-64, then on aarch64.
_IDENTITY = re.compile(r"^(?:cpu family|model|model name|flags|CPU implementer|CPU part|Features)\s*:.*$", re.MULTILINE)


@cache
def kernels_root() -> Path:
    """Return a writable folder for compiled kernels: the user's choice, the user's cache, or the working directory.

    A folder to which other users can write is not used, since compiled kernels are code.
    """
    chosen = os.environ.get(FOLDER)
    for folder in (Path(chosen) if chosen else cache_root() / "numba", Path.cwd() / ".quire-cache" / "numba"):
        try:
            if not make_trusted(folder):
                log.warning("%s: belongs to another user; compiled kernels are not kept or read there", folder)
                continue
            tempfile.TemporaryFile(dir=folder).close()
            return folder
        except OSError:
            continue
    # Neither the user's folder nor the working directory can be used: kernels are compiled for this process only.
    folder = Path(tempfile.mkdtemp(prefix="quire-numba-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def are_compiled(stage: str, entries: Collection[Entry]) -> bool:
    """Return True if listed kernels are compiled for this processor, these sources and this version of Numba.

    The folders that it finds are touched, which marks them as used.
    """
    try:
        folders = json.loads(_stamp(stage, entries).read_text())
        for name, files in folders.items():
            folder = kernels_root() / name
            if len(os.listdir(folder)) < files:
                return False
            os.utime(folder)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):  # a damaged stamp
        return False
    return bool(folders)


def remember(stage: str, entries: Collection[Entry], since: float) -> None:
    """Write the stamp of a stage whose kernels were all compiled or loaded after `since` (Unix time)."""
    used = (folder for folder in kernels_root().iterdir() if folder.is_dir() and folder.stat().st_mtime >= since)
    stamp = _stamp(stage, entries)
    temporary = stamp.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_text(json.dumps({folder.name: len(os.listdir(folder)) for folder in used}))
        temporary.replace(stamp)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise kernels_cannot_be_kept(error) from error
    for other in kernels_root().glob(f"{stage}-*.json"):
        if other.stat().st_mtime < since - 30 * 86400:
            other.unlink(missing_ok=True)


def kernels_cannot_be_kept(error: OSError) -> QuireError:
    """Return the error for a folder of kernels that is full or cannot be written."""
    return QuireError(
        f"{kernels_root()}: compiled kernels cannot be kept there ({error.strerror or error}); free some space, or "
        "name another folder with the variable XDG_CACHE_HOME."
    )


def compiler_settings() -> str:
    """Return Numba's variables of the environment, such as NUMBA_BOUNDSCHECK, which Numba's own keys do not contain."""
    return str(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_") and item[0] != FOLDER))


def _stamp(stage: str, entries: Collection[Entry]) -> Path:
    described = PROCESSOR.read_text() if PROCESSOR.exists() else ""
    lines = dict.fromkeys(_IDENTITY.findall(described))  # once, not for each core
    sources = digest_of(sorted(sources_of(entry.module for entry in entries)), SCRIPTS)
    what = [*entries, sources, metadata.version("numba"), sys.version, str(SCRIPTS), *lines, compiler_settings()]
    return kernels_root() / f"{stage}-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}.json"
