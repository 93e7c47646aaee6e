"""Header lines of a VCF about its origin: reference, version, and the command that makes its records again.

GATK (`##GATKCommandLine`) and bcftools (`##bcftools_callCommand`) also write the date. Here it is left out, so that a
repeated run gives the same bytes; the report has it.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quire.reference.opening import file_address
from quire.version import VERSION


def provenance(
    subcommand: str, inputs: Sequence[str | Path], settings: Mapping[str, Any], fasta: str | Path | None
) -> list[str]:
    """Return header lines with a command of `quire` on files as they were given; `settings` are its options.

    Blocks among the settings are left out; the filters have header lines of their own.
    """
    words: list[object] = ["quire", subcommand, *inputs]
    for key, value in {"reference": fasta, **settings}.items():
        option = key.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value not in (None, "") and not isinstance(value, Mapping):
            words += [f"--{option}", f"{value:g}" if isinstance(value, float) else value]
    command = shlex.join(map(str, words)).replace("\\", r"\\").replace('"', r"\"")
    reference = [] if fasta is None else [f"##reference={file_address(fasta)}"]
    return [*reference, f'##QuireCommandLine=<ID={subcommand},Version="{VERSION}",CommandLine="{command}">']
