"""Whether a card is likely, and its libraries loaded beside everything else that a job loads when it begins.

Nothing is imported here but the standard library, so that a script can call it before all that it imports.
"""

import os
import threading
from contextlib import suppress
from pathlib import Path

# What the driver shows of its cards: on Linux, and in the Linux of Windows.
_NODES = "/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"


def may_have_card(requested: str) -> bool:
    """Whether a job that was asked for "auto", "gpu" or "cpu" is likely to use a card. `choice` decides it."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    return requested == "gpu" or (requested == "auto" and not hidden and any(Path(node).exists() for node in _NODES))


def look_for_card(requested: str) -> None:
    """Begin to load CuPy and to ask the driver, in a thread, if there may be a card; `choice` asks again."""
    if may_have_card(requested):
        threading.Thread(target=_look, name="quire-look").start()


def _look() -> None:
    with suppress(Exception):  # whatever is in the way, `choice` finds words for it
        from quire.device import probe

        probe.visible_cards()
        probe.compiler_version()
