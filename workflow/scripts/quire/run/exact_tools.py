"""Checks of the exact tools' searches (`complete`, `mems`, `pairwise`) that a schema cannot make."""

import os
import re
from collections.abc import Mapping
from typing import Any

from quire.errors import InputError
from quire.io.sniff import require_fasta, require_fastq, require_sequences
from quire.run.inputs import require_file

EXACT_TOOLS = ("complete", "mems", "pairwise")
# The end of `contig:start-end`; commas may separate thousands.
_SPAN = re.compile(r".:(?P<start>[0-9][0-9,]*)-(?P<end>[0-9][0-9,]*)$")


def check_exact_tools(settings: Mapping[str, Any]) -> None:
    """Check that the searches of a tool have unique names, and that their files exist and have the right kind."""
    for tool in EXACT_TOOLS:
        names: dict[str, str] = {}
        for search in settings[tool]:
            name = search["name"]
            if (folded := name.casefold()) in names:
                detail = (
                    f"the name {name} stands twice"
                    if names[folded] == name
                    else f"the names {names[folded]} and {name} differ only in upper and lower case"
                )
                raise InputError(f"configuration: {tool}: {detail}; give each of its searches a name of its own.")
            names[folded] = name
            check_files(tool, search, f"{tool} {name}, ")


def settings_of(job: Any) -> dict[str, Any]:
    """Return the settings of the search of a rule's job (Snakemake's object)."""
    device = job.params.device
    own = {"name": job.wildcards.search, "threads": job.threads, "backend": device.backend, "memory": device.memory}
    return {**job.params.search, **own}


def check_files(tool: str, search: Mapping[str, Any], place: str) -> None:
    """Check the files of one search; `place` comes before their keys in messages."""
    if tool == "complete":
        require_file(search["reads"], f"{place}reads")
        require_fastq(search["reads"], f"{place}reads")
    elif tool == "mems":
        require_file(search["queries"], f"{place}queries")
        require_sequences(search["queries"], f"{place}queries")
    else:
        for key in ("query", "target"):
            _require_sequence_of_pair(search[key], f"{place}{key}")


def _require_sequence_of_pair(text: str, what: str) -> None:
    """Raise InputError unless `text` names a FASTA, or a FASTA with a valid region (`fasta_and_region`)."""
    path, region = fasta_and_region(text)
    require_file(path, what)
    require_fasta(path, what, random_access=False)
    if region is None:
        return
    if not region:
        raise InputError(f"{what}: {text} names no record after the colon; write FASTA, FASTA:contig or the like.")
    if span := _SPAN.search(region):
        start, end = (int(span[side].replace(",", "")) for side in ("start", "end"))
        if not 1 <= start <= end:
            raise InputError(
                f"{what}: the region {region} does not go from a first base to a last one; positions count from 1 and "
                "the end is the last base."
            )


def fasta_and_region(text: str) -> tuple[str, str | None]:
    """Split FASTA, FASTA:contig or FASTA:contig:start-end into the path and the region (None without one).

    Names may contain colons: the path is the longest prefix that is a file, else everything before the first colon.
    """
    if os.path.exists(text):
        return text, None
    ends = [place for place, letter in enumerate(text) if letter == ":"]
    end = next((end for end in reversed(ends) if os.path.isfile(text[:end])), ends[0] if ends else len(text))
    return text[:end], text[end + 1 :] if ends else None
