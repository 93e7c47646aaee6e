"""Interface of a card: one NVIDIA GPU that a job has opened.

The *backend* is the device that runs a job's kernels, "cpu" or "gpu" (`quire.device.backend`). A *card* is the one GPU
that a job with backend "gpu" has opened, with its memory, its compiled kernels and the order in which they run.

Every algorithm and every step of mapping that both backends have is a pair of twins. `cpu.name(...)` takes arrays of
the host. `gpu.name(card, ...)` takes a card and then the same arguments as arrays of the card. Both give the same
answer. The engine of a stage chooses between them, once.

`gpu.py` modules depend on `Card` only. Its `xp` is CuPy on a real card (`quire.device.cupy_card`) and NumPy on the
tests' emulated card, which runs the kernels' source on the CPU. `gpu.py` modules therefore use only array functions
that both have.

A kernel's arguments are arrays of the card (passed as pointers), ints (`long long`), NumPy scalars (their own type),
and named tuples or dataclasses of arrays and ints (passed by value: a struct of 8-byte members in the same order).
"""

import array as standard_array
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quire.device import scan

# An array in a card's memory: `cupy.ndarray` on a real card, `tests.emulator.card_array.CardArray` on the emulated one.
# Naming either would import it, so docstrings state dtype and shape.
CardArray: TypeAlias = Any
Extent: TypeAlias = int | tuple[int, ...]  # size of a launch, in up to three dimensions

SOURCES = Path(__file__).resolve().parents[2]  # kernels are named and included by their path from this folder
THREADS = 256
ALIGNMENT = 16  # bytes; of arrays that share a buffer: the widest load of a thread


class OutOfDeviceMemory(MemoryError):
    """The card has too little free memory for an array; a smaller batch may fit."""


