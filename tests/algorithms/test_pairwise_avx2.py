"""Tests of pairwise alignment compiled for other registers, against the oracle and parasail."""

import os
import platform
import subprocess
import sys

import pytest
from quire.simd.processor import has_avx512

from tests.workflow.runs import REPOSITORY

pytestmark = pytest.mark.full

FILE = "tests/algorithms/test_pairwise.py"
TESTS = "oracle or bytes or at_once or parasails or half_alike"


if has_avx512():  # otherwise the tests themselves run without

    def test_as_a_processor_without_avx512() -> None:
        _run_tests(TESTS, "haswell", "+avx2,+fma")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="no processor of this kind has AVX")
def test_as_a_processor_without_avx() -> None:
    """Some virtual machines lack AVX: LLVM then splits a vector of 256 bits."""
    _run_tests("usual_tiles or that_bytes", "nehalem", "+sse4.2")


def _run_tests(chosen: str, name: str, features: str) -> None:
    """Run tests in another process, since imports decide what kernels are compiled for."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", FILE, "-k", chosen],
        env={**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features},
        cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "passed" in run.stdout
