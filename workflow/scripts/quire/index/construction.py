"""Construction of the index of one page; each array is written as soon as it is complete, which frees its memory."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quire.algorithms.fm_index import SAMPLING_DISTANCES
from quire.device.card import Card, OutOfDeviceMemory
from quire.errors import InputError, QuireError
from quire.io.files import atomic_directory
from quire.reference import Page, Reference
from quire.reference.storage import checksum_of_bytes, write_manifest
from quire.sequence.packing import BASES_PER_WORD

FORMAT_VERSION = 1
PARAMETERS = ("sampling_distance", "sa_sampling")  # the schema of the configuration holds their defaults
_LARGEST_SAMPLING = 1024

logger = logging.getLogger("quire.index")


def build(
    reference: Reference | str | Path,
    page_number: int,
    directory: str | Path,
    parameters: Mapping[str, int],
    card: Card | None = None,
    requested: str = "auto",
) -> None:
    """Build the index of a page; the directory (docs/formats.md) appears whole or not at all.

    A card and the CPU write the same files, byte for byte.

    Args:
        reference: an open reference, or its directory.
        page_number: number of the page, 0-based.
        directory: the final directory; an older one is replaced.
        parameters: `sampling_distance` (64, 192, 448 or 960 rows in an occurrence block) and `sa_sampling` (the suffix
            array keeps positions that are multiples of it; 1 keeps all).
        card: the job's card, if it has one.
        requested: the configuration's device.backend. With "gpu" a card with too little memory is an error; else the
            CPU takes over.

    Raises:
        InputError: a wrong parameter or page number, or a damaged reference.
        QuireError: the directory cannot be written, or memory is not sufficient.
    """
    chosen = checked_parameters(parameters)
    if not isinstance(reference, Reference):
        reference = Reference.open(reference)
    if not 0 <= page_number < len(reference.pages):
        raise InputError(f"{reference.directory}: has no page {page_number}, only 0 to {len(reference.pages) - 1}.")
    page = reference.pages[page_number]
    logger.info(
        "page %d: %d bases, %d of them its own", page_number, page.end - page.start, page.owned_end - page.start
    )
    try:
        with atomic_directory(directory) as temporary:
            facts = _write_arrays(reference, page_number, temporary, chosen, card, requested)
            manifest = {
                "format_version": FORMAT_VERSION,
                "page_number": page_number,
                "page": {"start": page.start, "owned_end": page.owned_end, "end": page.end},
                "text_checksum": page_checksum(reference, page),
                "parameters": chosen,
                **facts,
            }
            write_manifest(temporary, "index", manifest)
    except MemoryError as error:
        raise QuireError(
            f"{directory}: memory is not sufficient to index {page.end - page.start} bases; give the job more memory "
            "or use a smaller reference.page_size."
        ) from error
    logger.info("page %d: index written", page_number)


def checked_parameters(parameters: Mapping[str, int]) -> dict[str, int]:
    """Return a copy of the parameters; raise InputError for an unknown or missing name, or a wrong value."""
    chosen = dict(parameters)
    for name in sorted(set(chosen) ^ set(PARAMETERS)):
        wrong = "unknown" if name in chosen else "missing"
        raise InputError(f"index parameter {name!r} is {wrong}; give {' and '.join(PARAMETERS)}.")
    if chosen["sampling_distance"] not in SAMPLING_DISTANCES:
        raise InputError(f"sampling_distance is {chosen['sampling_distance']}; give one of {SAMPLING_DISTANCES}.")
    if not 1 <= chosen["sa_sampling"] <= _LARGEST_SAMPLING:
        raise InputError(f"sa_sampling is {chosen['sa_sampling']}; give a number from 1 to {_LARGEST_SAMPLING}.")
    return chosen


def page_checksum(reference: Reference, page: Page) -> str:
    """Return the checksum of the axis words that hold a page's text; its index must have been built from them."""
    return checksum_of_bytes(reference.text[page.start // BASES_PER_WORD : -(-page.end // BASES_PER_WORD)])


def _write_arrays(
    reference: Reference,
    page_number: int,
    directory: Path,
    parameters: Mapping[str, int],
    card: Card | None,
    requested: str,
) -> dict[str, Any]:
    """Write all arrays of a page on the card if it has enough memory, else on the CPU; return manifest entries."""
    if card is not None:
        from quire.index.arrays import gpu

        try:
            return gpu.write_arrays(card, reference, page_number, directory, parameters)
        except OutOfDeviceMemory as error:
            page = reference.pages[page_number]
            if requested == "gpu":
                raise QuireError(
                    f"page {page_number}: {card.name} lacks memory to index {page.end - page.start} bases ({error}); "
                    "use a smaller reference.page_size, increase device.memory, or set device.backend to auto."
                ) from None
            logger.warning("page %d: %s lacks memory (%s), so it is indexed on the CPU", page_number, card.name, error)
    from quire.index.arrays import cpu  # imported here, since a machine with a card needs no Numba

    return cpu.write_arrays(reference, page_number, directory, parameters)
