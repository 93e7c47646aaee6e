"""Files and folders named by a configuration or a command line: checks before they are read, and their identity."""

import errno
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quire.errors import InputError
from quire.io.files import htslib_path
from quire.reference import Reference

_TEMPORARY_BYTES = 16_384  # more than the scheduler writes for a small run
# Line ends and other characters that forge lines of a header, a log or a terminal, and bytes that are no text.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_OF_A_SHELL = re.compile(r"""[$`\\%]|'.*"|".*'""", re.DOTALL)
_LONGEST_NAME = 255  # bytes of a file's name on Linux


def require_text(text: str, what: str) -> None:
    """Raise InputError for a control character, a separator of lines, or bytes that are not UTF-8."""
    if _CONTROL.search(text):
        raise InputError(f"{what} holds a control character or is not UTF-8 ({text!r}); remove it.")


def require_plain_path(path: str, what: str) -> None:
    """Raise InputError for a path that Snakemake or htslib would not take as it is written."""
    if any(character in path for character in "{}<>"):
        raise InputError(f"{what}: {path} has one of {{}}<> in its name, which Snakemake fills in; rename it.")
    htslib_path(path)


def require_words(words: Iterable[object]) -> None:
    """Raise InputError for a word that would not reach a cluster's job as it is written.

    Snakemake gives such words to `sbatch --wrap="..."`, in which a shell runs `$(...)`, and Slurm replaces `%`.
    """
    for word in map(str, words):
        if _OF_A_SHELL.search(word):
            raise InputError(
                f"{word} holds one of $ ` \\ % or both kinds of quotes, which the shell of a cluster's job replaces or "
                "runs; rename it, or run on this machine (without a cluster's profile)."
            )


def listed_files(text: str) -> list[str]:
    """Return the files that a field of a sheet names, separated by commas; a file's name may contain a comma."""
    if os.path.exists(text):
        return [text]
    return [path for part in text.split(",") if (path := part.strip())]


def require_file(path: str, what: str) -> None:
    """Raise InputError unless `path` is a readable, non-empty regular file with a name that Snakemake accepts."""
    require_plain_path(path, what)
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
    require_plain_path(str(folder), f"configuration: {what}")
    if any(len(os.fsencode(part)) > _LONGEST_NAME for part in folder.parts):
        raise InputError(
            f"configuration: {what} is {folder}, with a name of more than {_LONGEST_NAME} bytes; shorten it."
        )
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise InputError(f"configuration: {what} is {folder}, but {existing} is not a folder; choose another.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"configuration: {what} is {folder}, but {existing} cannot be written; choose another.")


def require_working_directory() -> None:
    """Raise InputError unless Snakemake can keep its records, in `.snakemake` of the working directory."""
    records = Path(".snakemake").absolute()
    folder = records if records.exists() else records.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{folder}: cannot be written, but Snakemake keeps its records there; start in a folder of your own, or "
            "name one with --directory."
        )


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