class Kernel(ABC):
    """Compiled kernel of a card."""

    def __init__(self, card: "Card", source: str, entry: str, defines: dict[str, int]) -> None:
        self.card, self.source, self.entry, self.defines = card, source, entry, defines

    def __call__(self, grid: Extent, block: Extent, *arguments: object, shared_bytes: int = 0) -> None:
        """Launch the kernel on a grid of blocks of threads, each an int or a tuple of up to three sizes."""
        blocks = _three(grid)
        if 0 not in blocks:
            self._launch(blocks, _three(block), shared_bytes, arguments)

    def for_each(self, count: int, *arguments: object, threads: int = THREADS) -> None:
        """Launch with at least `count` threads, in blocks of `threads`; the kernel compares its index with a count."""
        self(-(-count // threads), threads, *arguments)

    @abstractmethod
    def _launch(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int, arguments: tuple[object, ...]
    ) -> None: ...


class Upload:
    """Copy to a card that may still be in progress."""

    def __init__(self, array: CardArray) -> None:
        self._array = array

    def array(self) -> CardArray:
        """Return the card's array; later launches wait for the copy.

        Its memory is allocated independently of the order of kernels: keep the array until these launches have been
        waited for, or give later uploads a mark that was made after them.
        """
        return self._array

    def wait(self) -> None:
        """Wait for the end of the copy; then the host's array may change and its memory may be reused."""


class Numbers(ABC):
    """A few numbers that a kernel writes for the host, without a copy of their own.

    Attributes:
        memory: argument of the kernel (`i64*`).
    """

    memory: Any

    @abstractmethod
    def wait(self) -> list[int]:
        """Wait for all launches so far; return the numbers."""


class Download(ABC):
    """Copies of a card's arrays to the host that may still be in progress.

    Attributes:
        arrays: arrays of the host that receive the copies; undefined before `wait`.
    """

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self.arrays = arrays

    @abstractmethod
    def wait(self) -> None:
        """Wait for the end of all copies. Any thread may wait, and several may wait at the same time."""


class Card(ABC):
    """Arrays and kernels of one card; see the module's docstring.

    Attributes:
        xp: the module of array functions.
        array_type: type of its arrays.
        name: name of the card, as its driver reports it.
        architecture: "sm_90" for compute capability 9.0.
        multiprocessors: number of multiprocessors.
        shared_bytes: most dynamic shared memory of a block.
    """

    xp: Any  # a module, or an object with its functions
    array_type: type
    name: str
    architecture: str
    multiprocessors: int
    shared_bytes: int

    def __init__(self) -> None:
        # By source, entry, names of macros and their values, both in the order of the call.
        self._kernels: dict[tuple[str, str, tuple[str, ...], tuple[int, ...]], Kernel] = {}

    def kernel(self, source: str, entry: str, **defines: int) -> Kernel:
        """Return a kernel of a file (a path from `workflow/scripts`), compiled with these macros at its first use."""
        key = (source, entry, tuple(defines), tuple(defines.values()))
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._load(source, entry, defines)
        return kernel

    def empty(self, shape: Extent, dtype: DTypeLike) -> CardArray:
        """Return an array of undefined content."""
        return self.xp.empty(shape, dtype)

    def zeros(self, shape: Extent, dtype: DTypeLike) -> CardArray:
        """Return an array of zeros."""
        return self.xp.zeros(shape, dtype)

    def full(self, shape: Extent, value: int | bool, dtype: DTypeLike) -> CardArray:
        """Return an array filled with one value."""
        return self.xp.full(shape, value, dtype)

    def offsets(self, counts: CardArray) -> CardArray:
        """Return offsets (int64[n + 1], first 0) from counts [n] of 1, 4 or 8 bytes, which are not negative."""
        return self.offsets_and_totals(counts)[0]

    def offsets_and_totals(self, counts: CardArray) -> tuple[CardArray, Numbers]:
        """Return offsets from counts, as `offsets`, and their sum.

        Of rows of counts [k, n] return int64[k, n + 1], and the sum of each row.
        """
        return scan.offsets(self, counts)

    def nonzero(self, items: CardArray) -> CardArray:
        """Return the indices (int64[]) of the items other than 0, which are not negative; waits for their number."""
        places, number = scan.places(self, items)
        return places[: number.wait()[0]]

    @abstractmethod
    def numbers(self, count: int) -> Numbers:
        """Return memory for `count` numbers, initially 0, that a kernel writes for the host."""

    @abstractmethod
    def pointer(self, array: CardArray) -> int:
        """Return the address of a contiguous array of this card."""

    @abstractmethod
    def upload(self, array: NDArray[Any]) -> CardArray:
        """Return a copy of a host array on the card."""

    @abstractmethod
    def mark(self) -> object:
        """Return a mark of everything launched so far, for `upload_ahead`."""

    def upload_ahead(self, array: NDArray[Any], mark: object = None) -> Upload:
        """Begin to copy a host array while kernels run; leave it unchanged until the copy, or its launches, have ended.

        For memory that is not from `staging` the caller waits until it is copied. The copy waits for `mark`, which is
        needed if it may reuse memory that was released.
        """
        return Upload(self.upload(array))

    @abstractmethod
    def download(self, array: CardArray) -> NDArray[Any]:
        """Return a copy of the card's array on the host; waits for it."""

    @abstractmethod
    def download_ahead(self, arrays: Sequence[CardArray], buffer: NDArray[np.uint8]) -> Download:
        """Begin to copy contiguous arrays of the card to the host, while kernels run that are launched from now on.

        Keep the arrays unchanged until the copies have been waited for. `buffer` is uint8[bytes_of(arrays)] or more,
        from `staging`; for other memory the caller waits until it is copied.
        """

    def staging(self, size: int) -> NDArray[np.uint8]:
        """Return host memory (uint8[size]) that the card copies fastest, and while kernels run."""
        return np.empty(size, np.uint8)

    @abstractmethod
    def free_bytes(self) -> int:
        """Return the memory that arrays may still take, within the budget."""

    @abstractmethod
    def release(self) -> None:
        """Free the memory that no array uses, so that it can serve arrays of any size; waits for all launches."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for everything launched so far."""

    @abstractmethod
    def _load(self, source: str, entry: str, defines: dict[str, int]) -> Kernel: ...


def bytes_of(arrays: Sequence[CardArray]) -> int:
    """Return the buffer size that `Card.download_ahead` needs; each array begins at a multiple of ALIGNMENT bytes."""
    return sum(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays)


def places_in(buffer: NDArray[np.uint8], arrays: Sequence[CardArray]) -> list[NDArray[Any]]:
    """Return arrays of the same shapes and types, one after the other in a buffer."""
    places: list[NDArray[Any]] = []
    begin = 0
    for array in arrays:
        places.append(buffer[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape))
        begin += bytes_of([array])
    return places


def _three(extent: Extent) -> tuple[int, int, int]:
    if type(extent) is int:
        return extent, 1, 1
    sizes = extent if isinstance(extent, tuple) else (extent,)
    x, y, z = (int(size) for size in (*sizes, 1, 1, 1)[:3])
    return x, y, z


class Packed(NamedTuple):
    """Kernel arguments in the driver's form; keep them until the launch.

    Attributes:
        words: int64[], all values; an array and an int take one word, a struct one for each member.
        pointers: int64[arguments], the address of each value in `words`.
        sizes: bytes of each value.
    """

    words: "standard_array.array[int]"
    pointers: "standard_array.array[int]"
    sizes: list[int]

    @property
    def address(self) -> int:
        """Return the address of `pointers`, the driver's `void**`."""
        return self.pointers.buffer_info()[0]


def pack_arguments(arguments: Sequence[object], card: Card) -> Packed:
    """Return kernel arguments in the driver's form; raise TypeError for an argument that no kernel takes.

    Written for speed: a batch launches dozens of kernels of up to thirty arrays each, and packing holds the
    interpreter's lock, which the threads that parse reads and write records need too.
    """
    pointer_of, array_type = card.pointer, card.array_type
    words: list[int] = []
    starts: list[int] = []
    sizes: list[int] = []
    for argument in arguments:
        starts.append(len(words))
        kind = type(argument)
        if kind is array_type or kind is int:
            words.append(argument if kind is int else pointer_of(argument))  # type: ignore[arg-type]
            sizes.append(_WORD_BYTES)
            continue
        if kind not in _MEMBERS:
            _MEMBERS[kind] = _members_of(kind)
        members_of = _MEMBERS[kind]
        if members_of is None:
            if isinstance(argument, np.generic):
                words.append(int.from_bytes(argument.tobytes(), "little", signed=True))
                sizes.append(argument.itemsize)
                continue
            if argument is None or kind is bool:
                raise TypeError(f"a kernel takes no {kind.__name__}")
            words.append(_word(argument, pointer_of))
            sizes.append(_WORD_BYTES)
            continue
        words += [
            pointer_of(member) if type(member) is array_type else member if type(member) is int  # the usual ones
            else _word(member, pointer_of)
            for member in members_of(argument)
        ]  # fmt: skip
        sizes.append(_WORD_BYTES * (len(words) - starts[-1]))  # a batch of reads has its own length
    buffer = standard_array.array("q", words)
    address = buffer.buffer_info()[0]
    return Packed(buffer, standard_array.array("q", [address + _WORD_BYTES * start for start in starts]), sizes)


_WORD_BYTES = 8
# For each type of an argument so far, the function that returns a struct's members; None for types of one word.
_MEMBERS: dict[type, Callable[[Any], Iterable[object]] | None] = {}


def _members_of(kind: type) -> Callable[[Any], Iterable[object]] | None:
    if issubclass(kind, tuple):
        return lambda members: members
    if not is_dataclass(kind):
        return None
    names = [field.name for field in fields(kind)]
    return attrgetter(*names) if len(names) > 1 else lambda argument: [getattr(argument, name) for name in names]


def _word(value: object, pointer_of: Callable[[CardArray], int]) -> int:
    """Return the int64 of a struct's member or of a single argument."""
    if hasattr(value, "dtype") and not isinstance(value, np.generic):
        return pointer_of(value)
    if value is None:
        return 0
    if isinstance(value, int | np.integer | np.bool_):
        bits = int(value)
        return bits - (1 << 64) if bits >= 1 << 63 else bits  # a uint64 as the int64 of the same bits
    raise TypeError(f"a kernel takes no {type(value).__name__}")
