"""The backend of a job: the device that runs its kernels, "cpu" or "gpu", and the reason for the choice.

This module imports only the standard library, so that a script can call `look_for_card` before its other imports;
`quire.device.choice` finds out whether a card can be used.
"""

import os
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ASKED_FOR = "it was asked for."
FEW_READS = "the reads are few: opening a card would take longer."
# Bytes of files of reads that 16 cores map about as fast as a card that a job must open (a second).
FEW_READS_BYTES = 150_000_000
# Key of the backend's line in the header of a VCF.
VCF_KEY = "quireBackend"
# Device files of the driver, on Linux and in the Windows Subsystem for Linux.
_NODES = "/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"


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
    """Return the backend of a stage that uses no card; its name, `work`, begins the reason."""
    return Backend("cpu", ASKED_FOR if requested == "cpu" else f"{work} does not use cards in this version.")


def may_have_card(requested: str) -> bool:
    """Return True if a job with the backend "auto", "gpu" or "cpu" is likely to use a card; `choice` decides later."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    return requested == "gpu" or (requested == "auto" and not hidden and any(Path(node).exists() for node in _NODES))


def few_reads(requested: str, files: Iterable[Path]) -> bool:
    """Return True if `auto` should leave a card alone, since the files of reads are small; pipes may be large."""
    if requested != "auto" or not may_have_card(requested):
        return False
    with suppress(OSError):  # whoever opens the file reports it
        status = [path.stat() for path in files]
        return all(stat.S_ISREG(one.st_mode) for one in status) and sum(one.st_size for one in status) < FEW_READS_BYTES
    return False


def look_for_card(requested: str, files: Iterable[Path]) -> None:
    """Begin to load CuPy and to query the driver, in a thread, if these reads may get a card; `choice` asks again."""
    if may_have_card(requested) and not few_reads(requested, files):
        threading.Thread(target=_look, name="quire-look").start()


def _look() -> None:
    with suppress(Exception):  # `choice` finds and reports the same problem
        from quire.device import probe

        probe.visible_cards()
        probe.compiler_version()
