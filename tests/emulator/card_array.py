"""Arrays of the emulated card: NumPy's, but as strict as a real card's, each in memory with guards on both sides.

A `CardArray` is not a NumPy array: as with CuPy, NumPy functions refuse it, it does not mix with arrays of the host,
and one element of it is an array of dimension 0. The functions that NumPy and CuPy share are methods of `ArrayModule`,
the emulated card's `xp`. The order of equal keys in argsort, which CuPy leaves undefined, differs between schedules
here.

Each array ends at the end of its memory: a kernel that accesses more than a few bytes after it hits an inaccessible
page. The bytes between, and those before the array, are poison: reading them gives wrong answers, and writing to them
is detected after the launch.
"""

import ctypes
import mmap
import weakref

import numpy as np
from quire.device.card import OutOfDeviceMemory

POISON = 0xDB
ALIGNMENT = 16  # bytes; CuPy's is 512, but kernels may rely on 16 only (the widest load of a thread)
_GUARD = 64  # least bytes before an array
_POISON = bytes([POISON]) * _GUARD
_FORBIDDEN = 64 << 10  # bytes before and after the guards, whole pages: an access there ends the kernel
_ROUNDING = 512  # bytes; sizes in the card's memory are multiples of it, as in CuPy's pool
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Block:
    """Guarded memory of one array, counted by its card until no array uses it.

    Attributes:
        address: address of the array's part.
        nbytes: bytes of the array's part.
        label: the array's type and shape, for messages.
    """

    def __init__(self, memory: "ArrayMemory", shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.memory, self.nbytes = memory, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self.label = f"{dtype}{list(shape)}"
        self.taken = -(-self.nbytes // _ROUNDING) * _ROUNDING
        memory.take(self)
        pages = -(-(self.nbytes + _GUARD + ALIGNMENT) // mmap.PAGESIZE)
        whole = np.frombuffer(mmap.mmap(-1, pages * mmap.PAGESIZE + 2 * _FORBIDDEN), np.uint8)
        whole[_FORBIDDEN:-_FORBIDDEN] = POISON
        end = len(whole) - _FORBIDDEN
        begin = (end - self.nbytes) // ALIGNMENT * ALIGNMENT
        self.guards = memoryview(whole[begin - _GUARD : begin]), memoryview(whole[begin + self.nbytes : end])
        self.array = whole[begin : begin + self.nbytes].view(dtype).reshape(shape)
        self.base, self.bytes_in_all = whole.ctypes.data, len(whole)
        self.address = self.base + begin
        for forbidden in (self.base, self.base + end):
            if _libc.mprotect(forbidden, _FORBIDDEN, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def __del__(self) -> None:
        if hasattr(self, "base"):
            self.memory.taken -= self.taken

    def damage(self) -> str | None:
        """Return the place of a write outside the array, or None."""
        before, behind = self.guards
        if before == _POISON[: len(before)] and behind == _POISON[: len(behind)]:
            return None
        for guard, where in ((before[::-1], "before the start"), (behind, "after the end")):
            for distance, value in enumerate(guard):
                if value != POISON:
                    return f"{distance} bytes {where} of"
        return None

    def holds(self, address: int) -> bool:
        """Return True if an address lies in the array or its guards."""
        return self.base <= address < self.base + self.bytes_in_all


class CardArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the emulated card; see the module's docstring."""

    _METHODS = _names(
        "all any argmax argmin argsort astype clip copy cumsum fill flatten max min nonzero prod ravel reshape sort "
        "squeeze sum swapaxes take transpose view"
    )
    _PROPERTIES = _names("T dtype flags itemsize nbytes ndim shape size strides")

    def __init__(self, block: Block, host: np.ndarray) -> None:
        self._block, self._host = block, host

    def __getattr__(self, name: str):
        if name in self._PROPERTIES:
            value = getattr(self._host, name)
            return CardArray(self._block, value) if name == "T" else value
        if name not in self._METHODS:
            raise AttributeError(f"an array of the card has no {name} that NumPy and CuPy share")
        if name == "argsort":
            return lambda: argsort(self)
        return lambda *given, **named: self._block.memory.call(getattr(self._host, name), given, named, self)

    def __array__(self, *_args, **_kwargs):
        raise TypeError("this array is on the card: NumPy cannot use it; take card.xp, or card.download first")

    def __array_function__(self, function, *_args):
        raise TypeError(f"np.{function.__name__} of an array on the card; take card.xp, or card.download first")

    def __array_ufunc__(self, function, method, *inputs, **named):
        if method != "__call__":
            raise TypeError(f"np.{function.__name__}.{method} of an array on the card")
        return self._block.memory.call(function, inputs, named)

    def __getitem__(self, key):
        return self._block.memory.call(self._host.__getitem__, (key,), {}, self)

    def __setitem__(self, key, value) -> None:
        unwrap = self._block.memory.unwrap
        key, value = unwrap(key), unwrap(value)
        if isinstance(key, np.ndarray) and key.dtype.kind in "iu" and getattr(value, "size", 1) > 1:
            assert len(np.unique(key)) == key.size, "values assigned to one element twice: which one stays is chance"
        self._host[key] = value

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __repr__(self) -> str:
        return f"on the card: {self._host!r}"

    def item(self, *index):
        """Return one element as a value of the host."""
        return self._host.item(*index)

    def tolist(self) -> list:
        """Return all elements as values of the host."""
        return self._host.tolist()


class ArrayModule:
    """The emulated card's `xp`: functions that NumPy and CuPy share, which return arrays of the card."""

    _FUNCTIONS = _names(
        "abs all any arange argmax argmin array asarray ascontiguousarray bincount bitwise_and bitwise_or bitwise_xor "
        "broadcast_to clip concatenate copyto count_nonzero cumprod cumsum diff equal flatnonzero full_like greater "
        "greater_equal hstack invert left_shift less less_equal logical_and logical_not logical_or max maximum min "
        "minimum not_equal nonzero ones ones_like prod ravel reshape right_shift roll searchsorted sign sort "
        "squeeze stack sum take tile transpose vstack where zeros zeros_like full"
    )
    _HOST = _names(
        "bool_ dtype float32 float64 iinfo finfo int16 int32 int64 int8 intp newaxis uint16 uint32 uint64 uint8"
    )
    ndarray = CardArray

    def __init__(self, memory: "ArrayMemory") -> None:
        self._memory = memory

    def __getattr__(self, name: str):
        if name in self._HOST:
            return getattr(np, name)
        if name not in self._FUNCTIONS:
            raise AttributeError(
                f"{name} is not among the functions that kernels' callers share between NumPy and CuPy"
            )
        takes_host_arrays = name in ("array", "asarray")
        function = getattr(np, name)
        return lambda *given, **named: self._memory.call(function, given, named, host_arrays=takes_host_arrays)

    def empty(self, shape, dtype=np.float64) -> CardArray:
        """Return an array full of poison."""
        shape = tuple(int(size) for size in (shape if isinstance(shape, tuple | list) else (shape,)))
        return self._memory.new(shape, dtype)

    def empty_like(self, array: CardArray, dtype=None) -> CardArray:
        """Return an array full of poison."""
        return self.empty(array.shape, dtype or array.dtype)

    argsort = staticmethod(lambda keys: argsort(keys))


def argsort(keys: CardArray) -> CardArray:
    """Sort one dimension; equal keys stay in order, are reversed or shuffled, depending on the schedule."""
    memory, host = keys._block.memory, keys._host
    assert host.ndim == 1, "argsort of one dimension only"
    before = np.arange(len(host))
    if memory.schedule == "reverse":
        before = before[::-1]
    elif memory.schedule == "random":
        before = np.random.default_rng(len(host)).permutation(before)
    return memory.copy(before[np.argsort(host[before], kind="stable")])


class ArrayMemory:
    """The memory of one emulated card: its size and use, and conversion between its arrays and NumPy's.

    Attributes:
        size: bytes that arrays may take in total.
        taken: bytes that they take now.
        most_taken: the most bytes that they have taken so far.
        schedule: the card's schedule.
    """

    def __init__(self, size: int, schedule: str) -> None:
        self.size, self.schedule, self.taken, self.most_taken = size, schedule, 0, 0
        self.blocks: weakref.WeakSet[Block] = weakref.WeakSet()
        self.allocations_to_failure = 0

    def take(self, block: Block) -> None:
        """Count a block.

        Raises:
            OutOfDeviceMemory: it does not fit, or its failure was requested.
        """
        self.allocations_to_failure -= 1
        if self.allocations_to_failure == 0 or self.taken + block.taken > self.size:
            raise OutOfDeviceMemory(f"no room for {block.nbytes} bytes: {self.taken} of {self.size} are taken")
        self.taken += block.taken
        self.most_taken = max(self.most_taken, self.taken)
        self.blocks.add(block)

    def new(self, shape: tuple[int, ...], dtype) -> CardArray:
        """Return an array full of poison."""
        block = Block(self, shape, np.dtype(dtype))
        return CardArray(block, block.array)

    def copy(self, host: np.ndarray) -> CardArray:
        """Return a copy of a host array on the card."""
        array = self.new(host.shape, host.dtype)
        array._host[...] = host
        return array

    def unwrap(self, value, host_arrays: bool = False):
        """Return a value for NumPy; refuse arrays of the host, as CuPy does."""
        if isinstance(value, CardArray):
            return value._host
        if isinstance(value, np.ndarray) and not host_arrays:
            raise TypeError(f"an array of the host, {value.dtype}{list(value.shape)}, among arrays of the card")
        if isinstance(value, tuple | list):
            return type(value)(self.unwrap(item, host_arrays) for item in value)
        return value

    def call(self, function, given, named, method_of: CardArray | None = None, host_arrays: bool = False):
        """Call a NumPy function on arrays of the card; the result is on the card, a view if NumPy's result is one."""
        result = function(
            *(self.unwrap(value, host_arrays) for value in given),
            **{name: self.unwrap(value) for name, value in named.items()},
        )
        owners = [method_of, *given, *named.values()]
        owners = [item for value in owners for item in (value if isinstance(value, tuple | list) else [value])]
        owners = [owner for owner in owners if isinstance(owner, CardArray)]
        kinds = {owner.dtype.kind for owner in owners}
        if kinds and kinds <= set("biu") and getattr(result, "dtype", None) == np.float64:
            raise TypeError(f"float64 from {' and '.join(sorted({str(owner.dtype) for owner in owners}))}")
        return self._wrap(result, owners)

    def _wrap(self, result, owners: list[CardArray]):
        if isinstance(result, tuple | list):
            return type(result)(self._wrap(item, owners) for item in result)
        if not isinstance(result, np.ndarray | np.generic | int):
            return result
        for owner in owners:
            if isinstance(result, np.ndarray) and np.may_share_memory(result, owner._host):
                return CardArray(owner._block, result)
        return self.copy(np.asarray(result))
