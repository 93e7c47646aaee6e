"""Interface of queries about a machine's cards before one is opened; `quire.device.probe` implements it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class VisibleCard:
    """A card that this process may use.

    Attributes:
        ordinal: number of the card among the visible ones.
        name: name as the driver reports it.
        capability: compute capability (major, minor).
        identifier: its UUID in hexadecimal, the same in every process for any CUDA_VISIBLE_DEVICES.
        memory: bytes.
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    identifier: str
    memory: int


class Probe(Protocol):
    """Queries of a machine: the module `quire.device.probe`, or a test's machine."""

    def runtime_version(self) -> int:
        """Return the version of the CUDA runtime that CuPy was built with, as 1000 major + 10 minor."""

    def driver_version(self) -> int:
        """Return the newest CUDA version that the driver supports, as 1000 major + 10 minor; 0 without a driver."""

    def compiler_version(self) -> tuple[int, int]:
        """Return the version of NVRTC; raise ImportError, OSError or RuntimeError if it cannot be loaded."""

    def architectures(self) -> tuple[int, ...]:
        """Return the architectures that NVRTC compiles for: 75 for compute capability 7.5."""

    def visible_cards(self) -> list[VisibleCard]:
        """Return the cards that CUDA_VISIBLE_DEVICES leaves visible, in its order; raise RuntimeError if refused."""

    def free_memory(self, ordinal: int) -> int:
        """Return the free bytes of a card; raise RuntimeError if the card cannot be used."""
