"""A card that is none: arrays are NumPy's, kernels are their own source compiled for the CPU (cuda_on_cpu.h)."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from quire.device.card import SOURCES, Card, Kernel, OutOfDeviceMemory
from quire.device.compiler import read_source

HARNESS = Path(__file__).with_name("cuda_on_cpu.h")
SCHEDULES = ("forward", "reverse", "random")
COMPILER = shutil.which("g++") or shutil.which("clang++")
_ENTRY = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(')
_libraries: dict = {}


class KernelFault(AssertionError):
    """What hardware leaves undefined, seen by the harness."""


class _Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
        ("schedule", ctypes.c_int), ("seed", ctypes.c_ulonglong), ("error", ctypes.c_char_p),
        ("error_bytes", ctypes.c_ulonglong),
    ]  # fmt: skip


def compile_for_cpu(source: str, defines: dict[str, int], text: str | None = None) -> ctypes.CDLL:
    """A kernel's source as a library of the CPU.

    Args:
        source: path from workflow/scripts.
        defines: macros.
        text: used in place of the file's text (tests of the harness itself).
    """
    own, headers = read_source(source)
    text = own if text is None else text
    macros = [f"-D{name}={value}" for name, value in sorted(defines.items())]
    parts = [text, *(part for item in sorted(headers.items()) for part in item), *macros, HARNESS.read_text()]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    if digest in _libraries:
        return _libraries[digest]
    folder = Path(tempfile.gettempdir()) / f"quire-kernels-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    library = folder / f"{digest}.so"
    if not library.exists():
        entries = _ENTRY.findall(text)
        wrappers = "".join(
            f'extern "C" int launch_{entry}(const harness::Launch* launch, void** arguments) '
            f"{{ return harness::run(*launch, &{entry}, arguments); }}\n"
            for entry in entries
        )
        unit = f'#include "{HARNESS}"\n#line 1 "{source}"\n{text}\n{wrappers}'
        beside = library.with_suffix(f".{os.getpid()}.so")
        command = [COMPILER, "-std=c++20", "-O1", "-g", "-shared", "-fPIC", "-ffp-contract=off", "-w",
                   f"-I{SOURCES}", *macros, "-x", "c++", "-", "-o", str(beside)]  # fmt: skip
        done = subprocess.run(command, input=unit, text=True, capture_output=True, check=False)
        if done.returncode:
            raise KernelFault(f"{source} does not compile for the CPU:\n{done.stderr[:4000]}")
        beside.replace(library)
    _libraries[digest] = ctypes.CDLL(str(library))
    return _libraries[digest]


class EmulatedKernel(Kernel):
    """A kernel that the harness runs."""

    def __init__(self, card, source, entry, defines, function) -> None:
        super().__init__(card, source, entry, defines)
        self.function = function

    def _launch(self, grid, block, shared_bytes, pointers) -> None:
        self.card.launches += 1
        message = ctypes.create_string_buffer(1024)
        launch = _Launch(grid, block, shared_bytes, SCHEDULES.index(self.card.schedule), self.card.launches,
                         ctypes.cast(message, ctypes.c_char_p), len(message))  # fmt: skip
        if self.function(ctypes.byref(launch), pointers):
            raise KernelFault(f"{self.source}, {self.entry} {self.defines}: {message.value.decode()}")


class EmulatedCard(Card):
    """See `quire.device.card.Card`; `memory` bytes may be taken by arrays made with `empty`."""

    xp = np
    name = "emulated card"
    architecture = "sm_90"
    multiprocessors = 2
    shared_bytes = 227 << 10

    def __init__(self, schedule: str = "forward", memory: int = 1 << 34, texts: dict[str, str] | None = None) -> None:
        super().__init__()
        self.schedule = schedule
        self.memory = memory
        self.launches = 0
        self.texts = texts or {}

    def empty(self, shape, dtype):
        array = np.empty(shape, dtype)
        if array.nbytes > self.memory:
            raise OutOfDeviceMemory(f"no room for {array.nbytes} bytes")
        array.reshape(-1).view(np.uint8)[:] = 0xDB
        return array

    def pointer(self, array) -> int:
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise TypeError(f"a kernel takes contiguous arrays of the card, not {type(array).__name__}")
        return array.ctypes.data

    def upload(self, array: np.ndarray):
        return np.array(array, order="C")

    def download(self, array) -> np.ndarray:
        return array.copy()

    def free_bytes(self) -> int:
        return self.memory

    def synchronize(self) -> None:
        pass

    def _load(self, source, entry, defines) -> EmulatedKernel:
        library = compile_for_cpu(source, defines, self.texts.get(source))
        return EmulatedKernel(self, source, entry, defines, getattr(library, f"launch_{entry}"))
