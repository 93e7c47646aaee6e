"""What is asked about a machine's cards before one of them is opened: the contract of `quire.device.probe`."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class VisibleCard:
    """A card that this process may use.

    Attributes:
        ordinal: among the visible cards.
        name: as the driver gives it.
        capability: compute capability (major, minor).
        identifier: its UUID in hexadecimal, the same in every process whatever CUDA_VISIBLE_DEVICES leaves out.
        memory: bytes.
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    identifier: str
    memory: int


class Probe(Protocol):
    """What answers the questions: the module `quire.device.probe`, or a test's machine."""

    def runtime_version(self) -> int:
        """The CUDA runtime that CuPy was built with, as 1000 major + 10 minor."""

    def driver_version(self) -> int:
        """The newest CUDA that the driver supports, as 1000 major + 10 minor; 0 without a driver."""

    def compiler_version(self) -> tuple[int, int]:
        """Of NVRTC. Raises ImportError, OSError or RuntimeError where it cannot be loaded."""

    def architectures(self) -> tuple[int, ...]:
        """What NVRTC compiles for: 75 for compute capability 7.5."""

    def visible_cards(self) -> list[VisibleCard]:
        """The cards that CUDA_VISIBLE_DEVICES leaves visible, in its order. Raises RuntimeError if refused."""

    def free_memory(self, ordinal: int) -> int:
        """Bytes that are free on a card. Raises RuntimeError if the card cannot be used."""
