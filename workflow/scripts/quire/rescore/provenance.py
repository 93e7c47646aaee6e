"""What the header of a VCF says of how it was made: the reference, the program, its version and its settings.

GATK (`##GATKCommandLine`) and bcftools (`##bcftools_callCommand`) write the date too. Here it is left out, so that a
run that is made again gives the same bytes; the report has it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quire.reference.opening import file_address
from quire.version import VERSION


def provenance(step: str, settings: Mapping[str, Any], fasta: str | Path | None) -> list[str]:
    """Lines of the header.

    Args:
        step: what made the records: rescore, or joint_genotype.
        settings: what decided them, by key of the configuration; blocks (filters, which have lines of their own) are
            left out, and nothing may differ between the pieces of one run.
        fasta: the reference; None where it is not known.
    """
    words = " ".join(f"{key}={_text(value)}" for key, value in settings.items() if not isinstance(value, Mapping))
    reference = [] if fasta is None else [f"##reference={file_address(fasta)}"]
    return [*reference, f'##QuireCommandLine=<ID={step},Version="{VERSION}",CommandLine="{step} {words}">']


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
