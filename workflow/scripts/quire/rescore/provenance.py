"""Header lines of a VCF about its origin: reference, program, version and settings.

GATK (`##GATKCommandLine`) and bcftools (`##bcftools_callCommand`) also write the date. Here it is left out, so that a
repeated run gives the same bytes; the report has it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quire.reference.opening import file_address
from quire.version import VERSION


def provenance(step: str, settings: Mapping[str, Any], fasta: str | Path | None) -> list[str]:
    """Return the header lines of the step rescore or joint_genotype, with settings that all pieces of a run share.

    Blocks among the settings are left out; the filters have header lines of their own.
    """
    words = " ".join(f"{key}={_text(value)}" for key, value in settings.items() if not isinstance(value, Mapping))
    reference = [] if fasta is None else [f"##reference={file_address(fasta)}"]
    return [*reference, f'##QuireCommandLine=<ID={step},Version="{VERSION}",CommandLine="{step} {words}">']


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
