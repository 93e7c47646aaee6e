"""What the GPU backend asks compilers for: every kernel source with every set of macros, as its own modules say it.

A module that asks a card for kernels has KERNELS, a list of (source, defines); where there is one source and one set
of macros, SOURCE and DEFINES (or SOURCE alone, without macros) say the same. The emulated card refuses a kernel of a
loaded module that these do not name, so that the list cannot lag behind the code.
"""

import importlib
import sys

from quire import sources
from quire.device.card import SOURCES

Specialisation = tuple[str, dict[str, int]]


def gpu_modules() -> list[str]:
    """Names of the modules of the GPU backend: those that are called so, and all others that name a kernel."""
    paths = {*SOURCES.glob("quire/**/gpu.py"), *SOURCES.glob("quire/**/*_gpu.py")}
    paths |= {path for path in SOURCES.glob("quire/**/*.py") if sources.named_kernels(path)}
    return sorted(".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths)


def named_by(module) -> list[Specialisation]:
    """What one module asks for."""
    if hasattr(module, "KERNELS"):
        return list(module.KERNELS)
    return [(module.SOURCE, getattr(module, "DEFINES", {}))] if hasattr(module, "SOURCE") else []


def all_specialisations() -> list[Specialisation]:
    """What all modules ask for, each once."""
    found = {}
    for name in gpu_modules():
        for source, defines in named_by(importlib.import_module(name)):
            found[source, tuple(sorted(defines.items()))] = (source, dict(defines))
    return [found[key] for key in sorted(found)]


def unnamed(source: str, defines: dict[str, int]) -> bool:
    """Whether a loaded module names this source, but none with macros of these names."""
    loaded = [item for name in gpu_modules() if name in sys.modules for item in named_by(sys.modules[name])]
    named = [set(macros) for named, macros in loaded if named == source]
    return bool(named) and set(defines) not in named
