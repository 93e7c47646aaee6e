"""Queries of CuPy about the driver, the cards and the compiler; no other module makes them.

Importing this module imports CuPy, so only functions that need a card import it.
"""

import cupy
from cupy_backends.cuda.api import runtime
from cupy_backends.cuda.libs import nvrtc

from quire.device.lease import VisibleCard

UUID_BYTES = 16


def runtime_version() -> int:
    """Return the version of the CUDA runtime that CuPy was built with, as 1000 major + 10 minor."""
    return int(runtime.runtimeGetVersion())


def driver_version() -> int:
    """Return the newest CUDA version that the driver supports, as 1000 major + 10 minor; 0 without a driver."""
    return int(runtime.driverGetVersion())


def compiler_version() -> tuple[int, int]:
    """Return the version of NVRTC; raise ImportError, OSError or RuntimeError if it cannot be loaded."""
    major, minor = nvrtc.getVersion()
    return int(major), int(minor)


def architectures() -> tuple[int, ...]:
    """Return the architectures that NVRTC compiles for: 75 for compute capability 7.5."""
    return tuple(nvrtc.getSupportedArchs())


def free_memory(ordinal: int) -> int:
    """Return the free bytes of a card; raise RuntimeError if this first use of it in the process fails."""
    return int(cupy.cuda.Device(ordinal).mem_info[0])


def visible_cards() -> list[VisibleCard]:
    """Return the cards that CUDA_VISIBLE_DEVICES leaves visible, in order; raise RuntimeError if the driver refuses."""
    cards = []
    for ordinal in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(ordinal)
        cards.append(
            VisibleCard(
                ordinal=ordinal,
                name=properties["name"].decode(),
                capability=(properties["major"], properties["minor"]),
                # CuPy reads it as text up to the first 0, which may lie after its end, where the content is undefined.
                identifier=properties["uuid"][:UUID_BYTES].hex(),
                memory=properties["totalGlobalMem"],
            )
        )
    return cards
