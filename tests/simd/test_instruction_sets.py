"""Check that values which decide answers are the same with AVX-512, with AVX2 and with neither."""

import json
import os
import platform
import subprocess
import sys

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__  # type: ignore[attr-defined]

from tests.workflow.runs import REPOSITORY

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="its instruction sets are those of x86-64"),
]
_WITHOUT_AVX512 = [name for name in __cpu_dispatch__ if "512" in name or name == "X86_V4"]
# The code of Numba, of NumPy, and of glibc's libm.
SETS = {
    "AVX2": {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+avx2,+fma",
        "NPY_DISABLE_CPU_FEATURES": " ".join(_WITHOUT_AVX512),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
    },
    "neither": {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4",
    },
}


@pytest.fixture(scope="module")
def of_this_processor() -> dict[str, str]:
    return _digests({})


@pytest.mark.parametrize("name", SETS)
def test_values_that_decide_answers(name: str, of_this_processor: dict[str, str]) -> None:
    assert _digests(SETS[name]) == of_this_processor


def _digests(settings: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "workflow/scripts")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.simd.instruction_sets"],
        cwd=REPOSITORY, env={**os.environ, **settings, "PYTHONPATH": path}, text=True, capture_output=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)
