"""Features of the processor that Numba compiles for, and levels of x86-64 that stand for many processors."""

from functools import cache

from llvmlite.binding import get_host_cpu_features
from numba.core import config

# Features in LLVM's form by which `has_avx512` tells the levels. The levels imply them.
LEVELS = {"x86-64-v3": "+avx2", "x86-64-v4": "+avx2,+avx512f"}
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


def has_avx512() -> bool:
    """Return True if Numba compiles for registers of 64 bytes: if the processor has them or NUMBA_CPU_* name them."""
    name, features = getattr(config, "CPU_NAME"), getattr(config, "CPU_FEATURES")  # noqa: B009 (Numba sets them late)
    if features is not None:
        return "+avx512f" in features.split(",")
    return name in (None, "host") and bool(get_host_cpu_features().get("avx512f"))


@cache
def x86_level() -> str | None:
    """Return the level whose code this process can run; None for other processors, or if NUMBA_CPU_* choose one."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return None
    name, needed = ("x86-64-v4", _V4) if has_avx512() else ("x86-64-v3", _V3)
    return name if all(map(get_host_cpu_features().get, needed)) else None
