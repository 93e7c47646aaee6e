"""Reference and index of a FASTA for a single question: those of a folder where they stand, else built there."""

import logging
from collections.abc import Mapping
from pathlib import Path

from quire import reference
from quire.device.choice import use_backend
from quire.index.arrays import index_engines
from quire.index.construction import build
from quire.reference import Reference
from quire.reference.storage import MANIFEST

logger = logging.getLogger("quire.index")


def ensure_index(
    fasta: str | Path, directory: Path, page_size: int, parameters: Mapping[str, int], backend: str, memory: str
) -> tuple[Path, list[Path]]:
    """The folder of the packed reference and those of its pages' indexes, as a run of the workflow leaves them.

    What stands in the folder is used as it is, whatever its page size, and what is missing of it is built.

    Args:
        fasta: of the reference.
        directory: holds reference/, page_0/, page_1/, ... then.
        page_size, parameters: of what is built: the configuration's `reference.page_size` and block `index`.
        backend, memory: of what is built: the configuration's block `device`.

    Raises:
        InputError: the FASTA cannot be used, or the folder holds the index of another.
        QuireError: the folder cannot be written, or memory does not suffice.
    """
    packed = directory / "reference"
    if not (packed / MANIFEST).exists():
        reference.build(fasta, packed, page_size)
    opened = Reference.open(packed, fasta)
    pages = [directory / f"page_{number}" for number in range(len(opened.pages))]
    missing = [number for number, page in enumerate(pages) if not (page / MANIFEST).exists()]
    if missing:
        logger.info("%s: %d of %d pages are to be indexed", directory, len(missing), len(pages))
        with use_backend(backend, memory) as (_, open_card):
            engines = index_engines(open_card() if open_card else None, backend)
            for number in missing:
                build(opened, number, pages[number], parameters, engines)
    return packed, pages
