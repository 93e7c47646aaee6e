"""The cards that kernel tests run on: the emulated one under three schedules, and a real one where there is one."""

import pytest

from tests.kernels.emulated_card import COMPILER, SCHEDULES, EmulatedCard


def _real_cards() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:  # no CuPy, no driver, or one too old: the tests then run on the emulated card alone
        return 0


_CARDS = [*SCHEDULES, "device"] if _real_cards() else list(SCHEDULES)


@pytest.fixture(params=_CARDS)
def card(request: pytest.FixtureRequest):
    """A card; tests that take it run once on each."""
    if request.param == "device":
        from quire.device.cupy_card import CupyCard

        return CupyCard()
    if COMPILER is None:
        pytest.skip("no C++ compiler (g++ or clang++) to run kernels on the CPU")
    return EmulatedCard(request.param)
