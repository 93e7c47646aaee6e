"""A card: where arrays of the GPU backend live and its kernels run.

`gpu.py` modules are written against `Card` alone. Its `xp` is CuPy on a real card (`quire.device.cupy_card`) and NumPy
in the tests' emulated card, which runs the kernels' own source on the CPU: whatever a `gpu.py` does with arrays, it
does with the functions that both have.

A kernel's arguments are arrays of the card (passed as pointers), ints (`long long`), NumPy scalars (their own type),
and named tuples or dataclasses of arrays and ints (passed by value: a struct of 8-byte members in the same order).
"""

import ctypes
from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).resolve().parents[2]  # kernels are named and included by their path from here
THREADS = 256


class OutOfDeviceMemory(MemoryError):
    """The card has no room for an array; a smaller batch may fit."""


class Kernel(ABC):
    """A compiled kernel of a card."""

    def __init__(self, card: "Card", source: str, entry: str, defines: dict[str, int]) -> None:
        self.card, self.source, self.entry, self.defines = card, source, entry, defines

    def __call__(self, grid, block, *arguments, shared_bytes: int = 0) -> None:
        """Launch.

        Args:
            grid, block: blocks, and threads a block: ints, or tuples of up to three.
            arguments: see the module's text.
            shared_bytes: dynamic shared memory of a block.
        """
        grid, block = _three(grid), _three(block)
        if 0 in grid:
            return
        self._launch(grid, block, shared_bytes, arguments)

    def for_each(self, count: int, *arguments, threads: int = THREADS) -> None:
        """Launch with at least `count` threads, in blocks of `threads`; the kernel compares its index with a count."""
        self(-(-count // threads), threads, *arguments)

    @abstractmethod
    def _launch(self, grid, block, shared_bytes: int, arguments) -> None: ...


class Upload:
    """A copy to a card that may still be under way."""

    def __init__(self, array) -> None:
        self._array = array

    def array(self):
        """The card's array; what is launched from now on waits for the copy.

        The array's memory is taken beside the kernels' order: keep the array until they have been waited for.
        """
        return self._array


class Card(ABC):
    """Arrays and kernels of one card; see the module's text.

    Attributes:
        xp: the module of array functions.
        name: of the card, as its driver gives it.
        architecture: "sm_90" for compute capability 9.0.
        multiprocessors: how many.
        shared_bytes: most dynamic shared memory that a block can have.
    """

    xp: object
    name: str
    architecture: str
    multiprocessors: int
    shared_bytes: int

    def __init__(self) -> None:
        self._kernels: dict = {}

    def kernel(self, source: str, entry: str, **defines: int) -> Kernel:
        """A kernel, compiled at its first use.

        Args:
            source: its file, as a path from `workflow/scripts`.
            entry: its name in the file.
            defines: macros that specialise it.
        """
        key = (source, entry, tuple(sorted(defines.items())))
        if key not in self._kernels:
            self._kernels[key] = self._load(source, entry, defines)
        return self._kernels[key]

    def empty(self, shape, dtype):
        """An array of undefined content."""
        return self.xp.empty(shape, dtype)

    def zeros(self, shape, dtype):
        """An array of zeros."""
        return self.xp.zeros(shape, dtype)

    def full(self, shape, value, dtype):
        """An array of one value."""
        return self.xp.full(shape, value, dtype)

    def offsets(self, counts):
        """int64[n + 1] from int counts [n]: 0, and the sums up to each."""
        offsets = self.empty(len(counts) + 1, np.int64)
        offsets[:1] = 0
        self.xp.cumsum(counts, dtype=np.int64, out=offsets[1:])
        return offsets

    @abstractmethod
    def pointer(self, array) -> int:
        """Address of a contiguous array of this card."""

    @abstractmethod
    def upload(self, array: np.ndarray):
        """A copy of a host array on the card."""

    @abstractmethod
    def mark(self) -> object:
        """What has been launched so far, for `upload_ahead`."""

    def upload_ahead(self, array: np.ndarray, mark: object = None) -> "Upload":
        """Begin to copy a host array, which must not change before the copy is used, beside the kernels.

        Args:
            array: from `staging`, or the caller waits while it is copied (not for kernels, though).
            mark: what the copy waits for, since it may take memory that was let go of before; None: nothing.
        """
        return Upload(self.upload(array))

    @abstractmethod
    def download(self, array) -> np.ndarray:
        """A copy of the card's array on the host; waits for it."""

    def staging(self, size: int) -> np.ndarray:
        """Host memory (uint8[size]) that the card copies from and to fastest, beside its kernels."""
        return np.empty(size, np.uint8)

    def download_into(self, array, target: np.ndarray) -> None:
        """Copy the card's array into one of the host, of the same shape and type; waits for it."""
        target[...] = self.download(array)

    @abstractmethod
    def free_bytes(self) -> int:
        """Memory that arrays may still take, within the budget."""

    @abstractmethod
    def release(self) -> None:
        """Let go of memory that no array uses any more, so that arrays of any size can be made of it; waits for all."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for everything launched so far."""

    @abstractmethod
    def _load(self, source: str, entry: str, defines: dict[str, int]) -> Kernel: ...

    def upload_all(self, value):
        """A named tuple or dataclass with its arrays on the card; everything else stays as it is."""
        return _map_arrays(value, lambda item: self.upload(item) if isinstance(item, np.ndarray) else item)

    def download_all(self, value):
        """A named tuple or dataclass with its arrays on the host."""
        return _map_arrays(value, lambda item: self.download(item) if hasattr(item, "dtype") and item.ndim else item)


def _three(extent) -> tuple[int, int, int]:
    extent = (extent,) if isinstance(extent, int | np.integer) else tuple(extent)
    return tuple(int(size) for size in (*extent, 1, 1, 1)[:3])


def _members(value) -> list:
    return [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else list(value)


def _map_arrays(value, function):
    members = [function(member) for member in _members(value)]
    return type(value)(*members)


def pack_arguments(arguments, pointer_of):
    """Kernel arguments as the driver takes them: (array of pointers to the values, what must be kept alive)."""
    values = [_pack(argument, pointer_of) for argument in arguments]
    pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
    return pointers, values


def _pack(argument, pointer_of):
    if isinstance(argument, int) and not isinstance(argument, bool):
        return ctypes.c_longlong(argument)
    if isinstance(argument, np.generic):
        return (ctypes.c_char * argument.itemsize).from_buffer_copy(argument.tobytes())
    if isinstance(argument, tuple) or is_dataclass(argument):
        members = [_member(member, pointer_of) for member in _members(argument)]
        return (ctypes.c_longlong * len(members))(*members)
    if hasattr(argument, "dtype"):
        return ctypes.c_void_p(pointer_of(argument))
    raise TypeError(f"a kernel takes no {type(argument).__name__}")


def _member(member, pointer_of) -> int:
    if member is None:
        return 0
    if isinstance(member, int | np.integer | np.bool_):
        return int(member)
    return pointer_of(member)
