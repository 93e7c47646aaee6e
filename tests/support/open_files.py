"""Names of the files that this process holds open."""

import os
from pathlib import Path


def open_files(folder: Path) -> list[str]:
    """Return the open files within a folder, deleted ones too."""
    found = []
    for entry in os.scandir("/proc/self/fd"):
        try:
            found.append(os.readlink(entry.path))
        except FileNotFoundError:  # the descriptor of this listing
            continue
    return [name for name in found if name.startswith(f"{folder}/")]
