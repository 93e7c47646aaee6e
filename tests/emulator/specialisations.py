"""All kernel sources and sets of macros that the GPU backend compiles, as its modules declare them.

A module that asks a card for kernels has KERNELS, a list of (source, defines). A module with one source and one set of
macros has SOURCE and DEFINES instead (or SOURCE only, without macros). The emulated card refuses a kernel of a loaded
module that these do not name, so the list cannot become outdated.
"""

import importlib
import sys
from functools import cache

from quire import sources
from quire.device.card import SOURCES

Specialisation = tuple[str, dict[str, int]]


@cache
def gpu_modules() -> list[str]:
    """Return the names of the GPU backend's modules: those named gpu, and all others that name a kernel."""
    paths = {*SOURCES.glob("quire/**/gpu.py"), *SOURCES.glob("quire/**/*_gpu.py")}
    paths |= {path for path in SOURCES.glob("quire/**/*.py") if sources.named_kernels(path)}
    return sorted(".".join(path.relative_to(SOURCES).with_suffix("").parts) for path in paths)


def named_by(module) -> list[Specialisation]:
    """Return the specialisations that one module declares."""
    if hasattr(module, "KERNELS"):
        return list(module.KERNELS)
    return [(module.SOURCE, getattr(module, "DEFINES", {}))] if hasattr(module, "SOURCE") else []


def all_specialisations() -> list[Specialisation]:
    """Return the specialisations that all modules declare, each once."""
    found = {}
    for name in gpu_modules():
        for source, defines in named_by(importlib.import_module(name)):
            found[source, tuple(sorted(defines.items()))] = (source, dict(defines))
    return [found[key] for key in sorted(found)]


def unnamed(source: str, defines: dict[str, int]) -> bool:
    """Return True if a loaded module declares this source, but none declares it with macros of these names."""
    loaded = [item for name in gpu_modules() if name in sys.modules for item in named_by(sys.modules[name])]
    named = [set(macros) for named, macros in loaded if named == source]
    return bool(named) and set(defines) not in named
