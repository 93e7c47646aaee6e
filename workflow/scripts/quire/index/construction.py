"""The index of a page: its construction, also of all that a FASTA lacks, and its opening."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quire import reference as references
from quire.algorithms.fm_index import FmIndex
from quire.device.card import Card, OutOfDeviceMemory
from quire.device.choice import use_backend
from quire.errors import InputError, QuireError
from quire.io.files import atomic_directory
from quire.reference import Page, Reference
from quire.reference.storage import MANIFEST, checksum_of_bytes, open_array, read_manifest, write_manifest
from quire.sequence.packing import BASES_PER_WORD

FORMAT_VERSION = 1

logger = logging.getLogger("quire.index")


def build(
    reference: Reference | str | Path,
    page_number: int,
    directory: str | Path,
    parameters: Mapping[str, int],
    card: Card | None = None,
    requested: str = "auto",
    threads: int = 1,
) -> None:
    """Build the index of a page; the directory (docs/formats.md) appears whole or not at all.

    A card and the CPU write the same files, byte for byte, with any number of threads. `parameters` is the
    configuration's block `index`. If the backend `requested` is "gpu", a card with too little memory is an error.
    """
    if not isinstance(reference, Reference):
        reference = Reference.open(reference)
    page = reference.pages[page_number]
    logger.info(
        "page %d: %d bases, %d of them its own", page_number, page.end - page.start, page.owned_end - page.start
    )
    try:
        with atomic_directory(directory) as temporary:
            facts = _write_arrays(reference, page_number, temporary, parameters, card, requested, threads)
            manifest = {
                "format_version": FORMAT_VERSION,
                "page_number": page_number,
                "page": {"start": page.start, "owned_end": page.owned_end, "end": page.end},
                "text_checksum": page_checksum(reference, page),
                "parameters": dict(parameters),
                **facts,
            }
            write_manifest(temporary, "index", manifest)
    except MemoryError as error:
        raise QuireError(
            f"{directory}: memory is not sufficient to index {page.end - page.start} bases; give the job more memory "
            "or use a smaller reference.page_size."
        ) from error
    logger.info("page %d: index written", page_number)


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
    threads: int,
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

    return cpu.write_arrays(reference, page_number, directory, parameters, threads)


def open_page(directory: str | Path, reference: Reference, verify: bool = True) -> FmIndex:
    """Open the index of a page of `reference`, and no other; its arrays are read-only.

    `verify` compares checksums, once per process.
    """
    directory = Path(directory)
    manifest = read_manifest(directory, "index", FORMAT_VERSION)
    number, bounds = manifest["page_number"], manifest["page"]
    page = reference.pages[number] if number < len(reference.pages) else None
    if page is None or vars(page) != bounds or manifest["text_checksum"] != page_checksum(reference, page):
        raise InputError(
            f"{directory}: was built from another reference or page size than {reference.directory}; "
            f"delete {directory} and build it again."
        )
    names = ("blocks", "C", "prefix_table", "suffix_array", "sampled_rows", "unowned_rows")
    arrays = {name: open_array(directory, manifest, name, verify) for name in names}
    return FmIndex(
        words_per_block=arrays["blocks"].shape[1],
        primary=manifest["primary"],
        prefix_length=manifest["prefix_length"],
        sa_sampling=manifest["parameters"]["sa_sampling"],
        unowned_count=len(arrays["unowned_rows"]),
        start=page.start,
        owned_length=page.owned_end - page.start,
        **{name: array.reshape(-1) for name, array in arrays.items()},
    )


@dataclass(frozen=True)
class SearchInputs:
    """Folders of the packed reference and of its pages' indexes, in order; its FASTA (None: not checked); queries."""

    reference: Path
    pages: Sequence[Path]
    fasta: Path | None
    queries: Path

    def open(self) -> tuple[Reference, list[FmIndex]]:
        """Open the reference and the indexes of its pages."""
        reference = Reference.open(self.reference, self.fasta)
        indexes = [open_page(directory, reference) for directory in self.pages]
        logger.info("%s: %d pages, %d bases", self.reference, len(indexes), reference.axis_length)
        return reference, indexes


def ensure_index(
    fasta: str | Path,
    directory: Path,
    page_size: int,
    parameters: Mapping[str, int],
    backend: str,
    memory: str,
    threads: int = 1,
) -> tuple[Path, list[Path]]:
    """Build the missing parts of the reference and index of a FASTA in a folder; return the folders of the parts.

    Existing parts are used unchanged, whatever their page size. `page_size`, `parameters`, `backend` and `memory` are
    the configuration's `reference.page_size`, `index`, `device.backend` and `device.memory`.
    """
    packed = ensure_reference(fasta, directory, page_size)
    opened = Reference.open(packed, verify=False)
    pages = [directory / f"page_{number}" for number in range(len(opened.pages))]
    missing = [number for number, page in enumerate(pages) if not (page / MANIFEST).exists()]
    if missing:
        logger.info("%s: indexing %d of %d pages", directory, len(missing), len(pages))
        with use_backend(backend, memory) as (_, open_card):
            card = open_card() if open_card else None
            for number in missing:
                build(opened, number, pages[number], parameters, card, backend, threads)
    return packed, pages


def ensure_reference(fasta: str | Path, directory: Path, page_size: int) -> Path:
    """Build the packed reference of a FASTA in the folder of an index unless it is there; return its folder."""
    packed = directory / "reference"
    if not (packed / MANIFEST).exists():
        references.build(fasta, packed, page_size)
    Reference.open(packed, fasta)
    return packed
