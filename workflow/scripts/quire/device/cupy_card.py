"""A real card, through CuPy: its memory pool, streams and driver calls. It belongs to the thread that opens it."""

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import cupyx
import numpy as np
from cupy_backends.cuda.api import driver
from numpy.typing import NDArray

from quire.device.card import (
    Card,
    CardArray,
    Download,
    Kernel,
    Numbers,
    OutOfDeviceMemory,
    Upload,
    pack_arguments,
    places_in,
)
from quire.device.compiler import cubin
from quire.errors import QuireError

MOST_NUMBERS = 4096  # of `CupyCard.numbers`: a number must be read before this many others are asked for
MOST_PINNED = 256 << 20  # bytes of an upload; a large reference text and its index have more, and are uploaded once


class CupyKernel(Kernel):
    """Kernel loaded from its cubin."""

    def __init__(self, card: Card, source: str, entry: str, defines: dict[str, int], function: Any) -> None:
        super().__init__(card, source, entry, defines)
        self.function = function  # cupy.cuda.function.Function
        self.shared_limit = 48 << 10

    def _launch(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int, arguments: tuple[object, ...]
    ) -> None:
        if shared_bytes > self.shared_limit:
            attribute = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            driver.funcSetAttribute(self.function.ptr, attribute, shared_bytes)
            self.shared_limit = shared_bytes
        packed = pack_arguments(arguments, self.card)
        stream = cupy.cuda.get_current_stream().ptr
        driver.launchKernel(self.function.ptr, *grid, *block, shared_bytes, stream, packed.address, 0)


class _Arrays:
    """CuPy's functions; those that sort are checked for failed allocations.

    Sorting allocates memory in C++. Releases of CuPy before 2026-04 ignored failed allocations there and returned wrong
    orders (cupy#9894); later ones raise a plain MemoryError.
    """

    def __init__(self, card: "CupyCard") -> None:
        self._card = card

    def __getattr__(self, name: str) -> Any:
        return getattr(cupy, name)

    def sort(self, keys: CardArray) -> CardArray:
        return self._card.watch_memory(cupy.sort, keys)

    def argsort(self, keys: CardArray) -> CardArray:
        return self._card.watch_memory(cupy.argsort, keys)


class _UploadUnderWay(Upload):
    """Upload on the stream of uploads.

    It holds the host's array, since CuPy's pool of pinned memory reuses released memory at once, even during a copy.
    """

    def __init__(self, array: CardArray, host: NDArray[Any], device: cupy.cuda.Device, done: cupy.cuda.Event) -> None:
        super().__init__(array)
        self._host, self._device, self._done = host, device, done

    def array(self) -> CardArray:
        cupy.cuda.get_current_stream().wait_event(self._done)
        return self._array

    def wait(self) -> None:
        with self._device:
            self._done.synchronize()


