"""A fake of `quire.device.probe`: a machine's CUDA as the choice of the backend sees it, without CuPy."""

from dataclasses import dataclass, field

from quire.device.lease import VisibleCard


def card(ordinal: int = 0, capability: tuple[int, int] = (9, 0), name: str = "NVIDIA Fake") -> VisibleCard:
    """Return a card whose identifier is its number on the host."""
    return VisibleCard(ordinal, name, capability, f"{ordinal:032x}", 80 * 10**9)


@dataclass
class Machine:
    """A machine without faults, of which a test changes one property.

    An exception in place of a value is raised when the value is requested.

    Attributes:
        runtime, driver: versions of CUDA.
        compiler: version of NVRTC.
        known: architectures that NVRTC compiles for.
        cards: visible cards.
        free: free bytes on each card.
    """

    runtime: int = 13020
    driver: int | Exception = 13000
    compiler: tuple[int, int] | Exception = (13, 0)
    known: tuple[int, ...] = (75, 80, 90, 120)
    cards: list[VisibleCard] | Exception = field(default_factory=lambda: [card()])
    free: int | Exception = 79 * 10**9

    def runtime_version(self) -> int:
        return self.runtime

    def driver_version(self) -> int:
        return _given(self.driver)

    def compiler_version(self) -> tuple[int, int]:
        return _given(self.compiler)

    def architectures(self) -> tuple[int, ...]:
        return self.known

    def visible_cards(self) -> list[VisibleCard]:
        return _given(self.cards)

    def free_memory(self, ordinal: int) -> int:
        return _given(self.free)


def _given(value):
    if isinstance(value, Exception):
        raise value
    return value
