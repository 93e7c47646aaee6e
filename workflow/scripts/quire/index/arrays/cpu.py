"""Writing the arrays of a page's index on the CPU, each as soon as it is complete, which frees its memory."""

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from quire.algorithms.fm_index import prefix_length_of, words_of_distance
from quire.algorithms.fm_index.construction import cpu as construction
from quire.algorithms.fm_index.construction import first_rows
from quire.algorithms.suffix_array.cpu import suffix_array
from quire.reference import Reference

logger = logging.getLogger("quire.index")


def write_arrays(
    reference: Reference, page_number: int, directory: Path, parameters: Mapping[str, int], threads: int
) -> dict[str, Any]:
    """Write all arrays of a page and return entries of the manifest; raise MemoryError if the page is too large."""
    page, codes = reference.pages[page_number], reference.page_codes(page_number)
    prefix_length = prefix_length_of(codes.size)
    words_per_block = words_of_distance(parameters["sampling_distance"])
    with ThreadPoolExecutor(threads) as pool:
        prefix_table = pool.submit(construction.prefix_intervals, codes, prefix_length)
        rows = suffix_array(codes, pool, threads)
        logger.info("suffix array sorted")
        blocks, counts, primary = construction.occurrence_blocks(codes, rows, words_per_block, pool, threads)
        np.save(directory / "prefix_table.npy", prefix_table.result())
        del prefix_table
    del codes
    np.save(directory / "blocks.npy", blocks.reshape(-1, words_per_block))
    del blocks
    logger.info("occurrence blocks written")
    np.save(directory / "C.npy", first_rows(counts))
    values, sampled_rows = rows, np.empty(0, dtype=np.uint64)
    if parameters["sa_sampling"] > 1:
        values, sampled_rows = construction.sample_suffix_array(rows, parameters["sa_sampling"])
    np.save(directory / "suffix_array.npy", values)
    np.save(directory / "sampled_rows.npy", sampled_rows)
    np.save(directory / "unowned_rows.npy", construction.rows_from(rows, page.owned_end - page.start))
    return {"length": page.end - page.start, "primary": int(primary), "prefix_length": prefix_length}
