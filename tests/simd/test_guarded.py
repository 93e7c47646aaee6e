"""Check the guards around arrays (`tests.support.guarded`), and run tests of kernels that use addresses with them."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.guarded import COMPILER
from tests.workflow.runs import REPOSITORY

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler (g++ or clang++) for the allocator"),
]
# Each case runs in a process of its own, forked after the allocators were replaced.
PROGRAM = """
import ctypes, os, sys, threading
import numpy as np
from tests.support import guarded

guarded.install(sys.argv[1] == "begin")

def read(array, place):
    ctypes.string_at(array.ctypes.data + place, 1)

def in_thread():
    thread = threading.Thread(target=lambda: read(np.empty(999, np.uint8), 999))
    thread.start()
    thread.join()

def write_before():
    array = np.empty(10, np.int32)
    ctypes.memset(array.ctypes.data - 1, 0, 1)
    del array

def sound():
    for size in range(1, 9000, 7):
        array = np.zeros(size, np.uint8)
        assert not array.any()
        array[:] = 1
        array.resize(2 * size, refcheck=False)
        assert array[:size].all() and not array[size:].any()
    assert np.empty(8, np.uint8).tolist() == [0xA5] * 8

CASES = [sound, lambda: read(np.empty(10, np.int32), 40), lambda: read(np.zeros((3, 5)), -1), in_thread, write_before]
for case in CASES:
    child = os.fork()
    if child == 0:
        case()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
# Those that load and store eight bytes or vectors, follow addresses, borrow memory of their own, or call C.
KERNELS = [
    "tests/reads/test_reads.py",
    "tests/io/test_bam_decode.py",
    "tests/io/test_bam_tags.py",
    "tests/io/test_fastq.py",
    "tests/simd/test_bases.py::test_random_reads_at_all_ends_of_the_batch[True]",
    "tests/algorithms/complete/test_search.py::test_the_longest_reads",
    "tests/algorithms/test_pairhmm.py::test_real_regions",
    "tests/algorithms/test_suffix_array.py",
]


@pytest.mark.parametrize(
    ("where", "faults"), [("end", [True, False, True, True]), ("begin", [False, True, False, True])]
)
def test_places_outside_an_array_end_the_process(where: str, faults: list[bool]) -> None:
    """A read on the guarded side ends it at once, a write on the other side when the array is freed."""
    done = _run(["-c", PROGRAM, where])
    wanted = [-signal.SIGSEGV if fault else 0 for fault in faults]
    wanted[3] = -signal.SIGABRT if where == "end" else -signal.SIGSEGV
    assert [int(line) for line in done.stdout.split()] == [0, *wanted], done.stderr


def test_kernels_stay_within_their_arrays() -> None:
    chosen = ["-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not full", "--hypothesis-profile", "quick"]
    done = _run(["-m", "pytest", "-p", "tests.support.guarded", *chosen, *KERNELS])
    assert done.returncode == 0, done.stdout[-4000:]
    assert "guarded arrays" in done.stdout


def _run(arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "workflow/scripts")])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True, check=False,
    )  # fmt: skip
