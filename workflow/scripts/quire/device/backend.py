"""The backend of a job: what its kernels run on, "cpu" or "gpu", and why.

This module knows of no CuPy; `quire.device.choice` finds out whether there is a card that can be used.
"""

from dataclasses import asdict, dataclass
from typing import Any

ASKED_FOR = "it was asked for."
# Key of the line in the header of a VCF.
VCF_KEY = "quireBackend"


@dataclass(frozen=True)
class Backend:
    """What a job's kernels run on; it goes into the log, the headers of the outputs and the report.

    Attributes:
        name: "gpu" or "cpu".
        reason: why, as one sentence that can follow a colon.
        card: name of the card, None on the CPU.
        memory: most bytes of the card that arrays may take; None for all that is free.
    """

    name: str
    reason: str
    card: str | None = None
    memory: int | None = None

    def to_vcf(self) -> str:
        """The line for the header of a VCF."""
        return f"##{VCF_KEY}={self.name}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """The attributes, for a ledger."""
        return asdict(self)


def cpu_only(requested: str, work: str) -> Backend:
    """The backend of a stage that does not use cards.

    Args:
        requested: the configuration's device.backend.
        work: what the stage does, to begin the reason with.
    """
    return Backend("cpu", ASKED_FOR if requested == "cpu" else f"{work} does not use cards in this version.")
