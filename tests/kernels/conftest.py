"""The cards that kernel tests run on: the emulated one under three schedules, and a real one where there is one."""

import os

import pytest

from tests.kernels.emulated_card import COMPILER, SCHEDULES, EmulatedCard


def _real_cards() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError):  # no CuPy, no driver, or one too old: the emulated card alone
        return 0


WITHOUT_POOL = "QUIRE_TEST_WITHOUT_POOL"  # in the environment: see docs/gpu.md
_CARDS = [*SCHEDULES, "device"] if _real_cards() else list(SCHEDULES)


def _real_card():
    from cupy.cuda.memory import Memory, MemoryPointer
    from quire.device.cupy_card import CupyCard

    class WithoutPool(CupyCard):
        """Each array is an allocation of its own, whose bounds compute-sanitizer sees."""

        def _allocate(self, size: int):
            return MemoryPointer(Memory(max(1, size)), 0)

    return WithoutPool() if os.environ.get(WITHOUT_POOL) else CupyCard()


@pytest.fixture(params=_CARDS)
def card(request: pytest.FixtureRequest):
    """A card; tests that take it run once on each."""
    if request.param == "device":
        return _real_card()
    if COMPILER is None:
        pytest.skip("no C++ compiler (g++ or clang++) to run kernels on the CPU")
    return EmulatedCard(request.param)
