"""The backend of a job: the device that runs its kernels, "cpu" or "gpu", and the reason for the choice.

This module does not depend on CuPy; `quire.device.choice` finds out whether a card can be used.
"""

from dataclasses import asdict, dataclass
from typing import Any

ASKED_FOR = "it was asked for."
# Key of the backend's line in the header of a VCF.
VCF_KEY = "quireBackend"


@dataclass(frozen=True)
class Backend:
    """Device that runs a job's kernels, as recorded in the log, the headers of the outputs and the report.

    Attributes:
        name: "gpu" or "cpu".
        reason: reason for the choice, one sentence that can follow a colon.
        card: name of the card, None on the CPU.
        memory: most bytes of the card that arrays may take; None for all free memory.
    """

    name: str
    reason: str
    card: str | None = None
    memory: int | None = None

    def to_vcf(self) -> str:
        """Return the line for the header of a VCF."""
        return f"##{VCF_KEY}={self.name}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return the attributes, for a ledger."""
        return asdict(self)


def cpu_only(requested: str, work: str) -> Backend:
    """Return the backend of a stage that does not use cards.

    Args:
        requested: the configuration's device.backend.
        work: name of the stage's work, which begins the reason.
    """
    return Backend("cpu", ASKED_FOR if requested == "cpu" else f"{work} does not use cards in this version.")
