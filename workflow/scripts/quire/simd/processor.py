"""Features of the processor that Numba compiles for, and levels of x86-64 that stand for many processors."""

from functools import cache

from llvmlite.binding import get_default_triple, get_host_cpu_features
from numba.core import config

# Each level's features that kernels ask for (`has_avx2`, `has_avx512`), in LLVM's form. The level implies them.
LEVELS = {"x86-64-v3": "+avx2", "x86-64-v4": "+avx2,+avx512f"}
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")


def _compiles_for(feature: str) -> bool:
    """Return True if Numba compiles for a feature of x86-64: the processor has it, unless NUMBA_CPU_* exclude it."""
    name, features = getattr(config, "CPU_NAME"), getattr(config, "CPU_FEATURES")  # noqa: B009 (Numba sets them late)
    if features is not None:
        return f"+{feature}" in features.split(",")
    return name in (None, "host") and bool(get_host_cpu_features().get(feature))


def has_avx512() -> bool:
    """Return True if Numba compiles for registers of 64 bytes."""
    return _compiles_for("avx512f")


def has_avx2() -> bool:
    """Return True if Numba compiles for AVX2, with or without AVX-512."""
    return get_default_triple().startswith("x86_64") and _compiles_for("avx2")


@cache
def x86_level() -> str | None:
    """Return the level whose code this process can run; None for other processors, or if NUMBA_CPU_* choose one."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None or not has_avx2():
        return None
    name, needed = ("x86-64-v4", _V4) if has_avx512() else ("x86-64-v3", _V3)
    return name if all(map(get_host_cpu_features().get, needed)) else None
