"""Identification of a search's input files in its summary, to tell them from other files of the same names."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quire.reference import Reference


def identify(files: Mapping[str, Path], reference: Reference | None = None) -> dict[str, dict[str, Any]]:
    """Return, by key, the `bytes` of each file and the time when it was `modified` (UTC, whole seconds).

    Args:
        files: paths by key.
        reference: the searched reference, described under the key `reference`: `md5` of its contigs (each as a line
            `>name` and its letters in upper case without line ends), the number of `contigs`, and `bases` of all.
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
