"""Where things are kept that later runs need not do again: compiled kernels, what a card is fastest with."""

import os
from pathlib import Path


def cache_root() -> Path:
    """A folder of the user's, which need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")) / "quire"
