"""Building the index of one page: one job, arrays written as soon as they stand so that memory is free for the next."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quire.algorithms.fm_index import SAMPLING_DISTANCES, prefix_length_of, words_of_distance
from quire.algorithms.suffix_array import suffix_array
from quire.device.card import Card, OutOfDeviceMemory
from quire.errors import InputError, QuireError
from quire.io.files import atomic_directory
from quire.reference import Page, Reference
from quire.reference.packing import BASES_PER_WORD
from quire.reference.storage import checksum_of_bytes, write_manifest

FORMAT_VERSION = 1
DEFAULT_PARAMETERS = {"sampling_distance": 64, "sa_sampling": 1}
_LARGEST_SAMPLING = 1024

logger = logging.getLogger("quire.index")


def build(
    reference: Reference | str | Path,
    page_number: int,
    directory: str | Path,
    parameters: Mapping[str, int],
    card: Card | None = None,
    card_only: bool = False,
) -> None:
    """Build the index of a page; the directory (docs/formats.md) appears whole or not at all.

    A card makes the same files, byte for byte.

    Args:
        reference: an open reference, or its directory.
        page_number: 0-based.
        directory: the final directory; an older one is replaced.
        parameters: `sampling_distance` (64, 192, 448 or 960 rows an occurrence block; default 64) and `sa_sampling`
            (keep every s-th position of the suffix array; default 1, all).
        card: to build on; None for the CPU.
        card_only: where the card's memory does not suffice, fail; else the page is left to the CPU, with a line in the
            log.

    Raises:
        InputError: a wrong parameter or page number, or a damaged reference.
        QuireError: the directory cannot be written, or memory does not suffice.
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
            facts, checksums = _write_arrays(reference, page_number, temporary, chosen, card, card_only)
            manifest = {
                "format_version": FORMAT_VERSION,
                "page_number": page_number,
                "page": {"start": page.start, "owned_end": page.owned_end, "end": page.end},
                "text_checksum": page_checksum(reference, page),
                "parameters": chosen,
                **facts,
            }
            write_manifest(temporary, "index", manifest, checksums)
    except MemoryError as error:
        raise QuireError(
            f"{directory}: memory does not suffice to index {page.end - page.start} bases; give the job more or use a "
            "smaller reference.page_size."
        ) from error
    logger.info("page %d: index written", page_number)


def checked_parameters(parameters: Mapping[str, int]) -> dict[str, int]:
    """The parameters with defaults filled in; raises InputError for an unknown name or a wrong value."""
    chosen = dict(DEFAULT_PARAMETERS, **parameters)
    unknown = sorted(set(chosen) - set(DEFAULT_PARAMETERS))
    if unknown:
        raise InputError(f"index parameter {unknown[0]!r} is unknown; known are {', '.join(DEFAULT_PARAMETERS)}.")
    if chosen["sampling_distance"] not in SAMPLING_DISTANCES:
        raise InputError(f"sampling_distance is {chosen['sampling_distance']}; give one of {SAMPLING_DISTANCES}.")
    if not 1 <= chosen["sa_sampling"] <= _LARGEST_SAMPLING:
        raise InputError(f"sa_sampling is {chosen['sa_sampling']}; give a number from 1 to {_LARGEST_SAMPLING}.")
    return chosen


def page_checksum(reference: Reference, page: Page) -> str:
    """Checksum of the words of the axis that hold a page's text: what its index must have been built of."""
    return checksum_of_bytes(reference.text[page.start // BASES_PER_WORD : -(-page.end // BASES_PER_WORD)])


def _write_arrays(
    reference: Reference, page_number: int, directory: Path, parameters: dict[str, int], card: Card | None,
    card_only: bool,
) -> tuple[dict[str, Any], dict[str, str]]:  # fmt: skip
    """Write all arrays of a page; returns the facts that the manifest keeps, and checksums of files known by now."""
    page = reference.pages[page_number]
    if card is not None:
        from quire.index import construction_gpu

        try:
            return construction_gpu.write_arrays(card, reference, page, directory, parameters)
        except OutOfDeviceMemory as error:
            if card_only:
                raise QuireError(
                    f"page {page_number}: {card.name} lacks memory to index {page.end - page.start} bases ({error}); "
                    "use a smaller reference.page_size, give device.memory more, or set device.backend to auto."
                ) from None
            logger.warning("page %d: %s lacks memory (%s), so it is indexed on the CPU", page_number, card.name, error)
    return _write_arrays_on_cpu(reference.page_codes(page_number), page, directory, parameters), {}


def _write_arrays_on_cpu(codes: np.ndarray, page: Page, directory: Path, parameters: dict[str, int]) -> dict[str, Any]:
    from quire.algorithms.fm_index import construction_cpu

    rows = suffix_array(codes)
    logger.info("suffix array sorted")
    _write_suffix_array(rows, directory, parameters["sa_sampling"])
    np.save(directory / "unowned_rows.npy", construction_cpu.rows_from(rows, page.owned_end - page.start))
    words_per_block = words_of_distance(parameters["sampling_distance"])
    blocks, counts, primary = construction_cpu.occurrence_blocks(codes, rows, words_per_block)
    del rows
    np.save(directory / "blocks.npy", blocks.reshape(-1, words_per_block))
    del blocks
    logger.info("occurrence blocks written")
    np.save(directory / "C.npy", construction_cpu.first_rows(counts))
    prefix_length = prefix_length_of(codes.size)
    np.save(directory / "prefix_table.npy", construction_cpu.prefix_intervals(codes, prefix_length))
    return {"length": int(codes.size), "primary": int(primary), "prefix_length": prefix_length}


def _write_suffix_array(rows: np.ndarray, directory: Path, sa_sampling: int) -> None:
    """Write the suffix array, whole or sampled, and which rows are sampled."""
    from quire.algorithms.fm_index.construction_cpu import sample_suffix_array

    if sa_sampling == 1:
        np.save(directory / "suffix_array.npy", rows)
        np.save(directory / "sampled_rows.npy", np.empty(0, dtype=np.uint64))
        return
    values, sampled_rows = sample_suffix_array(rows, sa_sampling)
    np.save(directory / "suffix_array.npy", values)
    np.save(directory / "sampled_rows.npy", sampled_rows)
