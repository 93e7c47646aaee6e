"""Quire: short reads to variants, one stage a package (reference, index, align, rescore, report)."""

import os
from pathlib import Path


def _numba_cache_folder() -> str:
    """A writable folder for compiled kernels: the installation may be read-only (Numba reads this at import)."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(root) / "quire" / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return str(folder)
    except OSError:
        pass
    return str(Path.cwd() / ".quire-cache" / "numba")


os.environ.setdefault("NUMBA_CACHE_DIR", _numba_cache_folder())
