"""Quire: short reads to variants, one stage a package (reference, index, align, rescore, report)."""

import hashlib
import os
import re
from pathlib import Path

from quire.cache import cache_root

# Packages without a compiled kernel, and modules of the GPU backend, which hold none of Numba's: editing them leaves
# the compiled ones valid.
_WITHOUT_KERNELS = {"report"}
_OF_THE_GPU = re.compile(r"(^|_)(gpu|card|compiler|lease)$")


def _sources_digest() -> str:
    """Digest of the sources that kernels are compiled from.

    Numba's cache looks only at the file that defines a function; after a change in another file that it calls, it would
    go on using the old machine code.
    """
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _WITHOUT_KERNELS and not _OF_THE_GPU.search(path.stem):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _numba_cache_folder() -> str:
    """A writable folder for compiled kernels: the installation may be read-only (Numba reads this at import)."""
    folder = cache_root() / "numba" / _sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return str(folder)
    except OSError:
        pass
    return str(Path.cwd() / ".quire-cache" / "numba" / folder.name)


# A folder that the user chose is kept. One that a parent process chose here (Snakemake hands its environment to jobs,
# on clusters to other machines) is chosen again: sources may have changed since, or another folder be writable.
if os.environ.get("NUMBA_CACHE_DIR", "") in ("", os.environ.get("QUIRE_CHOSE_CACHE_DIR")):
    os.environ["NUMBA_CACHE_DIR"] = os.environ["QUIRE_CHOSE_CACHE_DIR"] = _numba_cache_folder()
