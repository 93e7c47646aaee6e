"""What CuPy says of the driver, the cards and the compiler: the one place that asks it.

Importing this module imports CuPy, so only functions that need a card import it.
"""

import cupy
from cupy_backends.cuda.api import runtime
from cupy_backends.cuda.libs import nvrtc

from quire.device.visible_card import VisibleCard

UUID_BYTES = 16


def runtime_version() -> int:
    """The CUDA runtime that CuPy was built with, as 1000 major + 10 minor."""
    return int(runtime.runtimeGetVersion())


def driver_version() -> int:
    """The newest CUDA that the driver supports, as 1000 major + 10 minor; 0 without a driver."""
    return int(runtime.driverGetVersion())


def compiler_version() -> tuple[int, int]:
    """Of NVRTC. Raises ImportError, OSError or RuntimeError where it cannot be loaded."""
    major, minor = nvrtc.getVersion()
    return int(major), int(minor)


def architectures() -> tuple[int, ...]:
    """What NVRTC compiles for: 75 for compute capability 7.5."""
    return tuple(nvrtc.getSupportedArchs())


def free_memory(ordinal: int) -> int:
    """Bytes that are free on a card. The first call of a process that uses it: RuntimeError if that is not possible."""
    return int(cupy.cuda.Device(ordinal).mem_info[0])


def visible_cards() -> list[VisibleCard]:
    """The cards that CUDA_VISIBLE_DEVICES leaves visible, in its order. Raises RuntimeError if the driver refuses."""
    cards = []
    for ordinal in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(ordinal)
        cards.append(
            VisibleCard(
                ordinal=ordinal,
                name=properties["name"].decode(),
                capability=(properties["major"], properties["minor"]),
                # CuPy reads it as a text, to its first 0, which may be behind it: what lies there is undefined.
                identifier=properties["uuid"][:UUID_BYTES].hex(),
                memory=properties["totalGlobalMem"],
            )
        )
    return cards
