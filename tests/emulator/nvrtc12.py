"""A binding of the few functions of CUDA 12's NVRTC that compilation needs, for older drivers.

CuPy's wheels for CUDA 12 and CUDA 13 cannot be installed together, but the libraries of both versions of NVRTC can.
"""

import ctypes
import importlib.util
from pathlib import Path

from quire.device.compiler import KernelError, options_of, read_source


def library() -> ctypes.CDLL | None:
    """Return the library of the wheel nvidia-cuda-nvrtc-cu12, or None if it is not installed."""
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations if found else ():
        path = Path(folder) / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
        if path.exists():
            return ctypes.CDLL(str(path))
    return None


def compile_kernel(nvrtc: ctypes.CDLL, source: str, architecture: str, defines: dict[str, int]) -> tuple[bytes, str]:
    """Compile as `quire.device.compiler.compile_kernel` does, with this library."""
    text, headers = read_source(source)
    bodies = (ctypes.c_char_p * max(len(headers), 1))(*(body.encode() for body in headers.values()))
    names = (ctypes.c_char_p * max(len(headers), 1))(*(name.encode() for name in headers))
    options = [option.encode() for option in options_of(architecture, defines)]
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), source.encode(), len(headers), bodies, names
    ))  # fmt: skip
    try:
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = _bytes(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0").decode()
        if failed:
            raise KernelError(f"{source} does not compile for {architecture} with CUDA 12:\n{log}")
        return _bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), log
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _bytes(size_of, get, program) -> bytes:
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(get(program, buffer))
    return buffer.raw


def _check(status: int) -> None:
    if status:
        raise KernelError(f"NVRTC of CUDA 12 answers {status}")
