"""The user's cache folder, which holds compiled kernels, and the test of who else could write to them.

Compiled kernels are code that a later run executes, so nobody but the user and root may be able to write them.
"""

import os
import stat
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_root() -> Path:
    """Return the user's cache folder, which may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")) / "quire"


def is_trusted(path: Path) -> bool:
    """Return True if a file or folder belongs to the user or root, and nobody else can write to it.

    Raises:
        OSError: it does not exist or cannot be examined.
    """
    status = path.stat()
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & _OTHERS_WRITE


def make_trusted(folder: Path) -> bool:
    """Create a folder that only the user can write to, or close an existing one of the user to others.

    Returns:
        `is_trusted(folder)`: False if the folder belongs to someone else.

    Raises:
        OSError: the folder cannot be created or changed.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    mode = folder.stat().st_mode
    if mode & _OTHERS_WRITE and folder.stat().st_uid == os.geteuid():
        folder.chmod(stat.S_IMODE(mode) & ~_OTHERS_WRITE)
    return is_trusted(folder)
