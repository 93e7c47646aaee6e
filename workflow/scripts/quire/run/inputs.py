"""Files and folders named by a configuration or a command line: checks before they are read, and their identity."""

import errno
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quire.errors import InputError
from quire.reference import Reference

_TEMPORARY_BYTES = 16_384  # more than the scheduler writes for a small run


def listed_files(text: str) -> list[str]:
    """Return the files that a field of a sheet names, separated by commas; a file's name may contain a comma."""
    if os.path.exists(text):
        return [text]
    return [path for part in text.split(",") if (path := part.strip())]


def require_file(path: str, what: str) -> None:
    """Raise InputError unless `path` is a readable, non-empty regular file with a name that Snakemake accepts."""
    if any(character in path for character in "{}<>"):
        raise InputError(f"{what}: {path} has one of {{}}<> in its name, which Snakemake fills in; rename it.")
    if not os.path.exists(path):
        hint = f"relative to {os.getcwd()}" if not os.path.isabs(path) else "check the path"
        raise InputError(f"{what}: {path} does not exist ({hint}).")
    if not os.path.isfile(path):
        raise InputError(f"{what}: {path} is not an ordinary file; folders, pipes and devices cannot be used.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{what}: {path} cannot be read; check its permissions.")
    if os.path.getsize(path) == 0:
        raise InputError(f"{what}: {path} is empty; copy it again, or leave it out.")


def require_writable(folder: Path, what: str) -> None:
    """Raise InputError unless `folder` can be created and written."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"configuration: {what} is {folder}, but {existing} is not a folder; choose another.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"configuration: {what} is {folder}, but {existing} cannot be written; choose another.")


def require_temporary_space() -> None:
    """Raise InputError if the folder of temporary files is full: Snakemake's scheduler needs it, with a traceback."""
    folder = os.environ.get("TMPDIR", "/tmp")
    if os.path.isdir(folder):  # the next folder is taken in the place of a missing one
        try:
            with tempfile.TemporaryFile(dir=folder) as stream:
                stream.write(bytes(_TEMPORARY_BYTES))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                return
            raise InputError(
                f"{folder}: temporary files cannot be written ({error.strerror}); free some space there, or name "
                "another folder with the variable TMPDIR."
            ) from None


def identify(files: Mapping[str, Path], reference: Reference | None = None) -> dict[str, dict[str, Any]]:
    """Return, by key, the `bytes` of each file and the time when it was `modified` (UTC, whole seconds).

    A searched reference has the key `reference`: `md5` of its contigs (each as a line `>name` and its letters in upper
    case without line ends), the number of `contigs`, and `bases` of all.
    """
    found: dict[str, dict[str, Any]] = {}
    for key, path in files.items():
        status = path.stat()
        modified = datetime.fromtimestamp(int(status.st_mtime), UTC)
        found[key] = {"bytes": status.st_size, "modified": modified.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if reference is not None:
        found["reference"] = {
            "md5": reference.manifest["fasta"]["md5"],
            "contigs": len(reference.contig_names),
            "bases": int(reference.contig_lengths.sum()),
        }
    return found
