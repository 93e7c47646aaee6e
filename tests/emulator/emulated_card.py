"""An emulated card: it runs kernels' sources compiled for the CPU (cuda_on_cpu.h) on arrays of card_array."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
import weakref
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from quire.device.card import SOURCES, Card, Download, Kernel, Numbers, Upload, pack_arguments, places_in
from quire.device.compiler import included, read_source

from tests.emulator.card_array import POISON, ArrayMemory, ArrayModule, Block, CardArray
from tests.emulator.specialisations import unnamed

_FOLDER = Path(__file__).parent
HARNESS = [_FOLDER / name for name in ("cuda_on_cpu.h", "cuda_intrinsics.h", "cuda_on_cpu.cpp")]
SCHEDULES = ("forward", "reverse", "random")
COMPILER = shutil.which("g++") or shutil.which("clang++")
_ENTRY = re.compile(
    r'extern "C" __global__ void\s+(?:__launch_bounds__\((?P<bounds>[^)]*)\)\s*)?'
    r"(?P<name>\w+)\s*\((?P<parameters>[^)]*)\)"
)
_UNDEFINED = (
    "shift-exponent,integer-divide-by-zero,alignment,null,bounds,signed-integer-overflow,float-cast-overflow,bool"
)
# -fstack-clash-protection: a large frame touches the guard page of a fiber's stack and never skips it.
_FLAGS = ("-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-w", "-U_FORTIFY_SOURCE",
          "-fstack-clash-protection")  # fmt: skip
# Listed explicitly, because the sanitizer's own library is left out: cuda_on_cpu.h has its functions.
_LIBRARIES = ("-nodefaultlibs", "-lstdc++", "-lm", "-lgcc_s", "-lc")


class KernelFault(AssertionError):
    """Behaviour that hardware leaves undefined, detected by the harness."""


class DoesNotCompile(Exception):
    """Compilation error; not a KernelFault, which a test may expect."""


class _Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
        ("schedule", ctypes.c_int), ("seed", ctypes.c_ulonglong), ("error", ctypes.c_char_p),
        ("error_bytes", ctypes.c_ulonglong), ("fault_address", ctypes.c_ulonglong),
        ("argument_bytes", ctypes.POINTER(ctypes.c_int)), ("arguments", ctypes.c_int),
    ]  # fmt: skip


def _build(name: str, text: str, parts: list[str], options: list[str]) -> Path:
    """Compile C++ text to a library, or return an earlier result; `parts` determine its identity."""
    parts = [text, *parts, *options, COMPILER, *(path.read_text() for path in HARNESS)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    folder = Path(tempfile.gettempdir()) / f"quire-kernels-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    library = folder / f"{digest}.so"
    if not library.exists():
        beside = library.with_suffix(f".{os.getpid()}.so")
        command = [COMPILER, *_FLAGS, f"-I{_FOLDER.parents[1]}", f"-I{SOURCES}", "-x", "c++", "-", "-x", "none",
                   *options, "-o", str(beside), *_LIBRARIES]  # fmt: skip
        done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
        if done.returncode:
            raise DoesNotCompile(f"{name} does not compile for the CPU:\n{done.stderr[:4000]}")
        beside.replace(library)
    return library


@lru_cache
def _machine() -> Path:
    """Return the library that runs threads, to which the kernels' libraries are linked."""
    return _build("cuda_on_cpu.cpp", '#include "tests/emulator/cuda_on_cpu.cpp"\n', [], [])


@lru_cache
def _compile(source: str, text: str, macros: tuple[str, ...]) -> ctypes.CDLL:
    wrappers = "".join(
        f'extern "C" int launch_{entry["name"]}(harness::Launch* launch, void** arguments) {{ return '
        f"harness::run(*launch, &{entry['name']}, arguments, harness::first_of({entry['bounds'] or 1024})); }}\n"
        for entry in _ENTRY.finditer(text)
    )
    unit = f'#include "{HARNESS[0]}"\n#line 1 "{source}"\n{text}\n{wrappers}'
    headers = [part for item in sorted(included(source, text).items()) for part in item]
    library = _build(source, unit, headers, [*macros, f"-fsanitize={_UNDEFINED}", str(_machine())])
    return ctypes.CDLL(str(library))


def compile_for_cpu(source: str, defines: dict[str, int], text: str | None = None) -> ctypes.CDLL:
    """Compile a kernel's source to a library for the CPU.

    Args:
        source: path from workflow/scripts.
        defines: macros.
        text: replaces the file's text (in tests of the harness itself).
    """
    text = read_source(source)[0] if text is None else text
    return _compile(source, text, tuple(f"-D{name}={value}" for name, value in sorted(defines.items())))


