"""Compilation of kernels with NVRTC, and a cache of their machine code on disk.

CuPy's own compilation is not used: it appends `-ftz=true` to any options, and its cache ignores changes of included
files.
"""

import hashlib
import logging
import os
import re
import tempfile
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

from quire.cache import cache_root, make_trusted, read_kernel, sealed_kernel
from quire.device.card import SOURCES
from quire.errors import QuireError
from quire.source_text import bare_cuda

# IEEE 754 floating point, the same as on the CPU: no contraction, no flushing of subnormal numbers.
OPTIONS = ("-fmad=false", "-ftz=false", "-std=c++17", "-default-device", "--ptxas-options=-v")
log = logging.getLogger("quire.device.compiler")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


class KernelError(QuireError):
    """A kernel that does not compile, because of a defect of Quire or of the installed compiler."""

    def __init__(self, message: str) -> None:
        """Keep the lines of the compiler's log."""
        Exception.__init__(self, message)


@lru_cache
def read_source(source: str) -> tuple[str, dict[str, str]]:
    """Return a kernel's text, and the texts of all files it includes, directly or not, by the name of inclusion."""
    text = (SOURCES / source).read_text(encoding="utf-8")
    return text, included(source, text)


def included(source: str, text: str) -> dict[str, str]:
    """Return the texts of all files that a kernel's text includes, directly or not, by the name of inclusion."""
    headers: dict[str, str] = {}
    waiting = [(source, text)]
    while waiting:
        file, body = waiting.pop()
        for found in _INCLUDE.finditer(body):
            name = found[1]
            if name in headers:
                continue
            try:
                headers[name] = (SOURCES / name).read_text(encoding="utf-8")
            except OSError:
                line = body.count("\n", 0, found.start()) + 1
                raise KernelError(f"{file}({line}): there is no {name} in {SOURCES}") from None
            waiting.append((name, headers[name]))
    return headers


def options_of(architecture: str, defines: dict[str, int]) -> list[str]:
    """Return the compiler's options for a kernel."""
    macros = [f"-D{name}={value}" for name, value in sorted(defines.items())]
    return [f"--gpu-architecture={architecture}", *OPTIONS, *macros]


def compile_kernel(source: str, architecture: str, defines: dict[str, int]) -> tuple[bytes, str]:
    """Return the machine code (cubin) of a source, and the compiler's report; raise KernelError with its messages."""
    from cupy_backends.cuda.libs import nvrtc

    text, headers = read_source(source)
    names = [name.encode() for name in headers]
    program = nvrtc.createProgram(text, source, [body.encode() for body in headers.values()], names)
    try:
        nvrtc.compileProgram(program, options_of(architecture, defines))
        # CuPy cuts off the last byte, as if the code were text. It ends the program headers: part of a 0x8.
        return nvrtc.getCUBIN(program) + b"\0", nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        raise KernelError(f"{source} does not compile for {architecture} ({error}):\n{log}") from None
    finally:
        nvrtc.destroyProgram(program)


def cubin(source: str, architecture: str, defines: dict[str, int]) -> bytes:
    """Return the machine code of a source, from the cache if an undamaged copy is there that nobody else can write."""
    path = cache_path(source, architecture, defines)
    if (kept := read_kernel(path)) is not None:
        return kept
    _announce(architecture)
    code, _ = compile_kernel(source, architecture, defines)
    beside = None
    try:
        if not make_trusted(path.parent):
            return code  # the folder of another user
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as beside:
            beside.write(sealed_kernel(path, code))
        os.replace(beside.name, path)  # atomic, whichever other process writes it
    except OSError:  # a full or read-only disk only costs another compilation in the next run
        if beside is not None:
            with suppress(OSError):
                os.unlink(beside.name)
    return code


@cache
def _announce(architecture: str) -> None:
    log.info("kernels for %s are compiled as they are needed, once for this card: some seconds", architecture)


def cache_path(source: str, architecture: str, defines: dict[str, int]) -> Path:
    """Return the path of a source's machine code in the cache, named by a digest of all that determines the code."""
    from cupy_backends.cuda.libs import nvrtc

    text, headers = read_source(source)
    parts = [repr(nvrtc.getVersion()), *options_of(architecture, defines), source, bare_cuda(text)]
    for name, header in sorted(headers.items()):
        parts += [name, bare_cuda(header)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    return cache_root() / "cubin" / f"{Path(source).stem}-{architecture}-{digest}.cubin"
