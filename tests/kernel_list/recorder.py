"""Record which kernels a process compiles, for which types of arguments, and which functions they call."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.sigutils import normalize_signature
from numba.np.numpy_support import as_dtype
from quire.kernel_list import Entry
from quire.simd import compiled
from quire.simd.signatures import type_of


class NotDescribed(Exception):
    """A type that has no description in the list, such as that of a function."""


class Recorder:
    """Entries of all functions that this process compiles or loads while the recorder is open, callees first."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._numbers: dict[tuple[str, bool, str], int | None] = {}
        self._open: list[tuple[set[int], list[float]]] = []  # of functions being compiled: needs, seconds of callees

    def __enter__(self) -> "Recorder":
        self._original = original = Dispatcher.compile
        recorder = self

        def recorded(self: Any, sig: Any) -> Any:
            return recorder._compile(original, self, sig)

        Dispatcher.compile = recorded
        return self

    def __exit__(self, *_: object) -> None:
        Dispatcher.compile = self._original

    def _compile(self, original: Any, dispatcher: Any, sig: Any) -> Any:
        arguments, _ = normalize_signature(sig)
        function, part = dispatcher.py_func, not isinstance(dispatcher, compiled._Kernel)
        key = f"{function.__module__}:{function.__qualname__}", part, str(arguments)
        if key in self._numbers:
            result = original(dispatcher, sig)
        else:
            needs: set[int] = set()
            inner = [0.0]
            self._open.append((needs, inner))
            began = time.process_time()
            try:
                result = original(dispatcher, sig)
            finally:
                self._open.pop()
                took = time.process_time() - began
                if self._open:
                    self._open[-1][1][0] += took
            self._numbers[key] = self._add(key[0], part, arguments, needs, took - inner[0])
            if self._open and self._numbers[key] is None:
                self._open[-1][0].update(needs)  # of Numba's own functions, which call Quire's and are called by them
        number = self._numbers[key]
        if self._open and number is not None:
            self._open[-1][0].add(number)
        return result

    def _add(self, function: str, part: bool, arguments: Any, needs: set[int], seconds: float) -> int | None:
        if not function.startswith("quire.") or "<locals>" in function:
            return None
        try:
            described = [description(kind) for kind in arguments]
        except NotDescribed:
            if part:
                return None
            raise
        self.entries.append(Entry(function, part, described, sorted(needs), round(seconds, 1)))
        return len(self.entries) - 1


def recorded(run: Callable[..., None], options: Mapping[str, bool]) -> list[Entry]:
    """Return what a process compiles or loads."""
    with Recorder() as recorder:
        run(**options)
    return recorder.entries


def description(kind: types.Type) -> Any:
    """Return the description of a type in the list of kernels; `quire.simd.signatures.type_of` returns the type again.

    Raises:
        NotDescribed: the type is no scalar, record, array or tuple.
    """
    described = _description(kind)
    if type_of(described) != types.unliteral(kind):
        raise NotDescribed(str(kind))
    return described


def _description(kind: types.Type) -> Any:
    match kind:
        case types.Array():
            flags = ("" if kind.mutable else " readonly") + ("" if kind.aligned else " unaligned")
            return [f"array {kind.ndim} {kind.layout}{flags}", _description(kind.dtype)]
        case types.BaseTuple():
            named = getattr(kind, "instance_class", None)
            name = "tuple" if named is None else f"{named.__module__}:{named.__qualname__}"
            return [name, *map(_description, kind)]
        case types.Record():
            dtype = as_dtype(kind)
            fields = ((name, dtype.fields[name][0]) for name in dtype.names)
            return {
                "fields": [[name, field.base.str, list(field.shape)] for name, field in fields],
                "aligned": dtype.isalignedstruct,
            }
        case types.Integer() | types.Float() | types.Boolean():
            return str(types.unliteral(kind))
    raise NotDescribed(str(kind))
