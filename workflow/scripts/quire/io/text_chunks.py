"""The text of plain, gzip and bgzip files in chunks, for formats that are parsed by kernels."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from gzip import BadGzipFile
from pathlib import Path

import numpy as np
from isal import igzip_threaded
from numpy.typing import NDArray

from quire.io.bytes_read import CountedFile
from quire.io.files import open_input
from quire.io.inflate_cpu import DamagedBlock, NoBlock, inflate_ahead
from quire.io.sniff import is_bgzip, is_gzip

STRETCH_BYTES = 1 << 20  # compressed bytes of a task; more than one block
THREADS = 4  # that inflate a bgzip file; one thread inflates plain gzip
GZIP_BYTES = 1 << 22  # bytes of text that the thread inflates between two uses of the interpreter's lock


def text_chunks(path: str | Path, size: int) -> Generator[NDArray[np.uint8], None, None]:
    """Yield the text (uint8[]) of a file in order; chunks of plain files and of gzip have `size` bytes.

    Plain gzip members may follow the blocks of a bgzip file.

    Raises:
        InputError: the file is missing, a pipe or unreadable.
        BadGzipFile: compressed data are damaged.
        EOFError: the file ends within a block or a gzip member.
    """
    open_input(path).close()
    with CountedFile(path) as file:
        if is_bgzip(path):
            with ThreadPoolExecutor(THREADS, "quire-inflate") as pool:
                try:
                    yield from inflate_ahead(file, pool, STRETCH_BYTES, 2 * THREADS)
                    return
                except NoBlock as error:
                    file.seek(error.offset)
                except DamagedBlock as error:
                    raise BadGzipFile(str(error)) from None
        with closing(igzip_threaded.open(file, "rb", block_size=GZIP_BYTES) if is_gzip(path) else file) as stream:
            while True:
                chunk = np.empty(size, np.uint8)
                got = stream.readinto(chunk.data)
                if not got:
                    return
                yield chunk[:got]
