"""A pairwise alignment where Numba compiles for AVX2 alone: the oracle's and parasail's answers there too."""

import os
import subprocess
import sys

import pytest
from quire.simd.vectors import has_avx512

from tests.workflow.runs import REPOSITORY

FILES = [
    f"tests/{name}.py" for name in ("algorithms/test_pairwise", "algorithms/test_pairwise_band", "simd/test_letters")
]
TESTS = "oracle or at_once or one_sweep or bytes or parasails or letters"


@pytest.mark.skipif(not has_avx512(), reason="the tests themselves run without AVX-512 here")
def test_as_a_processor_without_avx512() -> None:
    """In another process: what is compiled is decided when modules are imported."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *FILES, "-k", TESTS],
        env={**os.environ, "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"},
        cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert "passed" in run.stdout
