"""Kernels written in tests, for tests of the harness."""

import pytest

from tests.emulator.emulated_card import COMPILER, EmulatedCard

SOURCE = "quire/lab.cu"
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C++ compiler (g++ or clang++) to run kernels on the CPU"
)


def lab(schedule: str, text: str, memory: int = 1 << 30) -> EmulatedCard:
    """Return a card with these kernels."""
    return EmulatedCard(schedule, memory, {SOURCE: '#include "quire/device/types.cuh"\n' + text})


def kernel(parameters: str, body: str, bounds: str = "") -> str:
    return f'extern "C" __global__ void {bounds} probe({parameters}) {{\n{body}\n}}\n'
