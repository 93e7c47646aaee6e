"""What all tests share: the cards that kernels run on, and what the suite prints at its end."""

import os

import pytest

from tests.emulator.emulated_card import COMPILER, SCHEDULES, EmulatedCard


def _real_cards() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError):  # no CuPy, no driver, or one too old: the emulated card alone
        return 0


WITHOUT_POOL = "QUIRE_TEST_WITHOUT_POOL"  # in the environment: see docs/gpu.md
# `-m on_a_card` chooses the machine's own card.
_REAL = [pytest.param("real", marks=pytest.mark.on_a_card)] if _real_cards() else []


def _real_card():
    from cupy.cuda.memory import Memory, MemoryPointer
    from quire.device.cupy_card import CupyCard

    class WithoutPool(CupyCard):
        """Each array is an allocation of its own, whose bounds compute-sanitizer sees."""

        def _allocate(self, size: int):
            return MemoryPointer(Memory(max(1, size)), 0)

    return WithoutPool() if os.environ.get(WITHOUT_POOL) else CupyCard()


@pytest.fixture(params=[*SCHEDULES, *_REAL])
def card(request: pytest.FixtureRequest):
    """A card; tests that take it run under each schedule of the emulated one, and on the machine's own."""
    if request.param == "real":
        return _real_card()
    if COMPILER is None:
        pytest.skip("no C++ compiler (g++ or clang++) to run kernels on the CPU")
    return EmulatedCard(request.param)


def pytest_terminal_summary(terminalreporter) -> None:
    """Tables that tests recorded with `record_property("table: TITLE", text)`, passed or not."""
    for status in ("passed", "failed"):
        for report in terminalreporter.stats.get(status, []):
            for name, text in getattr(report, "user_properties", ()):
                if name.startswith("table: "):
                    terminalreporter.section(name.removeprefix("table: "))
                    terminalreporter.write_line(text)
