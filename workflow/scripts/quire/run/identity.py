"""What tells the inputs of a search from other files of the same names, so that its summary can be understood alone."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quire.reference import Reference


def identify(files: Mapping[str, Path], reference: Reference | None = None) -> dict[str, dict[str, Any]]:
    """By key: `bytes` of the file and when it was `modified` (UTC, whole seconds).

    Args:
        files: by key.
        reference: what is searched, as key `reference`: `md5` of its contigs, each a line `>name` and its letters in
            upper case without line ends, how many `contigs`, and `bases` of them all.
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
