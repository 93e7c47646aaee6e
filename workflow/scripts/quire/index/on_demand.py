"""Reference and index of a FASTA for command-line tools: taken from a folder, or built there first."""

import logging
from collections.abc import Mapping
from pathlib import Path

from quire import reference
from quire.device.choice import use_backend
from quire.index.construction import build
from quire.reference import Reference
from quire.reference.storage import MANIFEST

logger = logging.getLogger("quire.index")


def ensure_index(
    fasta: str | Path, directory: Path, page_size: int, parameters: Mapping[str, int], backend: str, memory: str
) -> tuple[Path, list[Path]]:
    """Build the missing parts of the reference and index of a FASTA in a folder; return the folders of the parts.

    Existing parts are used unchanged, whatever their page size. `page_size`, `parameters`, `backend` and `memory` are
    the configuration's `reference.page_size`, `index`, `device.backend` and `device.memory`.

    Raises:
        InputError: the FASTA cannot be used, or the folder holds the index of another FASTA.
        QuireError: the folder cannot be written, or memory is not sufficient.
    """
    packed = directory / "reference"
    if not (packed / MANIFEST).exists():
        reference.build(fasta, packed, page_size)
    opened = Reference.open(packed, fasta)
    pages = [directory / f"page_{number}" for number in range(len(opened.pages))]
    missing = [number for number, page in enumerate(pages) if not (page / MANIFEST).exists()]
    if missing:
        logger.info("%s: indexing %d of %d pages", directory, len(missing), len(pages))
        with use_backend(backend, memory) as (_, open_card):
            card = open_card() if open_card else None
            for number in missing:
                build(opened, number, pages[number], parameters, card, backend)
    return packed, pages
