"""The user's cache folder, which holds compiled kernels, and the test of who else could write to them.

Compiled kernels are code that a later run executes, so nobody but the user and root may be able to write them. Each has
a checksum that covers its name too, so that it cannot take the place of another.
"""

import hashlib
import logging
import os
import stat
from pathlib import Path

log = logging.getLogger("quire.compiled")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST_BYTES = hashlib.sha256().digest_size


def cache_root() -> Path:
    """Return the user's cache folder, which may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")) / "quire"


def _is_trusted(status: os.stat_result) -> bool:
    """Return True if a file or folder belongs to the user or root, and nobody else can write to it."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & _OTHERS_WRITE


def read_kernel(path: Path, installed: bool = False) -> bytes | None:
    """Return the code that `sealed_kernel` made for a file of this name; None if it cannot be used, with a warning.

    The open file is examined, since another could take its name after an examination of the path. Files that are
    `installed` with Quire may belong to anyone, as its modules may.
    """
    try:
        if not (installed or _is_trusted(path.parent.stat())):
            log.warning("%s: other users can write to it; its kernels are compiled again", path.parent)
            return None
        with path.open("rb") as file:
            if not (installed or _is_trusted(os.fstat(file.fileno()))):
                log.warning("%s: other users can write to it; the kernel is compiled again", path)
                return None
            content = file.read()
    except OSError:
        return None
    code = content[_DIGEST_BYTES:]
    if sealed_kernel(path, code) != content:
        log.warning("%s: is damaged; the kernel is compiled again", path)
        return None
    return code


def sealed_kernel(path: Path, code: bytes) -> bytes:
    """Return the content of a file of compiled code, for `read_kernel`."""
    return hashlib.sha256(f"{path.parent.name}/{path.name}\0".encode() + code).digest() + code


def make_trusted(folder: Path) -> bool:
    """Create a folder that only the user can write to, or close an existing one of the user to others.

    Returns:
        False if the folder belongs to someone else.

    Raises:
        OSError: the folder cannot be created or changed.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    mode = folder.stat().st_mode
    if mode & _OTHERS_WRITE and folder.stat().st_uid == os.geteuid():
        folder.chmod(stat.S_IMODE(mode) & ~_OTHERS_WRITE)
    return _is_trusted(folder.stat())
