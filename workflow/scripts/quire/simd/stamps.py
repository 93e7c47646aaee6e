"""Where compiled kernels are kept, and stamps that say which stages have all of theirs there.

Without Numba, whose import and loading of kernels takes seconds: a run that finds a stage's stamp need not compile it.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path

from quire.cache import cache_root
from quire.errors import QuireError
from quire.sources import SCRIPTS, digest

PROCESSOR = Path("/proc/cpuinfo")
# What tells processors apart for which Numba compiles differently; x86-64's names, then aarch64's.
_IDENTITY = re.compile(r"^(?:cpu family|model|model name|flags|CPU implementer|CPU part|Features)\s*:.*$", re.MULTILINE)


@cache
def kernels_root() -> Path:
    """A writable folder for compiled kernels: the user's choice, the user's cache, or the working directory."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for folder in (Path(chosen) if chosen else cache_root() / "numba", Path.cwd() / ".quire-cache" / "numba"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
        except OSError:
            continue
    # Neither the user's folder nor the working directory can be written: compiled for this process only.
    return Path(tempfile.mkdtemp(prefix="quire-numba-"))


def are_compiled(stage: str, script: str) -> bool:
    """Whether the kernels of a stage lie compiled for this processor, by these sources and this Numba.

    Folders that are found are touched: they are in use.

    Args:
        stage: name of the stage.
        script: script in workflow/scripts on whose imports the kernels depend.
    """
    try:
        folders = json.loads(_stamp(stage, script).read_text())
        for name, files in folders.items():
            folder = kernels_root() / name
            if len(os.listdir(folder)) < files:
                return False
            os.utime(folder)
    except (OSError, ValueError, AttributeError):
        return False
    return bool(folders)


def remember(stage: str, script: str, since: float) -> None:
    """Write the stamp of a stage whose kernels were all called by this process, which began at `since` (Unix time).

    Raises:
        QuireError: it cannot be written.
    """
    used = (folder for folder in kernels_root().iterdir() if folder.is_dir() and folder.stat().st_mtime >= since)
    stamp = _stamp(stage, script)
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
    """The sentence for a folder of kernels that is full or cannot be written."""
    return QuireError(
        f"{kernels_root()}: compiled kernels cannot be kept there ({error.strerror or error}); free some space, or "
        "name another folder with the variable XDG_CACHE_HOME."
    )


def _stamp(stage: str, script: str) -> Path:
    described = PROCESSOR.read_text() if PROCESSOR.exists() else ""
    lines = dict.fromkeys(_IDENTITY.findall(described))  # once, not for each core
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    what = [digest(script), metadata.version("numba"), sys.version, str(SCRIPTS), *lines, str(settings)]
    return kernels_root() / f"{stage}-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}.json"
