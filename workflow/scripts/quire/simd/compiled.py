"""The two decorators of all CPU kernels, which compile them with Numba, and the cache of their machine code.

Machine code is kept on disk under a digest of the sources that it is compiled from (the module and its imports at any
depth, `quire.sources.kernel_sources`), of Numba's version and of its settings. An edit thus recompiles only what
depends on it, and the name and path of a file have no influence. Every file carries a checksum; a damaged file is
compiled again. A process does not keep code if one of its sources changed on disk since this module was imported,
because the digest might describe other sources than the imported ones.
"""

import hashlib
import logging
import os
import pickle
import re
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

import numba
from llvmlite.binding import parse_assembly
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from quire.cache import make_trusted, read_kernel, sealed_kernel
from quire.simd.processor import LEVELS, x86_level
from quire.simd.stamps import SHIPPED, compiler_settings, kernels_cannot_be_kept, kernels_root
from quire.sources import SCRIPTS, SourceState, digest_of, kernel_sources, state, states

Function = TypeVar("Function", bound=Callable[..., Any])
log = logging.getLogger("quire.compiled")
DAYS_UNUSED = 30  # compiled kernels are removed after this time without use
_DAY = 86400.0
parts: Path | None = None  # folder of this user by which processes that compile together exchange parts
_found: dict[Path, SourceState | None] = {**states()}  # states when this process imports the sources
_OURS = re.compile(r"([\w.]+-)?[0-9a-f]{16}")  # names of folders; earlier versions used the digest only


def compiled(function: Function) -> Function:
    """Compile a function at its first call, without the interpreter's lock, and keep its code on disk."""
    return _kernel(function, forceinline=False)


def inlined(function: Function) -> Function:
    """Compile a small function into its callers, since a call costs a reference count for each array."""
    return _kernel(function, forceinline=True)


