"""A pairwise alignment where Numba compiles for other registers: the oracle's and parasail's answers there too."""

import os
import platform
import subprocess
import sys

import pytest
from quire.simd.vectors import has_avx512

from tests.workflow.runs import REPOSITORY

FILES = ["tests/algorithms/test_pairwise.py", "tests/simd/test_letters.py"]
TESTS = "oracle or bytes or at_once or parasails or letters or half_alike"


@pytest.mark.skipif(not has_avx512(), reason="the tests themselves run without AVX-512 here")
def test_as_a_processor_without_avx512() -> None:
    _run_tests(TESTS, "haswell", "+avx2,+fma")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="no processor of this kind has AVX")
def test_as_a_processor_without_avx() -> None:
    """As some virtual machines are: LLVM has no register there for what fills one of AVX2."""
    _run_tests("oracle or bytes or letters", "nehalem", "+sse4.2")


def _run_tests(chosen: str, name: str, features: str) -> None:
    """In another process: what is compiled is decided when modules are imported."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *FILES, "-k", chosen],
        env={**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features},
        cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "passed" in run.stdout
