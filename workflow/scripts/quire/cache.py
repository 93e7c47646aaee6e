"""The user's cache folder: compiled kernels and tuning results of cards, which later runs reuse."""

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the user's cache folder, which may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")) / "quire"