class _Kernel(CPUDispatcher):
    """A compiled function for Python. Kernels that call it use `part`, which has no entry point for Python."""

    # A process uses a part of the kernels that it imports, so their parts and caches are made when they are needed.
    @cached_property
    def part(self) -> Any:
        """The function for other kernels."""
        part = CPUDispatcher(self.py_func, targetoptions={**self.targetoptions, "no_cpython_wrapper": True})
        if parts is not None:
            part._cache = _PartCache(self.py_func)
        return part

    def compile(self, sig: Any) -> Any:
        """Compile for new argument types; Numba calls this method."""
        # Threads that call a kernel for the first time at the same time wait for one of them. Numba alone would let
        # each compile it.
        with global_compiler_lock:
            self._keep_on_disk()
            return super().compile(sig)

    def is_kept(self, types: tuple[Any, ...]) -> bool:
        """Return True if the cache has code for these types of arguments."""
        with global_compiler_lock:
            self._keep_on_disk()
            return self._cache.load_overload(types, self.targetctx) is not None

    def _keep_on_disk(self) -> None:
        if not isinstance(self._cache, _KernelCache):  # type: ignore[has-type]  # Numba sets it
            self._cache = _KernelCache(self.py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the types of a call in another function; Numba calls this method."""
        # Numba would specialise the function for each constant argument. LLVM sees constants where it inlines, so one
        # version per type is enough here, which saves a tenth of the functions to compile.
        unliteral = numba.types.unliteral
        return self.part.get_call_template(
            tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
        )

    def get_overload(self, sig: Any) -> Any:
        """Return the target of a call in another function; Numba calls this method."""
        return self.part.get_overload(sig)


def _kernel(function: Function, forceinline: bool) -> Function:
    options = {"nopython": True, "boundscheck": None, "nogil": True, "no_cfunc_wrapper": True}
    return cast(Function, _Kernel(function, targetoptions=options | {"forceinline": forceinline}))


class _Locator(_CacheLocator):
    """Location of a function's code on disk, in the form that Numba asks for."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._folder, self._digest = kernel_folder(file)
        self._code = _code_digest(function.__code__)

    def get_cache_path(self) -> str:
        """Return the folder of the function's module in its present state."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return the digest of the sources that the code was compiled from."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Return a digest of the code, to tell functions of one name apart (line numbers change with comments)."""
        return self._code

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator":
        """Return the locator of a function; Numba calls this method."""
        return cls(function, file)


def _code_digest(code: CodeType) -> str:
    """Return a digest of a function's bytecode, names and constants, without its docstring and line numbers."""
    constants = [_code_digest(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    if constants and isinstance(constants[0], str):
        del constants[0]
    what = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:8]


class _CodeFiles(IndexDataCacheFile):
    """Numba's files of compiled code, each named by a digest of its key and preceded by a checksum.

    Numba's index file is not used: it holds all types that a kernel was ever called with, and cannot be read if the
    class of one of them no longer exists. The checksum prevents a flipped bit from changing an answer.
    """

    def load(self, key: object) -> Any:
        """Return the data that `save` stored, or None; Numba calls this method."""
        code = read_kernel(Path(self._path_of(key)))
        return None if code is None else pickle.loads(code)

    def save(self, key: object, data: object) -> None:
        """Store compiled code; the file gets its final name when it is complete. Numba calls this method."""
        path = self._path_of(key)
        with self._open_for_write(path) as stream:
            os.fchmod(stream.fileno(), 0o644)  # `load` refuses what a group can write to, which some umasks allow
            stream.write(sealed_kernel(Path(path), self._dump(data)))

    def _path_of(self, key: Any) -> str:
        text = f"{key!r} {_named_tuples(key[0])}"
        name: str = self._data_name(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))
        return str(self._data_path(name))


def _named_tuples(kinds: Iterable[Any]) -> list[str]:
    """Return the classes and fields of named tuples among types, which the names of Numba's types do not contain."""
    found = []
    for kind in kinds:
        if isinstance(kind, numba.types.BaseNamedTuple):
            found.append(f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}{kind.fields}")
        if isinstance(kind, numba.types.BaseTuple):
            found += _named_tuples(kind)
    return found


class _KernelImplementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012 (Numba's)

    def reduce(self, compiled_function: Any) -> Any:
        """Return what is stored of a compiled function; Numba calls this method."""
        # Numba adds the function's bitcode, for functions that are linked with it, and parses it when it loads the
        # function. Nothing is linked with functions for Python, so only the name of their entry point is left.
        entry = compiled_function.fndesc.llvm_cpython_wrapper_name
        (name, kind, (machine_code, _)), *others = super().reduce(compiled_function)
        return (name, kind, (machine_code, _bitcode_of_stub(entry))), *others


class _KernelFiles(_CodeFiles):
    """Files of kernels, or else those of the installation."""

    def load(self, key: Any) -> Any:
        """Return the data that `save` stored here or for the installation, or None; Numba calls this method."""
        if (data := super().load(key)) is None and (level := x86_level()) is not None:
            signature, (triple, *_), *others = key
            path = Path(self._path_of((signature, (triple, level, LEVELS[level]), *others)))
            code = read_kernel(SHIPPED / level / path.parent.name / path.name, installed=True)
            data = None if code is None else pickle.loads(code)
        return data


class _KernelCache(FunctionCache):
    """Numba's cache of a function, in Quire's folder and with checksums."""

    _impl_class = _KernelImplementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = _KernelFiles(self.cache_path, self._impl.filename_base, stamp)
        if not _can_keep(Path(self.cache_path), self._py_func.__code__.co_filename):
            self.disable()

    def load_overload(self, signature: object, context: Any) -> Any:
        """Load compiled code, or return None; Numba calls this method."""
        # Numba would import all that compiling needs, which takes 0.12 s. Code that is loaded needs its runtime alone.
        rtsys.initialize(context)
        return self._load_overload(signature, context)

    def save_overload(self, signature: object, data: object) -> None:
        """Store compiled code (Numba calls this); raise QuireError if the folder of the kernels cannot be written."""
        if (changed := changed_source(self._py_func.__code__.co_filename)) is not None:
            _say_changed(changed)
            return
        try:
            super().save_overload(signature, data)
        except OSError as error:
            raise kernels_cannot_be_kept(error) from error
        prune(Path(self.cache_path).parent)


class _PartLocator(_Locator):
    """Location of the code of a part, which one compilation in several processes exchanges."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        self._folder = cast(Path, parts) / self._folder.name


class _PartImplementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_PartLocator]  # noqa: RUF012 (Numba's)


class _PartCache(FunctionCache):
    """Numba's cache of a function that other kernels call, with its bitcode."""

    _impl_class = _PartImplementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: Any = _CodeFiles(self.cache_path, self._impl.filename_base, "")

    def save_overload(self, signature: object, data: object) -> None:
        """Store compiled code (Numba calls this), if there is room; else the callers compile it again."""
        with suppress(OSError):
            super().save_overload(signature, data)


def _bitcode_of_stub(name: str) -> bytes:
    """Return the bitcode of a module that defines this function only, without its code."""
    bitcode: bytes = parse_assembly(f'define void @"{name}"() {{ unreachable }}').as_bitcode()
    return bitcode


@cache
def kernel_folder(file: str) -> tuple[Path, str]:
    """Return the folder of a source file's compiled kernels, and the digest of the sources they are compiled from."""
    path = Path(file).resolve()
    for source in kernel_sources(path):  # files outside workflow/scripts
        _found.setdefault(source, state(source))
    # Environments with different versions of Numba may share the user's folder.
    described = f"{numba.__version__} {compiler_settings()} {digest_of(sorted(kernel_sources(path)), SCRIPTS)}"
    digest = hashlib.sha256(described.encode()).hexdigest()
    name = ".".join(path.relative_to(SCRIPTS).with_suffix("").parts) if path.is_relative_to(SCRIPTS) else path.stem
    return kernels_root() / f"{name}-{digest[:16]}", digest


@cache
def _can_keep(folder: Path, file: str) -> bool:
    """Create the folder of a file's kernels and mark it as used; return False for folders and sources of no use.

    A folder of another user is of no use, with a warning. So is one of sources that changed since they were imported.
    """
    if changed_source(file) is not None:
        return False
    with suppress(OSError):  # a file in its place, or a full disk
        if make_trusted(folder):
            with suppress(OSError):  # a folder of root
                os.utime(folder)
            return True
    log.warning("%s: is not a folder of this user; its kernels are compiled in memory", folder)
    return False


@cache
def _say_changed(path: Path) -> None:
    log.warning("%s: changed while this process ran; the kernels that depend on it are not kept", path)


def changed_source(file: str) -> Path | None:
    """Return a source of a file's kernels that changed since this process began; None if there is none."""
    sources = sorted(kernel_sources(Path(file).resolve()))
    return next((path for path in sources if state(path) != _found.get(path)), None)


@cache
def prune(root: Path) -> None:
    """Remove kernels of sources that no process used for a month; called once per process."""
    oldest = time.time() - DAYS_UNUSED * _DAY
    for folder in root.iterdir():
        try:
            if _OURS.fullmatch(folder.name) and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)
        except OSError:  # another process removed it
            continue
