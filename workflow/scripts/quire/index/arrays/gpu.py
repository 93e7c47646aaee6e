"""Writing the arrays of a page's index on a card: the same files as on the CPU, written while the card computes."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quire.algorithms.fm_index import prefix_length_of, words_of_distance
from quire.algorithms.fm_index.construction import first_rows
from quire.algorithms.fm_index.construction import gpu as construction
from quire.algorithms.suffix_array.gpu import suffix_array, upload_text
from quire.device.card import Card, CardArray
from quire.index.writing_gpu import ArrayWriter
from quire.reference import Reference

logger = logging.getLogger("quire.index")


def write_arrays(
    card: Card, reference: Reference, page_number: int, directory: Path, parameters: Mapping[str, int]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write all arrays of a page.

    Args:
        card: the card.
        reference: the reference.
        page_number: the page whose text is indexed.
        directory: the directory of the files.
        parameters: as `quire.index.construction.checked_parameters` returned them.

    Returns:
        Entries of the manifest, and the checksums of the files by name.

    Raises:
        OutOfDeviceMemory: the card is too small for the page.
    """
    page = reference.pages[page_number]
    length = page.end - page.start
    prefix_length = prefix_length_of(length)
    with ArrayWriter(card, directory) as writer:
        text = upload_text(card, reference.text, page.start, length)
        rows = suffix_array(card, text)
        logger.info("suffix array sorted on %s", card.name)
        _write_suffix_array(card, writer, rows, parameters["sa_sampling"])
        writer.write("unowned_rows", construction.rows_from(card, rows, page.owned_end - page.start))
        words_per_block = words_of_distance(parameters["sampling_distance"])
        blocks, counts, primary = construction.occurrence_blocks(card, text, rows, words_per_block)
        writer.write("blocks", blocks.reshape(-1, words_per_block))
        del blocks
        writer.write("C", card.upload(first_rows(counts)))
        writer.write("prefix_table", construction.prefix_intervals(card, text, rows, prefix_length))
        checksums = writer.checksums()
    return {"length": length, "primary": primary, "prefix_length": prefix_length}, checksums


def _write_suffix_array(card: Card, writer: ArrayWriter, rows: CardArray, sa_sampling: int) -> None:
    """Write the suffix array, whole or sampled, and the bits of the sampled rows."""
    if sa_sampling == 1:
        values, sampled_rows = rows, card.empty(0, np.uint64)
    else:
        values, sampled_rows = construction.sample_suffix_array(card, rows, sa_sampling)
    writer.write("suffix_array", values)
    writer.write("sampled_rows", sampled_rows)
