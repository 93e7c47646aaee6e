"""Writing the arrays of a page's index on a card: the same files as on the CPU, written while the card computes."""

import logging
import os
import queue
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from quire.algorithms.fm_index import prefix_length_of, words_of_distance
from quire.algorithms.fm_index.construction import first_rows
from quire.algorithms.fm_index.construction import gpu as construction
from quire.algorithms.suffix_array.gpu import suffix_array, upload_text
from quire.device.card import Card, CardArray
from quire.reference import Reference

PIECE = 32 << 20  # bytes of one download
MOST_WRITERS = 8
logger = logging.getLogger("quire.index")


class ArrayWriter:
    """A writer of a card's arrays into a directory, byte for byte as `numpy.save` writes them.

    The thread that owns the card downloads pieces into a few buffers; other threads write them.
    """

    def __init__(self, card: Card, directory: Path, piece: int = PIECE) -> None:
        """Start the threads; `piece` is the bytes of one download, a multiple of 8."""
        self.card, self.directory, self.piece = card, directory, piece
        writers = min(MOST_WRITERS, len(os.sched_getaffinity(0)))
        self._threads = ThreadPoolExecutor(writers)
        self._buffers: queue.Queue[np.ndarray] = queue.Queue()
        for _ in range(writers + 1):
            self._buffers.put(card.staging(piece))
        self._pieces: list[Future[None]] = []

    def __enter__(self) -> "ArrayWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def write(self, name: str, array: CardArray) -> None:
        """Write an array of the card to `name`.npy; on return it is downloaded, but not yet written."""
        path, flat, step = self.directory / f"{name}.npy", array.reshape(-1), self.piece // array.dtype.itemsize
        with path.open("wb") as stream:
            header = {"descr": np.dtype(array.dtype).str, "fortran_order": False, "shape": tuple(array.shape)}
            np.lib.format.write_array_header_1_0(stream, header)
            at = stream.tell()
        for first in range(0, len(flat), step):
            part, buffer = flat[first : first + step], self._buffers.get()
            self.card.download_ahead([part], buffer).wait()
            self._pieces.append(self._threads.submit(self._write_buffer, path, buffer, part.nbytes, at))
            at += part.nbytes

    def wait(self) -> None:
        """Wait until everything is written; raise OSError if a file could not be written."""
        for piece in self._pieces:
            piece.result()

    def _write_buffer(self, path: Path, buffer: np.ndarray, size: int, at: int) -> None:
        try:
            with path.open("r+b", buffering=0) as stream:
                stream.seek(at)
                content = buffer.data[:size]
                while content:
                    content = content[stream.write(content) :]
        finally:
            self._buffers.put(buffer)


def write_arrays(
    card: Card, reference: Reference, page_number: int, directory: Path, parameters: Mapping[str, int]
) -> dict[str, Any]:
    """Write all arrays of a page and return entries of the manifest; raise OutOfDeviceMemory if memory is short."""
    page = reference.pages[page_number]
    length = page.end - page.start
    prefix_length = prefix_length_of(length)
    with ArrayWriter(card, directory) as writer:
        text = upload_text(card, reference.text, page.start, length)
        rows = suffix_array(card, text)
        logger.info("suffix array sorted on %s", card.name)
        values, sampled_rows = rows, card.empty(0, np.uint64)
        if parameters["sa_sampling"] > 1:
            values, sampled_rows = construction.sample_suffix_array(card, rows, parameters["sa_sampling"])
        writer.write("suffix_array", values)
        writer.write("sampled_rows", sampled_rows)
        del values
        writer.write("unowned_rows", construction.rows_from(card, rows, page.owned_end - page.start))
        words_per_block = words_of_distance(parameters["sampling_distance"])
        blocks, counts, primary = construction.occurrence_blocks(card, text, rows, words_per_block)
        writer.write("blocks", blocks.reshape(-1, words_per_block))
        del blocks
        writer.write("C", card.upload(first_rows(counts)))
        writer.write("prefix_table", construction.prefix_intervals(card, text, rows, prefix_length))
        writer.wait()
    return {"length": length, "primary": primary, "prefix_length": prefix_length}
