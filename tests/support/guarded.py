"""A plugin of pytest that lets every array of the tests end, or begin, at a page that cannot be read or written.

`python -m pytest -p tests.support.guarded ...` replaces the allocators of NumPy's arrays, of the arrays that kernels
allocate, and of Python's buffers of at least RAW_BYTES (guarded.cpp). A kernel, or a library in C, that reads or writes
one item too many ends in a signal, and pytest prints where. Bounds that Numba checks (NUMBA_BOUNDSCHECK=1) need no such
pages; addresses that are passed to libraries, and what the optimiser makes of a loop, do. A freed array cannot be read
either. With QUIRE_GUARD=begin the page lies before each array. Subprocesses are not guarded, except the fuzzer's, if
QUIRE_GUARD is set.
"""

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from tests.emulator.emulated_card import COMPILER

WANTED = os.environ.get("QUIRE_GUARD")  # "begin" or "end"
RAW_BYTES = 4096  # Numba allocates with Python's allocator, whose smaller blocks are mostly Python's own
_DEFAULT_HANDLER = 306  # index of PyDataMem_DefaultHandler in NumPy's table of functions
_BEFORE_ALLOCATOR = 128  # bytes of a handler's name and version
_RAW = 0  # PYMEM_DOMAIN_RAW


def _address(capsule: object, name: bytes | None) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def install(at_begin: bool = WANTED == "begin") -> ctypes.CDLL:
    """Replace the allocators of this process for all arrays from now on, in all threads."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "guarded.so"
        command = [str(COMPILER), "-O2", "-std=c++17", "-shared", "-fPIC", "-pthread", "-o", str(library)]
        subprocess.run([*command, str(Path(__file__).with_suffix(".cpp"))], check=True)
        guarded = ctypes.CDLL(str(library))
    guarded.made_so_far.restype = ctypes.c_size_t
    guarded.begin(int(at_begin))
    table = ctypes.cast(_address(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    handler = ctypes.cast(table[_DEFAULT_HANDLER], ctypes.POINTER(ctypes.py_object)).contents.value
    guarded.replace_numpy(ctypes.c_void_p(_address(handler, b"mem_handler") + _BEFORE_ALLOCATOR))
    raw = (ctypes.c_void_p * 5)()
    ctypes.pythonapi.PyMem_GetAllocator(_RAW, ctypes.byref(raw))
    guarded.replace_raw(ctypes.byref(raw), ctypes.c_size_t(RAW_BYTES))
    ctypes.pythonapi.PyMem_SetAllocator(_RAW, ctypes.byref(raw))
    return guarded


def pytest_configure(config: pytest.Config) -> None:
    config._guarded = install()  # type: ignore[attr-defined]
    assert np.empty(3, np.uint8).ctypes.data % 4096 in (0, 4093)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.write_line(f"{config._guarded.made_so_far():,} guarded arrays and buffers")  # type: ignore[attr-defined]
