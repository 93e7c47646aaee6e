"""An early search for a card, which loads its libraries while a job loads everything else.

This module imports only the standard library, so that a script can call it before its other imports.
"""

import os
import threading
from contextlib import suppress
from pathlib import Path

# Device files of the driver, on Linux and in the Windows Subsystem for Linux.
_NODES = "/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"


def may_have_card(requested: str) -> bool:
    """Return True if a job with the backend "auto", "gpu" or "cpu" is likely to use a card; `choice` decides later."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    return requested == "gpu" or (requested == "auto" and not hidden and any(Path(node).exists() for node in _NODES))


def look_for_card(requested: str) -> None:
    """Begin to load CuPy and to query the driver, in a thread, if there may be a card; `choice` queries again."""
    if may_have_card(requested):
        threading.Thread(target=_look, name="quire-look").start()


def _look() -> None:
    with suppress(Exception):  # `choice` finds and reports the same problem
        from quire.device import probe

        probe.visible_cards()
        probe.compiler_version()