class _PinnedNumbers(Numbers):
    """Numbers in pinned memory, which kernels write through the bus."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._numbers = numbers
        numbers[:] = 0
        self.memory = numbers.ctypes.data  # pinned memory has the same address on the card

    def wait(self) -> list[int]:
        cupy.cuda.get_current_stream().synchronize()
        numbers: list[int] = self._numbers.tolist()
        return numbers


def _pinned_numbers() -> NDArray[np.int64]:
    try:
        numbers: NDArray[np.int64] = cupyx.empty_pinned(MOST_NUMBERS, np.int64)
        return numbers
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise QuireError(
            f"the host refuses {8 * MOST_NUMBERS} bytes of pinned memory ({error}); use device.backend: cpu."
        ) from None


class _DownloadUnderWay(Download):
    """Downloads on a separate stream."""

    def __init__(self, arrays: list[NDArray[Any]], device: cupy.cuda.Device, done: cupy.cuda.Event) -> None:
        super().__init__(arrays)
        self._device, self._done = device, done

    def wait(self) -> None:
        with self._device:
            self._done.synchronize()


class CupyCard(Card):
    """CuPy's implementation of `quire.device.card.Card`."""

    array_type = cupy.ndarray

    def __init__(self, ordinal: int = 0, budget: int | None = None) -> None:
        """Open a card by its number among the visible ones; arrays take at most `budget` bytes, or all free memory."""
        super().__init__()
        self.device = cupy.cuda.Device(ordinal)
        self.device.use()
        properties = cupy.cuda.runtime.getDeviceProperties(ordinal)
        self.name = properties["name"].decode()
        self.architecture = f"sm_{properties['major']}{properties['minor']}"
        self.multiprocessors = properties["multiProcessorCount"]
        self.shared_bytes = properties["sharedMemPerBlockOptin"]
        self.pool = cupy.cuda.MemoryPool()
        cupy.cuda.set_allocator(self._allocate)
        self._ran_out = False
        self.xp = _Arrays(self)
        self.budget = budget
        if budget is not None:
            self.pool.set_limit(size=budget)
        self._modules: dict[tuple[str, tuple[tuple[str, int], ...]], Any] = {}
        self._numbers = _pinned_numbers()
        self._next_number = 0
        self._uploads, self._downloads = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))

    def _allocate(self, size: int) -> Any:
        """Allocate memory for all functions of CuPy, so that each raises OutOfDeviceMemory."""
        try:
            return self.pool.malloc(size)
        except cupy.cuda.memory.OutOfMemoryError as error:
            self._ran_out = True
            raise OutOfDeviceMemory(str(error)) from None

    def watch_memory(self, function: Callable[..., CardArray], *arguments: CardArray) -> CardArray:
        """Call a function of CuPy, and raise OutOfDeviceMemory if an allocation failed inside, whatever it returned."""
        self._ran_out = False
        try:
            result = function(*arguments)
        except MemoryError as error:
            raise OutOfDeviceMemory(str(error)) from None
        if self._ran_out:
            raise OutOfDeviceMemory(f"no room for the memory that {function.__name__} itself takes")
        return result

    def pointer(self, array: CardArray) -> int:
        """Return the address of a contiguous array of this card."""
        # The same as `flags.c_contiguous`, but creating `flags` takes five times as long as the rest of this method.
        if not isinstance(array, cupy.ndarray) or not array._c_contiguous:
            raise TypeError(f"a kernel takes contiguous arrays of the card, not {type(array).__name__}")
        address: int = array.data.ptr
        return address

    def upload(self, array: NDArray[Any]) -> CardArray:
        """Copy a host array to the card, through pinned memory unless it is large."""
        array = np.asarray(array, order="C")
        if array.nbytes <= MOST_PINNED:
            # CuPy copies into pinned memory and uploads from there, in the order of the current stream.
            return cupy.asarray(array)
        # CuPy keeps its pinned memory, in powers of two. Pageable memory is already copied when `set` returns.
        target = cupy.empty(array.shape, array.dtype)
        target.set(array)
        return target

    def numbers(self, count: int) -> Numbers:
        """Return the next numbers of a ring in pinned memory."""
        first = self._next_number
        if first + count > MOST_NUMBERS:
            self.synchronize()  # a kernel may still write the numbers that are taken again
            first = 0
        self._next_number = first + count
        return _PinnedNumbers(self._numbers[first : first + count])

    def mark(self) -> cupy.cuda.Event:
        """Record an event on the current stream."""
        return cupy.cuda.get_current_stream().record()

    def upload_ahead(self, array: NDArray[Any], mark: cupy.cuda.Event | None = None) -> Upload:
        """Begin to copy a host array to the card on the stream of uploads."""
        with self._uploads:
            if mark is not None:
                self._uploads.wait_event(mark)
            target = cupy.empty(array.shape, array.dtype)
            target.set(array, stream=self._uploads)
            return _UploadUnderWay(target, array, self.device, self._uploads.record())

    def download(self, array: CardArray) -> NDArray[Any]:
        """Copy the card's array to the host."""
        host: NDArray[Any] = cupy.asnumpy(array)
        return host

    def download_ahead(self, arrays: Sequence[CardArray], buffer: NDArray[np.uint8]) -> Download:
        """Begin to copy the card's arrays to the host on the stream of downloads."""
        targets = places_in(buffer, arrays)
        self._downloads.wait_event(cupy.cuda.get_current_stream().record())
        for array, target in zip(arrays, targets, strict=True):
            if array.size:
                cupy.asnumpy(array, stream=self._downloads, out=target, blocking=False)
        return _DownloadUnderWay(targets, self.device, self._downloads.record())

    def staging(self, size: int) -> NDArray[np.uint8]:
        """Return pinned host memory, or pageable memory if the host refuses more."""
        try:
            pinned: NDArray[np.uint8] = cupyx.empty_pinned(size, np.uint8)
            return pinned
        except cupy.cuda.runtime.CUDARuntimeError:  # the host refuses more pinned memory: slower, but correct
            return np.empty(size, np.uint8)

    def free_bytes(self) -> int:
        """Return the free memory of the device and the pool, within the budget."""
        free = self.device.mem_info[0] + self.pool.free_bytes()
        return int(free if self.budget is None else min(free, self.budget - self.pool.used_bytes()))

    def release(self) -> None:
        """Return the pool's unused memory to the driver."""
        self.synchronize()
        self.pool.free_all_blocks()

    def synchronize(self) -> None:
        """Wait for all streams of the device."""
        self.device.synchronize()

    def _load(self, source: str, entry: str, defines: dict[str, int]) -> CupyKernel:
        key = (source, tuple(sorted(defines.items())))
        if key not in self._modules:
            module = cupy.cuda.function.Module()
            module.load(cubin(source, self.architecture, defines))
            self._modules[key] = module
        return CupyKernel(self, source, entry, defines, self._modules[key].get_function(entry))
