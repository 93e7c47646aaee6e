"""What was measured of a card, kept for later runs: a file for each card and search, for the kernels as they were."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quire.cache import cache_root
from quire.device.compiler import read_source


def digest_of_kernels(sources: Iterable[str]) -> str:
    """Digest of kernels, by their paths from workflow/scripts, with the headers that they include."""
    parts = []
    for source in sources:
        text, headers = read_source(source)
        parts += [text, *(part for item in sorted(headers.items()) for part in item)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def measured_path(card_name: str, search: str = "") -> Path:
    """Where the measurement of a card is kept; `search` says of what, where it is not of searching an index."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", card_name).strip("-")
    return cache_root() / "tune" / f"{name}{search and f'-{search}'}.json"


def keep_measured(result: dict[str, Any], path: Path) -> None:
    """Keep a measurement; it appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(result, indent=1) + "\n")
    beside.replace(path)