class EmulatedKernel(Kernel):
    """A kernel that the harness runs."""

    def __init__(self, card, source, entry, defines, function, text: str) -> None:
        super().__init__(card, source, entry, defines)
        self.function = function
        found = next(found for found in _ENTRY.finditer(text) if found["name"] == entry)
        self.parameters = re.findall(r"(\w+)\s*(?:,|$)", found["parameters"])

    def _launch(self, grid, block, shared_bytes, arguments) -> None:
        card = self.card
        card.launches += 1
        packed = pack_arguments(arguments, card)
        sizes = [
            -argument.itemsize if isinstance(argument, CardArray) else size
            for argument, size in zip(arguments, packed.sizes, strict=True)
        ]
        message = ctypes.create_string_buffer(1024)
        launch = _Launch(grid, block, shared_bytes, SCHEDULES.index(card.arrays.schedule), card.launches,
                         ctypes.cast(message, ctypes.c_char_p), len(message), 0,
                         (ctypes.c_int * max(len(sizes), 1))(*sizes), len(sizes))  # fmt: skip
        faults = []
        if self.function(ctypes.byref(launch), ctypes.c_void_p(packed.address)):
            faults.append(message.value.decode() + self._near(launch.fault_address, arguments))
        else:
            damage = [(block, block.damage()) for block in card.arrays.blocks]
            faults += [f"writes {how} {self._name(block, arguments)}" for block, how in damage if how]
        if faults:
            raise KernelFault(f"{self.source}, {self.entry} {self.defines or ''}: {'; '.join(faults)}")

    def _near(self, address: int, arguments) -> str:
        """Return a description of the array at the inaccessible page that a kernel accessed."""
        if not address:
            return ""
        for block in self.card.arrays.blocks:
            if block.holds(address):
                distance = address - block.address
                where = f"{-distance} bytes before" if distance < 0 else f"{distance - block.nbytes} bytes after"
                return f": {where} {self._name(block, arguments)}"
        return f": {address:#x}, near no array"

    def _name(self, block: Block, arguments) -> str:
        """Return the name of an array in the kernel's source."""
        for name, argument in zip(self.parameters, arguments, strict=False):
            if isinstance(argument, CardArray) and argument._block is block:
                return f"{name}, {block.label}"
            if isinstance(argument, tuple) or is_dataclass(argument):
                for member in getattr(argument, "_fields", None) or [field.name for field in fields(argument)]:
                    value = getattr(argument, member)
                    if isinstance(value, CardArray) and value._block is block:
                        return f"{name}.{member}, {block.label}"
        return f"an array that it was not given, {block.label}"


class _Copy:
    """Copy of staging memory to the card; it counts as done only after a wait, since a real card may take that long."""

    done = False


class _LateUpload(Upload):
    """Upload that happens as late as possible, when its array is used; the array is poison until then."""

    def __init__(self, array: CardArray, host: np.ndarray, copy: _Copy, ordered: list[_Copy]) -> None:
        super().__init__(array)
        self._host, self._copy, self._ordered = host, copy, ordered

    def array(self) -> CardArray:
        self._array._host[...] = self._host
        self._ordered.append(self._copy)
        return self._array

    def wait(self) -> None:
        self._copy.done = True


class _LateDownload(Download):
    """Downloads that happen at the first wait; the host's memory is poison until then."""

    def __init__(self, sources: list[CardArray], arrays: list[np.ndarray], behind: list[_Copy]) -> None:
        super().__init__(arrays)
        self._behind = behind
        for array in arrays:
            array.view(np.uint8)[...] = POISON
        self._sources = [weakref.ref(source) for source in sources]
        self._once = threading.Lock()

    def wait(self) -> None:
        with self._once:
            sources, self._sources = self._sources, []
            for source, array in zip(sources, self.arrays, strict=False):
                source = source()
                if source is None:
                    raise KernelFault(f"{array.dtype}{list(array.shape)} was released while it was copied to the host")
                array[...] = source._host
            for copy in self._behind:
                copy.done = True


class _EmulatedNumbers(Numbers):
    """Numbers in an array of the card."""

    def __init__(self, card: "EmulatedCard", count: int) -> None:
        self._card, self.memory = card, card.zeros(count, np.int64)

    def wait(self) -> list[int]:
        return self._card.download(self.memory).tolist()


