"""Functions compiled by Numba: the two decorators that every kernel of the CPU carries, and where the code is kept.

Machine code is kept on disk under a digest of the sources that it is compiled from: the module's own and those that it
imports from, at any depth (`quire.sources.kernels_digest`), and of Numba's version. So an edit compiles again what
depends on it and nothing else, and no file's name or place decides. Every file carries a checksum; a damaged one
is compiled again. What a process compiles is not kept where one of its sources has changed on the disk since this
module was imported: the digest might be that of other sources than were imported.
"""

import hashlib
import logging
import os
import pickle
import re
import shutil
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from quire.simd import late_code
from quire.simd.stamps import kernels_cannot_be_kept, kernels_root
from quire.sources import SCRIPTS, SourceState, kernel_sources, kernels_digest, state, states

Function = TypeVar("Function", bound=Callable[..., Any])
log = logging.getLogger("quire.compiled")
DAYS_UNUSED = 30  # after which compiled kernels are removed
CHECKSUM_BYTES = hashlib.sha256().digest_size
_DAY = 86400.0
_found: dict[Path, SourceState | None] = {**states()}  # as they are when this process imports them
late_code.install()
_OURS = re.compile(r"([\w.]+-)?[0-9a-f]{16}")  # names of folders; earlier versions had the digest alone


def compiled(function: Function) -> Function:
    """Compile a function at its first use; it runs without the interpreter's lock, and its code is kept on disk."""
    return _kernel(function, forceinline=False)


def inlined(function: Function) -> Function:
    """The same for a small function that is copied into its callers: a call costs a reference count for each array."""
    return _kernel(function, forceinline=True)


class _Kernel(CPUDispatcher):
    """What Python calls of a function; kernels that call it take `part`, which has no code for Python."""

    part: Any

    def compile(self, sig: Any) -> Any:
        """Called by Numba for types that it has no code for yet.

        Threads that call a kernel first at once wait for one of them: Numba would let each compile it.
        """
        with global_compiler_lock:
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Called by Numba for a call in another function: the types of it.

        Numba makes a function anew for each constant that it is given. LLVM sees constants where it inlines, so that
        here each type has one code: a tenth fewer functions to compile.
        """
        unliteral = numba.types.unliteral
        return self.part.get_call_template(
            tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
        )

    def get_overload(self, sig: Any) -> Any:
        """Called by Numba for a call in another function: what is called."""
        return self.part.get_overload(sig)


def _kernel(function: Function, forceinline: bool) -> Function:
    """The function for Python, with our cache, and for kernels."""
    options = {"nogil": True, "no_cfunc_wrapper": True, "forceinline": forceinline}
    part = numba.njit(no_cpython_wrapper=True, **options)(function)
    kernel = _Kernel(function, targetoptions=numba.njit(**options)(function).targetoptions)
    kernel.part = part
    kernel._cache = _KernelCache(function)
    return cast(Function, kernel)


class _Locator(_CacheLocator):
    """Where the code of a function is kept."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._folder, self._digest = kernel_folder(file)
        self._code = _code_digest(function.__code__)

    def get_cache_path(self) -> str:
        """The folder of the function's module in its present state."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """What the code was compiled from."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Return what distinguishes functions of one name: their code, since line numbers change with comments."""
        return self._code

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator":
        """Called by Numba."""
        return cls(function, file)


def _code_digest(code: CodeType) -> str:
    """Return a digest of a function's bytecode, names and constants, without its docstring and line numbers."""
    constants = [_code_digest(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    if constants and isinstance(constants[0], str):
        del constants[0]
    what = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:8]


class _CodeFiles(IndexDataCacheFile):
    """Numba's files of compiled code, each named by what it is for and behind a checksum.

    Numba's index of them is not kept: it holds the types that a kernel was ever called with, and nobody could read it
    where the class of one of them is gone. A flipped bit must not become an answer.
    """

    def load(self, key: object) -> Any:
        """Called by Numba: what `save` was given, or None."""
        path = Path(self._path_of(key))
        try:
            content = path.read_bytes()
        except OSError:
            return None
        checksum, data = content[:CHECKSUM_BYTES], content[CHECKSUM_BYTES:]
        if hashlib.sha256(data).digest() != checksum:
            log.warning("%s: is damaged; the kernel is compiled again", path)
            return None
        return pickle.loads(data)

    def save(self, key: object, data: object) -> None:
        """Called by Numba with what it compiled; the file takes its name when it is whole."""
        with self._open_for_write(self._path_of(key)) as stream:
            dumped: bytes = self._dump(data)
            stream.write(hashlib.sha256(dumped).digest() + dumped)

    def _path_of(self, key: Any) -> str:
        text = f"{key!r} {_named_tuples(key[0])}"
        name: str = self._data_name(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))
        return str(self._data_path(name))


def _named_tuples(kinds: Iterable[Any]) -> list[str]:
    """Which classes the named tuples among types are, with their fields: the names of Numba's types do not say."""
    found = []
    for kind in kinds:
        if isinstance(kind, numba.types.BaseNamedTuple):
            found.append(f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}{kind.fields}")
        if isinstance(kind, numba.types.BaseTuple):
            found += _named_tuples(kind)
    return found


class _KernelImplementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012 (Numba's)


class _KernelCache(FunctionCache):
    """Numba's cache of a function, in our folder and with checksums."""

    _impl_class = _KernelImplementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = _CodeFiles(self.cache_path, self._impl.filename_base, stamp)

    def save_overload(self, signature: object, data: object) -> None:
        """Called by Numba with what it compiled.

        Raises:
            QuireError: the folder of the kernels is full or cannot be written.
        """
        if (changed := changed_source(self._py_func.__code__.co_filename)) is not None:
            _say_changed(changed)
            return
        try:
            super().save_overload(signature, data)
        except OSError as error:
            raise kernels_cannot_be_kept(error) from error
        prune(Path(self.cache_path).parent)


@cache
def kernel_folder(file: str) -> tuple[Path, str]:
    """Folder of the compiled kernels of a source file, and the digest of what they are compiled from."""
    path = Path(file).resolve()
    for source in kernel_sources(path):  # those outside workflow/scripts
        _found.setdefault(source, state(source))
    # Environments with different versions of Numba may share the folder of the user.
    digest = hashlib.sha256(f"{numba.__version__} {kernels_digest(path)}".encode()).hexdigest()
    name = ".".join(path.relative_to(SCRIPTS).with_suffix("").parts) if path.is_relative_to(SCRIPTS) else path.stem
    folder = kernels_root() / f"{name}-{digest[:16]}"
    folder.mkdir(exist_ok=True)
    os.utime(folder)  # it is in use
    return folder, digest


@cache
def _say_changed(path: Path) -> None:
    log.warning("%s: changed while this process ran; the kernels that depend on it are not kept", path)


def changed_source(file: str) -> Path | None:
    """A source of a file's kernels that changed since this process began; None if there is none."""
    sources = sorted(kernel_sources(Path(file).resolve()))
    return next((path for path in sources if state(path) != _found.get(path)), None)


@cache
def prune(root: Path) -> None:
    """Remove the kernels of sources that no process used for a month; once a process."""
    oldest = time.time() - DAYS_UNUSED * _DAY
    for folder in root.iterdir():
        try:
            if _OURS.fullmatch(folder.name) and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)
        except OSError:  # another process removed it
            continue
