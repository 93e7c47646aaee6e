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
ALIGNMENT = 16  # bytes, of arrays that share a buffer; the widest load of a thread


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

        The array's memory is taken beside the kernels' order: keep the array until they have been waited for, or give
        later uploads a mark behind them.
        """
        return self._array


class Download(ABC):
    """Copies of a card's arrays that may still be under way.

    Attributes:
        arrays: of the host, in the memory that they are copied into; undefined before `wait`.
    """

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays

    @abstractmethod
    def wait(self) -> None:
        """Return when all is there. Any thread may wait, several may at a time."""


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

    @abstractmethod
    def download_ahead(self, arrays: list, buffer: np.ndarray) -> Download:
        """Begin to copy the card's arrays to the host, beside the kernels that are launched from now on.

        Args:
            arrays: contiguous; to be kept, and not written to, until the copies have been waited for.
            buffer: uint8[bytes_of(arrays)] or more, from `staging`, or the caller waits while it is copied.
        """

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


def bytes_of(arrays: list) -> int:
    """What `Card.download_ahead` needs for arrays, each of which begins at a multiple of ALIGNMENT bytes."""
    return sum(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays)


def places_in(buffer: np.ndarray, arrays: list) -> list[np.ndarray]:
    """Arrays of the same shapes and types, one behind the other in a buffer."""
    places, begin = [], 0
    for array in arrays:
        places.append(buffer[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape))
        begin += bytes_of([array])
    return places


def _three(extent) -> tuple[int, int, int]:
    extent = (extent,) if isinstance(extent, int | np.integer) else tuple(extent)
    return tuple(int(size) for size in (*extent, 1, 1, 1)[:3])


def pack_arguments(arguments, pointer_of):
    """Kernel arguments as the driver takes them.

    A batch launches hundreds of kernels, so this is written for speed: all values lie in one buffer of 8-byte words.

    Args:
        arguments: see the module's text.
        pointer_of: gives the address of an array of the card.

    Returns:
        An array of pointers to the values, the buffer they point into (to be kept alive), and the bytes of each value.
    """
    words: list[int] = []
    starts: list[int] = []
    sizes: list[int] = []
    for argument in arguments:
        starts.append(len(words))
        if isinstance(argument, np.generic):
            words.append(int.from_bytes(argument.tobytes(), "little"))
            sizes.append(argument.itemsize)
            continue
        if isinstance(argument, tuple):
            words += [_word(member, pointer_of) for member in argument]
        elif type(argument) in _FIELDS or is_dataclass(argument):
            words += [_word(getattr(argument, name), pointer_of) for name in _field_names(type(argument))]
        elif argument is None or isinstance(argument, bool):
            raise TypeError(f"a kernel takes no {type(argument).__name__}")
        else:
            words.append(_word(argument, pointer_of))
        sizes.append(8 * (len(words) - starts[-1]))
    buffer = (ctypes.c_longlong * max(len(words), 1))(*words)
    address = ctypes.addressof(buffer)
    pointers = (ctypes.c_void_p * max(len(starts), 1))(*[address + 8 * start for start in starts])
    return pointers, buffer, sizes


_FIELDS: dict[type, tuple[str, ...]] = {}  # of the dataclasses that were passed so far


def _field_names(kind: type) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind))
    return _FIELDS[kind]


def _word(value, pointer_of) -> int:
    """A member of a struct, or an argument by itself."""
    if type(value) is int:
        return value
    if hasattr(value, "dtype") and not isinstance(value, np.generic):
        return pointer_of(value)
    if value is None:
        return 0
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    raise TypeError(f"a kernel takes no {type(value).__name__}")