class EmulatedCard(Card):
    """The emulated implementation of `quire.device.card.Card`."""

    name = "emulated card"
    architecture = "sm_90"
    array_type = CardArray
    multiprocessors = 2
    shared_bytes = 227 << 10

    def __init__(self, schedule: str = "forward", memory: int = 1 << 34, texts: dict[str, str] | None = None) -> None:
        """Create a card.

        Args:
            schedule: one of SCHEDULES.
            memory: bytes that its arrays may take.
            texts: sources of kernels by name, in place of their files (in tests of the harness).
        """
        super().__init__()
        self.arrays = ArrayMemory(memory, schedule)
        self.xp = ArrayModule(self.arrays)
        self.schedule = schedule
        self.memory = memory
        self.launches = 0
        self._let_go = -1  # number of launches when memory of an upload was last released
        self.texts = texts or {}
        self._copies: dict[int, list[_Copy]] = {}  # by identity of the staging memory that they read
        self._ordered: list[_Copy] = []  # copies with used arrays: a wait for launches includes them
        self._fault: str | None = None

    def fail_allocation(self, number: int) -> None:
        """Make exactly the number-th allocation from now on (1: the next) fail as if memory were short."""
        self.arrays.allocations_to_failure = number

    def pointer(self, array) -> int:
        if not isinstance(array, CardArray) or not array.flags.c_contiguous:
            raise TypeError(f"a kernel takes contiguous arrays of the card, not {type(array).__name__}")
        if array._block.memory is not self.arrays:
            raise TypeError("an array of another card")
        return array._host.ctypes.data if array._block.nbytes else 0  # as in CuPy: memory of no bytes has no address

    def upload(self, array: np.ndarray) -> CardArray:
        if isinstance(array, CardArray):
            raise TypeError("upload of an array that is on the card")
        return self.arrays.copy(np.ascontiguousarray(array).reshape(np.shape(array)))

    def upload_ahead(self, array: np.ndarray, mark: int | None = None) -> Upload:
        if self._let_go > (-1 if mark is None else mark):
            raise KernelFault("an upload may take memory that was released after its mark, while kernels may use it")
        target = self.arrays.new(array.shape, array.dtype)
        weakref.finalize(target._block, self._note_let_go).atexit = False
        copy = _Copy()
        self._copies.get(id(array if array.base is None else array.base), []).append(copy)
        return _LateUpload(target, array, copy, self._ordered)

    def staging(self, size: int) -> np.ndarray:
        """Return memory to be kept until its uploads have been waited for, since CuPy would reuse it."""
        if self._fault is not None:
            raise KernelFault(self._fault)
        memory = np.empty(size, np.uint8)
        self._copies[id(memory)] = []
        weakref.finalize(memory, self._note_staging_let_go, id(memory)).atexit = False
        return memory

    def _note_staging_let_go(self, which: int) -> None:
        if not all(copy.done for copy in self._copies.pop(which)):
            self._fault = "staging memory was released that may still be copied to the card"

    def _wait(self) -> None:
        for copy in self._ordered:
            copy.done = True
        self._ordered.clear()
        if self._fault is not None:
            raise KernelFault(self._fault)

    def _note_let_go(self) -> None:
        self._let_go = self.launches

    def download(self, array: CardArray) -> np.ndarray:
        if not isinstance(array, CardArray):
            raise TypeError(f"download of {type(array).__name__}, which is not on the card")
        self._wait()
        return array._host.copy()

    def download_ahead(self, arrays: list[CardArray], buffer: np.ndarray) -> Download:
        return _LateDownload(arrays, places_in(buffer, arrays), list(self._ordered))

    def free_bytes(self) -> int:
        return self.arrays.size - self.arrays.taken

    def numbers(self, count: int) -> Numbers:
        return _EmulatedNumbers(self, count)

    def mark(self) -> int:
        return self.launches

    def release(self) -> None:
        pass

    def synchronize(self) -> None:
        for copies in self._copies.values():
            self._ordered += copies
        self._wait()

    def _load(self, source, entry, defines) -> EmulatedKernel:
        if unnamed(source, defines):
            raise KernelFault(f"{source} with macros {sorted(defines)} is not in KERNELS or DEFINES of its gpu.py")
        text = self.texts.get(source) or read_source(source)[0]
        library = compile_for_cpu(source, defines, text)
        return EmulatedKernel(self, source, entry, defines, getattr(library, f"launch_{entry}"), text)
