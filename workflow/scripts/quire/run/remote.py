"""Inputs on servers: their addresses in the configuration and the sheets, and the copies that jobs read.

Snakemake's storage plugins fetch them (rules `fetch_reads` and `fetch_reference`). What is checked of local files
before any job is checked of a copy when it is made.
"""

import importlib.util
import os
import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quire.errors import InputError
from quire.run.copies import Remote
from quire.run.inputs import listed_files
from quire.run.sheets import Row, says_yes

_PLUGINS = {"http": "http", "https": "http", "s3": "s3", "gs": "gcs"}
_COLUMNS = ("fq1", "fq2", "fq_umi", "bam")
_ODD = re.compile(r"[^A-Za-z0-9._/+-]")


def with_copies(settings: dict[str, Any], units: list[Row]) -> dict[str, Remote]:
    """Put the paths of copies in the place of remote inputs, and return these by the paths of their copies."""
    remote = dict[str, Remote]()

    def copy_of(given: Remote, folder: str) -> str:
        if not is_remote(given.address):
            return given.address
        copy = _copy(given, Path(folder))
        if copy in remote:
            raise InputError(f"{given.what}: {given.address} and {remote[copy].what} have the same name; remove one.")
        remote[copy] = given
        return copy

    reference, cram = settings["reference"], settings["align"]["format"] == "cram"
    given = Remote(reference["fasta"], "reference.fasta", random_access=cram)
    reference["fasta"] = copy_of(given, reference["index_directory"])
    for row in units:
        values = row.values
        declared = {
            "interleaved": says_yes(values["interleaved"]),
            "qualities": values["qualities"].lower(),
            "has_mates": bool(values["fq2"]),
        }
        for column in _COLUMNS:
            what = f"{row.place}, column {row.names[column]}"
            empty = says_yes(values["may_be_empty"])
            files = [Remote(name, what, column, declared, may_be_empty=empty) for name in listed_files(values[column])]
            values[column] = ",".join(copy_of(file, settings["output"]) for file in files)
    return remote


def is_remote(name: str) -> bool:
    """Return True for an address of a kind that a storage plugin of Snakemake takes."""
    kind, mark, _ = name.partition("://")
    return bool(mark) and kind in _PLUGINS


def require_on_server(remote: Remote, exists: Callable[[], bool]) -> None:
    """Raise InputError if a plugin's `exists` returns False, or cannot reach the server."""
    try:
        found = exists()
    except Exception as error:  # each plugin has errors of its own
        raise InputError(f"{remote.what}: {remote.address} cannot be reached ({error}); try again later.") from None
    if not found:
        raise InputError(f"{remote.what}: {remote.address} does not exist, or may not be read; correct the address.")


def absent(copies: Mapping[str, Remote], *paths: str) -> bool:
    """Return True if one of the paths is that of a copy that is yet to be made."""
    return any(path in copies and not os.path.exists(path) for path in paths)


def _copy(remote: Remote, folder: Path) -> str:
    """Return the path of the copy; raise InputError for an address that cannot be used."""
    if any(character in remote.address for character in "{}<>"):
        raise InputError(f"{remote.what}: {remote.address} has one of {{}}<>; write these as %7B, %7D, %3C and %3E.")
    try:
        parts = urlsplit(remote.address)
    except ValueError as error:
        raise InputError(f"{remote.what}: {remote.address} is no address ({error}); correct it.") from None
    host, path = parts.netloc.rpartition("@")[2], posixpath.normpath("/" + parts.path)
    if not host.strip(".") or path == "/":
        raise InputError(f"{remote.what}: {remote.address} names no file; give its whole address.")
    plugin = _PLUGINS[parts.scheme]
    if importlib.util.find_spec(f"snakemake_storage_plugin_{plugin}") is None:
        raise InputError(
            f"{remote.what}: {remote.address} needs Snakemake's storage plugin; install it with `pip install "
            f"snakemake-storage-plugin-{plugin}`, or give a local file."
        )
    return str(folder / "inputs" / _ODD.sub("_", host + path))
